internal import GroupFile
public import KeyedArchives

/// What can go wrong with a store. It can grow: switch over it with a `default`.
///
/// No case holds the name of an item, an attribute or a value: an error may end up in a log.
@nonexhaustive
public enum VaultError: Error, Sendable, Equatable {
  /// There is no such item, version, group or application.
  case notFound(Missing)
  /// No usable source opens the store.
  case locked(String)
  /// The store is unlocked, which opens items alone, and this needs its owner; the reason why nothing opens the rest.
  case ownerNeeded(String)
  /// The kernel keeps no keys here, so that the store cannot be unlocked for a time.
  case noKeyring(String)
  /// The group opens only on the machine that it was made on; `reason` says what is here instead of its device key.
  case otherDevice(group: String, reason: String)
  /// This member's rights, or the system's permissions, do not allow it.
  case denied(Denial)
  /// Bytes do not verify. `level` says which check refused them.
  case damaged(group: String?, level: String, detail: String)
  /// Of a group's signed items and older versions so many cannot be proved any more, and nobody said that they may be dropped.
  case unproved(group: String, items: UInt64, versions: UInt64)
  /// A group's state is older than one this machine has verified, or is not descended from it.
  case rolledBack(group: String, found: UInt64, known: UInt64, reason: RollbackReason)
  /// Another process holds the group for too long.
  case busy(group: String?)
  /// A wrong passphrase or key.
  case wrongKey(String)
  /// A recovery code with a typing error: in which group, in words that hold nothing of the code.
  case mistypedCode(String)
  /// The file was made by a newer version.
  case newerFormat(read: Int, write: Int)
  /// The item's present version is not the expected one; 0 stands for "no present item".
  case conflict(expected: UInt64, present: UInt64)
  /// Something contradicts the present state, in words.
  case contradiction(String)
  /// A group that a backup would replace is here, in another state than in the backup.
  case otherState(group: String)
  /// Whoever was asked did not want the state of a group that was found; nothing was changed.
  case declined
  /// More than the format allows; the limit in words.
  case overLimit(String)
  /// There is no store at this place; the path is empty where nothing says what the place would be.
  case noStore(path: String)
  /// It is there already.
  case exists(String)
  /// The storage failed: disk full, read-only, I/O. Nothing was changed; only where the words say so, that is not known.
  case storage(String)
  /// An argument is not valid; what is allowed, in words.
  case invalid(String)
  /// The item holds a value of another kind or type than the one asked for.
  case otherType(found: String, expected: String)
  /// A keyed archive, stored or to be stored, was refused.
  case archive(ArchiveError)
  /// Something that should not happen.
  case unexpected(String)

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
    /// The operating system's permissions.
    case permissions(String)
  }

  /// How a state contradicts what was seen before.
  @nonexhaustive
  public enum RollbackReason: String, Sendable {
    case olderState = "epoch"
    case olderRoster = "roster"
    case olderKey = "generation"
    case fork
    case broughtBack = "removed"
    case vanished
    /// The owner's list of applications is older than a group's list of members; the numbers are issues, not epochs.
    case olderIssue = "issue"
  }
}

extension VaultError {
  /// A group holds rows that no item can be.
  static func strangeRows(in group: String) -> VaultError {
    .damaged(group: group, level: "row", detail: "a writer signed rows that no item can be")
  }

