internal import CSQLite
internal import Glibc

/// SQLite's result codes as errors of the container.
enum ResultCode {
  /// The error that `code`, extended or not, stands for; `systemError` is the errno of the call that failed, or 0.
  static func error(_ code: Int32, systemError: Int32) -> GroupFileError {
    switch code & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy
    case SQLITE_FULL: .storage(.full)
    case SQLITE_NOMEM: .storage(.memory)
    case SQLITE_IOERR: inputOutputError(code, systemError: systemError)
    case SQLITE_READONLY: code == readOnlyMoved ? .moved : .storage(.readOnly)
    case SQLITE_CANTOPEN: openError(systemError)
    case SQLITE_PERM, SQLITE_AUTH: .denied
    case SQLITE_INTERRUPT: .altered("a table does not end where it should")
    case SQLITE_TOOBIG: .altered("a value is longer than the format allows")
    case SQLITE_CONSTRAINT: .altered("a table holds a row that it should not")
    case SQLITE_NOTADB: .altered("it is not a vault file")
    default: .altered("SQLite finds the file malformed")
    }
  }

  /// The error of a system call that failed with `number`.
  static func error(errno number: Int32) -> GroupFileError {
    switch number {
    case ENOENT: .missing
    case EACCES, EPERM: .denied
    case EEXIST: .exists
    case ELOOP, ENOTDIR, EISDIR, ENXIO: .altered("a file of the group is not a regular file")
    case ENOSPC, EDQUOT: .storage(.full)
    case EROFS: .storage(.readOnly)
    case ENOMEM: .storage(.memory)
    case EMFILE, ENFILE: .storage(.tooManyFiles)
    case ENAMETOOLONG: .storage(.pathTooLong)
    default: .storage(.inputOutput)
    }
  }

  private static func inputOutputError(_ code: Int32, systemError: Int32) -> GroupFileError {
    if code == noMemoryForIO { return .storage(.memory) }
    // A page that the file should have and has not: the file was cut short.
    if code == syncFailed || code == folderSyncFailed { return .storage(.unconfirmed) }
    if code == shortRead { return .altered("the file is cut short") }
    return systemError == 0 ? .storage(.inputOutput) : error(errno: systemError)
  }

  private static func openError(_ systemError: Int32) -> GroupFileError {
    systemError == 0 ? .altered("a file of the group is not a regular file") : error(errno: systemError)
  }

  // SQLite's header builds these with macros, which Swift does not import.
  private static let syncFailed = SQLITE_IOERR | 4 << 8
  private static let folderSyncFailed = SQLITE_IOERR | 5 << 8
  private static let shortRead = SQLITE_IOERR | 2 << 8
  private static let noMemoryForIO = SQLITE_IOERR | 12 << 8
  private static let readOnlyMoved = SQLITE_READONLY | 4 << 8
}
