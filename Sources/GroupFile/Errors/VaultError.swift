@_exported public import Ground
public import KeyedArchives

/// The errors of a store. Cases may be added, so switch over it with a `default`.
///
/// No case contains the name of an item, an attribute or a value, because errors may be logged.
@nonexhaustive
public enum VaultError: Error, Sendable, Equatable {
  /// There is no such item, version, group or application.
  case notFound(Missing)
  /// No usable source opens the store.
  case locked(Lock)
  /// The operation needs the store's owner, but the store is only unlocked, which opens no more than items. The lock
  /// says why nothing opens the identity.
  case ownerNeeded(Lock)
  /// The kernel keeps no keys here, so the store cannot be unlocked for a time.
  case noKeyring(String)
  /// The group opens only on the machine that created it; `reason` says what is here instead of the device key.
  case otherDevice(group: String, reason: String)
  /// This member's rights, or the system's permissions, do not allow it.
  case denied(Denial)
  /// Bytes fail verification. `level` is the check that refused them; `detail` names the broken rule, for people.
  case damaged(group: String?, level: Level, detail: String)
  /// A group has another id than the one that this machine, or the owner's registry, knows under its name.
  case anotherGroup(String)
  /// A writer signed rows that are not valid items.
  case strangeRows(group: String)
  /// The witness of a group cannot be read, so nothing shows that the group is in its newest state.
  case witnessUnavailable(group: String, reason: String)
  /// These numbers of signed items and older versions of a group can no longer be proved, and dropping them was not
  /// allowed.
  case unproved(group: String = "", items: UInt64, versions: UInt64)
  /// A group's state is older than one this machine has verified, or is not descended from it.
  case rolledBack(group: String = "", found: UInt64, known: UInt64, reason: RollbackReason)
  /// A group still admits a credential that the owner replaced or revoked, or is replacing: that command still runs, or
  /// has to be repeated.
  case formerMember(group: String, application: String, issue: UInt32, isBeingReplaced: Bool)
  /// A group admits a credential that the owner's list of applications does not name, because the list is older.
  case unlistedMember(group: String, application: String, issue: UInt32)
  /// Other processes or threads have held the group for too long.
  case busy(group: String?)
  /// A wrong passphrase or key.
  case wrongKey(SlotKind)
  /// A recovery code with a typing error; no key was tried.
  case mistypedCode(RecoveryCodeDefect)
  /// The file was made by a newer version; the versions needed for reading and writing it, if the file says.
  case newerFormat(read: Int?, write: Int?)
  /// The item's current version is not the expected one; 0 means that there is no current item.
  case conflict(expected: UInt64, present: UInt64)
  /// The operation contradicts the current state.
  case contradiction(Contradiction)
  /// This group is published at the remote.
  case publishedGroup(String)
  /// The servers do not have the log of this published group, or not up to the state that is known here.
  case otherCluster(group: String)
  /// A group that a backup would replace exists in a state other than the backup's.
  case otherState(group: String)
  /// `confirm` refused to accept the state of a group; nothing was changed.
  case declined
  /// More than the format allows; the payload describes the limit.
  case overLimit(String)
  /// Applications signed 2^40 states under one roster; a new key resets the count.
  case tooManyStates
  /// There is no store at this path; it is empty if no place could be determined.
  case noStore(path: String)
  /// It already exists.
  case exists(Existing)
  /// The storage failed: disk full, read-only, I/O. Nothing was changed, except that `unconfirmed` leaves this unknown.
  case storage(StorageFailure)
  /// The store would be on a file system of this kind, which does not enforce locks between machines.
  case networkFileSystem(String)
  /// An argument is not valid; the payload describes what is allowed.
  case invalid(String)
  /// The item holds a value of another kind or type than the one asked for.
  case otherType(found: String, expected: String)
  /// A keyed archive, stored or to be stored, was refused.
  case archive(ArchiveError)
  /// A change of a published group was not ordered among its hosts.
  case unordered(group: String = "", Disorder)
  /// `vaultd` met this error, or could not be asked; the text says which, for people.
  case service(ExitStatus, String)
  /// An internal error.
  case unexpected(String)

  public typealias Level = VerificationLevel

  /// Why a change of a published group was not ordered among its hosts, or why its copy is not read.
  @nonexhaustive
  public enum Disorder: Sendable, Equatable {
    /// Only `vaultd` orders changes, and none answers here.
    case notHere
    /// Only `vaultd` orders changes, and the one here does not; the payload says why, for people.
    case shut(String)
    /// Other hosts were faster, again and again.
    case overtaken
    /// The cluster cannot be reached; the payload says why, for people.
    case unreachable(String)
    /// The cluster refuses the login, or does not permit the call.
    case refused
    /// The cluster did not confirm the change in time: it may have been made or not. If it has a request, the same change
    /// that is made again for it is made once.
    case outcomeUnknown(ChangeID?)
    /// The newest proved state is older than the remote permits: its changes may be withheld, or nobody makes any.
    case tooOld(seconds: UInt64, limit: UInt64)
    /// The newest proved state is dated in the future, by more than the age that the remote permits.
    case tooEarly(seconds: UInt64, limit: UInt64, signer: Writer? = nil)
    /// The newest proved state can be read, and one that should have followed it by now is not here.
    case late(seconds: UInt64, limit: UInt64)
  }

  /// The kind of thing that was not found.
  @nonexhaustive
  public enum Missing: Sendable, Equatable {
    case item
    case version(UInt64)
    case group
    case application
    /// The application is known, but not a member of the group.
    case member
    case slot(Int)
    /// The store keeps no record of decisions.
    case record
    /// The service knows no application by these conditions.
    case binding
    case remote
    /// The group is not published.
    case publication
  }

