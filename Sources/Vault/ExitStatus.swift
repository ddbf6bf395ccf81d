internal import GroupFile
internal import KeyedArchives

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

extension VaultError: CustomStringConvertible {
  /// The status with which the command ends for this error.
  public var exitStatus: ExitStatus {
    switch self {
    case .notFound: .notFound
    case .locked, .ownerNeeded, .noKeyring, .otherDevice: .locked
    case .denied: .denied
    case .damaged, .unproved: .damaged
    case .rolledBack: .rolledBack
    case .busy: .busy
    case .wrongKey, .mistypedCode: .wrongKey
    case .newerFormat: .newerFormat
    case .conflict, .contradiction, .otherType: .conflict
    case .overLimit: .overLimit
    case .noStore: .noStore
    case .exists, .otherState: .exists
    case .storage: .storage
    case .invalid: .usage
    case .declined: .interrupted
    case .archive(let error): ExitStatus(rawValue: error.status) ?? .damaged
    case .unexpected: .unexpected
    }
  }

  /// The exit status as a number.
  public var status: Int32 { exitStatus.rawValue }

  /// The error's stable name, such as `not-found`.
  public var name: String { exitStatus.name }

  /// The check that refused damaged bytes, such as `manifest`; `nil` for other errors.
  public var level: String? {
    switch self {
    case .damaged(_, let level, _): level
    case .unproved: "row"
    default: nil
    }
  }

  public var description: String { message }

  /// What happened: lower case, no full stop, nothing secret.
  public var message: String {
    switch self {
    case .notFound(.item): "no such item"
    case .notFound(.version(let version)): "version \(version) of the item is not kept"
    case .notFound(.group): "no such group"
    case .notFound(.application): "no such application"
    case .notFound(.member): "the application is not a member of this group"
    case .notFound(.slot(let number)): "there is no slot \(number)"
    case .locked(let reason): "locked: \(reason)"
    case .ownerNeeded(let reason): "the store is unlocked for items alone, and this needs its owner: \(reason)"
    case .noKeyring(let reason): "the kernel keeps no key for this user: \(reason)"
    case .otherDevice(let group, let reason): "locked: '\(group)' opens only on the machine it was made on; \(reason)"
    case .denied(.notAMember): "not a member of this group"
    case .denied(.readOnly): "this member may only read"
    case .denied(.ownerOnly): "only the owner may do this"
    case .denied(.permissions(let subject)): "the system's permissions do not allow it: \(subject)"
    case .damaged(let group?, "witness", let detail):
      "'\(group)' cannot be shown to be its newest state (witness: \(detail))"
    case .damaged(let group?, let level, let detail): "'\(group)' is damaged or was altered (\(level): \(detail))"
    case .damaged(nil, let level, let detail): "damaged or altered (\(level): \(detail))"
    case .unproved(let group, let items, 0): "of '\(group)' \(items) items cannot be proved any more"
    case .unproved(let group, let items, let versions):
      "of '\(group)' \(items) items and \(versions) older versions cannot be proved any more"
    case .rolledBack(let group, _, let known, .vanished):
      "'\(group)' was last seen at epoch \(known), and its file is gone"
    case .rolledBack(let group, let found, _, .broughtBack):
      "'\(group)' was removed, and its file is back (epoch \(found))"
    case .rolledBack(let group, let found, let known, .fork):
      "'\(group)' (epoch \(found)) does not descend from the state seen last (epoch \(known))"
    case .rolledBack(let group, let found, let known, .olderIssue):
      "the list of applications is older than '\(group)': it names issue \(found) of the application, the group issue \(known)"
    case .rolledBack(let group, let found, let known, _):
      "'\(group)' is older (epoch \(found)) than the state seen last (epoch \(known))"
    case .busy(let group?): "'\(group)' is in use by another process"
    case .busy(nil): "the store is in use by another process"
    case .wrongKey(let what): "wrong \(what)"
    case .mistypedCode(let text): text
    case .newerFormat(let read, let write): "made by a newer version (format \(read), for writing \(write))"
    case .conflict(_, 0): "there is no present version"
    case .conflict(let expected, let present): "the present version is \(present), not \(expected)"
    case .contradiction(let text): text
    case .otherState(let group): "'\(group)' is here in another state than in the backup"
    case .declined: "nothing was accepted"
    case .overLimit(let limit): "more than \(limit)"
    case .noStore(""): "no home folder is known, so nothing says where the store is"
    case .noStore(let path): "no store at '\(path)'"
    case .exists(let what): "\(what) exists already"
    case .storage(let reason): reason
    case .invalid(let text): text
    case .otherType(let found, let expected):
      "the item holds a value of type '\(Printable.name(found))', not '\(Printable.name(expected))'"
    case .archive(let error): error.message
    case .unexpected(let text): text
    }
  }

