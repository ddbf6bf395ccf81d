internal import GroupFile
internal import Sealing

/// A state that is about to be accepted, and what accepting it would bring back.
public struct ReturningState: Sendable {
  /// The group's name.
  public let group: String
  /// Why it is not accepted without confirmation.
  public let reason: Reason
  /// The number of the state.
  public let epoch: UInt64
  /// The number of the newest state that was seen of this group; `nil` if none was. Accepting discards what was written
  /// between the two, or on another branch.
  public let knownEpoch: UInt64?
  /// The number of its items, removed ones included.
  public let itemCount: UInt64
  /// When it was written, by the writer's clock.
  public let changed: Timestamp
  /// Its members, the owner included.
  public let members: [GroupMember]
  /// Members that are not let in again, because their credentials were replaced or revoked since.
  public let left: [GroupMember]

  /// Why a state is not accepted without confirmation.
  @nonexhaustive
  public enum Reason: Sendable {
    /// An older state with the same members, or one of another branch.
    case older
    /// A state with an older roster or key: members that were removed since come back.
    case olderRoster
    /// The group was removed.
    case removed
    /// Another group than the one known by this name.
    case anotherGroup
  }

  fileprivate init(_ offered: OfferedState, _ leaves: (Member) -> Bool) {
    let state = offered.state
    group = state.roster.groupName
    reason =
      switch offered.reason {
      case .older: .older
      case .olderRoster: .olderRoster
      case .removed: .removed
      case .anotherGroup: .anotherGroup
      }
    epoch = state.manifest.epoch
    knownEpoch = offered.known.flatMap { $0.groupID == state.manifest.groupID ? $0.epoch : nil }
    itemCount = state.manifest.itemCount
    changed = Timestamp(milliseconds: state.manifest.time)
    members = state.roster.members.filter { !leaves($0) }.map(GroupMember.init)
    left = state.roster.members.filter(leaves).map(GroupMember.init)
  }
}

/// The result of ``SecretStore/acceptGroup(_:another:confirm:)``.
@nonexhaustive
public enum AcceptedState: Sendable, Equatable {
  case nothingToAccept
  /// The group continues from its current state.
  case accepted(epoch: UInt64)
  /// The group's file is gone and the removal has been recorded; a group of this name can be created again.
  case removal
  /// The confirmation was refused.
  case declined
}

extension SecretStore {
  /// Accepts a group in its current state although this machine has seen another one, as after restoring a backup.
  ///
  /// Only the owner can accept a state with an older roster or key. A state that the owner accepts gets a newer roster
  /// and key at once. Applications whose credentials were replaced or revoked since are not let in; other members that
  /// were removed since come back.
  ///
  /// A member could act between this call and a later call that removes it. The calls that change members therefore
  /// take `accepting:`, which accepts the state in the same step, even for a damaged file.
  ///
  /// - Parameters:
  ///   - name: the group's name.
  ///   - takesAnother: whether to accept another group than the one known by this name. The owner's registry says which
  ///     one that is; for an application, its witness and credential do.
  ///   - confirm: receives what accepting would bring back, before anything is changed; `false` changes nothing.
  /// - Throws: ``VaultError/rolledBack(group:found:known:reason:)`` for a state with an older roster or key, unless the
  ///   owner accepts it; ``VaultError/damaged(group:level:detail:)`` of level `witness` for another group, unless it is
  ///   accepted.
  @discardableResult
  public func acceptGroup(
    _ name: String, another takesAnother: Bool = false, confirm: (ReturningState) -> Bool = { _ in true }
  ) throws(VaultError) -> AcceptedState {
    let name = try AccessGroup.Name(name)
    let file = name == .registry ? try registry().group.file : group(name).file
    let owner = access.isOwners ? try ownersAcceptance(of: name) : nil
    let leaves = owner?.revokes ?? { _ in false }
    let acceptance: Acceptance
    do throws(GroupFileError) {
      acceptance = try file.accept(owner, another: takesAnother) { confirm(ReturningState($0, leaves)) }
    } catch {
      // This machine never saw the group, but the owner's registry lists it.
      if error == .missing, owner?.registeredID != nil, owner?.isRemoved == false {
        try noteRemoval(of: name)
        return .removal
      }
      throw VaultError(error, group: name.description)
    }
    switch acceptance {
    case .nothingToAccept: return .nothingToAccept
    case .declined: return .declined
    case .newWitness(let epoch), .newState(let epoch):
      if owner != nil, name != .registry { try notePresence(of: name) }
      return .accepted(epoch: epoch)
    case .removal:
      if owner != nil, name != .registry { try noteRemoval(of: name) }
      return .removal
    }
  }

  /// The owner's decision about a state that contradicts what was seen, for a change of the group's members.
  ///
  /// - Parameter confirm: asked once for each state.
  func ownersAcceptance(
    of name: AccessGroup.Name, asking confirm: @escaping (ReturningState) -> Bool
  ) throws(VaultError) -> OwnersAcceptance {
    var acceptance = try ownersAcceptance(of: name)
    let leaves = acceptance.revokes
    var answers: [Digest: Bool] = [:]
    acceptance.confirm = { offered in
      let answer = answers[offered.state.link] ?? confirm(ReturningState(offered, leaves))
      answers[offered.state.link] = answer
      return answer
    }
    return acceptance
  }

  private func ownersAcceptance(of name: AccessGroup.Name) throws(VaultError) -> OwnersAcceptance {
    let identity = try owner()
    guard name != .registry else { return OwnersAcceptance(authority: identity) { _ in false } }
    let registry = try registry()
    let entry = try registry.entry(of: name)
    let applications = try registry.applications()
    let known = try self.applications.knownIssues()
    return OwnersAcceptance(
      authority: identity, registeredID: entry?.groupID, isRemoved: entry?.presence == .absent
    ) { member in
      !member.isCurrent(in: applications) || member.issue < known[member.application]?.issue ?? 0
    }
  }

  private func noteRemoval(of name: AccessGroup.Name) throws(VaultError) {
    let registry = try registry()
    guard var entry = try registry.entry(of: name) else { return }
    entry.presence = .absent
    try registry.record(entry, of: name)
  }

  /// Records in the registry that the accepted group is the one with this name.
  private func notePresence(of name: AccessGroup.Name) throws(VaultError) {
    let registry = try registry()
    let known = try registry.entry(of: name)
    let id = try groupID(of: group(name))
    if known?.groupID == id, known?.presence == .present { return }
    let created = known?.created ?? SystemClock.milliseconds()
    try registry.record(Registry.Entry(groupID: id, presence: .present, created: created), of: name)
  }
}

extension Member {
  /// Whether the member's credential is the newest of its application, and is not revoked.
  fileprivate func isCurrent(in applications: [String: Registry.RegisteredApplication]) -> Bool {
    guard kind == .application else { return true }
    guard let known = applications[application] else { return false }
    return known.issue == issue && known.standing != .revoked
  }
}
