internal import CSQLite
internal import Glibc

extension Connection {
  /// Makes an empty group's file under a temporary name in `folder`, with `fileMode`, open for its first transaction.
  ///
  /// - Throws: `exists` where the folder already holds a group's file or what is left of one; `missing`, `denied`,
  ///   `storage`, `networkFileSystem`.
  package static func create(folder: String, fileMode: UInt32 = 0o600) throws(ContainerError) -> Connection {
    let final = try ContainerPlace(folder: folder)
    try final.checkVacant()
    let number = UInt64.random(in: .min ... .max)
    let place = final.sibling("\(ContainerPlace.groupFileName).\(String(number, radix: 16)).new")
    try makeEmptyFile(place.path, mode: fileMode)
    do throws(ContainerError) {
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
  package func place() throws(ContainerError) {
    let final = location.sibling(ContainerPlace.groupFileName)
    do throws(ContainerError) {
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

  private func finish() throws(ContainerError) {
    try truncatingCheckpoint()
    try handle.check(unsafe csqlite_keep_log(handle.database, 0))
    close()
    guard try ContainerPlace.status(location.logPath) == nil, try ContainerPlace.status(location.indexPath) == nil else {
      throw .storage(.inputOutput)
    }
  }

  private static func makeEmptyFile(_ path: String, mode: UInt32) throws(ContainerError) {
    // Nobody has the file open yet, so that closing it here ends no lock of SQLite's.
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    defer { Glibc.close(descriptor) }
    guard fchmod(descriptor, mode) == 0 else { throw ResultCode.error(errno: errno) }
  }

  private static func rename(_ from: String, to: String) throws(ContainerError) {
    guard unsafe csqlite_rename_new(from, to) == 0 else { throw ResultCode.error(errno: errno) }
  }

  private static func synchronise(_ folder: String) throws(ContainerError) {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    defer { Glibc.close(descriptor) }
    guard fsync(descriptor) == 0 else { throw ResultCode.error(errno: errno) }
  }
}

extension ContainerPlace {
  /// Throws `exists` where the group's file, or one that belongs to it, lies here: a new file would inherit its log.
  func checkVacant() throws(ContainerError) {
    for path in [path, logPath, indexPath, journalPath] {
      guard try ContainerPlace.status(path) == nil else { throw .exists }
    }
  }
}
