internal import CSQLite

extension Connection {
  /// Whether the path no longer leads to the file that is open, or to its log and index.
  ///
  /// What is written to a file that was moved away, or to a log that was deleted, nobody will ever read.
  package func hasMoved() throws(GroupFileError) -> Bool {
    guard try ContainerPlace.status(location.path)?.identity == identity else { return true }
    return companions.isEmpty ? false : try findCompanions() != companions
  }

  /// Whether SQLite has opened the very file that lies at the path. Asked once: what it has open stays the same.
  func opensPath() throws(GroupFileError) -> Bool {
    var moved: Int32 = 1
    try handle.check(unsafe csqlite_has_moved(handle.database, &moved))
    return moved == 0 ? try !hasMoved() : false
  }

  /// Moves the log into the file if it holds more than 256 KiB, or 1 MiB where this connection commits often: each time
  /// costs two or three waits for the disk. It waits `milliseconds` for readers.
  ///
  /// A connection that has committed often writes over the log from its beginning afterwards, which spares the file system
  /// to make it grow again. One that may be its process's first and last empties it: a log whose writer is gone is read
  /// anew by the next process, from its beginning to its end.
  ///
  /// That readers keep it is no error: a later writer does it, this one once the log has grown by as much again.
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

  /// Moves the log into the file and empties it.
  ///
  /// - Throws: `busy` where a reader still needs the log; the data is as safe as before.
  package func truncatingCheckpoint(waiting milliseconds: Int32 = 1000) throws(GroupFileError) {
    try checkpoint(SQLITE_CHECKPOINT_TRUNCATE, waiting: milliseconds)
  }

  private func checkpoint(_ mode: Int32, waiting milliseconds: Int32) throws(GroupFileError) {
    guard try !hasMoved() else { throw .moved }
    unsafe sqlite3_busy_timeout(handle.database, milliseconds)
    defer { unsafe sqlite3_busy_timeout(handle.database, Connection.wait) }
    try handle.check(unsafe sqlite3_wal_checkpoint_v2(handle.database, "main", mode, nil, nil))
  }

  /// Has SQLite look at the structure of the whole file, in or outside of a transaction.
  ///
  /// - Throws: `altered` at the first thing that is wrong.
  package func quickCheck() throws(GroupFileError) {
    // The structure is looked at first, in one instruction; only a sound one is then read row by row.
    try withBoundOfWholeFile { () throws(GroupFileError) in
      let check = try statement("PRAGMA quick_check(1)")
      defer { check.reset() }
      guard try check.step(), check.holds("ok", 0), try !check.step() else {
        throw .altered("the file's structure is damaged")
      }
    }
  }

  /// Rewrites the file without its free pages. Outside of a transaction only.
  ///
  /// - Throws: `altered` where the file holds more rows than bytes, what SQLite reports; the file is as before.
  package func vacuum() throws(GroupFileError) {
    guard try !hasMoved() else { throw .moved }
    unsafe csqlite_allow_attaching(handle.database, 1)
    defer { unsafe csqlite_allow_attaching(handle.database, 0) }
    try withBoundOfWholeFile { () throws(GroupFileError) in try statement("VACUUM").run() }
  }

  /// Grants each statement in `body` what the rows can need that the file has room for, and no more: a table's tree may
  /// repeat its pages.
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

  /// How many bytes the log may hold before they are moved into the file.
  static let logLimit = 256 << 10
  /// The same for a connection that lasts. A reader without any other process beside it goes through the log once, which
  /// takes about a millisecond for so much.
  static let lastingLogLimit = 1 << 20

  /// After so many commits a connection is taken for one that lasts.
  static let manyCommits = 8
}
