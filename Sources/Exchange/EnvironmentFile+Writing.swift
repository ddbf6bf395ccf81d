extension EnvironmentFile {
  /// The form of one name and value in a file that both this reader and python-dotenv read back exactly.
  ///
  /// ```
  /// NAME=value           if no byte has a special meaning
  /// NAME='two words'     \' and \\ mean ' and \
  /// NAME="two\nlines"    if there are line breaks or tabs
  /// 'db/pass word'=x     a name that is not plain
  /// ```
  package struct Line: Sendable {
    fileprivate enum Quotes { case none, single, double }

    private let name: [UInt8]
    private let quotes: Quotes

    /// Why a name or value cannot be written to a file.
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
      quotes = try Line.quotes(for: value)
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
        let byte = value[index]
        if let letter = quotes.escape(of: byte) {
          try put(UInt8(ascii: "\\"))
          try put(letter)
        } else {
          try put(byte)
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
    var isPlain = true
    var hasControls = false
    var hasHash = false
    for index in value.indices {
      let byte = value[index]
      guard byte != 0 else { throw .notText }
      if !Self.isPlain(byte) { isPlain = false }
      if Quotes.controls[byte] != nil { hasControls = true }
      if byte == UInt8(ascii: "#") { hasHash = true }
    }
    guard (try? UTF8Span(validating: value)) != nil else { throw .notText }
    if isPlain { return .none }
    guard value[value.count - 1] == UInt8(ascii: "\\") else { return hasControls ? .double : .single }
    // python-dotenv reads \\' at the end as a quote inside the value and continues. Without quotes, a backslash has no
    // special meaning.
    let first = value[0]
    let isFirstPlain = (0x21...0x7E).contains(first) && first != UInt8(ascii: "'") && first != UInt8(ascii: "\"")
    guard isFirstPlain, !hasControls, !hasHash else { throw .endsWithBackslash }
    return .none
  }

  /// Letters, digits and punctuation that have no special meaning to any reader, including shells.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "_-./:@%+,".utf8.contains(byte)
    }
  }
}

extension EnvironmentFile.Line.Quotes {
  fileprivate var mark: UInt8? {
    switch self {
    case .none: nil
    case .single: UInt8(ascii: "'")
    case .double: UInt8(ascii: "\"")
    }
  }

  /// The character after a backslash that represents `byte`; `nil` if `byte` needs no escape.
  fileprivate func escape(of byte: UInt8) -> UInt8? {
    guard let mark else { return nil }
    if byte == mark || byte == UInt8(ascii: "\\") { return byte }
    return self == .double ? Self.controls[byte] : nil
  }

  /// Control characters that have a letter escape. A carriage return must be escaped, because readers in text mode turn
  /// it into a line feed.
  fileprivate static let controls: [UInt8: UInt8] = [
    7: UInt8(ascii: "a"), 8: UInt8(ascii: "b"), 9: UInt8(ascii: "t"), 10: UInt8(ascii: "n"), 11: UInt8(ascii: "v"),
    12: UInt8(ascii: "f"), 13: UInt8(ascii: "r"),
  ]
}
