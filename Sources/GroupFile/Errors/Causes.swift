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

/// The way in which the storage failed; the raw value is the text for messages.
@nonexhaustive
public enum StorageFailure: String, Sendable {
  case full = "the disk is full"
  case readOnly = "the file system is read-only"
  case inputOutput = "reading or writing failed"
  /// Syncing failed after everything was written: the change may have been made or not.
  case unconfirmed = "the disk did not confirm the change, which may have been made or not"
  case memory = "there is too little memory"
  case tooManyFiles = "too many files are open"
  case pathTooLong = "the path of the store is too long"
  case stateFolder = "the state folder cannot be written"
  case forked = "the process that opened the file has forked"
  case replaced = "the group's file was replaced meanwhile"
  case noBackupFolder = "the folder above the backup's does not exist"
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
