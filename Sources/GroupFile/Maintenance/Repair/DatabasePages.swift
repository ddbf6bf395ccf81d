internal import Glibc

/// The pages of a group's file, read without SQLite, so that a damaged page loses only its own content.
///
/// The file is a copy that no other process uses, so it does not matter that closing it ends SQLite's locks on it.
struct DatabasePages: ~Copyable {
  private let file: OpenFile
  /// The number of pages; they are numbered from 1.
  let count: UInt32

  init(path: String) throws(VaultError) {
    let file = try onDisk(OpenFile(path, O_RDONLY))
    count = UInt32(clamping: try onDisk(file.status()).st_size / DatabasePages.size)
    self.file = file
  }

  static let size = ContainerHeader.pageSize

  /// The first page from `number` on that may have content; `nil` after the last one. Holes are skipped.
  func next(from number: UInt32) -> UInt32? {
    guard number <= count else { return nil }
    let start = Int(number - 1) * DatabasePages.size
    let data = lseek(file.descriptor, start, DatabasePages.toData)
    if data < 0 { return errno == ENXIO ? nil : number }
    return UInt32(clamping: max(start, data) / DatabasePages.size + 1)
  }

  // Linux's SEEK_DATA, which Swift does not import.
  private static let toData: CInt = 3

  /// The bytes of a page; `nil` if there is no such page, or it cannot be read.
  func page(_ number: UInt32) -> [UInt8]? {
    guard number >= 1, number <= count else { return nil }
    return file.bytes(DatabasePages.size, at: Int(number - 1) * DatabasePages.size)
  }
}

/// A page of one of SQLite's trees that holds records (https://www.sqlite.org/fileformat.html, section 1.6).
///
/// Nothing in it is trusted: inconsistent bytes are not a record, and a record counts only if its digest is proved.
struct RecordPage {
  enum Kind: UInt8 {
    /// Of a table without row ids, or an index.
    case inner = 2
    case leaf = 10
    /// Of a table with row ids.
    case tableLeaf = 13

    fileprivate var headerByteCount: Int { self == .inner ? 12 : 8 }
    /// The highest number of a record's bytes in the page; the rest is in overflow pages.
    fileprivate var localByteCount: Int { self == .tableLeaf ? DatabasePages.size - 35 : 1_002 }
  }

  let kind: Kind
  private let bytes: [UInt8]
  private let cells: [Int]

  init?(_ bytes: [UInt8]) {
    guard let kind = Kind(rawValue: bytes[0]) else { return nil }
    let count = Int(bytes[3]) << 8 | Int(bytes[4])
    let end = kind.headerByteCount + 2 * count
    guard end <= bytes.count else { return nil }
    (self.kind, self.bytes) = (kind, bytes)
    var places = Set<Int>()
    cells = stride(from: kind.headerByteCount, to: end, by: 2).map { Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]) }
      .filter { places.insert($0).inserted }
  }

  var cellCount: Int { cells.count }

  /// What a search of all pages has read. In an honest file, no byte belongs to two cells of a page, and an overflow
  /// page belongs to at most two records, an old one and a new one. So a search takes time in proportion to the file,
  /// whatever its pages claim.
  struct Reading {
    private var room = DatabasePages.size
    private var overflow: [UInt32: Int] = [:]

    mutating func beginPage() { room = DatabasePages.size }

    fileprivate mutating func take(_ byteCount: Int) -> Bool {
      guard byteCount <= room else { return false }
      room -= byteCount
      return true
    }

    fileprivate mutating func takeOverflow(_ page: UInt32) -> Bool {
      overflow[page, default: 0] += 1
      return overflow[page, default: 0] <= 2
    }
  }

  /// The record in one cell, with its row id if the table has them; `nil` if the bytes are not a record.
  func record(_ cell: Int, _ pages: borrowing DatabasePages, _ reading: inout Reading) -> Record? {
    var offset = cells[cell] + (kind == .inner ? 4 : 0)
    guard let byteCount = bytes.varint(at: &offset), byteCount <= RecordPage.recordLimit else { return nil }
    var rowID: Int64 = 0
    if kind == .tableLeaf {
      guard let id = bytes.varint(at: &offset) else { return nil }
      rowID = Int64(bitPattern: id)
    }
    guard let payload = payload(Int(byteCount), at: offset, pages, &reading) else { return nil }
    return Record(payload, rowID: rowID)
  }

  private func payload(
    _ count: Int, at offset: Int, _ pages: borrowing DatabasePages, _ reading: inout Reading
  ) -> [UInt8]? {
    let local = localCount(of: count)
    guard offset + local <= bytes.count else { return nil }
    // Check the header before anything is charged or read: most junk fails here, and one bad cell costs no other.
    let start = Array(bytes[offset..<offset + min(local, 80)])
    guard Record.columns(start, byteCount: count) != nil, reading.take(local) else { return nil }
    var payload = Array(bytes[offset..<offset + local])
    guard local < count else { return payload }
    guard offset + local + 4 <= bytes.count else { return nil }
    var next = bytes.word(at: offset + local)
    while payload.count < count {
      guard reading.takeOverflow(next), let page = pages.page(next) else { return nil }
      payload += page[4...].prefix(count - payload.count)
      next = page.word(at: 0)
    }
    return payload
  }

  private func localCount(of count: Int) -> Int {
    if count <= kind.localByteCount { return count }
    let least = 489
    let fitting = least + (count - least) % (DatabasePages.size - 4)
    return fitting <= kind.localByteCount ? fitting : least
  }

  private static let recordLimit: UInt64 = 2 << 20
}

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
    (self.payload, self.rowID, self.columns) = (payload, rowID, columns)
  }

  /// The columns of a record of `byteCount` bytes that begins with `payload`; `nil` if no record does.
  fileprivate static func columns(_ payload: [UInt8], byteCount: Int) -> [Column]? {
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
}
