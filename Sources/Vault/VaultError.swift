@_exported public import GroupFile
public import KeyedArchives
internal import Sealing

/// What can go wrong with a store. It can grow: switch over it with a `default`.
///
/// No case holds the name of an item, an attribute or a value: an error may end up in a log.
@nonexhaustive
public enum VaultError: Error, Sendable, Equatable {
  /// There is no such item, version, group or application.
  case notFound(Missing)
  /// No usable source opens the store.
  case locked(Lock)
  /// The store is unlocked, which opens items alone, and this needs its owner; the reason why nothing opens the rest.
  case ownerNeeded(Lock)
  /// The kernel keeps no keys here, so that the store cannot be unlocked for a time.
  case noKeyring(String)
  /// The group opens only on the machine that it was made on; `reason` says what is here instead of its device key.
  case otherDevice(group: String, reason: String)
  /// This member's rights, or the system's permissions, do not allow it.
  case denied(Denial)
  /// Bytes do not verify. `level` says which check refused them; `detail` names the broken rule, for people.
  case damaged(group: String?, level: Level, detail: String)
  /// A group has another id than the one that this machine, or the owner's list, knows under its name.
  case anotherGroup(String)
  /// A writer signed rows that no item can be.
  case strangeRows(group: String)
  /// What this machine has seen of a group cannot be read, so that it cannot be shown to be in its newest state.
  case witnessUnavailable(group: String, reason: String)
  /// Of a group's signed items and older versions so many cannot be proved any more, and nobody said that they may be dropped.
  case unproved(group: String, items: UInt64, versions: UInt64)
  /// A group's state is older than one this machine has verified, or is not descended from it.
  case rolledBack(group: String, found: UInt64, known: UInt64, reason: RollbackReason)
  /// Another process holds the group for too long.
  case busy(group: String?)
  /// A wrong passphrase or key.
  case wrongKey(SlotInfo.Kind)
  /// A recovery code with a typing error; no key was tried.
  case mistypedCode(RecoveryCodeDefect)
  /// The file was made by a newer version; the versions that reading and writing it need, if the file says.
  case newerFormat(read: Int?, write: Int?)
  /// The item's present version is not the expected one; 0 stands for "no present item".
  case conflict(expected: UInt64, present: UInt64)
  /// Something contradicts the present state.
  case contradiction(Contradiction)
  /// A group that a backup would replace is here, in another state than in the backup.
  case otherState(group: String)
  /// Whoever was asked did not want the state of a group that was found; nothing was changed.
  case declined
  /// More than the format allows; the limit in words.
  case overLimit(String)
  /// Applications signed 2^40 states under one list of members; a new key begins anew.
  case tooManyStates
  /// There is no store at this place; the path is empty where nothing says what the place would be.
  case noStore(path: String)
  /// It is there already.
  case exists(Existing)
  /// The storage failed: disk full, read-only, I/O. Nothing was changed, except that `unconfirmed` leaves it unknown.
  case storage(StorageFailure)
  /// The store would lie on a file system, of this kind, that does not keep the locks of several machines apart.
  case networkFileSystem(String)
  /// An argument is not valid; what is allowed, in words.
  case invalid(String)
  /// The item holds a value of another kind or type than the one asked for.
  case otherType(found: String, expected: String)
  /// A keyed archive, stored or to be stored, was refused.
  case archive(ArchiveError)
  /// Something that should not happen.
  case unexpected(String)

  public typealias Level = VerificationLevel
  public typealias RollbackReason = GroupFile.RollbackReason

  /// What was not found.
  @nonexhaustive
  public enum Missing: Sendable, Equatable {
    case item
    case version(UInt64)
    case group
    case application
    /// The application is known, and not in the group.
    case member
    case slot(Int)
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
    /// The operating system's permissions; what they keep from whom, for people.
    case permissions(String)
    /// A file of the store that the system's permissions close, or whose owner or mode is not as it must be.
    case file(Level, FileFault)
  }

  /// Why the store stays locked.
  @nonexhaustive
  public enum Lock: Sendable, Equatable {
    case keyFile(FileFault)
    /// The folder that a new key file is to be made in.
    case keyFileFolder(FileFault)
    case keyFileInsideStore
    case credential(FileFault)
    /// The device key, or the state folder that holds it.
    case deviceKey(FileFault)
    /// Nothing says where the state folder is that holds the device key.
    case noStateFolder
    case noSlot(SlotInfo.Kind)
    /// The store has these slots, and nothing was named that opens one; why the key file that opened it before is not known.
    case nothingNamed([SlotInfo.Kind], String?)
    /// There is nobody to ask for a passphrase or a code; in words for people, why.
    case nobodyToAsk(String)
    /// The owner's list of groups was not proved, because the store is only unlocked.
    case unprovedRegistry
  }

  /// What contradicts the present state.
  @nonexhaustive
  public enum Contradiction: Sendable, Equatable {
    /// Nothing would open the store any more.
    case lastSlot
    /// The recovery of the store was begun and did not end.
    case recovering
    /// The backup is another store's.
    case anotherStoresBackup
    /// Another store was put in the place of the one that was opened.
    case anotherStore
    case nothingToBackUp
    case backupInProgress
    /// The application's credentials were revoked, and it has no new one.
    case revokedApplication
    /// Replacing the application's credential was begun and did not end.
    case interruptedReplacement
    /// The application was replaced or revoked while it was given rights.
    case superseded
    /// The item is present, so there is nothing to bring back unless a version is named.
    case presentItem
  }

