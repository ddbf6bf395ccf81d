internal import CVaultSQLite
internal import Glibc
internal import Ground
import Sealing

/// A raw copy of a group's damaged file, with its log merged into it.
enum SalvageCopy {
  /// Copies the file at `source` into a new folder of this process; a page that cannot be read becomes zeros.
  ///
  /// The log is merged without SQLite, which takes none that does not fit to a header that anybody can write. Frames that
  /// are not merged become pages that no table reaches.
  ///
  /// - Parameters:
  ///   - folder: an unused path.
  ///   - header: the first bytes of an intact container, for a file that has lost its own.
  ///   - seen: the manifest that readers see now, if it is known. They may see more of the log than its checksums prove,
  ///     because an index that was made before is used without looking at them.
  /// - Returns: the copy, and what SQLite finds through the file's tables.
  /// - Throws: `storage`, `denied`; `damaged` if there is no regular file.
  static func make(
    of source: ContainerPlace, in folder: String, header: [UInt8], seen: [UInt8]? = nil
  ) throws(VaultError) -> (copy: ContainerPlace, StoredParts) {
    if let seen {
      for isTrusting in [false, true] {
        let made = try make(of: source, in: folder, header, trustingLog: isTrusting)
        if made.1.manifest == seen { return made }
        made.1.close()
        remove(folder)
      }
    }
    return try make(of: source, in: folder, header, trustingLog: false)
  }

