/// What can go wrong with a group file. No payload holds a name, an attribute or a value.
package enum GroupFileError: Error, Equatable, Sendable {
  /// The level at which bytes were refused, in the order in which a reader checks them (format article, "Outcomes").
  package enum Level: String, Sendable {
    case container, wrap, roster, manifest, witness, chain, tree, row
  }

  /// The bytes are not what was written: wrong key, wrong place and altered bytes are one error per level.
  case damaged(Level, String)
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
  case rolledBack(found: UInt64, known: UInt64, RollbackKind)
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

  /// Whether the group's own files are not what was written, so that they can be made new of what is still proved.
  package var isRepairable: Bool {
    switch self {
    case .damaged(.witness, _): false
    case .damaged, .altered, .storage(.inputOutput): true
    default: false
    }
  }

  /// An application's state would be too far above the roster's first one; a new roster begins anew.
  package static let statesPerRoster = GroupFileError.overLimit("2^40 states under one list of members")

  /// How a state contradicts what was verified before.
  package enum RollbackKind: String, Sendable {
    /// The group's state is older.
    case epoch
    /// The roster is older.
    case roster
    /// The key is older.
    case generation
    /// Two states of one epoch, or one that does not descend from the known one.
    case fork
    /// A removed group came back.
    case removed
    /// The file is gone.
    case vanished
    /// An application's issue is lower than one that the roster names; the numbers are issues, not epochs.
    case issue
  }
}
