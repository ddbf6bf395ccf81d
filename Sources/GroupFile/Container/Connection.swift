internal import CSQLite
internal import Glibc

/// One SQLite connection to a group's file that an attacker may have written, used by one thread at a time.
@safe package final class Connection {
  /// What a connection is for.
  package enum Access: Sendable { case reading, writing }
  /// How a transaction begins: with a snapshot to read, or as the only writer.
  package enum Beginning: Sendable { case reading, immediate }

  let handle: Handle
  let location: ContainerPlace
  package let access: Access
  /// Which file was opened.
  let identity: FileIdentity
  /// Whether the file is read without log and index, because they are missing and cannot be made here.
  let isFrozen: Bool
  // The folder and the names in it, once the connection is used again: looking a name up in an open folder takes a third of
  // the time that a path takes.
  private var surroundings: Surroundings?
  /// Which log and index SQLite opened.
  private(set) var companions: [FileIdentity?] = []
  /// What the log held when this connection last moved it into the file, in bytes; 0 once it began anew.
  var checkpointedByteCount = 0
  private var statements: [(key: UInt, statement: Statement)] = []
  var verified = SnapshotCheck()

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
  ///
  /// - Parameter isResting: nobody writes to the file, as in a backup: if its log is empty it is read as it lies there, and
  ///   nothing is made beside it.
  package init(at place: ContainerPlace, access: Access, isResting: Bool = false) throws(GroupFileError) {
    let shape = try place.shape()
    if access == .writing { try ContainerPlace.checkWritable(place.path) }
    isFrozen = access == .reading ? try place.isFrozen(shape, isResting: isResting) : false
    handle = try Connection.handle(at: place, shape.identity, access, isFrozen: isFrozen)
    location = place
    self.access = access
    identity = shape.identity
    try checkHeader()
    // A log that grew since is another process's commit, and one that is new his first.
    let now = try place.shape()
    guard now.identity == identity, isFrozen ? try place.isFrozen(now, isResting: isResting) : true, try opensPath()
    else {
      throw .moved
    }
    try settle()
    try begin(.reading)
    try commit()
    if isFrozen { return }
    companions = try findCompanions()
    // What SQLite opened lay there before and after.
    for (before, after) in zip([shape.log, shape.index], companions) {
      guard before == nil || before?.identity == after else { throw .moved }
    }
  }

  /// Opens the empty file that creation made at `place`, and makes the tables in it.
  init(making place: ContainerPlace) throws(GroupFileError) {
    guard let status = try ContainerPlace.status(place.path), status.byteCount == 0 else { throw .exists }
    identity = status.identity
    isFrozen = false
    handle = try Connection.handle(at: place, identity, .writing, isFrozen: false)
    location = place
    access = .writing
    try settle()
    try makeTables()
    try checkHeader()
    try begin(.reading)
    try commit()
    companions = try findCompanions()
  }

  deinit {
    close()
    if let surroundings { Glibc.close(surroundings.folder) }
  }

  /// Closes the connection; it and its statements cannot be used any more.
  package func close() {
    guard !handle.isClosed, !handle.isForked else { return }
    handle.close()
    ConnectionTable.shared.didClose(identity)
  }

  /// Whether the next user may have it: open, in this process, in no transaction, and in step with other writers.
  var isReusable: Bool { !handle.isForked && !handle.isClosed && !isInTransaction && !isFrozen }

  /// The folder of the file, and the names of what may lie beside it.
  struct Surroundings {
    let folder: CInt
    let log, index, journal: String
  }

  /// Makes the connection ready for one more use: whoever takes it has found its file at the path.
  ///
  /// - Throws: `altered` where a journal lies beside the file; `moved`, `storage`.
  func prepareReuse() throws(GroupFileError) {
    let around: Surroundings
    if let surroundings {
      around = surroundings
    } else {
      around = try openSurroundings()
      surroundings = around
      // Pages are worth keeping now: 8 MiB of them. A writer keeps more.
      if access == .reading { try Statement(handle, "PRAGMA cache_size=-8192").run() }
    }
    guard try ContainerPlace.status(around.journal, in: around.folder) == nil else { throw ContainerPlace.journalFound }
  }

  private func openSurroundings() throws(GroupFileError) -> Surroundings {
    let folder = unsafe csqlite_name(location.folder)
    guard folder >= 0 else { throw ResultCode.error(errno: errno) }
    do throws(GroupFileError) {
      let name = String(location.path.utf8.dropFirst(location.folder.utf8.count + 1)) ?? ""
      guard try ContainerPlace.status(name, in: folder)?.identity == identity else { throw .moved }
      return Surroundings(folder: folder, log: name + "-wal", index: name + "-shm", journal: name + "-journal")
    } catch {
      Glibc.close(folder)
      throw error
    }
  }

  /// Which log and index lie beside the file.
  func findCompanions() throws(GroupFileError) -> [FileIdentity?] {
    let folder = surroundings?.folder ?? AT_FDCWD
    return [
      try ContainerPlace.status(surroundings?.log ?? location.logPath, in: folder)?.identity,
      try ContainerPlace.status(surroundings?.index ?? location.indexPath, in: folder)?.identity,
    ]
  }

  private static func handle(
    at place: ContainerPlace, _ identity: FileIdentity, _ access: Access, isFrozen: Bool
  ) throws(GroupFileError) -> Handle {
    try ConnectionTable.shared.willOpen(identity)
    do throws(GroupFileError) {
      return try Handle(path: place.path, writable: access == .writing, isFrozen: isFrozen)
    } catch {
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

  /// Grants each statement `steps` instructions of SQLite's machine, about 25 for each row of a scan; more is `altered`.
  package func bound(steps: Int = Handle.defaultStepLimit) { handle.stepLimit = steps }

  // MARK: Transactions

  /// Begins a transaction, takes its snapshot, and checks that the tables are still those of the format.
  ///
  /// - Throws: `busy` where another writer holds the file; what opening throws. No transaction is open then.
  package func begin(_ beginning: Beginning) throws(GroupFileError) {
    guard !handle.isForked else { throw .storage(.forked) }
    if beginning == .immediate { try statement("BEGIN IMMEDIATE").run() }
    do throws(GroupFileError) { try verified.check(self) } catch {
      rollback()
      throw error
    }
  }

  /// Ends the transaction; when it returns, what was written is durable.
  ///
  /// - Throws: `moved` where the file at the path is no longer the one that is open, or its log or index is not, and
  ///   what SQLite reports; the transaction is rolled back.
  package func commit() throws(GroupFileError) {
    do throws(GroupFileError) {
      endStatements()
      if isWriting, try hasMoved() { throw .moved }
      if isChanging { try statement("COMMIT").run() }
    } catch {
      rollback()
      throw error
    }
  }

  /// Ends the transaction as if it had not been; does nothing outside of one.
  package func rollback() {
    guard !handle.isForked, !handle.isClosed else { return }
    endStatements()
    if isChanging { try? statement("ROLLBACK").run() }
  }

  /// Whether a transaction is open.
  package var isInTransaction: Bool { unsafe sqlite3_txn_state(handle.database, "main") != SQLITE_TXN_NONE }

  private var isChanging: Bool { unsafe sqlite3_get_autocommit(handle.database) == 0 }

  private var isWriting: Bool { unsafe sqlite3_txn_state(handle.database, "main") == SQLITE_TXN_WRITE }

  // A statement that still runs keeps its snapshot; in a transaction that only reads, one that runs on is all that does.
  private func endStatements() {
    for kept in statements { kept.statement.reset() }
  }
}

/// The SQLite that this build runs on.
package enum ContainerLibrary {
  package static var version: String { unsafe String(cString: sqlite3_libversion()) }
}
