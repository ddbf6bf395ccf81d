/// The columns of one row, as SQLite stores them (same document, section 2.1).
struct Record {
  enum Column {
    case null
    case integer(Int64)
    case bytes(Range<Int>)
    case other
  }

  let payload: [UInt8]
  let rowID: Int64
  let columns: [Column]

  init?(_ payload: [UInt8], rowID: Int64) {
    guard let columns = Record.columns(payload, byteCount: payload.count) else { return nil }
    self.payload = payload
    self.rowID = rowID
    self.columns = columns
  }

  /// Whether `start` can begin a record of `byteCount` bytes.
  static func mayBegin(_ start: [UInt8], byteCount: Int) -> Bool { columns(start, byteCount: byteCount) != nil }

  private static func columns(_ payload: [UInt8], byteCount: Int) -> [Column]? {
    var offset = 0
    guard let header = payload.varint(at: &offset), header <= 64, header <= payload.count else { return nil }
    var columns: [Column] = []
    var start = Int(header)
    while offset < header {
      guard let type = payload.varint(at: &offset), type < 1 << 32, columns.count < 9 else { return nil }
      let range = start..<start + Record.byteCount(Int(type))
      guard range.upperBound <= byteCount else { return nil }
      columns.append(Record.column(Int(type), payload, range))
      start = range.upperBound
    }
    return offset == header && start == byteCount ? columns : nil
  }

  private static func byteCount(_ type: Int) -> Int {
    switch type {
    case 0...4: type
    case 5: 6
    case 6, 7: 8
    case 8...11: 0
    default: (type - 12) / 2
    }
  }

  private static func column(_ type: Int, _ payload: [UInt8], _ range: Range<Int>) -> Column {
    switch type {
    case 0: return .null
    case 1...6:
      // A number is in the part that was read: only texts and bytes are long.
      guard range.upperBound <= payload.count else { return .other }
      var value: Int64 = payload[range.lowerBound] & 0x80 == 0 ? 0 : -1
      for byte in payload[range] { value = value << 8 | Int64(byte) }
      return .integer(value)
    case 8: return .integer(0)
    case 9: return .integer(1)
    case 12... where type % 2 == 0: return .bytes(range)
    default: return .other
    }
  }

  /// The bytes of a column, if their number is in the range.
  func bytes(_ column: Int, _ count: ClosedRange<Int>) -> Range<Int>? {
    guard case .bytes(let range) = columns[column], count.contains(range.count) else { return nil }
    return range
  }

  func integer(_ column: Int, in range: ClosedRange<Int64>) -> Int64? {
    guard case .integer(let value) = columns[column], range.contains(value) else { return nil }
    return value
  }
}

extension [UInt8] {
  /// SQLite's variable-length number of one to nine bytes; `nil` if the bytes end early.
  func varint(at offset: inout Int) -> UInt64? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard offset < count else { return nil }
      let byte = self[offset]
      offset += 1
      if index == 8 { return value << 8 | UInt64(byte) }
      value = value << 7 | UInt64(byte & 0x7F)
      if byte & 0x80 == 0 { return value }
    }
    return value
  }

  func word(at offset: Int) -> UInt32 { self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
}
