internal import CSQLite
internal import Glibc

extension Connection {
  /// Makes an empty group's file under a temporary name in `folder`, with `fileMode`, open for its first transaction.
  ///
  /// - Throws: `exists` where the folder already holds a group's file or what is left of one; `missing`, `denied`,
  ///   `storage`, `networkFileSystem`. Nothing is left in the folder then.
  package static func create(folder: String, fileMode: UInt32 = 0o600) throws(GroupFileError) -> Connection {
    let final = try ContainerPlace(folder: folder)
    try final.checkVacant()
    let number = UInt64.random(in: .min ... .max)
    // The VFS knows the ending: of no other file may the log be deleted.
    let draft = final.sibling("\(ContainerPlace.groupFileName).\(String(number, radix: 16)).new")
    try makeEmptyFile(draft.path, mode: fileMode)
    do throws(GroupFileError) {
      return try Connection(making: draft)
    } catch {
      remove(draft)
      throw error
    }
  }

  /// Gives a file made by `create` its final name: everything in it is on the disk, its log is merged and gone.
  ///
  /// The connection is closed, whatever happens. Afterwards the log and the index lie beside the file, empty, so that
  /// those who may only read the folder can open it.
  ///
  /// - Throws: `exists` where there is a group's file by now; `storage`, `denied`. The temporary file is removed then.
  package func place() throws(GroupFileError) {
    let final = location.sibling(ContainerPlace.groupFileName)
    do throws(GroupFileError) {
      try finish()
      try final.checkVacant()
      let code = NewName.give(final.path, to: location.path)
      guard code == 0 else { throw ResultCode.error(errno: code) }
    } catch {
      discard()
      throw error
    }
    try Connection.synchronise(location.folder)
    try Connection(at: final, access: .writing).close()
  }

  /// Removes a file made by `create` that shall not be placed; the connection is closed.
  package func discard() {
    close()
    Connection.remove(location)
  }

  func makeTables() throws(GroupFileError) {
    // The journal is in memory until there is a log: the VFS lets no journal onto the disk.
    try Statement(handle, "PRAGMA journal_mode=MEMORY").run()
    try Statement(handle, "PRAGMA page_size=4096").run()
    try Statement(handle, "PRAGMA encoding='UTF-8'").run()
    try Statement(handle, "PRAGMA auto_vacuum=NONE").run()
    try Statement(handle, "BEGIN").run()
    try Statement(handle, "PRAGMA application_id=0x564C5431").run()
    try Statement(handle, "PRAGMA user_version=0x00010001").run()
    for entry in Schema.entries { if let sql = entry.sql { try Statement(handle, sql).run() } }
    try Statement(handle, "COMMIT").run()
    try Statement(handle, "PRAGMA journal_mode=WAL").run()
  }

  // Closing, SQLite merges the log into the file, syncs it, and deletes log and index.
  private func finish() throws(GroupFileError) {
    try truncatingCheckpoint()
    try handle.check(unsafe csqlite_keep_log(handle.database, 0))
    close()
    guard try findCompanions() == [nil, nil] else { throw .storage(.inputOutput) }
  }

  static func makeEmptyFile(_ path: String, mode: UInt32) throws(GroupFileError) {
    // Nobody has the file open yet, so that closing it here ends no lock of SQLite's.
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    defer { Glibc.close(descriptor) }
    guard fchmod(descriptor, mode) == 0 else { throw ResultCode.error(errno: errno) }
  }

  static func synchronise(_ folder: String) throws(GroupFileError) {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    defer { Glibc.close(descriptor) }
    guard fsync(descriptor) == 0 else { throw ResultCode.error(errno: errno) }
  }

  static func remove(_ draft: ContainerPlace) {
    for path in [draft.path, draft.logPath, draft.indexPath] { unsafe unlink(path) }
  }

  /// Removes the group's file, what lies beside it, and its folder.
  ///
  /// - Throws: `denied`, `storage`, `moved`; what is left then is a whole group, or no group's file.
  func removeFiles() throws(GroupFileError) {
    // With the log merged, the file alone is the newest state: it can go last. Otherwise it would be an older one.
    let isMerged = (try? truncatingCheckpoint()) != nil
    try location.removeFiles(isMerged: isMerged)
  }
}

extension ContainerPlace {
  /// Removes the group's files and its folder, or what is left of them.
  ///
  /// - Parameter isMerged: whether the log holds nothing that the file lacks.
  func removeFiles(isMerged: Bool = false) throws(GroupFileError) {
    let beside = [logPath, indexPath]
    for path in isMerged ? beside + [path] : [path] + beside { try ContainerPlace.unlinkIfPresent(path) }
    try ContainerPlace.unlinkIfPresent(lockPath)
    guard unsafe rmdir(folder) == 0 || errno == ENOTEMPTY else { throw ResultCode.error(errno: errno) }
  }

  private static func unlinkIfPresent(_ path: String) throws(GroupFileError) {
    guard unsafe unlink(path) == 0 || errno == ENOENT else { throw ResultCode.error(errno: errno) }
  }
}
