/// A JSON text (RFC 8259) as a tree. Numbers are kept as text.
package enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([Member])

  package struct Member: Sendable, Equatable {
    package let name: String
    package let value: JSONValue
    /// The line on which the member begins, counted from 1.
    package let line: Int

    package init(name: String, value: JSONValue, line: Int) { (self.name, self.value, self.line) = (name, value, line) }
  }

  package static let depth = 64
  /// The most values in a text; each takes more memory than the two bytes that it may be written with.
  package static let mostValues = 8_000_000

  /// Why a text cannot be read; lines are counted from 1.
  package enum Fault: Error, Equatable {
    case malformed(line: Int)
    case tooManyValues(line: Int)
  }

  /// Reads a text that is one value, with containers nested at most ``depth`` deep.
  package init(parsing text: String) throws(Fault) {
    var parser = Parser(text)
    self = try parser.document()
  }

  /// The member `name` of an object. If there are several, the last.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name == name }?.value
  }

  package var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }

  package var text: String? { if case .string(let text) = self { text } else { nil } }

  package var json: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let bool): bytes += (bool ? "true" : "false").utf8
    case .number(let number): bytes += number.utf8
    case .string(let text): JSONText.append(quoting: text.utf8, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONText.append(quoting: member.name.utf8, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private struct Parser {
    private let bytes: [UInt8]
    private var scanner: JSONScanner
    private var line = 1
    /// The end of the text whose lines are counted.
    private var counted = 0
    private var count = 0

    init(_ text: String) {
      bytes = Array(text.utf8)
      scanner = JSONScanner(bytes)
    }

    mutating func document() throws(Fault) -> JSONValue {
      let value = try value(depth: 0)
      guard peek() == nil else { throw fault }
      return value
    }

    private var fault: Fault { .malformed(line: line) }

    private mutating func peek() -> UInt8? {
      let byte = scanner.peek()
      line += bytes[counted..<scanner.position].count { $0 == 0x0A }
      counted = scanner.position
      return byte
    }

    private mutating func take(_ byte: UInt8) -> Bool { peek() == byte && scanner.take(byte) }

    private mutating func value(depth: Int) throws(Fault) -> JSONValue {
      guard let byte = peek(), depth <= JSONValue.depth else { throw fault }
      count += 1
      guard count <= JSONValue.mostValues else { throw .tooManyValues(line: line) }
      switch byte {
      case UInt8(ascii: "{"): return try object(depth)
      case UInt8(ascii: "["): return try array(depth)
      case UInt8(ascii: "\""): return .string(try string())
      default:
        if scanner.take("true") { return .bool(true) }
        if scanner.take("false") { return .bool(false) }
        if scanner.take("null") { return .null }
        guard let range = try? scanner.numeral().range else { throw fault }
        return .number(String(decoding: bytes[range], as: UTF8.self))
      }
    }

    private mutating func string() throws(Fault) -> String {
      guard let string = try? scanner.string(), !string.isLossy else { throw fault }
      return String(decoding: string.text, as: UTF8.self)
    }

    private mutating func object(_ depth: Int) throws(Fault) -> JSONValue {
      var members: [Member] = []
      try expect(UInt8(ascii: "{"))
      if take(UInt8(ascii: "}")) { return .object(members) }
      repeat {
        guard peek() == UInt8(ascii: "\"") else { throw fault }
        let start = line
        let name = try string()
        try expect(UInt8(ascii: ":"))
        members.append(Member(name: name, value: try value(depth: depth + 1), line: start))
      } while take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "}"))
      return .object(members)
    }

    private mutating func array(_ depth: Int) throws(Fault) -> JSONValue {
      var elements: [JSONValue] = []
      try expect(UInt8(ascii: "["))
      if take(UInt8(ascii: "]")) { return .array(elements) }
      repeat { elements.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "]"))
      return .array(elements)
    }

    private mutating func expect(_ byte: UInt8) throws(Fault) {
      guard take(byte) else { throw fault }
    }
  }
}
