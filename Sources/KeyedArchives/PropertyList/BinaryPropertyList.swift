/// Reads a binary property list (`bplist00`) into a table of values.
///
/// Every object of the file is read once, in the order of the offset table, without following references, so the work
/// is in proportion to the input. Overlapping objects are refused: together, objects may not have more bytes than the
/// file.
struct BinaryPropertyList {
  static let magic: [UInt8] = Array("bplist00".utf8)

  let bytes: [UInt8]
  let limits: ArchiveLimits
  private(set) var nodes: [Node] = []
  private(set) var children: [UInt32] = []
  private(set) var wideIntegers: [Int128] = []
  private(set) var top = 0

  /// Where the objects end and the offset table begins.
  private var end = 0
  private var referenceSize = 1
  private var objectCount = 0

  init(_ bytes: [UInt8], limits: ArchiveLimits) {
    self.bytes = bytes
    self.limits = limits
  }

  /// Reads all objects. Throws if one of them is invalid.
  mutating func read() throws(ArchiveError) {
    let trailer = try BinaryTrailer(bytes)
    guard trailer.objectCount <= limits.values else {
      throw .overLimit(.values, allowed: limits.values, at: ArchivePath())
    }
    end = trailer.offsetTable
    referenceSize = trailer.referenceSize
    objectCount = trailer.objectCount
    top = trailer.top
    nodes.reserveCapacity(objectCount)
    var budget = end - Self.magic.count
    var position = trailer.offsetTable
    for _ in 0..<objectCount {
      let offset = Int(truncatingIfNeeded: unsigned(at: position, size: trailer.offsetSize))
      guard offset >= Self.magic.count, offset < end else { throw broken(.offset, position) }
      let next = try readObject(at: offset)
      budget -= next - offset
      guard budget >= 0 else { throw broken(.overlap, offset) }
      position += trailer.offsetSize
    }
  }

  /// Reads the object at `offset` and returns where it ends.
  private mutating func readObject(at offset: Int) throws(ArchiveError) -> Int {
    let marker = bytes[offset]
    let low = Int(marker & 0x0F)
    switch marker >> 4 {
    case 0x0:
      guard marker == 0x08 || marker == 0x09 else { throw broken(.marker, offset) }
      nodes.append(Node(.bool, payload: marker == 0x09 ? 1 : 0))
      return offset + 1
    case 0x1: return try readInteger(at: offset, exponent: low)
    case 0x2:
      guard low == 2 || low == 3 else { throw broken(.marker, offset) }
      let raw = try fixed(offset + 1, size: 1 << low, of: offset)
      let value = low == 3 ? Double(bitPattern: raw) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: raw)))
      nodes.append(.real(value, single: low == 2))
      return offset + 1 + 1 << low
    case 0x3:
      guard low == 3 else { throw broken(.marker, offset) }
      nodes.append(Node(.date, payload: try fixed(offset + 1, size: 8, of: offset)))
      return offset + 9
    case 0x4: return try readRun(at: offset, low: low, kind: .data)
    case 0x5: return try readRun(at: offset, low: low, kind: .ascii)
    case 0x6: return try readRun(at: offset, low: low, kind: .utf16)
    case 0x8:
      let raw = try wide(offset + 1, size: low + 1, of: offset)
      guard raw <= UInt128(UInt32.max) else { throw broken(.reference, offset) }
      nodes.append(Node(.uid, payload: UInt64(truncatingIfNeeded: raw)))
      return offset + 2 + low
    case 0xA: return try readContainer(at: offset, low: low, kind: .array)
    case 0xD: return try readContainer(at: offset, low: low, kind: .dictionary)
    default: throw broken(.marker, offset)
    }
  }

  /// Integers of 1, 2 and 4 bytes are unsigned; those of 8 and 16 bytes are signed.
  private mutating func readInteger(at offset: Int, exponent: Int) throws(ArchiveError) -> Int {
    guard exponent <= 4 else { throw broken(.marker, offset) }
    let size = 1 << exponent
    if size < 16 {
      nodes.append(Node(.integer, payload: try fixed(offset + 1, size: size, of: offset)))
    } else {
      nodes.append(integer: Int128(truncatingIfNeeded: try wide(offset + 1, size: 16, of: offset)), wide: &wideIntegers)
    }
    return offset + 1 + size
  }

  private mutating func readRun(at offset: Int, low: Int, kind: Node.Kind) throws(ArchiveError) -> Int {
    let (count, start) = try readCount(at: offset, low: low)
    let unit = kind == .utf16 ? 2 : 1
    guard count <= (end - start) / unit else { throw broken(.size, offset) }
    let (limit, allowed) =
      kind == .data
      ? (ArchiveError.Limit.dataBytes, limits.dataBytes) : (.stringBytes, limits.stringBytes)
    guard count * unit <= allowed else { throw .overLimit(limit, allowed: allowed, at: ArchivePath()) }
    if kind == .ascii {
      for index in start..<(start + count) where bytes[index] >= 0x80 { throw broken(.text, index) }
    }
    nodes.append(Node(kind, count: count, payload: UInt64(start)))
    return start + count * unit
  }

  private mutating func readContainer(at offset: Int, low: Int, kind: Node.Kind) throws(ArchiveError) -> Int {
    let (count, start) = try readCount(at: offset, low: low)
    let perElement = kind == .dictionary ? 2 * referenceSize : referenceSize
    guard count <= (end - start) / perElement else { throw broken(.size, offset) }
    guard count <= limits.elements else {
      throw .overLimit(.elements, allowed: limits.elements, at: ArchivePath())
    }
    nodes.append(Node(kind, count: count, payload: UInt64(children.count)))
    var position = start
    for _ in 0..<(kind == .dictionary ? 2 * count : count) {
      let reference = unsigned(at: position, size: referenceSize)
      guard reference < UInt64(objectCount) else { throw broken(.reference, position) }
      children.append(UInt32(truncatingIfNeeded: reference))
      position += referenceSize
    }
    return position
  }

  /// The count of a run or container, and where its contents begin.
  private func readCount(at offset: Int, low: Int) throws(ArchiveError) -> (count: Int, start: Int) {
    guard low == 0x0F else { return (low, offset + 1) }
    guard offset + 1 < end, bytes[offset + 1] >> 4 == 0x1 else { throw broken(.size, offset) }
    let exponent = Int(bytes[offset + 1] & 0x0F)
    guard exponent <= 3 else { throw broken(.size, offset) }
    let raw = try fixed(offset + 2, size: 1 << exponent, of: offset)
    guard raw <= UInt64(UInt32.max) else { throw broken(.size, offset) }
    return (Int(raw), offset + 2 + 1 << exponent)
  }

  /// A big-endian number of up to 8 bytes that belongs to the object at `offset`.
  private func fixed(_ position: Int, size: Int, of offset: Int) throws(ArchiveError) -> UInt64 {
    guard size <= end - position else { throw broken(.size, offset) }
    return unsigned(at: position, size: size)
  }

  private func wide(_ position: Int, size: Int, of offset: Int) throws(ArchiveError) -> UInt128 {
    guard size <= end - position else { throw broken(.size, offset) }
    var value: UInt128 = 0
    for index in position..<(position + size) { value = value << 8 | UInt128(bytes[index]) }
    return value
  }

  private func unsigned(at position: Int, size: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in position..<(position + size) { value = value << 8 | UInt64(bytes[index]) }
    return value
  }

  private func broken(_ defect: PropertyListDefect, _ offset: Int) -> ArchiveError {
    .brokenPropertyList(defect, offset: offset)
  }
}

