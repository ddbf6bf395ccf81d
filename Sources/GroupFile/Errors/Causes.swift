internal import Ground

/// The check that refused bytes. A reader of a group makes the checks in this order (format article, "Outcomes").
@nonexhaustive
public enum VerificationLevel: String, Sendable {
  case container, wrap, roster, manifest, witness, chain, tree, row, commit
  case store, identity, slot, credential, settings, state, registry, backup
}

/// How a state contradicts what was verified before.
@nonexhaustive
public enum RollbackReason: String, Sendable {
  /// The group's state is older.
  case olderState = "epoch"
  /// Its list of members is older.
  case olderRoster = "roster"
  /// Its key is older.
  case olderKey = "generation"
  /// Two states of one epoch, or a state that does not descend from the known one.
  case fork
  /// A removed group came back.
  case broughtBack = "removed"
  /// The file is gone.
  case vanished
  /// An application's issue is lower than one that a group's roster names; the numbers are issues, not epochs.
  case olderIssue = "issue"
}

/// The kind of secret that opens a slot.
@nonexhaustive
public enum SlotKind: UInt8, Sendable {
  case passphrase = 1
  case keyFile, recoveryCode, systemdCredential

  /// The kind in words, such as "key file".
  public var name: String {
    switch self {
    case .passphrase: "passphrase"
    case .keyFile: "key file"
    case .recoveryCode: "recovery code"
    case .systemdCredential: "systemd credential"
    }
  }
}

/// Why a text was rejected before any key was tried. Not secret, because the check characters follow from the others.
@nonexhaustive
public enum RecoveryCodeDefect: Error, Sendable, Equatable {
  /// These groups, counted from 1, do not agree with their check characters.
  case mistyped([Int])
  /// These groups are right, but in the wrong order.
  case misplaced([Int])
  /// A group does not have five characters.
  case groupLength(Int, count: Int)
  /// The text does not have 40 characters.
  case length(Int)
}

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
  public var name: String { words.name }

  /// One line for the help and for docs/statuses.md.
  public var meaning: String { words.meaning }

  private var words: (name: String, meaning: String) {
    switch self {
    case .success: ("success", "done")
    case .unexpected: ("unexpected", "unexpected: something that should not happen")
    case .notFound: ("not-found", "not found: an item, a version, a group, an application or a member")
    case .locked: ("locked", "locked: nothing opens the store, or its key file or credential is unfit")
    case .denied: ("denied", "denied: by rights, or by the system's permissions")
    case .damaged: ("damaged", "damaged or altered: not a vault file, or a proof failed")
    case .rolledBack: ("rolled-back", "rolled back: older than what this machine has seen")
    case .busy: ("busy", "busy: others kept the group locked for ten seconds, or vaultd or a cluster does not answer")
    case .wrongKey: ("wrong-key", "wrong passphrase or key")
    case .newerFormat: ("newer-format", "newer format: a newer vault wrote this")
    case .conflict: ("conflict", "conflict: the version is not the expected one")
    case .classRefused: ("class-refused", "class refused: an archive holds a class that was not allowed")
    case .overLimit: ("over-limit", "over a limit")
    case .noStore: ("no-store", "no store here")
    case .exists: ("exists", "exists already")
    case .storage: ("storage", "storage: disk full, read-only, or an I/O error")
    case .expiring: ("expiring", "only of expiring: something has expired, or will soon")
    case .usage: ("usage", "usage: the command line is not understood")
    case .notExecutable: ("not-executable", "only of run, watch and rotate-value: the program is not executable")
    case .commandNotFound: ("command-not-found", "only of run, watch and rotate-value: the program was not found")
    case .interrupted: ("interrupted", "interrupted, or a question was answered with no")
    }
  }
}

// Errors of the modules and calls below, as errors of a store.
extension VaultError {
  /// The error for a fault of one of a group's files.
  init(_ fault: FileFault) {
    self =
      switch fault {
      case .missing: .notFound(.group)
      case .taken: .exists(.group)
      case .link, .wrongKind, .wrongSize: .damaged(.container, "a file of the group is not a regular file")
      case .foreignOwner, .openToOthers, .denied: .permissionDenied
      case .busy: .busy(group: nil)
      case .storage(let failure): .storage(failure)
      }
  }

  /// The error for a fault of a file of the store, unless the caller knows a better one.
  package init(_ fault: FileFault, at level: Level) {
    self =
      switch fault {
      case .missing, .link, .wrongKind: .damaged(level, "it \(fault.reason)")
      case .taken: .damaged(level, "something else has its name")
      case .wrongSize: .damaged(level, "it is longer than it can be")
      case .foreignOwner, .openToOthers, .denied: .denied(.file(level, fault))
      case .busy: .busy(group: nil)
      case .storage(let failure): .storage(failure)
      }
  }

  /// The error for a fault of the file that should have opened the store: the store stays locked, unless the system
  /// failed.
  package init(_ fault: FileFault, _ lock: (FileFault) -> Lock) {
    if case .storage(let failure) = fault { self = .storage(failure) } else { self = .locked(lock(fault)) }
  }
}

/// The result of `body`, which handles files of a group.
func onDisk<Result: ~Copyable>(_ body: @autoclosure () throws(FileFault) -> Result) throws(VaultError) -> Result {
  do { return try body() } catch { throw VaultError(error) }
}

/// Runs `body`, which handles files of one level, and translates its faults.
package func atLevel<Result: ~Copyable>(
  _ level: VaultError.Level, _ body: () throws(FileFault) -> Result
) throws(VaultError) -> Result {
  do { return try body() } catch { throw VaultError(error, at: level) }
}

/// The result of a call of a group's file, whose errors do not name the group.
package func inGroup<Result: ~Copyable>(
  _ group: String, _ body: @autoclosure () throws(VaultError) -> Result
) throws(VaultError) -> Result {
  do { return try body() } catch { throw error.named(group) }
}
