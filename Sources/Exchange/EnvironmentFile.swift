/// An environment file (`.env`): names and values, line by line, as python-dotenv reads them without expanding anything.
///
/// ```
/// # a comment
/// NAME=value            ends at the line's end, or before white space and a `#`
/// export NAME='value'   everything between the quotes, line breaks too; \' and \\ stand for ' and \
/// NAME="value"          the same, with \n \t \" and the like
/// ```
public struct EnvironmentFile: Sendable, Equatable {
  /// One name with its value.
  public struct Entry: Sendable, Equatable {
    public let name: String
    public let value: String
    /// The line on which the name stands, from 1.
    public let line: Int
  }

  /// The entries in the order of the file; a name may be there more than once, and then the last counts.
  public let entries: [Entry]

  /// What is wrong with a file, and where. The line's text is not repeated: it may hold a secret.
  public enum Fault: Error, Sendable, Equatable {
    /// A line that is neither a comment nor `NAME=value`.
    case malformed(line: Int)
    /// A quote that is never closed.
    case unclosedQuote(line: Int)
    /// A name that no environment variable can have: empty, or with a NUL.
    case badName(line: Int)
    /// A value with a NUL, which no environment can hold.
    case badValue(line: Int)
  }

  /// Reads the text of a file.
  public init(_ text: String) throws(Fault) {
    var scanner = Scanner(Array(text.utf8))
    var entries: [Entry] = []
    while let entry = try scanner.next() { entries.append(entry) }
    self.entries = entries
  }
}

extension EnvironmentFile {
  private struct Scanner {
    private let bytes: [UInt8]
    private var offset = 0
    private var line = 1

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      // A byte-order mark, which some editors put there.
      if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    }

    mutating func next() throws(Fault) -> Entry? {
      while true {
        skip { $0.isSpace || $0.isLineEnd }
        guard let byte = peek else { return nil }
        guard byte != UInt8(ascii: "#") else {
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
      guard peek == UInt8(ascii: "=") else { throw .malformed(line: start) }
      advance()
      skip(while: \.isSpace)
      let value: [UInt8]
      switch peek {
      case UInt8(ascii: "'"): value = try quoted(start, escapes: Scanner.singleQuoted)
      case UInt8(ascii: "\""): value = try quoted(start, escapes: Scanner.doubleQuoted)
      default: value = unquoted()
      }
      try endLine(start)
      guard !name.isEmpty, !name.contains(0) else { throw .badName(line: start) }
      guard !value.contains(0) else { throw .badValue(line: start) }
      return Entry(
        name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self), line: start)
    }

    private mutating func skipExport() {
      let word = Array("export".utf8)
      guard bytes[offset...].starts(with: word), offset + word.count < bytes.count, bytes[offset + word.count].isSpace
      else { return }
      offset += word.count
      skip(while: \.isSpace)
    }

    private mutating func name(_ start: Int) throws(Fault) -> [UInt8] {
      guard peek == UInt8(ascii: "'") else {
        return take { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "#") && !$0.isSpace && !$0.isLineEnd }
      }
      advance()
      let name = take { $0 != UInt8(ascii: "'") }
      guard peek != nil else { throw .unclosedQuote(line: start) }
      advance()
      return name
    }

    /// What stands between quotes; `escapes` says what a backslash and a byte stand for.
    private mutating func quoted(_ start: Int, escapes: [UInt8: UInt8]) throws(Fault) -> [UInt8] {
      let quote = bytes[offset]
      advance()
      var value: [UInt8] = []
      while let byte = peek, byte != quote {
        advance()
        if byte == UInt8(ascii: "\\"), let escaped = peek, let meant = escapes[escaped] {
          advance()
          value.append(meant)
        } else {
          value.append(byte)
        }
      }
      guard peek == quote else { throw .unclosedQuote(line: start) }
      advance()
      return value
    }

    private static let singleQuoted: [UInt8: UInt8] = [
      UInt8(ascii: "\\"): UInt8(ascii: "\\"), UInt8(ascii: "'"): UInt8(ascii: "'"),
    ]
    private static let doubleQuoted: [UInt8: UInt8] = [
      UInt8(ascii: "\\"): UInt8(ascii: "\\"), UInt8(ascii: "'"): UInt8(ascii: "'"),
      UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "t"): 9,
      UInt8(ascii: "n"): 10, UInt8(ascii: "v"): 11, UInt8(ascii: "f"): 12, UInt8(ascii: "r"): 13,
    ]

    private mutating func unquoted() -> [UInt8] {
      var value = take { !$0.isLineEnd }
      for index in value.indices where value[index] == UInt8(ascii: "#") && index > 0 && value[index - 1].isSpace {
        value.removeSubrange(index...)
        break
      }
      while value.last?.isSpace == true { value.removeLast() }
      // A comment right behind the equals sign leaves nothing.
      return value
    }

    /// Nothing but white space and a comment may follow a value.
    private mutating func endLine(_ start: Int) throws(Fault) {
      skip(while: \.isSpace)
      if peek == UInt8(ascii: "#") { skip { !$0.isLineEnd } }
      guard peek?.isLineEnd ?? true else { throw .malformed(line: start) }
    }

    // MARK: Bytes

    private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func advance() {
      let isSecondOfTwo = bytes[offset] == 0x0A && offset > 0 && bytes[offset - 1] == 0x0D
      if bytes[offset].isLineEnd, !isSecondOfTwo { line += 1 }
      offset += 1
    }

    private mutating func skip(while condition: (UInt8) -> Bool) {
      while let byte = peek, condition(byte) { advance() }
    }

    private mutating func take(while condition: (UInt8) -> Bool) -> [UInt8] {
      let start = offset
      skip(while: condition)
      return Array(bytes[start..<offset])
    }
  }
}

extension UInt8 {
  fileprivate var isSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0B || self == 0x0C }
  fileprivate var isLineEnd: Bool { self == 0x0A || self == 0x0D }
}
