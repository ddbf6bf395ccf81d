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

// Errors of the modules and calls below, as errors of a store.
extension VaultError {
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
