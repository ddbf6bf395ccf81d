/// The exit statuses of `vault`, one for each kind of error. The errors, the help and the tests all use this table.
///
/// The meaning of a number never changes. Only commands that start a program use 126 and 127.
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
  public var name: String { ExitStatus.names[self] ?? "status \(rawValue)" }

  private static let names: [ExitStatus: String] = [
    .success: "success", .unexpected: "unexpected", .notFound: "not-found", .locked: "locked", .denied: "denied",
    .damaged: "damaged", .rolledBack: "rolled-back", .busy: "busy", .wrongKey: "wrong-key",
    .newerFormat: "newer-format", .conflict: "conflict", .classRefused: "class-refused", .overLimit: "over-limit",
    .noStore: "no-store", .exists: "exists", .storage: "storage", .expiring: "expiring", .usage: "usage",
    .notExecutable: "not-executable", .commandNotFound: "command-not-found", .interrupted: "interrupted",
  ]
}
