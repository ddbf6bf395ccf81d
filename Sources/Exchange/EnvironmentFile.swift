internal import Ground

/// An environment file (`.env`): names and values, line by line, as python-dotenv reads them without putting in what
/// `${NAME}` stands for: one item would hold a copy of another one's value.
///
/// ```
/// # a comment
/// NAME=value            ends at the line's end, or before white space and a `#`, even if nothing is before them
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

    /// The first mark in the value, such as `$`, by which other programs that read the file get another value.
    package let mark: String?
    /// Whether the value is empty because a `#` follows white space: python-dotenv takes the comment for the value.
    package let isComment: Bool

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
      let end = offset
      skip(while: \.isSpace)
      let value: [Unicode.Scalar]
      let quote = peek
      // python-dotenv alone takes the comment for the value.
      let isComment = quote == "#" && offset > end
      switch quote {
      case _ where isComment: value = []
      case "'": value = try quoted(start, escapes: Scanner.singleQuoted)
      case "\"": value = try quoted(start, escapes: Scanner.doubleQuoted)
      default: value = unquoted()
      }
      try endLine(start)
      guard !name.isEmpty, !name.contains("\0") else { throw .badName(line: start) }
      guard !value.contains("\0") else { throw .badValue(line: start) }
      let text = Scanner.text(value)
      return Entry(
        name: Scanner.text(name), value: text, line: start, mark: Scanner.mark(in: text, quote), isComment: isComment)
    }

    /// - Parameter quote: the first character of the value, which may be a quote.
    private static func mark(in value: String, _ quote: Unicode.Scalar?) -> String? {
      if value.holds("${") { return "${" }
      // Everyone takes the rest between single quotes as it is.
      if quote == "'" { return nil }
      if quote == "\"", let mark = ["\\$", "\\`"].first(where: value.holds) { return mark }
      if quote != "\"", value.hasPrefix("`") { return "`" }
      if quote != "\"", value.hasPrefix("# ") { return "#" }
      let afterDollars = value.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false).dropFirst()
      return afterDollars.contains { $0.first.map { $0.isLetter || "_(".utf8.contains($0) } == true } ? "$" : nil
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
        if entry.isComment {
          imported.losses.append("line \(entry.line): what follows '#' after '\(entry.name)='")
        }
        guard let mark = entry.mark else { continue }
        imported.losses.append(
          "line \(entry.line): what '\(mark)' in '\(entry.name)' stands for; the text is kept as it is written")
      }
    }
    return imported
  }
}
