internal import CVaultSQLite
internal import CVaultSystem
internal import Glibc

extension Connection {
  /// Creates an empty group file under a temporary name in `folder`, with `fileMode`, open for its first transaction.
  ///
  /// - Throws: `exists` if the folder already holds a group's file or leftovers of one; `notFound`, `denied`,
  ///   `storage`, `networkFileSystem`. No file is left in the folder then.
  package static func create(folder: String, fileMode: UInt32 = 0o600) throws(VaultError) -> Connection {
    let final = try ContainerPlace(folder: folder)
    try final.checkVacant()
    let number = UInt64.random(in: .min ... .max)
    // The VFS recognizes this suffix, and lets SQLite delete the log of no other file.
    let draft = final.sibling("\(ContainerPlace.groupFileName).\(String(number, radix: 16)).new")
    _ = try newFile(draft.path, mode: fileMode)
    do throws(VaultError) {
      return try Connection(making: draft)
    } catch {
      remove(draft)
      throw error
    }
  }

  /// Gives a file made by `create` its final name, after everything in it is on the disk and its log is merged; the
  /// connection is closed in any case. Then an empty log and index exist, so that users who may only read the folder
  /// can open the file. On an error the temporary file is removed.
  package func place() throws(VaultError) {
    let final = location.sibling(ContainerPlace.groupFileName)
    defer { discard() }
    try finish()
    try final.checkVacant()
    try onDisk(NewName.give(final.path, to: location.path))
    isDraft = false
    try Connection.synchronize(location.folder)
    try Connection(at: final, access: .writing).close()
  }

  /// Closes the connection, and removes a file made by `create` that was not placed.
  package func discard() {
    close()
    guard isDraft, !handle.isForked else { return }
    isDraft = false
    Connection.remove(location)
  }

  func makeTables() throws(VaultError) {
    // Nobody else sees the file before it is placed, so it needs no log until then: a file of many rows is written once
    // and not twice. The VFS refuses journals on the disk.
    let settings: [StaticString] = [
      "PRAGMA journal_mode=MEMORY", "PRAGMA page_size=4096", "PRAGMA encoding='UTF-8'", "PRAGMA auto_vacuum=NONE",
      "BEGIN", "PRAGMA application_id=0x564C5431", "PRAGMA user_version=0x00010001",
    ]
    for sql in settings + Schema.entries.compactMap(\.sql) + ["COMMIT"] { try Statement(handle, sql).run() }
  }

  // On closing, SQLite merges the log into the file, syncs it, and deletes log and index.
  private func finish() throws(VaultError) {
    try statement("PRAGMA journal_mode=WAL").run()
    try ContainerHeader.check(header())
    companions = try findCompanions()
    try truncatingCheckpoint()
    try handle.check(unsafe csqlite_keep_log(handle.database, 0))
    close()
    for path in [location.logPath, location.indexPath] {
      guard try ContainerPlace.identity(of: path) == nil else { throw .storage(.inputOutput) }
    }
  }

  static func newFile(_ path: String, mode: UInt32) throws(VaultError) -> OpenFile {
    // No other code has the file open yet, so closing this descriptor releases no lock that SQLite holds.
    try onDisk(OpenFile(path, O_CREAT | O_EXCL | O_RDWR, mode: mode))
  }

  package static func synchronize(_ folder: String) throws(VaultError) {
    // A trailing slash makes the system follow a link at the end of the path.
    try onDisk(OpenFile(folder + "/", O_RDONLY | O_DIRECTORY).synchronize())
  }

  static func remove(_ draft: ContainerPlace) {
    for path in [draft.path, draft.logPath, draft.indexPath] { unsafe unlink(path) }
  }

  /// Copies the file as the open transaction sees it to a new file at `place`; others may write meanwhile.
  ///
  /// When the call returns, the copy is on the disk as one file without log and index, and is not open.
  ///
  /// - Throws: `exists`; `storage`, `denied`; `damaged` if a page cannot be read. No new file is left then.
  func copy(to place: ContainerPlace, mode: UInt32 = 0o600, progress: (MaintenanceProgress) -> Void)
    throws(VaultError)
  {
    try place.checkVacant()
    _ = try Connection.newFile(place.path, mode: mode)
    do throws(VaultError) {
      let copy = try Handle(at: place, writable: true)
      defer { copy.close() }
      try copyPages(to: copy, progress)
      try Connection.synchronize(place.folder)
    } catch {
      Connection.remove(place)
      throw error
    }
  }

  private func copyPages(to copy: Handle, _ progress: (MaintenanceProgress) -> Void) throws(VaultError) {
    // The file is invisible to others until it is complete, so it needs no journal on the disk.
    try Statement(copy, "PRAGMA journal_mode=MEMORY").run()
    try Statement(copy, "PRAGMA synchronous=FULL").run()
    guard let backup = unsafe sqlite3_backup_init(copy.database, "main", handle.database, "main") else {
      throw unsafe copy.error(sqlite3_extended_errcode(copy.database))
    }
    var code = SQLITE_OK
    while code == SQLITE_OK {
      code = unsafe sqlite3_backup_step(backup, 1_024)
      let all = unsafe UInt64(max(0, sqlite3_backup_pagecount(backup)))
      let left = unsafe UInt64(max(0, sqlite3_backup_remaining(backup)))
      let page = UInt64(ContainerHeader.pageSize)
      progress(.copied(bytes: (all - min(left, all)) * page, of: all * page))
    }
    let end = unsafe sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, end == SQLITE_OK else { throw copy.error(code == SQLITE_DONE ? end : code) }
  }
}

extension ContainerPlace {
  /// Moves the group's folder with all its files to `path`, an unused one, in one step. One that cannot move stays, and
  /// the group's files in it are removed.
  ///
  /// - Parameter entry: the folder's path as the store names it, which may be a link.
  /// - Throws: `notFound`, `denied`, `storage`.
  func removeFolder(_ entry: String, to path: String) throws(VaultError) {
    ConnectionPool.forget(inside: folder)
    if try ContainerPlace.status(entry)?.isFolder == true {
      if unsafe csystem_rename_new(entry, path) == 0 {
        for moved in [entry, path] { try Connection.synchronize(CanonicalPath.split(moved).folder) }
        return
      }
      // Another file system, or a mount point.
      guard errno == EXDEV || errno == EBUSY else { throw VaultError(FileFault(errno: errno)) }
    }
    // The file first: without its log it would be an older state. The lock last, because this process holds it.
    for name in [self.path, logPath, indexPath, journalPath, lockPath] {
      guard unsafe unlink(name) == 0 || errno == ENOENT else { throw VaultError(FileFault(errno: errno)) }
    }
    try Connection.synchronize(folder)
    // The link itself leads nowhere now; a folder that cannot move stays.
    if unsafe unlink(entry) == 0 { try Connection.synchronize(CanonicalPath.split(entry).folder) }
  }

  /// Whether Vault or SQLite makes files of this name in a group's folder.
  static func isOwnName(_ name: String) -> Bool {
    guard name != "lock" else { return true }
    let base = ["-wal", "-shm", "-journal"].first(where: name.hasSuffix).map { name.dropLast($0.count) } ?? name[...]
    return base == groupFileName || base.hasPrefix(groupFileName + ".") && base.hasSuffix(".new")
  }
}
