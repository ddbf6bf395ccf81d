/// An archive of the StructArchiver library of 2016: Swift values with the names of their types and no envelope.
///
/// The layout is recursive and little-endian, as were the machines that it ran on:
///
/// ```
/// value   = length of name, 1 byte | name, UTF-8 | contents
/// Int     = "Int" | 8 bytes            UInt = "UInt" | 8 bytes
/// Float   = "Float" | 4 bytes          Double = "Double" | 8 bytes
/// String  = "String" | Int: bytes | UTF-8
/// Array   = "Array<…>" | Int: count | count × Int: length of an element | elements
/// others  = name | Int: count | count × Int: length of a key | count × Int: length of a value | keys | values
/// ```
///
/// Other values are dictionaries, `Dictionary<…>`, and structs. A struct's keys are the names of its properties.
public indirect enum StructArchive: Sendable, Equatable {
  case integer(Int64)
  case unsigned(UInt64)
  case single(Float)
  case real(Double)
  case string(String)
  /// The name of the array's type, and its elements.
  case array(String, [StructArchive])
  /// The name of the struct's or dictionary's type, and its keys and values in their order.
  case record(String, [(key: String, value: StructArchive)])

  /// Reads all of `bytes`.
  ///
  /// Throws ``ArchiveError/brokenStructArchive(_:offset:)``, or `overLimit` for input bytes, nesting, values, elements
  /// or string bytes.
  public init(_ bytes: [UInt8], limits: ArchiveLimits = .standard) throws(ArchiveError) {
    guard bytes.count <= limits.inputBytes else {
      throw .overLimit(.inputBytes, allowed: limits.inputBytes, at: ArchivePath())
    }
    var reader = StructArchiveReader(bytes, limits: limits)
    self = try reader.read()
  }

  public static func == (one: StructArchive, other: StructArchive) -> Bool {
    switch (one, other) {
    case (.integer(let a), .integer(let b)): a == b
    case (.unsigned(let a), .unsigned(let b)): a == b
    case (.single(let a), .single(let b)): a.bitPattern == b.bitPattern
    case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
    case (.string(let a), .string(let b)): a == b
    case (.array(let a, let x), .array(let b, let y)): a == b && x == y
    case (.record(let a, let x), .record(let b, let y)):
      a == b && x.map(\.key) == y.map(\.key) && x.map(\.value) == y.map(\.value)
    default: false
    }
  }
}

extension StructArchive {
  /// The values as JSON (UTF-8). Structs and dictionaries are objects, and a struct's object has its type under
  /// `$class`. This format shares no values, so the text is in proportion to the bytes that were read.
  public func json() throws(ArchiveError) -> [UInt8] {
    var writer = JSONWriter(within: .none)
    try write(to: &writer)
    return writer.bytes
  }

  /// Recursion is safe here: the reader enforced the nesting limit.
  private func write(to writer: inout JSONWriter) throws(ArchiveError) {
    switch self {
    case .integer(let value): try writer.integer(Int128(value))
    case .unsigned(let value): try writer.integer(Int128(value))
    case .single(let value): try writer.real(Double(value))
    case .real(let value): try writer.real(value)
    case .string(let text): try writer.string(text)
    case .array(_, let elements):
      try writer.open("[")
      for element in elements { try element.write(to: &writer) }
      writer.close("]")
    case .record(let name, let fields):
      try writer.open("{")
      if !name.hasPrefix("Dictionary<") {
        try writer.key("$class")
        try writer.string(name)
      }
      for (key, value) in fields {
        try writer.key(key)
        try value.write(to: &writer)
      }
      writer.close("}")
    }
  }

  /// The values as indented lines for a person (UTF-8), in the style of ``ArchiveInspection/outline()``.
  public func outline() -> [UInt8] {
    var text = ""
    outline("value", 0, to: &text)
    return Array(text.utf8)
  }

  private func outline(_ label: String, _ depth: Int, to text: inout String) {
    text += String(repeating: "  ", count: depth) + Printable.name(label) + ": "
    switch self {
    case .integer(let value): text += "\(value)\n"
    case .unsigned(let value): text += "\(value)\n"
    case .single(let value): text += "\(value)\n"
    case .real(let value): text += "\(value)\n"
    case .string(let string): text += "\"\(Printable.name(string))\"\n"
    case .array(let name, let elements):
      text += Printable.name(name) + "\n"
      for (index, element) in elements.enumerated() { element.outline("[\(index)]", depth + 1, to: &text) }
    case .record(let name, let fields):
      text += Printable.name(name) + "\n"
      for (key, value) in fields { value.outline(key, depth + 1, to: &text) }
    }
  }
}
