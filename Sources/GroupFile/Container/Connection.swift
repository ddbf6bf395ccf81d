internal import CSQLite

/// One SQLite connection to a group's file that an attacker may have written, used by one thread at a time.
@safe package final class Connection {
  /// What a connection is for.
  package enum Access: Sendable { case reading, writing }
  /// How a transaction begins: with a snapshot to read, or as the only writer.
  package enum Beginning: Sendable { case reading, immediate }

  let handle: Handle
  package let access: Access
  let location: ContainerPlace
  private var statements: [(key: UInt, statement: Statement)] = []
  private var verifiedSchemaVersion: Int64?
  private var verifiedDataVersion: UInt32?
  /// What the file's `user_version` said when this connection last looked.
  private(set) var versions = ContainerHeader.Versions(userVersion: 0)
  /// Which file was opened.
  package let identity: FileIdentity

  /// Opens the group's file in `folder` and checks that it is a container of this format.
  ///
  /// - Throws: `altered`, `newerFormat` (for `writing` also where only the write version is newer), `missing`, `denied`,
  ///   `busy`, `storage`, `networkFileSystem`; `moved` where the file was replaced meanwhile. Nothing is changed.
  package convenience init(
    folder: String, file: String = ContainerPlace.groupFileName, access: Access
  ) throws(GroupFileError) {
    try self.init(at: ContainerPlace(folder: folder, name: file), access: access)
  }

  /// Opens the group's file at `place`, as `init(folder:file:access:)`.
  package init(at place: ContainerPlace, access: Access) throws(GroupFileError) {
    let identity = try place.check()
    handle = try Connection.handle(path: place.path, identity, writable: access == .writing)
    self.access = access
    location = place
    self.identity = identity
    try checkHeader()
    guard try place.check() == identity, try !hasMoved() else { throw .moved }
    try settle()
    try begin(.reading)
    try commit()
  }

  /// Opens the empty file that creation made at `place`, and makes the tables in it.
  init(making place: ContainerPlace) throws(GroupFileError) {
    guard let status = try ContainerPlace.status(place.path), status.byteCount == 0 else { throw .exists }
    identity = status.identity
    handle = try Connection.handle(path: place.path, identity, writable: true)
    access = .writing
    location = place
    try settle()
    try makeTables()
    try checkHeader()
    try begin(.reading)
    try commit()
  }

  deinit { close() }

  /// Closes the connection; it and its statements cannot be used any more.
  package func close() {
    guard !handle.isClosed, !handle.isForked else { return }
    handle.close()
    ConnectionTable.shared.didClose(identity)
  }

  /// Whether the next user may have it: open, in this process, and in no transaction.
  var isReusable: Bool { !handle.isForked && !handle.isClosed && !isInTransaction }

  private static func handle(path: String, _ identity: FileIdentity, writable: Bool) throws(GroupFileError) -> Handle {
    try ConnectionTable.shared.willOpen(identity)
    do throws(GroupFileError) { return try Handle(path: path, writable: writable) } catch {
      ConnectionTable.shared.didClose(identity)
      throw error
    }
  }

  /// A statement for `sql`, prepared once and kept.
  ///
  /// - Throws: `altered` where the tables are not those of the format.
  package func statement(_ sql: StaticString) throws(GroupFileError) -> Statement {
    // The text of a literal never moves, so its address names it.
    let key = unsafe UInt(bitPattern: sql.utf8Start)
    for kept in statements where kept.key == key { return kept.statement }
    let prepared = try Statement(handle, sql)
    statements.append((key, prepared))
    return prepared
  }

  private func makeTables() throws(GroupFileError) {
    for sql in Connection.makingSettings { try Statement(handle, sql).run() }
    for entry in Schema.entries { if let sql = entry.sql { try Statement(handle, sql).run() } }
    try Statement(handle, "PRAGMA journal_mode=WAL").run()
  }

  // MARK: Transactions

  /// Begins a transaction, takes its snapshot, and checks that the tables are still those of the format.
  ///
  /// - Throws: `busy` where another writer holds the file; what opening throws. No transaction is open then.
  package func begin(_ beginning: Beginning) throws(GroupFileError) {
    guard !handle.isForked else { throw .storage(.forked) }
    try (beginning == .reading ? statement("BEGIN") : statement("BEGIN IMMEDIATE")).run()
    do throws(GroupFileError) { try checkSnapshot() } catch {
      rollback()
      throw error
    }
  }

  /// Ends the transaction; when it returns, what was written is durable.
  ///
  /// - Throws: `moved` where the file at the path is no longer the one that is open, and what SQLite reports; the
  ///   transaction is rolled back.
  package func commit() throws(GroupFileError) {
    do throws(GroupFileError) {
      endStatements()
      if isWriting, try hasMoved() { throw .moved }
      try statement("COMMIT").run()
    } catch {
      rollback()
      throw error
    }
  }

  /// Ends the transaction as if it had not been; does nothing outside of one.
  package func rollback() {
    guard !handle.isForked, !handle.isClosed else { return }
    endStatements()
    guard isInTransaction else { return }
    try? statement("ROLLBACK").run()
  }

  /// Whether a transaction is open.
  package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle.database) == 0 }

  private var isWriting: Bool { unsafe sqlite3_txn_state(handle.database, "main") == SQLITE_TXN_WRITE }

  // A statement that still runs would keep its snapshot beyond the transaction.
  private func endStatements() {
    var next = unsafe sqlite3_next_stmt(handle.database, nil)
    while let running = unsafe next {
      if unsafe sqlite3_stmt_busy(running) != 0 { unsafe sqlite3_reset(running) }
      unsafe next = sqlite3_next_stmt(handle.database, running)
    }
  }

  // MARK: The file

  /// Whether the path no longer leads to the file that is open, or to its log and index.
  package func hasMoved() throws(GroupFileError) -> Bool {
    var moved: Int32 = 1
    try handle.check(unsafe csqlite_has_moved(handle.database, &moved))
    guard moved == 0, let status = try ContainerPlace.status(location.path) else { return true }
    return status.identity != identity
  }

  /// Grants each statement `steps` instructions of SQLite's machine, about 25 for each row of a scan; more is `altered`.
  package func bound(steps: Int = Handle.defaultStepLimit) { handle.stepLimit = steps }

  /// A number that changes when another connection has committed; fresh after `begin`.
  package var dataVersion: UInt32 {
    var version: UInt32 = 0
    _ = unsafe csqlite_data_version(handle.database, &version)
    return version
  }

  /// Moves the log into the file if it is above 256 KiB, waiting `milliseconds` for readers; others finishing it later
  /// is no error.
  package func checkpointIfLarge(waiting milliseconds: Int32 = 100) throws(GroupFileError) {
    guard let log = try ContainerPlace.status(location.logPath), log.byteCount > Connection.logLimit else { return }
    do throws(GroupFileError) { try truncatingCheckpoint(waiting: milliseconds) } catch {
      guard error == .busy else { throw error }
    }
  }

  /// Moves the log into the file and empties it.
  ///
  /// - Throws: `busy` where a reader still needs the log; the data is as safe as before.
  package func truncatingCheckpoint(waiting milliseconds: Int32 = Connection.wait) throws(GroupFileError) {
    _ = unsafe sqlite3_busy_timeout(handle.database, milliseconds)
    defer { _ = unsafe sqlite3_busy_timeout(handle.database, Connection.wait) }
    try handle.check(
      unsafe sqlite3_wal_checkpoint_v2(handle.database, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
  }

  /// Has SQLite look at the structure of the whole file, in or outside of a transaction.
  ///
  /// - Throws: `altered` at the first thing that is wrong.
  package func quickCheck() throws(GroupFileError) {
    let limit = handle.stepLimit
    defer { handle.stepLimit = limit }
    // The structure is looked at first, in one instruction; only a sound one is then read row by row.
    handle.stepLimit = Int(Int32.max)
    let check = try statement("PRAGMA quick_check(1)")
    defer { check.reset() }
    guard try check.step(), check.holds("ok", 0), try !check.step() else {
      throw .altered("the file's structure is damaged")
    }
  }

  /// Rewrites the file without its free pages. Outside of a transaction only.
  package func vacuum() throws(GroupFileError) {
    let limit = handle.stepLimit
    handle.stepLimit = Int(Int32.max)
    unsafe csqlite_allow_attaching(handle.database, 1)
    defer {
      unsafe csqlite_allow_attaching(handle.database, 0)
      handle.stepLimit = limit
    }
    guard try !hasMoved() else { throw .moved }
    try statement("VACUUM").run()
  }

  static let wait: Int32 = 10_000
  private static let logLimit = 256 << 10

  // MARK: Checks

  private func checkHeader() throws(GroupFileError) {
    var bytes = [UInt8](repeating: 0, count: 100)
    let code = unsafe bytes.withUnsafeMutableBufferPointer {
      unsafe csqlite_read_header(handle.database, $0.baseAddress)
    }
    try handle.check(code)
    try ContainerHeader.check(bytes, for: access)
  }

  private func settle() throws(GroupFileError) {
    try handle.check(unsafe sqlite3_busy_timeout(handle.database, Connection.wait))
    for sql in access == .writing ? Connection.writerSettings : Connection.readerSettings {
      try Statement(handle, sql).run()
    }
  }

  static let readerSettings: [StaticString] = ["PRAGMA temp_store=MEMORY", "PRAGMA cell_size_check=ON"]
  static let writerSettings = readerSettings + ["PRAGMA secure_delete=ON", "PRAGMA synchronous=FULL"]

  // The journal is in memory until there is a log: the VFS lets no journal onto the disk.
  private static let makingSettings: [StaticString] = [
    "PRAGMA page_size=4096", "PRAGMA encoding='UTF-8'", "PRAGMA auto_vacuum=NONE", "PRAGMA journal_mode=MEMORY",
    "PRAGMA application_id=0x564C5431", "PRAGMA user_version=0x00010001",
  ]

  private func checkSnapshot() throws(GroupFileError) {
    let schemaVersion = try value("PRAGMA schema_version")
    let dataVersion = dataVersion
    if dataVersion == verifiedDataVersion && schemaVersion == verifiedSchemaVersion { return }
    versions = ContainerHeader.Versions(userVersion: UInt32(truncatingIfNeeded: try value("PRAGMA user_version")))
    try versions.check(access)
    if schemaVersion != verifiedSchemaVersion { try checkSchema() }
    verifiedSchemaVersion = schemaVersion
    verifiedDataVersion = dataVersion
  }

  private func checkSchema() throws(GroupFileError) {
    guard try value("PRAGMA application_id") == Int64(ContainerHeader.applicationID),
      try value("PRAGMA page_size") == Int64(ContainerHeader.pageSize)
    else { throw .altered("it is not a vault file") }
    try Schema.compare(statement("SELECT type,name,tbl_name,sql,rootpage FROM sqlite_schema ORDER BY rowid"))
    let encoding = try statement("PRAGMA encoding")
    defer { encoding.reset() }
    guard try encoding.step(), encoding.holds("UTF-8", 0), try value("PRAGMA auto_vacuum") == 0 else {
      throw .altered("the file's encoding is not UTF-8, or it vacuums itself")
    }
  }

  private func value(_ sql: StaticString) throws(GroupFileError) -> Int64 {
    let statement = try statement(sql)
    defer { statement.reset() }
    guard try statement.step() else { throw .altered("SQLite finds the file malformed") }
    return try statement.integer(0, in: Int64.min...Int64.max)
  }
}
