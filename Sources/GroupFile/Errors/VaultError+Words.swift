internal import KeyedArchives

extension VaultError: CustomStringConvertible {
  /// The status with which the command ends for this error.
  public var exitStatus: ExitStatus {
    switch self {
    case .notFound: .notFound
    case .locked, .ownerNeeded, .noKeyring, .otherDevice: .locked
    case .denied: .denied
    case .damaged, .unproved, .anotherGroup, .strangeRows, .witnessUnavailable: .damaged
    case .rolledBack, .formerMember, .unlistedMember: .rolledBack
    case .unordered(_, .tooOld), .unordered(_, .tooEarly), .unordered(_, .refused): .denied
    case .busy, .unordered: .busy
    case .wrongKey, .mistypedCode: .wrongKey
    case .newerFormat: .newerFormat
    case .conflict, .contradiction, .publishedGroup, .otherCluster, .otherType: .conflict
    case .overLimit, .tooManyStates: .overLimit
    case .noStore: .noStore
    case .exists, .otherState: .exists
    case .invalid, .storage(.noBackupFolder): .usage
    case .storage, .networkFileSystem: .storage
    case .declined: .interrupted
    case .archive(let error): ExitStatus(rawValue: error.status) ?? .damaged
    case .service(let status, _): status
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
    case .damaged(_, let level, _): level.rawValue
    case .unproved, .strangeRows: Level.row.rawValue
    case .anotherGroup, .witnessUnavailable: Level.witness.rawValue
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
    case .notFound(.record): "this store keeps no record of decisions"
    case .notFound(.publication): "the group is not published"
    case .notFound(.binding): "the application is not bound by these conditions"
    case .notFound(.remote): "no such remote"
    case .locked(let reason): "locked: \(reason.words)"
    case .ownerNeeded(let reason): "the store is unlocked only for items, and this needs its owner: \(reason.words)"
    case .noKeyring(let reason): "the kernel keeps no key for this user: \(reason)"
    case .otherDevice(let group, let reason): "locked: '\(group)' opens only on the machine it was made on; \(reason)"
    case .denied(.notAMember): "not a member of this group"
    case .denied(.readOnly): "this member may only read"
    case .denied(.ownerOnly): "only the owner may do this"
    case .denied(.throughService): "vaultd answers only for single items and lists; this needs a credential"
    case .denied(.permissions(let subject)), .denied(.openToOthers(let subject)):
      "the system's permissions do not allow it: \(subject)"
    case .denied(.file(let level, let fault)):
      "the system's permissions do not allow it: the \(level.subject) \(fault.reason)"
    case .damaged(let group?, .witness, let detail): VaultError.unshown(group, detail)
    case .anotherGroup(let group): "'\(group)' is another group under a known name"
    case .witnessUnavailable(let group, let reason): VaultError.unshown(group, reason)
    case .damaged(let group?, .registry, let detail) where group != "vault.owner":
      "'\(group)' is not confirmed by the list of groups, vault.owner: \(detail)"
    case .damaged(let group?, let level, let detail):
      "'\(group)' is damaged or was altered (\(level.rawValue): \(detail))"
    case .strangeRows(let group):
      "'\(group)' is damaged or was altered (row: a writer signed rows that are not valid items)"
    case .damaged(nil, let level, let detail): "damaged or altered (\(level.rawValue): \(detail))"
    case .unproved(let group, 1, 0): "1 item of '\(group)' can no longer be proved"
    case .unproved(let group, let items, 0): "\(items) items of '\(group)' can no longer be proved"
    case .unproved(let group, let items, let versions):
      "\(items) items and \(versions) older versions of '\(group)' can no longer be proved"
    case .rolledBack(let group, _, let known, .vanished):
      "'\(group)' was last seen at epoch \(known), and its file is gone"
    case .rolledBack(let group, let found, _, .broughtBack):
      "'\(group)' was removed, and its file is back (epoch \(found))"
    case .rolledBack(let group, let found, let known, .fork):
      "'\(group)' (epoch \(found)) does not descend from the last state seen (epoch \(known))"
    case .rolledBack(let group, let found, let known, .olderIssue) where found == known:
      "the list of applications may be older than '\(group)', where issue \(found) of the application was removed"
    case .rolledBack(let group, 0, let known, .olderIssue):
      "the list of applications is older than '\(group)', where issue \(known) of the application was removed"
    case .rolledBack(let group, let found, let known, .olderIssue):
      "the list of applications is older than '\(group)': it names issue \(found) of the application, the group issue \(known)"
    case .rolledBack(let group, let found, let known, _):
      "'\(group)' is older (epoch \(found)) than the last state seen (epoch \(known))"
    case .formerMember(let group, let application, let issue, let isBeingReplaced):
      "'\(group)' still admits issue \(issue) of '\(application)', which "
        + (isBeingReplaced ? "is being replaced" : "was replaced or revoked")
    case .unlistedMember(let group, let application, let issue):
      "'\(group)' admits issue \(issue) of '\(application)', which the list of applications does not name"
    case .busy(let group?): "'\(group)' is in use by another process or thread"
    case .busy(nil): "the store is in use by another process or thread"
    case .wrongKey(let kind): "wrong \(kind.name)"
    case .mistypedCode(let defect): defect.words
    case .newerFormat(let read?, let write?): "made by a newer version (format \(read), for writing \(write))"
    case .newerFormat: "made by a newer version"
    case .conflict(_, 0): "there is no current version"
    case .conflict(let expected, let present): "the current version is \(present), not \(expected)"
    case .contradiction(let contradiction): contradiction.rawValue
    case .publishedGroup(let group): "'\(group)' is published there"
    case .otherCluster(let group): "the servers at the new address do not have the newest known state of '\(group)'"
    case .otherState(let group): "'\(group)' exists in a state other than the backup's"
    case .declined: "nothing was accepted"
    case .overLimit(let limit): "more than \(limit)"
    case .tooManyStates: "more than 2^40 states under one list of members"
    case .noStore(""): "no home folder is known, so the store cannot be located"
    case .noStore(let path): "no store at '\(path)'"
    case .exists(let what): "\(what.rawValue) already exists"
    case .storage(let failure): failure.rawValue
    case .networkFileSystem(let kind): "\(kind) is a network file system, where locks are not reliable"
    case .invalid(let text): text
    case .otherType(let found, let expected):
      "the item holds a value of type '\(Printable.name(found))', not '\(Printable.name(expected))'"
    case .archive(let error): error.message
    case .unordered("", let disorder): "the group is published, and \(disorder.words)"
    case .unordered(let group, let disorder): "'\(group)' is published, and \(disorder.words)"
    case .service(_, let text), .unexpected(let text): text
    }
  }

