internal import CVaultSQLite

/// One SQLite connection to a group's file, used by one thread at a time. An attacker may have written the file.
@safe package final class Connection {
  package enum Access: Sendable { case reading, writing }
  package enum Beginning: Sendable {
    case reading
    /// As `reading`, but if the file has not changed since the last snapshot, only the first statement takes a new one.
    /// If the file changes before that, the statement throws `storage(.replaced)`.
    case readingLater
    case immediate
  }

  let handle: Handle
  let location: ContainerPlace
  package let access: Access
  let identity: FileIdentity
  /// Whether neither the index that others share is mapped, nor the locks are used.
  let isAlone: Bool
  private var isReused = false
  private var awaitsSnapshot = false
  /// Whether a change was begun, and neither committed nor rolled back here.
  private var hasBegunChange = false
  /// The log and index that SQLite opened; `nil` as long as they are not known.
  var companions: Companions?

  /// The files beside the group's file; `nil` for one that does not exist.
  struct Companions: Equatable { let log, index: FileIdentity? }
  /// How many bytes the log held when this connection last checkpointed it; 0 after the log was restarted.
  var checkpointedByteCount = 0
  /// How many bytes the log held when a checkpoint last waited for a reader in vain; 0 after one succeeded.
  private var heldByteCount = 0
  /// Whether this is a new file without its final name, which is removed if it never gets one.
  var isDraft = false
  private var statements: [(key: UInt, statement: Statement)] = []
  var verified = SnapshotCheck()

  /// Opens the group's file at `place` and checks that it is a container of this format; nothing is changed. If nobody
  /// writes (`isResting`) and the log is empty, no log or index is made. `isAlone` reads without the index and the
  /// locks that others share, with `index` as a copy of that index, or without it with one made from the log.
  package init(
    at place: ContainerPlace, access: Access, isResting: Bool = false, isAlone: Bool = false, index: LogIndex? = nil
  ) throws(VaultError) {
    let shape = try place.shape(withIndex: !isAlone)
    if access == .writing { try ContainerPlace.checkWritable(place.path) }
    let mayBeFrozen = access == .reading && (!isAlone || shape.log == nil)
    let isFrozen = mayBeFrozen ? try place.isFrozen(shape, isResting: isResting) : false
    handle = try Connection.handle(at: place, shape.identity, access, isFrozen ? .frozen : isAlone ? .alone : .shared)
    (location, identity, self.access, self.isAlone) = (place, shape.identity, access, isAlone)
    do throws(VaultError) {
      if handle.use == .alone, let index {
        try handle.check(unsafe csqlite_take_index(handle.database, index.bytes, CInt(index.bytes.count)))
      }
      try prove(shape, isResting: isResting)
    } catch {
      // The log or index of a file that was replaced may be gone already.
      throw (try? place.file().identity) == identity ? error : .storage(.replaced)
    }
  }

  /// Checks that the files found before opening are those that were opened, and takes the first snapshot.
  private func prove(_ shape: ContainerPlace.Shape, isResting: Bool) throws(VaultError) {
    try ContainerHeader.check(header())
    // If the log has grown meanwhile, another process has committed; if it is new, for the first time.
    let now = try location.shape(withIndex: handle.use != .alone)
    guard now.identity == identity, handle.use == .frozen ? try location.isFrozen(now, isResting: isResting) : true,
      try opensPath()
    else { throw .storage(.replaced) }
    try settle()
    try begin(.reading)
    try commit()
    if handle.use == .frozen { return }
    let found = try findCompanions()
    companions = found
    // A log or index that existed before opening must still be the same file.
    guard shape.log == nil || shape.log?.identity == found.log,
      shape.index == nil || shape.index?.identity == found.index
    else { throw .storage(.replaced) }
  }

  /// Opens the empty file that was created at `place`, and creates its tables.
  init(making place: ContainerPlace) throws(VaultError) {
    guard let status = try ContainerPlace.status(place.path), status.byteCount == 0 else { throw .exists(.group) }
    identity = status.identity
    handle = try Connection.handle(at: place, identity, .writing, .shared)
    (location, access, isAlone, isDraft) = (place, .writing, false, true)
    try settle()
    try makeTables()
    try begin(.reading)
    try commit()
    companions = try findCompanions()
  }

  deinit { discard() }

  package func close() {
    guard !handle.isClosed, !handle.isForked else { return }
    handle.close()
    ConnectionPool.shared.didClose(identity, tookLocks: handle.use != .alone)
  }

  /// Whether the pool may lend it again: open, in this process, in no transaction, and in step with other writers.
  var isReusable: Bool { !handle.isForked && !handle.isClosed && !isInTransaction && handle.use == .shared }

  /// Makes a reader ready for one more use, if the caller has found the same file at the path, or for a scan of whole
  /// tables, in which each page is read once.
  func prepareReuse(asScan isScan: Bool = false) throws(VaultError) {
    guard !isReused, access == .reading else { return }
    isReused = !isScan
    // A reused reader profits from cached pages, so it may keep 8 MiB of them. A writer keeps more. In a scan, memory
    // that is used again at once costs less.
    try Statement(handle, isScan ? "PRAGMA cache_size=-256" : "PRAGMA cache_size=-8192").run()
  }

  func findCompanions() throws(VaultError) -> Companions {
    let path = handle.isLasting ? location.name : location.path
    return Companions(
      log: try ContainerPlace.identity(of: path + "-wal", in: handle.folder),
      index: handle.use == .alone ? nil : try ContainerPlace.identity(of: path + "-shm", in: handle.folder))
  }

  private static func handle(
    at place: ContainerPlace, _ identity: FileIdentity, _ access: Access, _ use: Handle.Use
  ) throws(VaultError) -> Handle {
    try ConnectionPool.shared.willOpen(identity, takesLocks: use != .alone)
    do throws(VaultError) {
      return try Handle(at: place, writable: access == .writing, use)
    } catch {
      ConnectionPool.shared.didClose(identity, tookLocks: use != .alone)
      // The file existed just now.
      throw error == .notFound(.group) ? .storage(.replaced) : error
    }
  }

  /// A statement for `sql`, prepared once and kept; throws `damaged` if the tables are not those of the format.
  package func statement(_ sql: StaticString) throws(VaultError) -> Statement {
    if awaitsSnapshot {
      try begin(.reading)
      guard verified.found != nil else {
        rollback()
        throw .storage(.replaced)
      }
    }
    try requireIntact()
    // The text of a literal never moves, so its address identifies it.
    let key = unsafe UInt(bitPattern: sql.utf8Start)
    for kept in statements where kept.key == key { return kept.statement }
    let prepared = try Statement(handle, sql)
    statements.append((key, prepared))
    return prepared
  }

  // MARK: Transactions

  /// Begins a transaction, takes its snapshot, and checks that the tables are still those of the format.
  ///
  /// - Throws: `busy` if another writer holds the file; as opening the connection. No transaction is open then, and with
  ///   `storage(.replaced)` the connection is closed.
  package func begin(_ beginning: Beginning) throws(VaultError) {
    guard !handle.isForked else { throw .storage(.forked) }
    awaitsSnapshot = beginning == .readingLater && verified.isCurrent(for: self)
    if awaitsSnapshot { return }
    if beginning == .immediate {
      try statement("BEGIN IMMEDIATE").run()
      unsafe csqlite_begin(handle.database)
      hasBegunChange = true
    }
    do throws(VaultError) { try verified.check(self) } catch {
      rollback()
      if error == .storage(.replaced) { close() }
      throw error
    }
  }

  /// Commits the transaction; the changes are durable when the call returns.
  ///
  /// - Throws: `storage(.replaced)` if another file, log or index is at the path now; the errors of SQLite. The
  ///   transaction is rolled back then. `storage(.unconfirmed)` if the files were exchanged while it was made durable.
  package func commit() throws(VaultError) {
    do throws(VaultError) {
      endStatements()
      try requireIntact()
      let isWriting = unsafe sqlite3_txn_state(handle.database, "main") == SQLITE_TXN_WRITE
      if isWriting, try hasMoved() { throw .storage(.replaced) }
      if isChanging { try statement("COMMIT").run() }
      hasBegunChange = false
      // An owner who moved the lock aside may have exchanged the files since, and looks at the replaced ones only once.
      if isWriting, (try? hasMoved()) != false { throw .storage(.unconfirmed) }
    } catch {
      rollback()
      throw error
    }
  }

  package func rollback() {
    guard !handle.isForked, !handle.isClosed else { return }
    endStatements()
    hasBegunChange = false
    if isChanging { try? statement("ROLLBACK").run() }
  }

  package var isInTransaction: Bool { unsafe sqlite3_txn_state(handle.database, "main") != SQLITE_TXN_NONE }

  private var isChanging: Bool { unsafe sqlite3_get_autocommit(handle.database) == 0 }

  /// Throws if SQLite has ended the open change by itself, as it does when the disk fails, even for a read. Each
  /// statement that followed would be a change of its own.
  func requireIntact() throws(VaultError) { guard !hasBegunChange || isChanging else { throw .storage(.inputOutput) } }

  // A running statement holds the snapshot, so a transaction that only reads ends when all statements are reset.
  private func endStatements() {
    if !awaitsSnapshot { for kept in statements { kept.statement.reset() } }
    awaitsSnapshot = false
  }

  // MARK: The file on the disk

  /// Whether another file than the open one is at the path, or another log or index in the folder that was opened.
  ///
  /// Data written to a file that was moved away, or to a deleted log, would be lost.
  package func hasMoved() throws(VaultError) -> Bool {
    guard try ContainerPlace.identity(of: location.path) == identity else { return true }
    return companions == nil ? false : try findCompanions() != companions
  }

  /// Whether SQLite has opened the file that is at the path. One check is enough, because SQLite keeps its files open.
  func opensPath() throws(VaultError) -> Bool {
    var moved: Int32 = 1
    try handle.check(unsafe sqlite3_file_control(handle.database, nil, SQLITE_FCNTL_HAS_MOVED, &moved))
    return moved == 0 ? try !hasMoved() : false
  }

  /// Checkpoints a log of more than 256 KiB, or 1 MiB if this connection commits often, because each checkpoint waits
  /// for the disk two or three times. Such a connection then overwrites the log; any other one empties it, because the
  /// next process would read it from beginning to end. If readers prevent that, a later writer does it.
  package func checkpointIfLarge(waiting milliseconds: Int32 = 100) throws(VaultError) {
    let byteCount = unsafe Int(handle.watch.pointee.log_pages) * ContainerHeader.pageSize
    if byteCount < checkpointedByteCount { checkpointedByteCount = 0 }
    let isBusy = unsafe handle.watch.pointee.commits >= Connection.manyCommits
    let limit = isBusy ? Connection.lastingLogLimit : Connection.logLimit
    guard byteCount > checkpointedByteCount + limit else { return }
    checkpointedByteCount = byteCount
    let isLasting = isBusy && byteCount < limit + Connection.logLimit
    // A reader may hold the log for minutes. Its writers then wait for it only when the log has doubled.
    let waits = byteCount >= 2 * heldByteCount
    do throws(VaultError) {
      try checkpoint(
        isLasting ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE, waiting: waits ? milliseconds : 0)
      heldByteCount = 0
    } catch {
      guard error == .busy(group: nil) else { throw error }
      if waits { heldByteCount = byteCount }
    }
  }

  /// Checkpoints the log and empties it; throws `busy` if a reader still needs it. The data is as safe as before.
  package func truncatingCheckpoint(waiting milliseconds: Int32 = 1000) throws(VaultError) {
    try checkpoint(SQLITE_CHECKPOINT_TRUNCATE, waiting: milliseconds)
  }

  private func checkpoint(_ mode: Int32, waiting milliseconds: Int32) throws(VaultError) {
    guard try !hasMoved() else { throw .storage(.replaced) }
    unsafe sqlite3_busy_timeout(handle.database, milliseconds)
    defer { unsafe sqlite3_busy_timeout(handle.database, Connection.wait) }
    unsafe csqlite_begin(handle.database)
    try handle.check(unsafe sqlite3_wal_checkpoint_v2(handle.database, "main", mode, nil, nil))
  }

  /// Lets SQLite check the structure of the whole file, in or outside of a transaction; the first defect is `damaged`.
  package func quickCheck() throws(VaultError) {
    // SQLite checks the structure in a single instruction; only a sound structure is then read row by row.
    try withBoundOfWholeFile { () throws(VaultError) in
      let check = try statement("PRAGMA quick_check(1)")
      defer { check.reset() }
      guard try check.step(), check.holds("ok", 0), try !check.step() else {
        throw .damaged(.container, "the file's structure is damaged")
      }
    }
  }

  /// Rewrites the file without its free pages. Only outside of a transaction.
  ///
  /// - Throws: `damaged` if the file has more rows than bytes; the errors of SQLite. The file is unchanged then.
  package func vacuum() throws(VaultError) {
    guard try !hasMoved() else { throw .storage(.replaced) }
    // It attaches a database in memory.
    unsafe sqlite3_limit(handle.database, SQLITE_LIMIT_ATTACHED, 1)
    defer { unsafe sqlite3_limit(handle.database, SQLITE_LIMIT_ATTACHED, 0) }
    unsafe csqlite_begin(handle.database)
    try withBoundOfWholeFile { () throws(VaultError) in try statement("VACUUM").run() }
  }

  /// The size of the log in bytes above which it is checkpointed.
  static let logLimit = 256 << 10
  /// The same for a connection that lasts. A reader that is the only process reads the whole log once, which takes
  /// about a millisecond for this size.
  static let lastingLogLimit = 1 << 20

  /// The number of commits after which a connection is expected to last.
  static let manyCommits = 8
}

/// The SQLite library of this build.
package enum ContainerLibrary {
  package static var version: String { unsafe String(cString: sqlite3_libversion()) }

  /// Sets SQLite up for a process that runs one command, before its first use: it keeps no statistics, which would take
  /// a lock at each allocation, and takes memory for each page by itself instead of for twenty at once.
  package static func serveOneCommand() { csqlite_serve_one_command() }
}
