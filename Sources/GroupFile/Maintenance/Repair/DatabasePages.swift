internal import Glibc
internal import Ground

/// The pages of a group's file, read without SQLite, so that a damaged page loses only its own content.
///
/// The file is a copy that no other process uses, so it does not matter that closing it ends SQLite's locks on it.
struct DatabasePages: ~Copyable {
  private let file: OpenFile
  /// The number of pages; they are numbered from 1.
  let count: UInt32

  init(path: String) throws(VaultError) {
    do throws(FileFault) {
      let file = try OpenFile(path, O_RDONLY)
      count = UInt32(clamping: try file.status().st_size / DatabasePages.size)
      self.file = file
    } catch {
      throw VaultError(error)
    }
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
    var page = [UInt8](repeating: 0, count: DatabasePages.size)
    let read = unsafe pread(file.descriptor, &page, page.count, Int(number - 1) * DatabasePages.size)
    return read == page.count ? page : nil
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
    self.kind = kind
    self.bytes = bytes
    var places = Set<Int>()
    cells = stride(from: kind.headerByteCount, to: end, by: 2).map { Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]) }
      .filter { places.insert($0).inserted }
  }

  var cellCount: Int { cells.count }

  /// What a search of all pages has read. In an honest file, no byte belongs to two cells of a page, and an overflow
  /// page belongs to at most two records, an old one and a new one. So a search takes time in proportion to the file,
  /// whatever its pages claim.
  struct Reading {
    private var room = 0
    private var overflow: [UInt32: Int] = [:]

    init() { beginPage() }

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
    guard Record.mayBegin(Array(bytes[offset..<offset + min(local, 80)]), byteCount: count), reading.take(local) else {
      return nil
    }
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
