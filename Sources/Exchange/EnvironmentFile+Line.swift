internal import Ground

extension EnvironmentFile {
  /// The form of one name and value in a file that both this reader and python-dotenv read back exactly.
  ///
  /// ```
  /// NAME=value           if no byte has a special meaning
  /// NAME='two words'     also with line breaks; \' means ', and \\ means \ before another \ or a '
  /// NAME="it's"          if there is a ' and no ", \, $ or `
  /// NAME="two\rlines"    if there are carriage returns
  /// 'db/pass word'=x     a name that is not plain
  /// ```
  ///
  /// Shells and Node.js also read the value exactly, unless it needs backslashes or the name is not a valid one.
  package struct Line: Sendable {
    fileprivate enum Quotes { case none, single, double, escaping }

    private let name: [UInt8]
    private let quotes: Quotes
    /// Whether some readers put another value for `${NAME}` in this one.
    package let isExpandable: Bool
    /// Whether shells and Node.js take a backslash that was added, or that ends the line, in another way. Then shells
    /// may also read the following lines wrongly.
    package let needsEscapes: Bool

    /// The reason why a name or value cannot be written to a file.
    package enum Fault: Error, Sendable, Equatable {
      /// The name needs quotes but itself contains a quote.
      case name
      /// The value is not UTF-8, or contains a zero byte.
      case notText
      /// The value needs quotes and ends with a backslash, so readers would take the closing quote as part of the
      /// value.
      case endsWithBackslash
    }

    /// Chooses the form of the line.
    ///
    /// - Parameters:
    ///   - name: any item name; it is written unchanged.
    ///   - value: the bytes that will be written.
    package init(_ name: String, _ value: Span<UInt8>) throws(Fault) {
      self.name = try Line.form(ofName: name)
      let quotes = try Line.quotes(for: value)
      self.quotes = quotes
      isExpandable = value.indices.dropLast().contains { value[$0] == 0x24 && value[$0 + 1] == 0x7B }
      needsEscapes =
        value.indices.contains { quotes.escape(of: value, at: $0) != nil }
        || quotes == .none && !value.isEmpty && value[value.count - 1] == UInt8(ascii: "\\")
    }

    /// Writes the line and its line break, byte by byte.
    ///
    /// - Parameter value: the bytes that the form was chosen for.
    package func write<Failure>(
      _ value: Span<UInt8>, to put: (UInt8) throws(Failure) -> Void
    ) throws(Failure) {
      for byte in name { try put(byte) }
      try put(UInt8(ascii: "="))
      if let quote = quotes.mark { try put(quote) }
      for index in value.indices {
        if let letter = quotes.escape(of: value, at: index) {
          try put(UInt8(ascii: "\\"))
          try put(letter)
        } else {
          try put(value[index])
        }
      }
      if let quote = quotes.mark { try put(quote) }
      try put(UInt8(ascii: "\n"))
    }
  }
}

extension EnvironmentFile.Line {
  private static func form(ofName name: String) throws(Fault) -> [UInt8] {
    let bytes = Array(name.utf8)
    if bytes.allSatisfy(isPlain) { return bytes }
    let quote = UInt8(ascii: "'")
    if !bytes.contains(quote) { return [quote] + bytes + [quote] }
    let endsName = name.unicodeScalars.contains { $0 == "=" || $0 == "#" || $0.properties.isWhitespace }
    guard !endsName, bytes.first != quote else { throw .name }
    return bytes
  }

  private static func quotes(for value: Span<UInt8>) throws(Fault) -> Quotes {
    var found: Set<UInt8> = []
    for index in value.indices { found.insert(value[index]) }
    guard !found.contains(0), (try? UTF8Span(validating: value)) != nil else { throw .notText }
    if found.allSatisfy(isPlain) { return .none }
    func has(_ characters: String) -> Bool { characters.utf8.contains(where: found.contains) }
    guard value[value.count - 1] == UInt8(ascii: "\\") else {
      // Readers in text mode turn a carriage return into a line feed.
      if has("\r") { return .escaping }
      return has("'") && !has("\"\\$`") ? .double : .single
    }
    // python-dotenv reads \\' at the end as a quote inside the value and continues. Without quotes, a backslash has no
    // special meaning.
    let first = value[0]
    let isFirstPlain = (0x21...0x7E).contains(first) && first != UInt8(ascii: "'") && first != UInt8(ascii: "\"")
    guard isFirstPlain, !has("#"), found.isDisjoint(with: Quotes.controls.keys) else { throw .endsWithBackslash }
    return .none
  }

  /// Letters, digits and punctuation that have no special meaning to any reader, including shells.
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte.isLetter || byte.isDigit || "_-./:@%+,".utf8.contains(byte)
  }
}

extension EnvironmentFile.Line.Quotes {
  fileprivate var mark: UInt8? {
    switch self {
    case .none: nil
    case .single: UInt8(ascii: "'")
    case .double, .escaping: UInt8(ascii: "\"")
    }
  }

  /// The character after a backslash that represents a byte; `nil` if the byte needs no escape.
  fileprivate func escape(of value: Span<UInt8>, at index: Int) -> UInt8? {
    let (byte, quote, backslash) = (value[index], UInt8(ascii: "'"), UInt8(ascii: "\\"))
    switch self {
    case .none, .double: return nil
    case .single:
      let isEscape = byte == backslash && index + 1 < value.count && [quote, backslash].contains(value[index + 1])
      return byte == quote || isEscape ? byte : nil
    case .escaping: return byte == UInt8(ascii: "\"") || byte == backslash ? byte : Self.controls[byte]
    }
  }

  /// Control characters that have a letter escape.
  fileprivate static let controls: [UInt8: UInt8] = [
    7: UInt8(ascii: "a"), 8: UInt8(ascii: "b"), 9: UInt8(ascii: "t"), 10: UInt8(ascii: "n"), 11: UInt8(ascii: "v"),
    12: UInt8(ascii: "f"), 13: UInt8(ascii: "r"),
  ]
}