  /// What is there already.
  @nonexhaustive
  public enum Existing: Sendable, Equatable {
    case store, storeAtPlace, storeInRecovery
    case passphraseSlot, keyFileSlot
    case group, applicationName, applicationID
    case file, credentialPlace, backupPlace
  }
}

extension VaultError {
  /// Says what a group file's error means for `group`.
  init(_ error: GroupFileError, group: String) {
    switch error {
    case .damaged(let level, let detail): self = .damaged(group: group, level: level, detail: detail)
    case .altered(let detail): self = .damaged(group: group, level: .container, detail: detail)
    case .anotherGroup: self = .anotherGroup(group)
    case .witnessUnavailable(let reason): self = .witnessUnavailable(group: group, reason: reason)
    case .moved: self = .storage(.replaced)
    case .newerFormat(let read, let write): self = .newerFormat(read: Int(read), write: Int(write))
    case .missing: self = .notFound(.group)
    case .notAMember: self = .denied(.notAMember)
    case .readOnlyMember: self = .denied(.readOnly)
    case .ownerOnly: self = .denied(.ownerOnly)
    case .denied: self = .denied(.permissions("the group's folder"))
    case .deniedAt(let reason), .exposed(let reason): self = .denied(.permissions(reason))
    case .rolledBack(let found, let known, let reason):
      self = .rolledBack(group: group, found: found, known: known, reason: reason)
    case .busy: self = .busy(group: group)
    case .storage(let failure): self = .storage(failure)
    case .networkFileSystem(let kind): self = .networkFileSystem(kind)
    case .otherDevice(let reason): self = .otherDevice(group: group, reason: reason)
    case .noItem: self = .notFound(.item)
    case .noVersion(let version): self = .notFound(.version(version))
    case .conflict(let expected, let present): self = .conflict(expected: expected, present: present)
    case .exists: self = .exists(.group)
    case .unproved(let items, let versions): self = .unproved(group: group, items: items, versions: versions)
    case .declined: self = .declined
    case .superseded: self = .contradiction(.superseded)
    case .overLimit(let limit): self = .overLimit(limit)
    case .statesPerRoster: self = .tooManyStates
    }
  }

  init(_ error: SealingError) {
    self =
      switch error {
      case .overLimit: .overLimit("the costs of a passphrase, or its length")
      case .outOfMemory, .doesNotOpen, .wrongPadding, .wrongCount: .storage(.memory)
      }
  }

  /// What a fault of a file of the store means where no caller knows better.
  init(_ fault: FileFault, at level: Level) {
    self =
      switch fault {
      case .missing: .damaged(group: nil, level: level, detail: "it is not there")
      case .taken: .damaged(group: nil, level: level, detail: "something else has its name")
      case .link: .damaged(group: nil, level: level, detail: "it is a symbolic link")
      case .wrongKind:
        .damaged(group: nil, level: level, detail: "it is not the kind of file or folder that belongs here")
      case .wrongSize: .damaged(group: nil, level: level, detail: "it is longer than it can be")
      case .foreignOwner, .openToOthers, .denied: .denied(.file(level, fault))
      case .busy: .busy(group: nil)
      case .storage(let failure): .storage(failure)
      }
  }

  /// A fault of the file that was to open the store, which keeps it locked unless the system failed.
  init(_ fault: FileFault, _ lock: (FileFault) -> Lock) {
    if case .storage(let failure) = fault { self = .storage(failure) } else { self = .locked(lock(fault)) }
  }

  /// Bytes of the store, rather than of a group, that do not verify.
  static func damaged(_ level: Level, _ detail: String) -> VaultError {
    .damaged(group: nil, level: level, detail: detail)
  }
}

/// Runs `body`, which deals with files of one level, and says what its faults mean there.
func atLevel<Result: ~Copyable>(
  _ level: VaultError.Level, _ body: () throws(FileFault) -> Result
) throws(VaultError) -> Result {
  do { return try body() } catch { throw VaultError(error, at: level) }
}

/// Runs `body`, in which only memory can be lacking.
func sealing<Result: ~Copyable>(_ body: () throws(SealingError) -> Result) throws(VaultError) -> Result {
  do { return try body() } catch { throw VaultError(error) }
}

/// The exit statuses of `vault`, one for each kind of error: the one table, which the errors, the help and the tests read.
///
/// A number is never given another meaning. 126 and 127 belong to `run` alone.
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
    case .usage: "usage"
    case .notExecutable: "not-executable"
    case .commandNotFound: "command-not-found"
    case .interrupted: "interrupted"
    }
  }

  /// One line for the help and docs/statuses.md.
  public var meaning: String {
    switch self {
    case .success: "done"
    case .unexpected: "unexpected: something that should not happen"
    case .notFound: "not found: an item, a version, a group, an application or a member"
    case .locked: "locked: nothing opens the store, or its key file or credential is unfit"
    case .denied: "denied: by rights, or by the system's permissions"
    case .damaged: "damaged or altered: not a vault file, or a proof failed"
    case .rolledBack: "rolled back: older than what this machine has seen"
    case .busy: "busy: another process kept the lock for too long"
    case .wrongKey: "wrong passphrase or key"
    case .newerFormat: "newer format: a newer vault wrote this"
    case .conflict: "conflict: the version is not the expected one"
    case .classRefused: "class refused: an archive holds a class that was not allowed"
    case .overLimit: "over a limit"
    case .noStore: "no store here"
    case .exists: "exists already"
    case .storage: "storage: disk full, read-only, or an I/O error"
    case .usage: "usage: the command line is not understood"
    case .notExecutable: "only of run: the program is not executable"
    case .commandNotFound: "only of run: the program was not found"
    case .interrupted: "interrupted"
    }
  }
}
