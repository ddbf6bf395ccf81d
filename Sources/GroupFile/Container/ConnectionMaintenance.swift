internal import CVaultSQLite

extension Connection {
  /// Whether another file, log or index than the open one is at the path.
  ///
  /// Data written to a file that was moved away, or to a deleted log, would be lost.
  package func hasMoved() throws(GroupFileError) -> Bool {
    guard try ContainerPlace.identity(of: location.path) == identity else { return true }
    return companions.isEmpty ? false : try findCompanions() != companions
  }

  /// Whether SQLite has opened the file that is at the path. One check is enough, because SQLite keeps its files open.
  func opensPath() throws(GroupFileError) -> Bool {
    var moved: Int32 = 1
    try handle.check(unsafe csqlite_has_moved(handle.database, &moved))
    return moved == 0 ? try !hasMoved() : false
  }

  /// Checkpoints the log if it holds more than 256 KiB, or 1 MiB if this connection commits often, because each
  /// checkpoint waits for the disk two or three times. It waits `milliseconds` for readers.
  ///
  /// A connection that has committed often then overwrites the log from its beginning, which spares the file system
  /// from growing it again. Any other connection empties the log, because the next process would otherwise read it from
  /// beginning to end.
  ///
  /// It is not an error if readers prevent the checkpoint: a later writer does it, or this one once the log has grown
  /// by the same amount again.
  package func checkpointIfLarge(waiting milliseconds: Int32 = 100) throws(GroupFileError) {
    let byteCount = handle.logPageCount * ContainerHeader.pageSize
    if byteCount < checkpointedByteCount { checkpointedByteCount = 0 }
    let isBusy = handle.commitCount >= Connection.manyCommits
    let limit = isBusy ? Connection.lastingLogLimit : Connection.logLimit
    guard byteCount > checkpointedByteCount + limit else { return }
    checkpointedByteCount = byteCount
    let isLasting = isBusy && byteCount < limit + Connection.logLimit
    do throws(GroupFileError) {
      try checkpoint(isLasting ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE, waiting: milliseconds)
    } catch {
      guard error == .busy else { throw error }
    }
  }

  /// Checkpoints the log and empties it.
  ///
  /// - Throws: `busy` if a reader still needs the log; the data is as safe as before.
  package func truncatingCheckpoint(waiting milliseconds: Int32 = 1000) throws(GroupFileError) {
    try checkpoint(SQLITE_CHECKPOINT_TRUNCATE, waiting: milliseconds)
  }

  private func checkpoint(_ mode: Int32, waiting milliseconds: Int32) throws(GroupFileError) {
    guard try !hasMoved() else { throw .moved }
    unsafe sqlite3_busy_timeout(handle.database, milliseconds)
    defer { unsafe sqlite3_busy_timeout(handle.database, Connection.wait) }
    try handle.check(unsafe sqlite3_wal_checkpoint_v2(handle.database, "main", mode, nil, nil))
  }

  /// Lets SQLite check the structure of the whole file, in or outside of a transaction.
  ///
  /// - Throws: `altered` at the first defect.
  package func quickCheck() throws(GroupFileError) {
    // SQLite checks the structure in a single instruction; only a sound structure is then read row by row.
    try withBoundOfWholeFile { () throws(GroupFileError) in
      let check = try statement("PRAGMA quick_check(1)")
      defer { check.reset() }
      guard try check.step(), check.holds("ok", 0), try !check.step() else {
        throw .altered("the file's structure is damaged")
      }
    }
  }

  /// Rewrites the file without its free pages. Only outside of a transaction.
  ///
  /// - Throws: `altered` if the file has more rows than bytes; the errors of SQLite. The file is unchanged then.
  package func vacuum() throws(GroupFileError) {
    guard try !hasMoved() else { throw .moved }
    unsafe csqlite_allow_attaching(handle.database, 1)
    defer { unsafe csqlite_allow_attaching(handle.database, 0) }
    try withBoundOfWholeFile { () throws(GroupFileError) in try statement("VACUUM").run() }
  }

  /// Limits each statement in `body` to the work for as many rows as fit into the file, because the tree of a table in
  /// a hostile file may repeat pages.
  func withBoundOfWholeFile<Result>(
    _ body: () throws(GroupFileError) -> Result
  ) throws(GroupFileError) -> Result {
    let file = try ContainerPlace.status(location.path)?.byteCount ?? 0
    let log = try ContainerPlace.status(location.logPath)?.byteCount ?? 0
    let limit = handle.stepLimit
    defer { handle.stepLimit = limit }
    // The smallest row has 40 bytes, and checking it takes some 30 instructions.
    handle.stepLimit = 2 * (file + log) + Handle.defaultStepLimit
    return try body()
  }

  /// The size of the log in bytes above which it is checkpointed.
  static let logLimit = 256 << 10
  /// The same for a connection that lasts. A reader that is the only process reads the whole log once, which takes
  /// about a millisecond for this size.
  static let lastingLogLimit = 1 << 20

  /// The number of commits after which a connection is expected to last.
  static let manyCommits = 8
}
