internal import Glibc
import Sealing

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

/// The errors of a group file. No payload holds a name, an attribute or a value.
package enum GroupFileError: Error, Equatable, Sendable {
  /// The bytes are not what was written: wrong key, wrong place and altered bytes are one error per level.
  case damaged(VerificationLevel, String)
  /// The witness, against which the state must be checked, cannot be read; the text says why.
  case witnessUnavailable(String)
  /// The file belongs to another group than the one known by this name.
  case anotherGroup
  /// The file, or its log or index, is not the container that was written; the text names the broken rule.
  case altered(String)
  /// A higher version of the format is needed.
  case newerFormat(read: UInt16, write: UInt16)
  /// There is no group file.
  case missing
  /// This member has no entry in the group.
  case notAMember
  /// This member may only read.
  case readOnlyMember
  /// Only the owner may do this.
  case ownerOnly
  /// The operating system's permissions forbid it.
  case denied
  /// The operating system's permissions forbid what the text describes, including the path.
  case deniedAt(String)
  /// The modes of the group's folder or files give access to other users. The text says which.
  case exposed(String)
  /// The file at the path is no longer the one that was opened.
  case moved
  /// The state is older than one that this machine has verified, or not descended from it.
  case rolledBack(found: UInt64, known: UInt64, RollbackReason)
  /// Another process has held the file for too long.
  case busy
  /// The storage failed: disk full, read-only, I/O.
  case storage(StorageFailure)
  /// The folder is on a file system without working locks.
  case networkFileSystem(String)
  /// The group is bound to a device whose key is not here; the text says what this machine has instead.
  case otherDevice(String)
  /// There is no such item.
  case noItem
  /// There is no such version of the item.
  case noVersion(UInt64)
  /// The item's current version is not the expected one.
  case conflict(expected: UInt64, present: UInt64)
  /// These numbers of signed items and older versions can no longer be proved, and dropping them was not allowed.
  case unproved(items: UInt64, versions: UInt64)
  /// The change is no longer wanted: `isStillWanted` returned false.
  case superseded
  /// `confirm` refused to accept the state that was found.
  case declined
  /// The group exists already.
  case exists
  /// More than the format allows.
  case overLimit(String)
  /// The group is published, and nothing here can order its states among its hosts.
  case published
  /// The log has a state that this file does not have yet.
  case behind
  /// The log that orders the group's states cannot be reached; the text says why.
  case unreachable(String)
  /// The log was asked to take a change and did not answer in time: the change may have been made or not.
  case outcomeUnknown
  /// The group is published, and its newest proved state is older than its log's settings permit.
  case tooOld(seconds: UInt64, limit: UInt64)
  /// An application's state would be too far above the roster's first one; a new roster resets the limit.
  case statesPerRoster

  /// Whether the group's own files are damaged, so that they can be rebuilt from what is still proved.
  package var isRepairable: Bool {
    switch self {
    case .damaged(.witness, _): false
    case .damaged, .altered, .storage(.inputOutput): true
    default: false
    }
  }

}

extension GroupFileError {
  /// The error for a fault of one of the group's files.
  init(_ fault: FileFault) {
    self =
      switch fault {
      case .missing: .missing
      case .taken: .exists
      case .link, .wrongKind, .wrongSize: .altered("a file of the group is not a regular file")
      case .foreignOwner, .openToOthers, .denied: .denied
      case .busy: .busy
      case .storage(let failure): .storage(failure)
      }
  }
}

/// The result of `body`, which handles files of a group.
func onDisk<Result: ~Copyable>(_ body: @autoclosure () throws(FileFault) -> Result) throws(GroupFileError) -> Result {
  do { return try body() } catch { throw GroupFileError(error) }
}

/// Something that the user should know although the operation succeeded.
@nonexhaustive
public enum Notice: Sendable, Hashable {
  /// No state is kept outside the store, so a rollback of a group would not be noticed.
  case witnessUnavailable(reason: String)
  /// The witness of a group is damaged; writing to the group is refused until its state is accepted.
  case witnessInvalid(group: String)
  /// The group has advanced by more states than its chain keeps, so nothing shows that this state follows the last one
  /// seen.
  case gap(group: String, from: UInt64, to: UInt64)
  /// A group could not be read, so an answer about all groups does not include it.
  case groupLeftOut(group: String, reason: String)

  /// A group's new key dropped rows that nobody signed, which anyone who can write the file can add. Includes the names
  /// of those that could be opened.
  case unsignedLeftBehind(group: String, rows: UInt64, names: [String])
  /// A group's new key dropped signed items and older versions that could no longer be proved. Includes the names that
  /// are known.
  case unprovedDropped(group: String, items: UInt64, versions: UInt64, names: [String])
  /// A group's file was too damaged to be changed in place, or another process kept it locked, so it was replaced.
  case groupRemade(group: String, keptAside: String)
  /// The owner's act is done, but could not be added to the record of decisions.
  case unrecorded(reason: String)
  /// The chain of a group's states was lost: machines that have not seen the last state must accept it.
  case chainLost(group: String)
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

/// Finds the path that the system's permissions refuse after a call failed, because an error number names no path.
enum DeniedPath {
  /// The first step towards the group in `folder` that this process may not take, such as "entering '/srv/store'".
  static func words(folder: String, toWrite: Bool) -> String {
    var path = ""
    for part in folder.split(separator: "/") {
      path += (folder.hasPrefix("/") || !path.isEmpty ? "/" : "") + part
      if isRefused(path, X_OK) { return "entering '\(path)'" }
    }
    let file = "\(folder)/\(ContainerPlace.groupFileName)"
    if isRefused(file, R_OK) { return "reading '\(file)'" }
    for path in toWrite ? [file, file + "-wal", file + "-shm"] : [] where isRefused(path, W_OK) {
      return "writing '\(path)'"
    }
    for path in [file + "-wal", file + "-shm"] + (toWrite ? ["\(folder)/lock"] : []) where isRefused(path, R_OK) {
      return "reading '\(path)'"
    }
    return isRefused(folder, W_OK) ? "making a file in '\(folder)'" : "using '\(folder)'"
  }

  private static func isRefused(_ path: String, _ what: CInt) -> Bool {
    unsafe faccessat(AT_FDCWD, path, what, AT_EACCESS) != 0 && (errno == EACCES || errno == EPERM)
  }
}