  /// Why something is not allowed.
  @nonexhaustive
  public enum Denial: Sendable, Equatable {
    /// This member has no entry in the group.
    case notAMember
    /// This member may only read.
    case readOnly
    /// Only the owner may do this.
    case ownerOnly
    /// Only a credential or the owner may do this: `vaultd` answers calls that concern single items and lists.
    case throughService
    /// The operating system's permissions; the payload says what they forbid, for people.
    case permissions(String)
    /// A file of the store that the system's permissions make inaccessible, or whose owner or mode is unsuitable.
    case file(Level, FileFault)
    /// The modes of the group's folder or files give access to other users. The text says which.
    case openToOthers(String)
  }

  /// Why the store stays locked.
  @nonexhaustive
  public enum Lock: Sendable, Equatable {
    /// The key file at this path cannot be used. The path is `nil` if it must not be shown.
    case keyFile(FileFault, path: String?)
    /// The folder in which a new key file would be created.
    case keyFileFolder(FileFault)
    /// The key file would be copied with the store that it opens.
    case keyFileInsideStore
    /// The application's credential cannot be used.
    case credential(FileFault)
    /// The device key, or the state folder that holds it.
    case deviceKey(FileFault)
    /// The state folder, which holds the device key, cannot be determined.
    case noStateFolder
    /// The store has no slot of this kind.
    case noSlot(SlotKind)
    /// The store has these slots, and no source was named; the text says why the key file that opened it before is not
    /// known.
    case nothingNamed([SlotKind], String?)
    /// Nobody can be asked for a passphrase or a code; the payload says why, for people.
    case nobodyToAsk(String)
    /// The owner's registry was not proved, because the store is only unlocked.
    case unprovedRegistry
    /// `vaultd` cannot be asked; the payload says why, for people.
    case service(String)
    /// `vaultd` serves another store than the one at this path; where that is, if this user could also end `vaultd`.
    case otherStore(String, served: String?)
    /// Applications were joined here, and the owner of their groups is elsewhere.
    case joinedStore
  }

  /// The contradiction with the current state; the raw value is the text for messages.
  @nonexhaustive
  public enum Contradiction: String, Sendable {
    case lastSlot = "the last slot cannot be removed: nothing would open the store"
    case recovering = "the recovery of this store was not finished"
    case anotherStoresBackup = "the backup belongs to another store"
    case anotherStore = "another store has replaced this one"
    case nothingToBackUp = "there is nothing to back up"
    case backupInProgress = "another backup is being made in this folder"
    case revokedApplication = "the application's credentials were revoked"
    case interruptedReplacement = "replacing the application's credential was interrupted"
    case superseded = "the application was replaced or revoked meanwhile"
    case presentItem = "the item is present; name the version to bring back"
    case notByLog = "only a new key makes a published group smaller"
    case remotelessCredential = "the credential does not say where the application's groups are published"
    case newerCredential = "a newer credential of the application was joined here"
  }

  /// The thing that already exists; the raw value is the text for messages.
  @nonexhaustive
  public enum Existing: String, Sendable {
    case store = "a store"
    case storeAtPlace = "a store at this place"
    case storeInRecovery = "a store whose recovery was begun"
    case passphraseSlot = "a passphrase slot"
    case keyFileSlot = "a slot for this key file"
    case group = "a group of this name"
    case applicationName = "an application of this name"
    case applicationID = "an application of this id"
    case file = "a file of this name"
    case credentialPlace = "a file in the credential's place"
    case backupPlace = "a file or folder in the backup's place"
    case remote = "a remote of this name"
    case publication = "the publication of the group"
  }
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

// A group's file does not know the group's name, so its errors leave the name empty, and the caller adds it.
extension VaultError {
  package func named(_ name: String) -> VaultError {
    switch self {
    case .damaged(nil, let level, let detail) where level != .slot: .damaged(group: name, level: level, detail: detail)
    case .anotherGroup(""): .anotherGroup(name)
    case .witnessUnavailable("", let reason): .witnessUnavailable(group: name, reason: reason)
    case .rolledBack("", let found, let known, let reason):
      .rolledBack(group: name, found: found, known: known, reason: reason)
    case .busy(nil): .busy(group: name)
    case .otherDevice("", let reason): .otherDevice(group: name, reason: reason)
    case .unproved("", let items, let versions): .unproved(group: name, items: items, versions: versions)
    case .unordered("", let disorder): .unordered(group: name, disorder)
    case .permissionDenied: .denied(.permissions("the group's folder"))
    default: self
    }
  }

  /// Bytes that fail verification: of the store, or of a group.
  package static func damaged(_ level: Level, _ detail: String) -> VaultError {
    .damaged(group: nil, level: level, detail: detail)
  }

  package static func otherDevice(_ reason: String) -> VaultError { .otherDevice(group: "", reason: reason) }

  /// The system's permissions forbid something that is still to be found.
  static let permissionDenied = VaultError.denied(.permissions(""))

  /// Whether somebody who can only read or write a group's files may have caused it. Then a change of members is made
  /// in new files, which nobody has open, locked or altered.
  package var isAvoidable: Bool {
    switch self {
    case .busy, .storage(.replaced), .storage(.readOnly), .storage(.memory), .denied(.permissions),
      .denied(.openToOthers), .storage(.fileTooLarge):
      true
    default: isRepairable
    }
  }

  /// Whether a group's own files are damaged, so that they can be rebuilt from what is still proved.
  package var isRepairable: Bool {
    switch self {
    case .damaged(_, .witness, _), .damaged(_, .slot, _), .damaged(_, .registry, _): false
    case .damaged, .storage(.inputOutput): true
    default: false
    }
  }
}
