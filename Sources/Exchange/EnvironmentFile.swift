internal import Ground

/// An environment file (`.env`): names and values, line by line, as python-dotenv reads them without putting in what
/// `${NAME}` stands for: one item would hold a copy of another one's value.
///
/// ```
/// # a comment
/// NAME=value            ends at the line's end, or before white space and a `#`
/// export NAME='value'   everything between the quotes, including line breaks; \' and \\ mean ' and \
/// NAME="value"          the same, with \n \t \" and the like
/// ```
public struct EnvironmentFile: Sendable, Equatable {
  /// One name with its value.
  public struct Entry: Sendable, Equatable {
    public let name: String
    public let value: String
    /// The line of the name, counted from 1.
    public let line: Int

    /// Whether the value has a `${`, in place of which programs that read the file may put another value.
    package var mayNameOthers: Bool { value.holds("${") }
  }

  /// The entries in the order of the file. If a name occurs more than once, the last entry counts.
  public let entries: [Entry]

  /// What is wrong with a file, and where. The line's text is not included, because it may contain a secret.
  public enum Fault: Error, Sendable, Equatable {
    /// A line that is neither a comment nor `NAME=value`.
    case malformed(line: Int)
    /// A quote that is never closed.
    case unclosedQuote(line: Int)
    /// A name that is not valid for an environment variable: empty, or with a NUL.
    case badName(line: Int)
    /// A value with a NUL, which an environment variable cannot hold.
    case badValue(line: Int)
  }

  /// Reads the text of a file.
  public init(_ text: String) throws(Fault) {
    var scanner = Scanner(Array(text.unicodeScalars))
    var entries: [Entry] = []
    while let entry = try scanner.next() { entries.append(entry) }
    self.entries = entries
  }
}

extension EnvironmentFile {
  private struct Scanner {
    private let scalars: [Unicode.Scalar]
    private var offset = 0
    private var line = 1

    init(_ scalars: [Unicode.Scalar]) {
      // Python reads all line ends as line feeds, in quotes, too.
      self.scalars = scalars.indices.compactMap { index in
        guard scalars[index] == "\r" else { return scalars[index] }
        return scalars[(index + 1)...].first == "\n" ? nil : "\n"
      }
      // Skip the byte-order mark that some editors write.
      if scalars.first == "\u{FEFF}" { offset = 1 }
    }

    mutating func next() throws(Fault) -> Entry? {
      while true {
        skip { $0.isSpace || $0.isLineEnd }
        guard let scalar = peek else { return nil }
        guard scalar != "#" else {
          skip { !$0.isLineEnd }
          continue
        }
        return try entry()
      }
    }

    private mutating func entry() throws(Fault) -> Entry {
      let start = line
      skipExport()
      let name = try name(start)
      skip(while: \.isSpace)
      guard peek == "=" else { throw .malformed(line: start) }
      advance()
      skip(while: \.isSpace)
      let value: [Unicode.Scalar]
      switch peek {
      case "'": value = try quoted(start, escapes: Scanner.singleQuoted)
      case "\"": value = try quoted(start, escapes: Scanner.doubleQuoted)
      default: value = unquoted()
      }
      try endLine(start)
      guard !name.isEmpty, !name.contains("\0") else { throw .badName(line: start) }
      guard !value.contains("\0") else { throw .badValue(line: start) }
      return Entry(name: Scanner.text(name), value: Scanner.text(value), line: start)
    }

    private static func text(_ scalars: [Unicode.Scalar]) -> String {
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars)
      return String(view)
    }

    private mutating func skipExport() {
      let word = "export".unicodeScalars
      let end = offset + word.count
      guard scalars[offset...].starts(with: word), end < scalars.count, scalars[end].isSpace else { return }
      offset = end
      skip(while: \.isSpace)
    }

    private mutating func name(_ start: Int) throws(Fault) -> [Unicode.Scalar] {
      guard peek == "'" else {
        return take { $0 != "=" && $0 != "#" && !$0.isSpace && !$0.isLineEnd }
      }
      advance()
      let name = take { $0 != "'" }
      guard peek != nil else { throw .unclosedQuote(line: start) }
      advance()
      return name
    }

