internal import Ground

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
      try writer.close("]")
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
      try writer.close("}")
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

/// Reads the layout of ``StructArchive`` and checks every length. Recursion is safe: the nesting limit bounds it.
struct StructArchiveReader {
  private let bytes: [UInt8]
  private let limits: ArchiveLimits
  private var position = 0
  private var valueCount = 0
  private var nesting = 0

  init(_ bytes: [UInt8], limits: ArchiveLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  mutating func read() throws(ArchiveError) -> StructArchive {
    let value = try value(end: bytes.count)
    guard position == bytes.count else { throw broken(.trailing) }
    return value
  }

  /// The value that begins here and ends no later than `end`.
  private mutating func value(end: Int) throws(ArchiveError) -> StructArchive {
    valueCount += 1
    guard valueCount <= limits.values else { throw .overLimit(.values, allowed: limits.values, at: ArchivePath()) }
    let name = try name(end: end)
    switch name {
    case "Int": return .integer(Int64(bitPattern: try fixed(8, end: end)))
    case "UInt": return .unsigned(try fixed(8, end: end))
    case "Float": return .single(Float(bitPattern: UInt32(truncatingIfNeeded: try fixed(4, end: end))))
    case "Double": return .real(Double(bitPattern: try fixed(8, end: end)))
    case "String": return .string(try text(end: end))
    default: break
    }
    nesting += 1
    guard nesting <= limits.effectiveNesting else {
      throw .overLimit(.nesting, allowed: limits.effectiveNesting, at: ArchivePath())
    }
    let contents = name.hasPrefix("Array<") ? try array(name, end: end) : try record(name, end: end)
    nesting -= 1
    return contents
  }

  private mutating func name(end: Int) throws(ArchiveError) -> String {
    guard position < end else { throw broken(.truncated) }
    let count = Int(bytes[position])
    guard count > 0, count < end - position else { throw broken(.identifier) }
    let text = bytes[(position + 1)...(position + count)]
    guard let name = String(validating: text, as: UTF8.self), !name.contains(where: \.isNewline) else {
      throw broken(.identifier)
    }
    position += 1 + count
    return name
  }

  private mutating func text(end: Int) throws(ArchiveError) -> String {
    let count = try length(end: end)
    guard count <= end - position else { throw broken(.length) }
    guard count <= limits.stringBytes else {
      throw .overLimit(.stringBytes, allowed: limits.stringBytes, at: ArchivePath())
    }
    guard let text = String(validating: bytes[position..<(position + count)], as: UTF8.self) else {
      throw broken(.text)
    }
    position += count
    return text
  }

  private mutating func array(_ name: String, end: Int) throws(ArchiveError) -> StructArchive {
    let lengths = try lengths(try count(end: end), end: end)
    var elements: [StructArchive] = []
    for length in lengths { elements.append(try part(length, end: end)) }
    return .array(name, elements)
  }

  private mutating func record(_ name: String, end: Int) throws(ArchiveError) -> StructArchive {
    let count = try count(end: end)
    let keyLengths = try lengths(count, end: end)
    let valueLengths = try lengths(count, end: end)
    var keys: [String] = []
    for length in keyLengths {
      guard case .string(let key) = try part(length, end: end) else { throw broken(.key) }
      keys.append(key)
    }
    var fields: [(key: String, value: StructArchive)] = []
    for (key, length) in zip(keys, valueLengths) { fields.append((key, try part(length, end: end))) }
    return .record(name, fields)
  }

  /// A value that fills exactly `length` bytes.
  private mutating func part(_ length: Int, end: Int) throws(ArchiveError) -> StructArchive {
    guard length <= end - position else { throw broken(.length) }
    let partEnd = position + length
    let part = try value(end: partEnd)
    guard position == partEnd else { throw broken(.length) }
    return part
  }

  private mutating func count(end: Int) throws(ArchiveError) -> Int {
    let count = try length(end: end)
    // Each element has a length of 12 bytes here, so this bounds the count before anything is allocated.
    guard count <= (end - position) / 12 else { throw broken(.length) }
    guard count <= limits.elements else { throw .overLimit(.elements, allowed: limits.elements, at: ArchivePath()) }
    return count
  }

  private mutating func lengths(_ count: Int, end: Int) throws(ArchiveError) -> [Int] {
    var lengths: [Int] = []
    for _ in 0..<count { lengths.append(try length(end: end)) }
    return lengths
  }

  /// A length, stored as an archived `Int`.
  private mutating func length(end: Int) throws(ArchiveError) -> Int {
    guard 4 <= end - position, bytes[position..<(position + 4)].elementsEqual([3] + Array("Int".utf8)) else {
      throw broken(.length)
    }
    position += 4
    guard let length = Int(exactly: Int64(bitPattern: try fixed(8, end: end))), length >= 0 else {
      throw broken(.length)
    }
    return length
  }

  private mutating func fixed(_ size: Int, end: Int) throws(ArchiveError) -> UInt64 {
    guard size <= end - position else { throw broken(.truncated) }
    var value: UInt64 = 0
    for index in (0..<size).reversed() { value = value << 8 | UInt64(bytes[position + index]) }
    position += size
    return value
  }

  private func broken(_ defect: StructArchiveDefect) -> ArchiveError {
    .brokenStructArchive(defect, offset: position)
  }
}