  /// Says what a group file's error means for `group`.
  init(_ error: GroupFileError, group: String) {
    switch error {
    case .damaged(let level, let detail): self = .damaged(group: group, level: level.rawValue, detail: detail)
    case .altered(let detail): self = .damaged(group: group, level: "container", detail: detail)
    case .moved: self = .storage("the group's file was replaced meanwhile")
    case .newerFormat(let read, let write): self = .newerFormat(read: Int(read), write: Int(write))
    case .missing: self = .notFound(.group)
    case .notAMember: self = .denied(.notAMember)
    case .readOnlyMember: self = .denied(.readOnly)
    case .ownerOnly: self = .denied(.ownerOnly)
    case .denied: self = .denied(.permissions("the group's folder"))
    case .deniedAt(let reason), .exposed(let reason): self = .denied(.permissions(reason))
    case .rolledBack(let found, let known, let kind):
      self = .rolledBack(
        group: group, found: found, known: known, reason: RollbackReason(rawValue: kind.rawValue) ?? .fork)
    case .busy: self = .busy(group: group)
    case .storage(let reason): self = .storage(reason.rawValue)
    case .networkFileSystem(let kind):
      self = .storage("\(kind) is a network file system, where locks are not kept reliably")
    case .otherDevice(let reason): self = .otherDevice(group: group, reason: reason)
    case .noItem: self = .notFound(.item)
    case .noVersion(let version): self = .notFound(.version(version))
    case .conflict(let expected, let present): self = .conflict(expected: expected, present: present)
    case .exists: self = .exists("a group of this name")
    case .unproved(let items, let versions): self = .unproved(group: group, items: items, versions: versions)
    case .declined: self = .declined
    case .superseded: self = .contradiction("the application was replaced or revoked meanwhile; nothing was changed")
    case .overLimit(let limit): self = .overLimit(limit)
    }
  }
}

extension VaultError {
  /// Says what an error of the identity, its slots or its files means to users.
  init(_ error: IdentityError) {
    switch error {
    case .noStore(let path): self = .noStore(path: path)
    case .noHome: self = .noStore(path: "")
    case .locked(let lock): self = .locked(lock.words)
    case .wrongKey(let use): self = .wrongKey(use.words)
    case .mistypedCode(let defect): self = .mistypedCode(defect.words)
    case .damaged(let level, let detail): self = .damaged(group: nil, level: level.rawValue, detail: detail)
    case .newerFormat: self = .newerFormat(read: 2, write: 2)
    case .exists(let what): self = .exists(what.rawValue)
    case .lastSlot: self = .contradiction("the last slot cannot be removed: nothing would open the store")
    case .recovering:
      self = .contradiction("the recovery of this store did not end; run it again: vault init --recover DIR")
    case .noSlot(let number): self = .notFound(.slot(Int(number)))
    case .storage(let failure): self = .storage(failure.rawValue)
    case .denied(let level, let fault): self = .denied(.permissions("the \(level.subject) \(fault.reason)"))
    case .overLimit(let limit): self = .overLimit(limit)
    case .busy: self = .busy(group: nil)
    case .networkFileSystem(let kind):
      self = .storage("\(kind) is a network file system, where locks are not kept reliably")
    }
  }
}

extension IdentityError.Lock {
  fileprivate var words: String {
    switch self {
    case .keyFile(let fault): "the key file \(fault.reason)"
    case .keyFileFolder(let fault): "the key file's folder \(fault.reason)"
    case .keyFileInsideStore: "the key file must lie outside of the store that it opens"
    case .credential(let fault): "the credential \(fault.reason)"
    case .deviceKey(let fault): "the device key \(fault.reason)"
    case .noSlot(let use): "the store has no slot for a \(use.words)"
    }
  }
}

extension Slot.Use {
  /// What opens such a slot.
  var words: String { SlotInfo.Kind(self).rawValue }
}

extension RecoveryCode.Defect {
  /// What is wrong, and in which group: the characters themselves are never told.
  fileprivate var words: String {
    switch self {
    case .mistyped(let groups):
      "\(Self.named(groups)) of the recovery code \(groups.count == 1 ? "is" : "are") mistyped"
    case .misplaced(let groups): "\(Self.named(groups)) of the recovery code are in each other's places"
    case .groupLength(let group, let count):
      "group \(group) of the recovery code has \(count) characters instead of \(RecoveryCode.groupLength)"
    case .length(let count): "a recovery code has 40 characters, and this one \(count)"
    }
  }

  /// "group 3", "groups 3 and 5", "groups 1, 3 and 5".
  private static func named(_ groups: [Int]) -> String {
    let names = groups.map { String($0) }
    guard let last = names.last, names.count > 1 else { return "group \(names.joined())" }
    return "groups \(names.dropLast().joined(separator: ", ")) and \(last)"
  }
}

extension IdentityError.Level {
  /// What a sentence calls it.
  fileprivate var subject: String {
    switch self {
    case .state: "state folder"
    case .settings: "settings file"
    default: rawValue
    }
  }
}