  private static func unshown(_ group: String, _ detail: String) -> String {
    "'\(group)' cannot be shown to be in its newest state (witness: \(detail))"
  }
}

extension VaultError.Disorder {
  /// What keeps a change from being ordered: lower case, no full stop.
  var words: String {
    switch self {
    case .notHere: "only vaultd makes its changes, and no vaultd answers here"
    case .shut(let why): "only vaultd makes its changes: \(why)"
    case .overtaken: "other hosts changed it at the same time, again and again"
    case .unreachable(let why): "its cluster cannot be reached: \(why)"
    case .refused: "its cluster refuses the login, or does not permit this"
    case .outcomeUnknown: "its cluster did not confirm the change in time, so it may or may not have been made"
    case .tooOld(let seconds, let limit):
      "its newest proved state is \(seconds) seconds old, but its remote permits only \(limit)"
    case .tooEarly(let seconds, let limit, let signer):
      "its newest proved state is dated \(seconds) seconds ahead of this machine's clock, but its remote permits only \(limit)"
        + (signer.map { $0 == .owner ? "; the owner signed it" : "; '\($0.application)' signed it" } ?? "")
    case .late(let seconds, let limit):
      "its newest proved state is \(seconds) seconds old, but the next one was due after \(limit)"
    }
  }
}

extension VaultError.Lock {
  /// Why the store stays locked: lower case, no full stop.
  public var words: String {
    switch self {
    case .keyFile(let fault, let path): "the key file \(path.map { "'\($0)' " } ?? "")\(fault.reason)"
    case .keyFileFolder(let fault): "the key file's folder \(fault.reason)"
    case .keyFileInsideStore: "the key file must be outside the store that it opens"
    case .credential(let fault): "the credential \(fault.reason)"
    case .deviceKey(let fault): "the device key \(fault.reason)"
    case .noStateFolder: "no state folder is known; name it: VAULT_STATE"
    case .noSlot(let kind): "the store has no slot for a \(kind.name)"
    case .nothingNamed(let kinds, let unknown):
      "the store opens with \(kinds.map { "a \($0.name)" }.joined(separator: " or ")), and none was named"
        + (unknown.map { "; the one used before is not known: \($0)" } ?? "")
    case .nobodyToAsk(let why): why
    case .unprovedRegistry: "the list of groups was not proved"
    case .service(let why): "vaultd: \(why)"
    case .otherStore(let store, let served):
      "vaultd serves another store than '\(store)'" + (served.map { ": the one at '\($0)'" } ?? "")
    case .joinedStore: "applications were joined here, and the owner of their groups is elsewhere"
    }
  }
}

extension VerificationLevel {
  fileprivate var subject: String {
    switch self {
    case .state: "state folder"
    case .settings: "settings file"
    default: rawValue
    }
  }
}

extension RecoveryCodeDefect {
  /// The error and the groups it is in; never the characters themselves.
  fileprivate var words: String {
    switch self {
    case .mistyped(let groups):
      "\(Self.named(groups)) of the recovery code \(groups.count == 1 ? "is" : "are") mistyped"
    case .misplaced(let groups): "\(Self.named(groups)) of the recovery code are in the wrong order"
    case .groupLength(let group, let count):
      "group \(group) of the recovery code has \(count) characters instead of 5"
    case .length(let count): "a recovery code has 40 characters; this one has \(count)"
    }
  }

  /// "group 3", "groups 3 and 5", "groups 1, 3 and 5".
  private static func named(_ groups: [Int]) -> String {
    let names = groups.map { String($0) }
    guard let last = names.last, names.count > 1 else { return "group \(names.joined())" }
    return "groups \(names.dropLast().joined(separator: ", ")) and \(last)"
  }
}
