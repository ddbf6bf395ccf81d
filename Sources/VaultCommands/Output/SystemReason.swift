import Glibc
internal import Vault

/// The system's text for an `errno` in the style of our messages: lower case, no full stop.
enum SystemReason {
  static func text(_ code: Int32) -> String {
    switch code {
    case ENOENT: "it does not exist"
    case EACCES, EPERM: "permission denied"
    case ENOSPC, EDQUOT: "the disk is full"
    case EROFS: "the file system is read-only"
    case EISDIR: "it is a directory"
    case ENOTDIR: "a part of its path is not a directory"
    case ELOOP: "it is a symbolic link"
    case EBADF: "it is not open"
    case EIO: "an I/O error"
    default: "system error \(code)"
    }
  }

  /// The exit status for an `errno` from opening, reading or writing a file that the user named.
  static func status(_ code: Int32) -> ExitStatus {
    switch code {
    case ENOENT, ENOTDIR, EISDIR, EBADF: .usage
    case EACCES, EPERM, ELOOP: .denied
    default: .storage
    }
  }
}
