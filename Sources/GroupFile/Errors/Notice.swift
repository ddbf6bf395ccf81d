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
  /// Files of a group that an earlier command, or this one, has replaced may have a state that the group lacks.
  case filesLeft(group: String, path: String)
  /// The owner's registry could not record who was removed from the group, so an older copy of it may let them in again.
  case removalUnrecorded(group: String, reason: String)
  /// A removal from the group failed, but the owner's registry still records it.
  case removalPending(group: String, reason: String)
  /// A change of a group's members has put out an application that had been removed before: the group was an older copy.
  case memberPutOut(group: String, application: String)
  /// The owner's act could not be added to the record of decisions, before or after it was done.
  case unrecorded(reason: String)
  /// The place of the key file could not be remembered, so it must be named each time.
  case keyFileForgotten(reason: String)
  /// A new key file is remembered in place of the one at this path, which does not exist.
  case keyFileReplaced(String)
  /// `set-aside` in the store's folder was not a folder that only its owner can use, and was moved to this path.
  case setAsideMoved(to: String)
  /// The chain of a group's states was lost: machines that have not seen the last state must accept it.
  case chainLost(group: String)
  /// The group's files are no longer shared, because the owner is not in their Unix group.
  case groupClosed(group: String)
  /// A killed command of the owner has left the group's files closed to this Unix group.
  case groupInterrupted(group: String, unixGroup: UInt32)
  /// A group was compacted, but its file could not be made smaller.
  case spaceNotFreed(group: String, reason: String)
  /// The cluster of this remote checks no logins, so the permissions in it have no effect.
  case clusterOpen(remote: String)

  package static let stateInsideStore = Notice.witnessUnavailable(
    reason: "the state folder is inside it; name another place for that: VAULT_STATE")
  package static let witnessUnwritten = Notice.witnessUnavailable(reason: "the witness cannot be written")

  /// The notice as text: lower case, no full stop.
  public var message: String {
    switch self {
    case .witnessUnavailable(let reason):
      "an older copy of the store would not be noticed: \(reason)"
    case .witnessInvalid(let group):
      "the witness of '\(group)' is damaged; nothing is written to the group until you run: vault group accept \(group)"
    case .gap(let group, let from, let to):
      "'\(group)' moved from epoch \(from) to \(to), too far to prove that nothing was rolled back in between"
    case .groupLeftOut(let group, let reason):
      "'\(group)' was left out: \(reason)"
    case .unsignedLeftBehind(let group, let rows, let names):
      "'\(group)' held \(rows) rows that nobody signed; the new key leaves them behind" + Notice.list(names)
    case .unprovedDropped(let group, let items, let versions, let names):
      "'\(group)' lost \(items) items and \(versions) older versions that could not be proved" + Notice.list(names)
    case .groupRemade(let group, let keptAside):
      "the file of '\(group)' could not be changed (it may be damaged or kept locked), and was replaced; the old one is in \(Printable.name(keptAside))"
    case .filesLeft(let group, let path):
      "replaced files of '\(group)' may be newer than the group; compare them, then remove them: \(Printable.name(path))"
    case .removalUnrecorded(let group, let reason):
      "the list of groups does not record who was removed from '\(group)' (\(reason)); vault verify records it later"
    case .removalPending(let group, let reason):
      "the failed removal from '\(group)' stays on record (\(reason)): the next change of its members completes it, or repeat the command"
    case .memberPutOut(let group, let application):
      "'\(application)' was in '\(group)' because of an older copy, or of an interrupted removal or grant; it has been removed now"
    case .unrecorded(let reason):
      "this act is not in the record of decisions: \(reason)"
    case .keyFileForgotten(let reason):
      "the place of the key file could not be remembered, so name it each time (VAULT_KEY_FILE): \(reason)"
    case .keyFileReplaced(let path): "it opens the store in place of \(Printable.name(path)), which does not exist"
    case .setAsideMoved(let path):
      "the store's folder 'set-aside' was open to others or not a folder; it was moved to \(Printable.name(path))"
    case .chainLost(let group):
      "machines that have not seen the last state of '\(group)' refuse it; on each of them: vault group accept \(group)"
    case .groupClosed(let group):
      "the files of '\(group)' are now accessible only to you: you are not in the Unix group that they were shared with"
    case .groupInterrupted(let group, let unixGroup):
      "a command was killed while the files of '\(group)' were closed to others; "
        + "to let them in again: vault group share \(group) --unix-group \(unixGroup)"
    case .spaceNotFreed(let group, let reason):
      "the file of '\(group)' could not be made smaller (\(reason)); to try again: vault group compact \(group)"
    case .clusterOpen(let remote):
      "the cluster of '\(remote)' requires no login, so permissions have no effect; to change that: etcdctl auth enable"
    }
  }

  /// The error if the notice says that nothing shows a state to be the newest one.
  package var witnessError: VaultError? {
    switch self {
    case .witnessInvalid: .damaged(.witness, "neither record is valid")
    case .witnessUnavailable(let reason): .witnessUnavailable(group: "", reason: reason)
    default: nil
    }
  }

  private static func list(_ names: [String]) -> String {
    guard !names.isEmpty else { return "" }
    let shown = names.prefix(20).map { "'\(Printable.name($0))'" }.joined(separator: ", ")
    return ": " + shown + (names.count > 20 ? " and others" : "")
  }
}
