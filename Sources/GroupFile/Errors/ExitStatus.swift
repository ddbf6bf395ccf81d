/// The exit statuses of `vault`, one for each kind of error. The errors, the help and the tests all use this table.
///
/// The meaning of a number never changes. Only `run` uses 126 and 127.
public enum ExitStatus: Int32, CaseIterable, Sendable {
  case success = 0
  case unexpected = 1
  case notFound = 10
  case locked = 11
  case denied = 12
  case damaged = 13
  case rolledBack = 14
  case busy = 15
  case wrongKey = 16
  case newerFormat = 17
  case conflict = 18
  case classRefused = 19
  case overLimit = 20
  case noStore = 21
  case exists = 22
  case storage = 23
  case expiring = 24
  case usage = 64
  case notExecutable = 126
  case commandNotFound = 127
  case interrupted = 130

  /// The status's name in the JSON of an error.
  public var name: String {
    switch self {
    case .success: "success"
    case .unexpected: "unexpected"
    case .notFound: "not-found"
    case .locked: "locked"
    case .denied: "denied"
    case .damaged: "damaged"
    case .rolledBack: "rolled-back"
    case .busy: "busy"
    case .wrongKey: "wrong-key"
    case .newerFormat: "newer-format"
    case .conflict: "conflict"
    case .classRefused: "class-refused"
    case .overLimit: "over-limit"
    case .noStore: "no-store"
    case .exists: "exists"
    case .storage: "storage"
    case .expiring: "expiring"
    case .usage: "usage"
    case .notExecutable: "not-executable"
    case .commandNotFound: "command-not-found"
    case .interrupted: "interrupted"
    }
  }

  /// One line for the help and for docs/statuses.md.
  public var meaning: String {
    switch self {
    case .success: "done"
    case .unexpected: "unexpected: something that should not happen"
    case .notFound: "not found: an item, a version, a group, an application or a member"
    case .locked: "locked: nothing opens the store, or its key file or credential is unfit"
    case .denied: "denied: by rights, or by the system's permissions"
    case .damaged: "damaged or altered: not a vault file, or a proof failed"
    case .rolledBack: "rolled back: older than what this machine has seen"
    case .busy: "busy: another process kept the lock for too long, or a cluster does not answer"
    case .wrongKey: "wrong passphrase or key"
    case .newerFormat: "newer format: a newer vault wrote this"
    case .conflict: "conflict: the version is not the expected one"
    case .classRefused: "class refused: an archive holds a class that was not allowed"
    case .overLimit: "over a limit"
    case .noStore: "no store here"
    case .exists: "exists already"
    case .storage: "storage: disk full, read-only, or an I/O error"
    case .expiring: "only of expiring: something has expired, or will soon"
    case .usage: "usage: the command line is not understood"
    case .notExecutable: "only of run: the program is not executable"
    case .commandNotFound: "only of run: the program was not found"
    case .interrupted: "interrupted"
    }
  }
}