  /// - Parameter isTrusting: whether the log is merged to its last commit, whatever its checksums are.
  private static func make(
    of source: ContainerPlace, in folder: String, _ header: [UInt8], trustingLog isTrusting: Bool
  ) throws(VaultError) -> (copy: ContainerPlace, StoredParts) {
    let original = try Handle(at: source, writable: false, isFrozen: false)
    defer { original.close() }
    try ContainerShape.closed.makeFolder(folder)
    do throws(VaultError) {
      let copy = try ContainerPlace(folder: folder)
      let file = try output(copy.path, .closed)
      var count = try copyPages(original, to: file)
      if let log = try LogFrames.read(source.logPath) {
        count.claimed = min(count.claimed, try source.file().storedByteCount / DatabasePages.size)
        try merge(log, upTo: isTrusting ? log.markedCount : log.committedCount, into: file, &count)
      }
      try mend(file, header)
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
  /// - Returns: whether the copy shows the state that readers see now; `true` if they see none.
  /// - Throws: `storage`, `denied`; `damaged` if they are not regular files, or, for a copy that will be shared with
  ///   others, if they have further hard links. When the call returns, the copy is on the disk.
  static func duplicate(
    _ source: ContainerPlace, to target: ContainerPlace, _ shape: ContainerShape
  ) throws(VaultError) -> Bool {
    let seen = Connection.seenManifest(at: source)
    try duplicate(source, to: target, shape, mergingLog: false)
    if seen == nil || seen == Connection.seenManifest(at: target) { return true }
    // Readers whose index was made before do not look at the checksums of the log.
    for path in [target.path, target.logPath, target.indexPath, target.lockPath] { unsafe unlink(path) }
    try duplicate(source, to: target, shape, mergingLog: true)
    return seen == Connection.seenManifest(at: target)
  }

  private static func duplicate(
    _ source: ContainerPlace, to target: ContainerPlace, _ shape: ContainerShape, mergingLog: Bool
  ) throws(VaultError) {
    let original = try Handle(at: source, writable: false, isFrozen: false)
    defer { original.close() }
    if shape != .closed {
      var header = [UInt8](repeating: 0, count: ContainerHeader.byteCount)
      _ = unsafe csqlite_read(original.database, &header, Int32(header.count), 0)
      try ContainerHeader.check(header)
    }
    let file = try output(target.path, shape)
    var count = try copyPages(original, to: file)
    if mergingLog, let log = try LogFrames.read(source.logPath) {
      try merge(log, upTo: log.markedCount, into: file, &count)
      try mend(file, nil)
    } else {
      var size: Int64 = 0
      try original.check(unsafe csqlite_size(original.database, &size))
      guard ftruncate(file.descriptor, off_t(size)) == 0 else { throw ResultCode.error(errno: errno) }
      try copyLog(source.logPath, to: target.logPath, shape)
    }
    try onDisk(file.synchronize())
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
    var page = nothing
    var (number, count) = (0, 0)
    while number < pageCount {
      page = nothing
      _ = unsafe csqlite_read(original.database, &page, Int32(page.count), Int64(number * DatabasePages.size))
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

  /// Writes the first `mergedCount` frames to their pages, and the others behind all pages.
  private static func merge(
    _ log: borrowing LogFrames, upTo mergedCount: Int, into file: borrowing OpenFile,
    _ count: inout (claimed: Int, stored: Int)
  ) throws(VaultError) {
    // An honest log names no page beyond those that the file and the log have.
    let limit = count.claimed + log.pages.count
    var loose: [Int] = []
    for (index, number) in log.pages.enumerated() {
      guard index < mergedCount, number <= limit else {
        loose.append(index)
        continue
      }
      try onDisk(file.write(log.page(index), at: Int(number - 1) * DatabasePages.size))
      count.stored = max(count.stored, Int(number))
    }
    for index in loose {
      try onDisk(file.write(log.page(index), at: count.stored * DatabasePages.size))
      count.stored += 1
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
}

extension Connection {
  /// The manifest that every reader of the file sees, unproved; `nil` if it cannot be read.
  static func seenManifest(at place: ContainerPlace) -> [UInt8]? {
    // SQLite would write to a file that the index is a link to.
    for path in [place.path, place.logPath, place.indexPath] {
      guard let found = try? ContainerPlace.status(path), !(found.isRegular && found.linkCount == 1) else { continue }
      return nil
    }
    guard let connection = try? Connection(at: place, access: .reading) else { return nil }
    defer { connection.close() }
    guard (try? connection.begin(.reading)) != nil else { return nil }
    return try? connection.part(.manifest)
  }
}

/// The frames of a log (https://www.sqlite.org/walformat.html). Nothing counts after one that names no page or has not
/// the log's salts, such as a hole; so a log is read to its end, however long the file claims to be.
private struct LogFrames: ~Copyable {
  private let file: OpenFile
  /// The page that each frame has.
  private(set) var pages: [UInt32] = []
  /// The number of frames up to the last commit, and up to the last one that is proved by the checksums.
  private(set) var (markedCount, committedCount) = (0, 0)

  /// - Returns: `nil` without a log.
  static func read(_ path: String) throws(VaultError) -> LogFrames? {
    guard try ContainerPlace.status(path)?.isRegular == true else { return nil }
    // SQLite takes no locks on the log itself, so a second descriptor is safe. No writer is active.
    return try LogFrames(onDisk(OpenFile(path, O_RDONLY)))
  }

  private init(_ file: consuming OpenFile) throws(VaultError) {
    self.file = file
    let header = try onDisk(self.file.read(limit: LogFrames.headerByteCount))
    guard header.count == LogFrames.headerByteCount else { return }
    var sum = Checksum(isBigEndian: header[3] & 1 == 1)
    sum.add(header[..<24])
    var isProved = sum.isEqual(to: header[24...])
    while let frame = frame(pages.count), frame[8..<16].elementsEqual(header[16..<24]), frame.word(at: 0) != 0 {
      pages.append(frame.word(at: 0))
      if isProved {
        sum.add(frame[..<8])
        sum.add(frame[24...])
        isProved = sum.isEqual(to: frame[16..<24])
      }
      guard frame.word(at: 4) != 0 else { continue }
      markedCount = pages.count
      if isProved { committedCount = pages.count }
    }
  }

  func page(_ index: Int) -> [UInt8] { Array((frame(index) ?? [])[24...]) }

  private func frame(_ index: Int) -> [UInt8]? {
    var frame = [UInt8](repeating: 0, count: 24 + DatabasePages.size)
    let offset = LogFrames.headerByteCount + index * frame.count
    return unsafe pread(file.descriptor, &frame, frame.count, offset) == frame.count ? frame : nil
  }

  private static let headerByteCount = 32

  /// SQLite's sum of words of four bytes, which goes on from frame to frame.
  private struct Checksum {
    let isBigEndian: Bool
    private var sums: (UInt32, UInt32) = (0, 0)

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
      unsafe bytes.withUnsafeBytes { bytes in
        for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
          for half in [0, 4] {
            let stored = unsafe bytes.loadUnaligned(fromByteOffset: offset + half, as: UInt32.self)
            let word = isBigEndian ? UInt32(bigEndian: stored) : UInt32(littleEndian: stored)
            if half == 0 { sums.0 = sums.0 &+ word &+ sums.1 } else { sums.1 = sums.1 &+ word &+ sums.0 }
          }
        }
      }
    }

    func isEqual(to stored: ArraySlice<UInt8>) -> Bool {
      let bytes = Array(stored)
      return bytes.word(at: 0) == sums.0 && bytes.word(at: 4) == sums.1
    }
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

  func close() { tables?.close() }

  func row(_ token: Token) -> Row? { try? tables?.currentRow(token) }

  func row(_ token: Token, version: UInt64) -> Row? { try? tables?.olderRow(token, version: version) }

  func blob(_ token: Token, version: UInt64) -> [UInt8]? { try? tables?.blob(token, version: version) }

  func wrap(_ slot: [UInt8]) -> [UInt8]? { try? tables?.wrap(slot) }

  func nodeBody(at place: TreePlace) -> [UInt8]? { try? tables?.nodeBody(at: place) }
}