    /// The text between quotes. `escapes` maps the character after a backslash to the character that it represents.
    private mutating func quoted(
      _ start: Int, escapes: [Unicode.Scalar: Unicode.Scalar]
    ) throws(Fault) -> [Unicode.Scalar] {
      let quote = scalars[offset]
      advance()
      var value: [Unicode.Scalar] = []
      while let scalar = peek, scalar != quote {
        advance()
        if scalar == "\\", let escaped = peek, let meant = escapes[escaped] {
          advance()
          value.append(meant)
        } else {
          value.append(scalar)
        }
      }
      guard peek == quote else { throw .unclosedQuote(line: start) }
      advance()
      return value
    }

    private static let singleQuoted: [Unicode.Scalar: Unicode.Scalar] = ["\\": "\\", "'": "'"]
    private static let doubleQuoted: [Unicode.Scalar: Unicode.Scalar] = [
      "\\": "\\", "'": "'", "\"": "\"", "a": "\u{7}", "b": "\u{8}", "t": "\t", "n": "\n", "v": "\u{B}", "f": "\u{C}",
      "r": "\r",
    ]

    private mutating func unquoted() -> [Unicode.Scalar] {
      var value = take { !$0.isLineEnd }
      for index in value.indices where value[index] == "#" && index > 0 && value[index - 1].isSpace {
        value.removeSubrange(index...)
        break
      }
      while value.last?.isSpace == true { value.removeLast() }
      // If a comment follows the equals sign directly, the value is empty.
      return value
    }

    /// Only white space and a comment may follow a value.
    private mutating func endLine(_ start: Int) throws(Fault) {
      skip(while: \.isSpace)
      if peek == "#" { skip { !$0.isLineEnd } }
      guard peek?.isLineEnd ?? true else { throw .malformed(line: start) }
    }

    // MARK: Characters

    private var peek: Unicode.Scalar? { offset < scalars.count ? scalars[offset] : nil }

    private mutating func advance() {
      if scalars[offset].isLineEnd { line += 1 }
      offset += 1
    }

    private mutating func skip(while condition: (Unicode.Scalar) -> Bool) {
      while let scalar = peek, condition(scalar) { advance() }
    }

    private mutating func take(while condition: (Unicode.Scalar) -> Bool) -> [Unicode.Scalar] {
      let start = offset
      skip(while: condition)
      return Array(scalars[start..<offset])
    }
  }
}

extension Unicode.Scalar {
  /// White space within a line as Python defines it, because pasted text may end with an invisible no-break space.
  fileprivate var isSpace: Bool {
    guard value > 0x7F else { return self == " " || self == "\t" || self == "\u{B}" || self == "\u{C}" || isSeparator }
    return properties.isWhitespace
  }

  private var isSeparator: Bool { (0x1C...0x1F).contains(value) }

  fileprivate var isLineEnd: Bool { self == "\n" }
}

extension EnvironmentFile {
  /// A text item for each name. If a name has several values the last one counts, as it does for programs that load the
  /// file.
  package var importedItems: ImportedItems {
    var imported = ImportedItems()
    var last: [String: Int] = [:]
    for entry in entries { last[entry.name] = entry.line }
    for entry in entries {
      if let line = last[entry.name], line != entry.line {
        imported.losses.append("line \(entry.line): an earlier value of '\(entry.name)'; that of line \(line) counts")
      } else {
        imported.items.append(
          ImportedItem(entry.name, .string, Array(entry.value.utf8), at: "line \(entry.line)"))
        guard entry.mayNameOthers else { continue }
        imported.losses.append(
          "line \(entry.line): what '${' in '\(entry.name)' stands for; the text is kept as it is written")
      }
    }
    return imported
  }
}

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
    /// Whether some readers put another value for `${NAME}` in this one.
    package let isExpandable: Bool

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
      quotes = try Line.quotes(for: value)
      isExpandable = value.indices.dropLast().contains { value[$0] == 0x24 && value[$0 + 1] == 0x7B }
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
    byte.isLetter || byte.isDigit || "_-./:@%+,".utf8.contains(byte)
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
