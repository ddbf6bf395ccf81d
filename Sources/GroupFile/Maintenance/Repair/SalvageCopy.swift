internal import CVaultSQLite
internal import Glibc
internal import Ground
import Sealing

/// A raw copy of a group's damaged file, with its log merged into it.
enum SalvageCopy {
  /// Copies the file at `source` into a new folder of this process; a page that cannot be read becomes zeros.
  ///
  /// - Parameters:
  ///   - folder: an unused path.
  ///   - header: the first bytes of an intact container, for a file that has lost its own.
  /// - Returns: the copy, and what SQLite finds through the file's tables.
  /// - Throws: `storage`, `denied`; `damaged` if there is no regular file.
  static func make(
    of source: ContainerPlace, in folder: String, header: [UInt8]
  ) throws(VaultError) -> (copy: ContainerPlace, StoredParts) {
    let original = try Handle(at: source, writable: false, isFrozen: false)
    defer { original.close() }
    try ContainerShape.closed.makeFolder(folder)
    do throws(VaultError) {
      let copy = try ContainerPlace(folder: folder)
      try self.copy(original, to: copy.path, header)
      try copyLog(source.logPath, to: copy.logPath)
      mergeLog(copy)
      return (copy, try StoredParts(copy))
    } catch {
      remove(folder)
      throw error
    }
  }

  /// Copies the file at `source` and its log, up to its last frame, into a folder of this process, while nobody writes to them.
  /// Their content is not checked, and SQLite's lock is not requested, because any reader of the file could hold it
  /// indefinitely.
  ///
  /// - Throws: `storage`, `denied`; `damaged` if they are not regular files, or, for a copy that will be shared with
  ///   others, if they have further hard links. When the call returns, the copy is on the disk.
  static func duplicate(_ source: ContainerPlace, to target: ContainerPlace, _ shape: ContainerShape)
    throws(VaultError)
  {
    let original = try Handle(at: source, writable: false, isFrozen: false)
    defer { original.close() }
    if shape != .closed {
      var header = [UInt8](repeating: 0, count: ContainerHeader.byteCount)
      _ = unsafe csqlite_read(original.database, &header, Int32(header.count), 0)
      try ContainerHeader.check(header)
    }
    try copy(original, to: target.path, nil, shape)
    try copyLog(source.logPath, to: target.logPath, shape)
    try Connection.makeEmptyFile(target.lockPath, mode: shape.lockMode)
    // Creates log and index, so that users who may only read the folder can open the file. For a damaged file this may
    // fail, but it could not be opened anyway.
    try? Connection(at: target, access: .writing).close()
    try Connection.synchronise(target.folder)
  }

  /// Removes a copy.
  static func remove(_ folder: String) {
    guard let copy = try? ContainerPlace(folder: folder) else { return }
    for path in [copy.path, copy.logPath, copy.indexPath] { unsafe unlink(path) }
    unsafe rmdir(folder)
  }

  // Through SQLite's own descriptor, because closing a second descriptor of the same file would end SQLite's locks on
  // it.
  //
  // A file may claim any number of pages that do not exist: holes stay holes. The copy keeps the size, because SQLite
  // merges no log into a file that is much smaller than the log says.
  private static func copy(
    _ original: Handle, to path: String, _ header: [UInt8]?, _ shape: ContainerShape = .closed
  ) throws(VaultError) {
    var size: Int64 = 0
    try original.check(unsafe csqlite_size(original.database, &size))
    let pageCount = (Int(size) + DatabasePages.size - 1) / DatabasePages.size
    let file = try output(path, shape)
    let nothing = [UInt8](repeating: 0, count: DatabasePages.size)
    var page = nothing
    func read(_ number: Int) {
      page = nothing
      _ = unsafe csqlite_read(original.database, &page, Int32(page.count), Int64(number * DatabasePages.size))
    }
    var number = 0
    while number < pageCount {
      read(number)
      if page != nothing {
        try onDisk(file.write(page, at: number * DatabasePages.size))
        number += 1
        continue
      }
      number += 1
      let data = unsafe csqlite_next_data(original.database, Int64(number * DatabasePages.size))
      guard data >= 0 else { break }
      number = max(number, Int(data) / DatabasePages.size)
    }
    if let header {
      read(0)
      mend(&page, header, pageCount: UInt32(clamping: max(1, pageCount)))
      try onDisk(file.write(page))
    }
    guard ftruncate(file.descriptor, header == nil ? off_t(size) : off_t(max(1, pageCount) * DatabasePages.size)) == 0
    else {
      throw ResultCode.error(errno: errno)
    }
    try onDisk(file.synchronize())
  }

