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
