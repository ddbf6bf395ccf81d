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

    package init(name: String, value: JSONValue, line: Int) {
      self.name = name
      self.value = value
      self.line = line
    }
  }

  /// How deep arrays and objects may be nested.
  package static let depth = 64
  /// The most values in a text; each takes more memory than the two bytes that it may be written with.
  package static let mostValues = 8_000_000

  /// - Throws: `this is not JSON`, with the line.
  package init(parsing text: String) throws(ImportFault) {
    var parser = Parser(text)
    self = try parser.document()
  }

  /// The member `name` of an object. If there are several, the last.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name == name }?.value
  }

  /// The text of a string.
  package var text: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }
}

extension JSONValue {
  /// The value as JSON without white space.
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
    case .string(let text): JSONObject.quote(text.utf8, to: &bytes)
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
        JSONObject.quote(member.name.utf8, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}

extension JSONValue {
  private struct Parser {
    private var rest: ArraySlice<UInt8>
    private var line = 1
    private var count = 0

    init(_ text: String) { rest = Array(text.utf8)[...] }

    mutating func document() throws(ImportFault) -> JSONValue {
      let value = try value(depth: 0)
      skipSpace()
      guard rest.isEmpty else { throw fault }
      return value
    }

    private var fault: ImportFault { ImportFault("this is not JSON", at: "line \(line)") }

    private mutating func value(depth: Int) throws(ImportFault) -> JSONValue {
      skipSpace()
      guard depth <= JSONValue.depth, let byte = rest.first else { throw fault }
      count += 1
      guard count <= JSONValue.mostValues else {
        throw ImportFault("it holds more than \(JSONValue.mostValues) values", at: "line \(line)", .overLimit)
      }
      switch byte {
      case UInt8(ascii: "{"): return try object(depth)
      case UInt8(ascii: "["): return try array(depth)
      case UInt8(ascii: "\""): return .string(try string())
      case UInt8(ascii: "t"): return try word("true", .bool(true))
      case UInt8(ascii: "f"): return try word("false", .bool(false))
      case UInt8(ascii: "n"): return try word("null", .null)
      default:
        return .number(try number())
      }
    }

    /// `-0.5e+10`
    private mutating func number() throws(ImportFault) -> String {
      let start = rest
      if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
      let whole = digits()
      guard let first = whole.first, whole.count == 1 || first != UInt8(ascii: "0") else { throw fault }
      if rest.first == UInt8(ascii: ".") {
        rest.removeFirst()
        guard !digits().isEmpty else { throw fault }
      }
      if let byte = rest.first, byte | 0x20 == UInt8(ascii: "e") {
        rest.removeFirst()
        if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        guard !digits().isEmpty else { throw fault }
      }
      return String(decoding: start[..<rest.startIndex], as: UTF8.self)
    }

    private mutating func digits() -> ArraySlice<UInt8> {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      rest = rest[digits.endIndex...]
      return digits
    }

    private mutating func object(_ depth: Int) throws(ImportFault) -> JSONValue {
      rest.removeFirst()
      var members: [Member] = []
      if take(UInt8(ascii: "}")) { return .object(members) }
      repeat {
        skipSpace()
        let start = line
        guard rest.first == UInt8(ascii: "\"") else { throw fault }
        let name = try string()
        guard take(UInt8(ascii: ":")) else { throw fault }
        members.append(Member(name: name, value: try value(depth: depth + 1), line: start))
      } while take(UInt8(ascii: ","))
      guard take(UInt8(ascii: "}")) else { throw fault }
      return .object(members)
    }

    private mutating func array(_ depth: Int) throws(ImportFault) -> JSONValue {
      rest.removeFirst()
      var elements: [JSONValue] = []
      if take(UInt8(ascii: "]")) { return .array(elements) }
      repeat { elements.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
      guard take(UInt8(ascii: "]")) else { throw fault }
      return .array(elements)
    }

    private mutating func string() throws(ImportFault) -> String {
      let start = rest
      rest.removeFirst()
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\"") {
          guard let text = JSONField.text(of: start[..<rest.startIndex]) else { throw fault }
          return text
        }
        if byte == UInt8(ascii: "\\") { rest = rest.dropFirst() }
        guard byte >= 0x20 else { throw fault }
      }
      throw fault
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(ImportFault) -> JSONValue {
      guard rest.starts(with: word.utf8) else { throw fault }
      rest = rest.dropFirst(word.utf8.count)
      return value
    }

    private mutating func take(_ byte: UInt8) -> Bool {
      skipSpace()
      guard rest.first == byte else { return false }
      rest.removeFirst()
      return true
    }

    private mutating func skipSpace() {
      while let byte = rest.first, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
        if byte == 0x0A { line += 1 }
        rest.removeFirst()
      }
    }
  }
}

/// Writes a JSON object (RFC 8259) whose members are strings, in the order in which they are added.
public struct JSONObject: Sendable {
  private var members: [UInt8] = []

  public init() {}

  /// Adds a member.
  ///
  /// - Parameter text: UTF-8.
  public mutating func add(_ key: String, _ text: some Sequence<UInt8>) {
    if !members.isEmpty { members.append(UInt8(ascii: ",")) }
    Self.quote(key.utf8, to: &members)
    members.append(UInt8(ascii: ":"))
    Self.quote(text, to: &members)
  }

  /// The object on one line, without white space between its parts.
  public var bytes: [UInt8] { [UInt8(ascii: "{")] + members + [UInt8(ascii: "}")] }

  /// Writes a string.
  ///
  /// - Parameter text: UTF-8.
  static func quote(_ text: some Sequence<UInt8>, to json: inout [UInt8]) {
    json.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): json += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): json += "\\n".utf8
      case UInt8(ascii: "\r"): json += "\\r".utf8
      case UInt8(ascii: "\t"): json += "\\t".utf8
      case 0..<0x20, 0x7F:
        let digits = String(byte, radix: 16)
        json += "\\u00\(digits.count < 2 ? "0" : "")\(digits)".utf8
      default: json.append(byte)
      }
    }
    json.append(UInt8(ascii: "\""))
  }
}