  /// Gives the first page a header with which SQLite can read the log; the rest of the page is not needed.
  private static func mend(_ page: inout [UInt8], _ header: [UInt8], pageCount: UInt32) {
    if (try? ContainerHeader.check(Array(page[..<ContainerHeader.byteCount]))) == nil {
      page.replaceSubrange(..<header.count, with: header)
      // A file that is being made has no log yet.
      (page[18], page[19]) = (2, 2)
    }
    // SQLite trusts the page count only if these bytes repeat the change counter.
    for index in 0..<4 {
      page[28 + index] = UInt8(truncatingIfNeeded: pageCount >> (24 - 8 * UInt32(index)))
      page[92 + index] = page[24 + index]
    }
  }

  // SQLite takes no locks on the log itself, so a second descriptor is safe. No writer is active.
  private static func copyLog(
    _ source: String, to path: String, _ shape: ContainerShape = .closed
  ) throws(VaultError) {
    guard try ContainerPlace.status(source) != nil else { return }
    let log = try onDisk(OpenFile(source, O_RDONLY))
    let status = try onDisk(log.status())
    guard status.st_mode & S_IFMT == S_IFREG, shape == .closed || status.st_nlink == 1 else {
      throw .damaged(.container, "a file of the group is not a regular file with a single name")
    }
    let file = try output(path, shape)
    var offset = 0
    var bytes = [UInt8](repeating: 0, count: logHeaderByteCount)
    var salts: [UInt8] = []
    while unsafe pread(log.descriptor, &bytes, bytes.count, offset) == bytes.count {
      // A frame names a page and has the log's salts (https://www.sqlite.org/walformat.html), and nothing counts after
      // one that does not, such as a hole. So a log is copied to its end, however long the file claims to be.
      if offset == 0 {
        salts = Array(bytes[16..<24])
      } else if !bytes[8..<16].elementsEqual(salts) || bytes.word(at: 0) == 0 {
        break
      }
      try onDisk(file.write(bytes, at: offset))
      offset += bytes.count
      bytes = [UInt8](repeating: 0, count: frameByteCount)
    }
    try onDisk(file.synchronize())
  }

  private static let logHeaderByteCount = 32
  private static let frameByteCount = 24 + DatabasePages.size

  private static func output(_ path: String, _ shape: ContainerShape) throws(VaultError) -> OpenFile {
    let file = try onDisk(OpenFile(path, O_RDWR | O_CREAT | O_EXCL, mode: shape.fileMode))
    try onDisk(file.setMode(shape.fileMode))
    return file
  }

  /// Lets SQLite merge the intact part of the log into the copy. If it cannot, the parts are read through the log.
  private static func mergeLog(_ place: ContainerPlace) {
    guard let copy = try? Handle(at: place, writable: true, isFrozen: false) else { return }
    defer { copy.close() }
    // The first read opens the log; this one parses no table.
    guard let first = try? Statement(copy, "PRAGMA schema_version"), (try? first.step()) != nil else { return }
    first.reset()
    _ = unsafe sqlite3_wal_checkpoint_v2(copy.database, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
  }
}

/// What SQLite finds through a file's tables: what every reader of the file would see.
///
/// Whoever can write the file can add any number of records on pages that no table reaches, so whatever can be found
/// here is not searched for there.
struct StoredParts {
  private let tables: Connection?
  private(set) var header: [UInt8]?
  private(set) var roster: [UInt8]?
  private(set) var manifest: [UInt8]?
  /// The rests of manifests by epoch.
  private(set) var chain: [UInt64: Digest] = [:]

  /// No parts.
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
    header = try? tables.part(.header)
    roster = try? tables.part(.roster)
    manifest = try? tables.part(.manifest)
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

  func row(_ token: Token) -> Row? { try? tables?.currentRow(token) }

  func row(_ token: Token, version: UInt64) -> Row? { try? tables?.olderRow(token, version: version) }

  func blob(_ token: Token, version: UInt64) -> [UInt8]? { try? tables?.blob(token, version: version) }

  func wrap(_ slot: [UInt8]) -> [UInt8]? { try? tables?.wrap(slot) }

  func nodeBody(at place: TreePlace) -> [UInt8]? { try? tables?.nodeBody(at: place) }
}
