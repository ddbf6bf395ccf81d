internal import CVaultSQLite
internal import Glibc
import Sealing

/// A raw copy of a group's damaged file, with its log merged into it.
enum SalvageCopy {
  /// Copies the file at `source` into the new `folder`; a page that cannot be read becomes zeros, and `header` takes
  /// the place of one that is lost. The log is merged without SQLite, which takes none that does not fit to a header
  /// that anybody can write; other frames become pages that no table reaches. Also returns what SQLite finds through
  /// the tables.
  static func make(
    of source: ContainerPlace, in folder: String, header: [UInt8]?
  ) throws(VaultError) -> (copy: ContainerPlace, StoredParts) {
    let original = try Handle(at: source, writable: false, .raw)
    defer { original.close() }
    try ContainerShape.closed.makeFolder(folder)
    do throws(VaultError) {
      let copy = try ContainerPlace(folder: folder)
      let file = try Connection.newFile(copy.path, mode: ContainerShape.closed.fileMode)
      var count = try copyPages(original, to: file)
      if try ContainerPlace.status(source.logPath)?.isRegular == true,
        let log = try LogFrames(of: source, copiedTo: copy.logPath)
      {
        unsafe unlink(copy.logPath)
        count.claimed = min(count.claimed, try source.file().storedByteCount / DatabasePages.size)
        try merge(log, into: file, &count, keepingOthers: true)
      }
      try mend(file, header)
      return (copy, try StoredParts(copy))
    } catch {
      remove(folder)
      throw error
    }
  }

  /// Copies the file at `place` and its log, unchecked, while nobody writes to them; SQLite's lock is not requested,
  /// because any reader could hold it. If readers see another state by the index than the log's checksums prove, the
  /// copy has what they see, unless `ignoresIndex`; with `keepsAll`, other frames become pages that no table reaches.
  /// When the call returns, the copy is on the disk.
  static func duplicate(
    _ place: ContainerPlace, to target: ContainerPlace, _ shape: ContainerShape, _ source: CopySource = .trusted,
    ignoringIndex ignoresIndex: Bool = false, keepingAll keepsAll: Bool = false
  ) throws(VaultError) {
    let original = try Handle(at: place, writable: false, .raw)
    defer { original.close() }
    if source == .toShare { try ContainerHeader.check(original.read(ContainerHeader.byteCount, at: 0).bytes) }
    let file = try Connection.newFile(target.path, mode: shape.fileMode)
    var count = try copyPages(original, to: file)
    if let log = try LogFrames(of: place, copiedTo: target.logPath, shape, source, ignoringIndex: ignoresIndex),
      log.isIndexed
    {
      // The copy gets a new index, which is made with the checksums.
      unsafe unlink(target.logPath)
      try merge(log, into: file, &count, keepingOthers: keepsAll)
      try mend(file, nil)
    } else {
      var size: Int64 = 0
      try original.check(unsafe csqlite_size(original.database, &size))
      guard ftruncate(file.descriptor, off_t(size)) == 0 else { throw VaultError(FileFault(errno: errno)) }
    }
    try onDisk(file.synchronize())
    _ = try Connection.newFile(target.lockPath, mode: shape.lockMode)
    // Creates log and index, so that users who may only read the folder can open the file. For a damaged file this may
    // fail, but it could not be opened anyway.
    try? Connection(at: target, access: .writing).close()
    try Connection.synchronize(target.folder)
  }

  static func remove(_ folder: String) {
    guard let copy = try? ContainerPlace(folder: folder) else { return }
    Connection.remove(copy)
    unsafe rmdir(folder)
  }

  // Through SQLite's own descriptor, because closing a second descriptor of the same file would end SQLite's locks on
  // it. A file may claim any number of pages that do not exist: holes stay holes.
  //
  // Returns the number of pages, and of those up to the last one that is not zeros.
  private static func copyPages(
    _ original: Handle, to file: borrowing OpenFile
  ) throws(VaultError) -> (claimed: Int, stored: Int) {
    var size: Int64 = 0
    try original.check(unsafe csqlite_size(original.database, &size))
    // SQLite has no more pages.
    let pageCount = min((Int(size) - 1) / DatabasePages.size + 1, Int(UInt32.max) - 1)
    let nothing = [UInt8](repeating: 0, count: DatabasePages.size)
    var (number, count) = (0, 0)
    while number < pageCount {
      let page = original.read(DatabasePages.size, at: number * DatabasePages.size).bytes
      number += 1
      if page != nothing {
        try onDisk(file.write(page, at: (number - 1) * DatabasePages.size))
        count = number
        continue
      }
      let data = unsafe csqlite_next_data(original.database, Int64(number * DatabasePages.size))
      guard data >= 0 else { break }
      number = max(number, Int(data) / DatabasePages.size)
    }
    return (pageCount, count)
  }