  /// What to do about it.
  public var hint: String? {
    switch self {
    case .notFound(.item): "see what there is: vault list; what was removed comes back with: vault restore NAME"
    case .notFound(.version): "see what is kept: vault history NAME"
    case .notFound(.group): "see what there is: vault group list"
    case .notFound(.application): "see which there are: vault app list; make one: vault app issue APP --output FILE"
    case .notFound(.member): "see who is: vault group show GROUP"
    case .notFound(.slot): "see which there are: vault slot list"
    case Applications.isIssued:
      "write its credential again: vault app issue APP --again; or, if it was stolen: --replace"
    case .locked(let reason) where reason.hasPrefix("the credential"):
      "check the path and its mode (600); its owner writes it again: vault app issue APP --output FILE --again"
    case .locked:
      "name what opens it (--key-file, --credential, --passphrase-fd, --recovery-fd), or unlock it for a time: vault unlock"
    case .ownerNeeded: "name what opens the store: --passphrase-fd, --key-file or --recovery-fd"
    case .noKeyring: "use a key file instead: vault slot add key-file --new-key-file FILE"
    case .otherDevice: "use it there; where its device key should be: vault paths"
    case .denied(.permissions):
      "use the account that owns the store, or have its owner share the group: vault group share NAME --unix-group G"
    case .denied(.ownerOnly): "ask the store's owner; if that is you, leave out --credential and VAULT_CREDENTIAL"
    case .denied: "ask the store's owner"
    case .damaged(_, "witness", let detail) where detail.hasPrefix("the state folder"):
      "make the state folder, for you alone (mode 700); where it should be: vault paths"
    case .damaged(.some(let group), _, _) where self == .strangeRows(in: group):
      "see which they are: vault list; the owner removes them: vault remove --row TOKEN"
    case .damaged(.some(let group), _, _) where self == VaultError(.anotherGroup, group: group):
      "if you put another group there yourself: vault group accept GROUP --another-group; otherwise find out who did"
    case .damaged(nil, "credential", _): "write it again: vault app issue APP --output FILE --again"
    case .damaged(_, "witness", _):
      "see what is wrong: vault status; then, to trust what is there: vault group accept GROUP"
    case .damaged(.some, "backup", _), .damaged(nil, "backup", _):
      "nothing was changed; name a folder that vault backup made"
    case .damaged(.some, _, _):
      "put a backup back: vault restore-backup DIR; or keep what is proved: vault repair GROUP"
    case .damaged: "nothing was changed; put a backup back"
    case .unproved:
      "to go on without them: --drop-unproved, here or with vault group rotate; or put a backup back: vault restore-backup DIR"
    case .rolledBack(_, _, _, .broughtBack):
      "if its removal was interrupted: vault group remove GROUP; if you put a copy back yourself: vault group accept GROUP"
    case .rolledBack(_, _, _, .olderIssue):
      "give the application a newer credential: vault app issue APP --output FILE --replace; or put a newer backup back"
    case .rolledBack:
      "if you put a copy back yourself: vault group accept GROUP; otherwise find out who did, and put them out: vault revoke GROUP APP --accept"
    case .busy: "try again; see who holds it: fuser -v on all files of the group's folder"
    case .wrongKey: "check which key or passphrase belongs to this store"
    case .mistypedCode: "compare it with what was written down: 8 groups of 5 characters, the last of each a check"
    case .newerFormat: "use a newer vault"
    case .otherType: "ask for the type that is there"
    case .archive(let error): error.hint
    case .conflict: "read the item again, then decide"
    case VaultError(.statesPerRoster, group: ""): "the owner begins anew: vault group rotate GROUP"
    case .otherState: "to put the backup in its place: --replace; the present files are kept aside"
    case .noStore(""): "name its place: VAULT_HOME"
    case .noStore: "make one: vault init; or name its place: VAULT_HOME"
    case .storage(StorageFailure.unconfirmed.rawValue): "see whether it was made: vault history NAME"
    case .storage: "nothing was changed by the failed command"
    default: nil
    }
  }
}
