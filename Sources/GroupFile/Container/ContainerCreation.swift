internal import CSQLite
internal import Glibc

extension Connection {
  /// Makes an empty group's file under a temporary name in `folder`, with `fileMode`, open for its first transaction.
  ///
  /// - Throws: `exists` where the folder already holds a group's file or what is left of one; `missing`, `denied`,
  ///   `storage`, `networkFileSystem`.
  package static func create(folder: String, fileMode: UInt32 = 0o600) throws(GroupFileError) -> Connection {
    let final = try ContainerPlace(folder: folder)
    try final.checkVacant()
    let number = UInt64.random(in: .min ... .max)
    let place = final.sibling("\(ContainerPlace.groupFileName).\(String(number, radix: 16)).new")
    try makeEmptyFile(place.path, mode: fileMode)
    do throws(GroupFileError) {
      return try Connection(making: place)
    } catch {
      unsafe unlink(place.path)
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
      try Connection.rename(location.path, to: final.path)
    } catch {
      unsafe unlink(location.path)
      throw error
    }
    try Connection.synchronise(location.folder)
    _ = try Connection(at: final, access: .writing)
  }

  /// Removes a file made by `create` that shall not be placed; the connection is closed.
  package func discard() {
    close()
    for path in [location.path, location.logPath, location.indexPath] { unsafe unlink(path) }
  }

  /// Removes the group's file, what lies beside it, and its folder.
  ///
  /// - Throws: `denied`, `storage`; the group's file goes first, so what is left then is no group.
  func removeFiles() throws(GroupFileError) {
    for path in [location.path, location.logPath, location.indexPath, location.lockPath] {
      guard unsafe unlink(path) == 0 || errno == ENOENT else { throw ResultCode.error(errno: errno) }
    }
    guard unsafe rmdir(location.folder) == 0 || errno == ENOTEMPTY else { throw ResultCode.error(errno: errno) }
  }

  private func finish() throws(GroupFileError) {
    try truncatingCheckpoint()
    try handle.check(unsafe csqlite_keep_log(handle.database, 0))
    close()
    guard try ContainerPlace.status(location.logPath) == nil, try ContainerPlace.status(location.indexPath) == nil
    else {
      throw .storage(.inputOutput)
    }
  }

  private static func makeEmptyFile(_ path: String, mode: UInt32) throws(GroupFileError) {
    // Nobody has the file open yet, so that closing it here ends no lock of SQLite's.
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    defer { Glibc.close(descriptor) }
    guard fchmod(descriptor, mode) == 0 else { throw ResultCode.error(errno: errno) }
  }

  private static func rename(_ from: String, to: String) throws(GroupFileError) {
    guard unsafe csqlite_rename_new(from, to) == 0 else { throw ResultCode.error(errno: errno) }
  }

  private static func synchronise(_ folder: String) throws(GroupFileError) {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    defer { Glibc.close(descriptor) }
    guard fsync(descriptor) == 0 else { throw ResultCode.error(errno: errno) }
  }
}

extension ContainerPlace {
  /// Throws `exists` where the group's file, or one that belongs to it, lies here: a new file would inherit its log.
  func checkVacant() throws(GroupFileError) {
    for path in [path, logPath, indexPath, journalPath] {
      guard try ContainerPlace.status(path) == nil else { throw .exists }
    }
  }
}
