import Glibc
internal import Vault

/// An error of the command line itself: its arguments, input or output. The store's errors are `VaultError`s.
///
/// The texts never contain an argument or a value, because a mistyped argument may be a secret.
struct Failure: Error, Equatable {
  let status: ExitStatus
  let message: String
  var hint: String?
  /// The proof that failed, if one did.
  var level: String?

  /// Ends the program silently, as when the reader of a pipe has gone.
  var isSilent = false

  var isAboutArguments = false

  init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
    self.status = status
    self.message = message
    self.hint = hint
  }

  /// The command line is not understood. The command's usage is shown under the message.
  static func usage(_ message: String, hint: String? = nil) -> Failure {
    var failure = Failure(.usage, message, hint: hint)
    failure.isAboutArguments = true
    return failure
  }

  /// The user ended the program at a prompt for a passphrase or value.
  static let interrupted = Failure(.interrupted, "interrupted")

  /// Ends `vault expiring` if it listed something. The list says everything, so there is no message.
  static let expiring: Failure = {
    var failure = Failure(.expiring, "something expires soon")
    failure.isSilent = true
    return failure
  }()

  /// The reader of our output has closed the pipe. That is not an error.
  static let readerGone: Failure = {
    var failure = Failure(.success, "the reader of the output has gone")
    failure.isSilent = true
    return failure
  }()
}

/// The system's text for an `errno` in the style of our messages: lower case, no full stop.
enum SystemReason {
  static func text(_ code: Int32) -> String {
    switch code {
    case ENOENT: "it does not exist"
    case EACCES, EPERM: "permission denied"
    case ENOSPC, EDQUOT: "the disk is full"
    case EROFS: "the file system is read-only"
    case EFBIG: "the file cannot grow any further"
    case ENOMEM: "there is not enough memory"
    case EMFILE, ENFILE: "too many files are open"
    case EISDIR: "it is a directory"
    case ENOTDIR: "a part of its path is not a directory"
    case ELOOP: "it is a symbolic link"
    case EBADF: "it is not open"
    case EILSEQ: "its path is not UTF-8"
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

/// A path without links.
enum ResolvedPath {
  /// - Returns: nil, and the reason in `errno`, if nothing is there or the path is not UTF-8.
  static func of(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    guard let text = unsafe String(validatingCString: resolved) else {
      errno = EILSEQ
      return nil
    }
    return text
  }
}