extension [Node] {
  /// Appends an integer as the narrowest kind that can hold it.
  mutating func append(integer value: Int128, wide: inout [Int128]) {
    if let small = Int64(exactly: value) {
      append(.integer(small))
    } else if let large = UInt64(exactly: value) {
      append(Node(.unsigned, payload: large))
    } else {
      append(Node(.wide, payload: UInt64(wide.count)))
      wide.append(value)
    }
  }
}

/// The last 32 bytes of a binary property list, checked against its size.
struct BinaryTrailer {
  static let byteCount = 32

  let offsetSize: Int
  let referenceSize: Int
  let objectCount: Int
  let top: Int
  /// The start of the offset table, which is also the end of the objects.
  let offsetTable: Int

  /// Reads and checks the trailer of `bytes`, which begin with the magic number.
  init(_ bytes: [UInt8]) throws(ArchiveError) {
    let start = bytes.count - Self.byteCount
    guard start > BinaryPropertyList.magic.count else { throw .brokenPropertyList(.truncated, offset: bytes.count) }
    func number(_ position: Int) -> UInt64 {
      bytes[(start + position)..<(start + position + 8)].reduce(0) { $0 << 8 | UInt64($1) }
    }
    offsetSize = Int(bytes[start + 6])
    referenceSize = Int(bytes[start + 7])
    let (count, top, table) = (number(8), number(16), number(24))
    let broken = ArchiveError.brokenPropertyList(.trailer, offset: start)
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else { throw broken }
    guard count >= 1, top < count, table > UInt64(BinaryPropertyList.magic.count), table < UInt64(start) else {
      throw broken
    }
    // The table fills the bytes between the objects and the trailer exactly; this also bounds the count.
    let room = UInt64(start) - table
    guard count <= room, count * UInt64(offsetSize) == room else { throw broken }
    objectCount = Int(count)
    self.top = Int(top)
    offsetTable = Int(table)
  }
}
