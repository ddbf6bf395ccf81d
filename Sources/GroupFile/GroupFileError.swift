internal import Glibc
import Sealing

/// The check that refused bytes; a reader of a group goes through those of groups in this order (format article, "Outcomes").
@nonexhaustive
public enum VerificationLevel: String, Sendable {
  case container, wrap, roster, manifest, witness, chain, tree, row
  case store, identity, slot, credential, settings, state, registry, backup
}

/// How a state contradicts what was verified before.
@nonexhaustive
public enum RollbackReason: String, Sendable {
  case olderState = "epoch"
  case olderRoster = "roster"
  case olderKey = "generation"
  /// Two states of one epoch, or one that does not descend from the known one.
  case fork
  /// A removed group came back.
  case broughtBack = "removed"
  /// The file is gone.
  case vanished
  /// An application's issue is lower than one that a group's list of members names; the numbers are issues, not epochs.
  case olderIssue = "issue"
}

/// What can go wrong with a group file. No payload holds a name, an attribute or a value.
package enum GroupFileError: Error, Equatable, Sendable {
  /// The bytes are not what was written: wrong key, wrong place and altered bytes are one error per level.
  case damaged(VerificationLevel, String)
  /// What this machine has seen of the group cannot be read, and it was to be proved against it; the text says why.
  case witnessUnavailable(String)
  /// The file is another group's than the one that is known under this name.
  case anotherGroup
  /// The file, or one that lies beside it, is not the container that was written; the text says which rule it breaks.
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
  /// The operating system's permissions forbid what the text says, with its path.
  case deniedAt(String)
  /// The modes or the owner of the group's folder or files let others in; the text says which.
  case exposed(String)
  /// The file at the path is no longer the one that was opened.
  case moved
  /// The state is older than, or not a descendant of, one this machine has verified.
  case rolledBack(found: UInt64, known: UInt64, RollbackReason)
  /// Another process holds the file for too long.
  case busy
  /// The storage failed: disk full, read-only, I/O.
  case storage(StorageFailure)
  /// The folder lies on a file system without working locks.
  case networkFileSystem(String)
  /// The group is bound to a device whose key is not here; the text says what is here instead.
  case otherDevice(String)
  /// No such item.
  case noItem
  /// No such version of the item.
  case noVersion(UInt64)
  /// The item's present version is another one than expected.
  case conflict(expected: UInt64, present: UInt64)
  /// Of the signed items and older versions so many cannot be proved any more, and nobody said that they may be dropped.
  case unproved(items: UInt64, versions: UInt64)
  /// What was to be done is not wanted any more: somebody decided otherwise meanwhile.
  case superseded
  /// Whoever was asked did not want the state that was found.
  case declined
  /// There is such a group already.
  case exists
  /// More than the format allows.
  case overLimit(String)
  /// An application's state would be too far above the roster's first one; a new roster begins anew.
  case statesPerRoster

  /// Whether the group's own files are not what was written, so that they can be made new of what is still proved.
  package var isRepairable: Bool {
    switch self {
    case .damaged(.witness, _): false
    case .damaged, .altered, .storage(.inputOutput): true
    default: false
    }
  }

}

/// What the system failed at; the raw value is how a message says it.
@nonexhaustive
public enum StorageFailure: String, Sendable {
  case full = "the disk is full"
  case readOnly = "the file system is read-only"
  case inputOutput = "reading or writing failed"
  /// Syncing failed after everything was written: the change may be found later, or not.
  case unconfirmed = "the disk did not confirm the change, which may have been made or not"
  case memory = "there is too little memory"
  case tooManyFiles = "too many files are open"
  case pathTooLong = "the path of the store is too long"
  case stateFolder = "the state folder cannot be written"
  case forked = "the process that opened the file has forked"
  case replaced = "the group's file was replaced meanwhile"
  case noBackupFolder = "the folder above the backup's is not there"
}

/// What the system's permissions refuse, looked for after a call failed: an error number names no path.
enum DeniedPath {
  /// The first thing that this process may not do on its way to the group in `folder`, such as "entering '/srv/store'".
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

/// The versions of the format that a file needs: who reads must know the first, who writes both (format article, "The roster").
package struct FormatVersion: Equatable, Sendable {
  package var read: UInt16
  package var write: UInt16

  /// What this code reads and writes.
  package static let known = FormatVersion(read: 1, write: 1)

  /// Throws `newerFormat` where `access` needs a program that knows more than this one.
  func check(_ access: Connection.Access) throws(GroupFileError) {
    if read > FormatVersion.known.read || access == .writing && write > FormatVersion.known.write {
      throw .newerFormat(read: read, write: write)
    }
  }
}

/// The limits of one group file (format article, "Limits"). Each is checked before memory is taken.
package enum GroupLimits {
  /// A value's largest size: 1 MiB.
  package static let secretByteCount = 1 << 20
  /// All encoded attributes of one item: 64 KiB.
  package static let attributesByteCount = 64 << 10
  /// An item's name, in bytes of its NFC form.
  package static let nameByteCount = 1_024
  /// An item of this version cannot be changed any more: the next would be no counter.
  package static let lastVersion = ByteReader.counterLimit - 1
  /// Pairs in one item's attributes.
  package static let attributeCount = 64
  /// A sealed secret up to this size stands in its row; a longer one in a blob of its own.
  package static let inlineSecretByteCount = 512
  /// Manifests that the chain keeps.
  package static let chainLength: UInt64 = 4_096
  /// Versions a group may keep of one item, the current one included.
  package static let keptVersions: ClosedRange<UInt16> = 1...1_000
  /// How far an application's states may be above the roster's first: more than anybody writes in earnest, and so little that
  /// one who writes on purpose leaves the owner room for thousands of new rosters.
  package static let epochsPerRoster: UInt64 = 1 << 40
  /// Members of one group.
  package static let memberCount = 4_096
  /// Entries about removed members.
  package static let removedCount = 4_096
  /// A stored roster's largest size.
  package static let rosterByteCount = 1 << 20
}
