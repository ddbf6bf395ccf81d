internal import GroupFile
internal import Sealing

/// A state that is about to be accepted, and what that brings back.
public struct ReturningState: Sendable {
  /// The group's name.
  public let group: String
  /// Why it is not accepted by itself.
  public let reason: Reason
  /// The number of the state.
  public let epoch: UInt64
  /// The number of the newest state that was seen of this group; `nil` where none was. What was written between the two, and
  /// on another branch, vanishes.
  public let knownEpoch: UInt64?
  /// Its items, removed ones included.
  public let itemCount: UInt64
  /// When it was written, by its writer's clock.
  public let changed: Timestamp
  /// Its members, the owner included.
  public let members: [GroupMember]
  /// Members that stay out, because their credentials were replaced or revoked since.
  public let left: [GroupMember]

  /// Why a state is not accepted by itself.
  @nonexhaustive
  public enum Reason: Sendable {
    /// An older state with the same members, or one of another branch.
    case older
    /// A state with an older list of members or an older key: whoever left since comes back.
    case olderRoster
    /// The group was removed.
    case removed
    /// It is another group than the one that is known under the name.
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

/// What ``SecretStore/acceptGroup(_:another:confirm:)`` came to.
@nonexhaustive
public enum AcceptedState: Sendable, Equatable {
  case nothingToAccept
  /// The group goes on from its present state.
  case accepted(epoch: UInt64)
  /// The group's file is gone, and that is known now; a group of this name can be made again.
  case removal
  /// Whoever was asked did not want it.
  case declined
}

extension SecretStore {
  /// Takes a group as it is now, although this machine has seen another state: after a backup was put back.
  ///
  /// A state with an older roster or key is the owner's alone to accept. What the owner accepts gets a newer roster and key at
  /// once. Applications whose credentials were replaced or revoked since stay out of it; others who left since then come back.
  ///
  /// Who is to be put out of the group could act between this and a change of its members: to do both in one step, the changes
  /// take a state with `accepting:`, also one of a damaged file.
  ///
  /// - Parameters:
  ///   - name: the group's name.
  ///   - takesAnother: whether another group than the one that is known under this name is taken. The owner's registry says
  ///     which one that is; for an application, its witness and credential do.
  ///   - confirm: gets what comes back, before anything is changed; `false` leaves everything as it is.
  /// - Throws: ``VaultError/rolledBack(group:found:known:reason:)`` for a state with an older roster or key, unless the owner
  ///   accepts it; ``VaultError/damaged(group:level:detail:)`` of level `witness` for another group, unless it is taken.
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
      // This machine never saw it, but the owner's list says that it was there.
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

  /// What the owner says of a state that a change of the group's members shall take although it contradicts what was seen.
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

  /// Notes that the group that was accepted is the one that belongs to the name.
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
  /// Whether the member's credential is the newest of its application, and was not revoked.
  fileprivate func isCurrent(in applications: [String: Registry.RegisteredApplication]) -> Bool {
    guard kind == .application else { return true }
    guard let known = applications[application] else { return false }
    return known.issue == issue && known.standing != .revoked
  }
}