  /// Writes the frames that readers see to their pages, and the others behind all pages, where no table reaches them, if they
  /// are kept. So are the pages that are replaced, if only an index, which anybody can write, says that readers see others.
  private static func merge(
    _ log: borrowing LogFrames, into file: borrowing OpenFile, _ count: inout (claimed: Int, stored: Int),
    keepingOthers isKeeping: Bool
  ) throws(VaultError) {
    // An honest log names no page beyond those that the file and the log have.
    let limit = count.claimed + log.pages.count
    let storedCount = count.stored
    count.stored = log.pages[log.visible].reduce(count.stored) { $1 <= limit ? max($0, Int($1)) : $0 }
    var replaced: Set<UInt32> = []
    for (index, number) in log.pages.enumerated() {
      let page = try log.page(index)
      var place = count.stored * DatabasePages.size
      if log.visible.contains(index), number >= 1, number <= limit {
        let target = Int(number - 1) * DatabasePages.size
        if isKeeping, log.isIndexed, number <= storedCount, replaced.insert(number).inserted {
          if let old = file.bytes(DatabasePages.size, at: target), old != page, old.contains(where: { $0 != 0 }) {
            try onDisk(file.write(old, at: place))
            count.stored += 1
          }
        }
        place = target
      } else if isKeeping {
        count.stored += 1
      } else {
        continue
      }
      try onDisk(file.write(page, at: place))
    }
  }

  /// Gives the first page a header with which SQLite can read the tables; the rest of the page is not needed.
  private static func mend(_ file: borrowing OpenFile, _ header: [UInt8]?) throws(VaultError) {
    var page = [UInt8](repeating: 0, count: DatabasePages.size)
    let found = try onDisk(file.read(limit: page.count))
    page.replaceSubrange(..<found.count, with: found)
    if let header, (try? ContainerHeader.check(Array(page[..<ContainerHeader.byteCount]))) == nil {
      page.replaceSubrange(..<header.count, with: header)
    }
    // Pages of 4,096 bytes, a log, nothing reserved, and the only fractions that SQLite takes.
    page.replaceSubrange(16..<24, with: [0x10, 0, 2, 2, 0, 64, 32, 32])
    // SQLite believes the page count of a header only if these bytes repeat the change counter.
    for index in 24..<28 { page[68 + index] = ~page[index] }
    try onDisk(file.write(page))
  }
}

/// What SQLite finds through a file's tables: what every reader of the file would see.
///
/// Whoever can write the file can add any number of records on pages that no table reaches, so whatever can be found
/// here is not searched for there.
struct StoredParts {
  /// `nil` if SQLite cannot read them.
  let tables: Connection?
  private(set) var parts: [StatePart: [UInt8]] = [:]
  /// The rests of manifests by epoch.
  private(set) var chain: [UInt64: Digest] = [:]

  init() { tables = nil }

  /// - Parameter place: the copy of the file, which only this process uses.
  /// - Throws: what is not due to the file, such as too many open files: it must not pass for damage.
  fileprivate init(_ place: ContainerPlace) throws(VaultError) {
    do throws(VaultError) {
      let opened = try Connection(at: place, access: .reading)
      try opened.begin(.reading)
      tables = opened
    } catch {
      tables = nil
      switch error {
      case .damaged, .newerFormat, .storage(.inputOutput), .storage(.replaced): break
      default: throw error
      }
    }
    guard let tables else { return }
    for part in StatePart.allCases { parts[part] = try? tables.part(part) }
    // A hostile table may repeat pages.
    try? tables.withBoundOfWholeFile { () throws(VaultError) in
      let links = try tables.statement("SELECT epoch, rest FROM chain WHERE length(rest) = 32")
      defer { links.reset() }
      while try links.step() {
        guard let epoch = try? links.counter(0), let rest = try? links.bytes(1, count: 32...32) else { continue }
        chain[epoch] = Digest(rest)
      }
    }
  }
}
