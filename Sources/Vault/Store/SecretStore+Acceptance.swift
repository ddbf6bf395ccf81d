internal import Sealing

/// A state that is about to be accepted, and what accepting it would bring back.
public struct ReturningState: Sendable {
  /// The group's name.
  public let group: String
  /// Why it is not accepted without confirmation.
  public let reason: AcceptanceReason
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
  public let members: [Member]
  /// Members that are not let in again, because their credentials were replaced or revoked since.
  public let left: [Member]
  /// The groups in a registry that is made anew, sorted; otherwise empty.
  public internal(set) var groups: [String] = []
  /// The applications in a registry that is made anew, sorted by id; otherwise empty.
  public internal(set) var applications: [Application] = []

  package init(_ offered: OfferedState, _ leaves: (Member) -> Bool) {
    let state = offered.state
    (group, reason, epoch) = (state.roster.groupName, offered.reason, state.manifest.epoch)
    knownEpoch = offered.known.flatMap { $0.groupID == state.manifest.groupID ? $0.epoch : nil }
    itemCount = state.manifest.itemCount
    changed = Timestamp(milliseconds: state.manifest.time)
    members = state.roster.members.filter { !leaves($0) }
    left = state.roster.members.filter(leaves)
  }
}

extension SecretStore {
  /// Accepts a group in its current state although this machine has seen another one, as after restoring a backup.
  ///
  /// Only the owner can accept a state with an older roster or key. A state that the owner accepts gets a newer roster
  /// and key at once. Applications whose credentials were replaced or revoked since are not let in, nor are members that the
  /// replaced files of a restoration show as removed; others that were removed since come back.
  ///
  /// A file too damaged to be changed in place is replaced by a new one with what its last signed state proves. If the
  /// owner's registry is gone, or nothing in it can be proved, a new one is made of what the groups show.
  ///
  /// An accepted registry may not know all credentials that were given out, so the next issue of each application is
  /// 1,024 higher. If that fails, the same call finishes it.
  ///
  /// A member could act between this call and a later call that removes it. The calls that change members therefore
  /// take `accepting:`, which accepts the state in the same step, even for a damaged file.
  ///
  /// - Parameters:
  ///   - name: the group's name.
  ///   - takesAnother: whether to accept another group than the one known by this name. The owner's registry says which
  ///     one that is; for an application, its witness and credential do.
  ///   - isDroppingUnproved: whether signed items that can no longer be proved may be dropped.
  ///   - confirm: receives what accepting would bring back, before anything is changed; `false` changes nothing.
  /// - Throws: ``VaultError/unproved(group:items:versions:)``; ``VaultError/rolledBack(group:found:known:reason:)`` for
  ///   a state with an older roster or key, unless the owner accepts it; ``VaultError/damaged(group:level:detail:)`` of
  ///   level `witness` for another group, unless it is accepted.
  @discardableResult
  public func acceptGroup(
    _ name: String, another takesAnother: Bool = false, droppingUnproved isDroppingUnproved: Bool = false,
    confirm: @escaping (ReturningState) -> Bool = { _ in true }
  ) throws(VaultError) -> AcceptedState {
    let group = try AccessGroup.Name(name)
    let isRecorded = Locked(false)
    do throws(VaultError) {
      let accepted = try accept(group, takesAnother, isDroppingUnproved) { state in
        guard confirm(state) else { return false }
        // The state of a file that is too damaged to be changed in place is offered again.
        guard self.access.isOwners, group != .audit, !isRecorded.withLock({ $0 }) else { return true }
        self.record(.accept, group: name)
        isRecorded.withLock { $0 = true }
        return true
      }
      switch (accepted, isRecorded.withLock { $0 }) {
      case (.declined, true): record(.accept, group: name, AuditRecord.Outcome(.declined))
      case (.declined, false), (.nothingToAccept, _), (_, true): break
      // A removal needs no consent, and the record itself cannot be written before it is accepted.
      default: if access.isOwners { record(.accept, group: name) }
      }
      return accepted
    } catch {
      if isRecorded.withLock({ $0 }) { record(.accept, group: name, AuditRecord.Outcome(error)) }
      throw error
    }
  }

  private func accept(
    _ name: AccessGroup.Name, _ takesAnother: Bool, _ isDroppingUnproved: Bool,
    _ confirm: @escaping (ReturningState) -> Bool
  ) throws(VaultError) -> AcceptedState {
    let file = try file(of: name)
    // The removal of the registry cannot be accepted: without one, nothing more can be done with the store.
    if name == .registry, !AccessGroupFile.exists(in: file.folder) { return try remakeRegistry(confirm) }
    let owner = access.isOwners ? try ownersAcceptance(of: name) : nil
    let leaves = owner?.revokes ?? { _ in false }
    func attempt(_ owner: (OwnersAcceptance, DraftPlaces)?) -> Result<AcceptedState, VaultError> {
      Result { () throws(VaultError) in
        try file.accept(owner, another: takesAnother) { confirm(ReturningState($0, leaves)) }
      }
    }
    let result =
      if let owner {
        try replacing(name) { (drafts) throws(VaultError) in attempt((owner, drafts.places(of: name))) }
      } else { attempt(nil) }
    let accepted: AcceptedState
    do throws(VaultError) { accepted = try result.get() } catch {
      if owner != nil, file.canAvoid(error) {
        return try acceptRebuilt(name, file, takesAnother, isDroppingUnproved, confirm, instead: error)
      }
      // This machine never saw the group, but the owner's registry lists it.
      if error == .notFound(.group), case .present? = owner?.registration {
        try noteRemoval(of: name)
        return .removal
      }
      throw error.named(name.description)
    }
    if owner != nil { try note(accepted, of: name) }
    return accepted
  }

  /// Records in the registry what the owner has accepted.
  private func note(_ accepted: AcceptedState, of name: AccessGroup.Name) throws(VaultError) {
    switch accepted {
    case .declined: break
    case _ where name == .registry: try raiseIssues(isNew: accepted != .nothingToAccept)
    case .accepted:
      // Somebody may be let in meanwhile.
      try replacing(name) { (_) throws(VaultError) in
        let (roster, registry) = (try group(name).verifiedState().roster, try registry())
        try registry.recordPresence(of: name, roster.groupID)
        try registry.recordRemovals(by: roster)
      }
    case .removal: try noteRemoval(of: name)
    default: break
    }
  }

  /// Accepts the state of a group whose file is too damaged to be changed in place, or kept locked by another process.
  ///
  /// - Parameter error: thrown if the file holds no state that needs to be accepted.
  private func acceptRebuilt(
    _ name: AccessGroup.Name, _ file: AccessGroupFile, _ takesAnother: Bool, _ isDroppingUnproved: Bool,
    _ confirm: @escaping (ReturningState) -> Bool, instead error: VaultError
  ) throws(VaultError) -> AcceptedState {
    do throws(VaultError) {
      var acceptance = try ownersAcceptance(of: name, asking: confirm)
      acceptance.isRequired = true
      if takesAnother { acceptance.registration = .notNeeded }
      let change = RosterChange(dropsUnproved: isDroppingUnproved)
      let state = try replacing(name) { (drafts) throws(VaultError) in
        try rebuild(name, file, change, accepting: acceptance, at: drafts.places(of: name)) { _ in }
      }
      let accepted = AcceptedState.accepted(epoch: state.manifest.epoch)
      try note(accepted, of: name)
      return accepted
    } catch .declined {
      return .declined
    } catch .contradiction(.superseded) {
      throw error.named(name.description)
    } catch let rebuilding {
      guard name == .registry, rebuilding.isRepairable else { throw rebuilding }
      return try remakeRegistry(confirm)
    }
  }

  /// The owner's decision about a state that contradicts what was seen, for a change of the group's members.
  ///
  /// - Parameter confirm: asked once for each state.
  func ownersAcceptance(
    of name: AccessGroup.Name, asking confirm: @escaping (ReturningState) -> Bool
  ) throws(VaultError) -> OwnersAcceptance {
    var acceptance: OwnersAcceptance
    do throws(VaultError) { acceptance = try ownersAcceptance(of: name) } catch {
      // Whoever can damage the registry must not keep the owner from removing them.
      guard error.meansLostRegistry else { throw error }
      notices.post(.groupLeftOut(group: AccessGroup.Name.registry.description, reason: error.message))
      let known = try issuesFound()
      let wasRemoved = try removed(from: name, readingFiles: true)
      acceptance = OwnersAcceptance(authority: try owner(), .unknown) { member in
        member.issue < known[member.application]?.issue ?? 0 || wasRemoved(member)
      }
    }
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
    let registration: OwnersAcceptance.Registration =
      entry.map { $0.presence == .absent ? .removed($0.groupID) : .present($0.groupID) } ?? .missing
    let applications = try registry.applications()
    let known = try self.applications.knownIssues()
    let wasRemoved = try removed(from: name, readingFiles: true)
    var acceptance = OwnersAcceptance(authority: identity, registration) { member in
      !member.isCurrent(in: applications) || member.issue < known[member.application]?.issue ?? 0 || wasRemoved(member)
    }
    if let entry {
      // What cannot be read must not keep anybody in.
      acceptance.formerReaders = (try? registry.removals(from: name.description, entry)) ?? [:]
      if let replaced = try replacedRoster(of: name), replaced.groupID == entry.groupID {
        acceptance.formerReaders.merge(replaced.removals, uniquingKeysWith: max)
      }
    }
    return acceptance
  }

  /// Whether a member of the group was removed from it before and not let in again, according to the registry.
  ///
  /// - Parameter readsFiles: whether files that a restoration has replaced may say so, too.
  func removed(
    from name: AccessGroup.Name, readingFiles readsFiles: Bool
  ) throws(VaultError) -> @Sendable (Member) -> Bool {
    let (registry, replaced) = (try registry(), readsFiles ? try replacedRoster(of: name) : nil)
    // Somebody may have damaged just that entry. Without any, a damaged registry must put nobody out.
    let isReadable = readsFiles && (try? registry.applications()) != nil
    return { member in
      registry.hasRemoved(member, from: name.description, inDoubt: isReadable) || replaced?.hasRemoved(member) == true
    }
  }

  /// The newest roster that this machine has seen of the group, if it is in files that a restoration has replaced.
  private func replacedRoster(of name: AccessGroup.Name) throws(VaultError) -> Roster? {
    guard let seen = witness(name).read().record, let kept = try? draftFolder().kept(of: name) else { return nil }
    let file = try group(name).file
    return kept.lazy.compactMap { try? file.unwitnessed(in: $0).beginReadingAlone().state.signedRoster }
      .first { $0.digest == seen.rosterDigest }?.roster
  }

  /// The members that do not come back with the backup of a group, as far as the registry or, without it, the rosters
  /// know of their replacement or revocation.
  package func leftOutOfRestoration() throws(VaultError) -> @Sendable (Member, AccessGroup.Name) -> Bool {
    // Verifying the groups would note their present states as seen, and the restored ones would be refused as older.
    let known = try issuesFound()
    let registry = try registry()
    var applications: [String: Application]?
    do throws(VaultError) { applications = try registry.applications() } catch {
      guard error.meansLostRegistry else { throw error }
    }
    return { [applications] member, group in
      member.issue < known[member.application]?.issue ?? 0 || applications.map { !member.isCurrent(in: $0) } ?? false
        || registry.hasRemoved(member, from: group.description, inDoubt: applications != nil)
    }
  }

  /// The rosters of the groups that are here and open, whatever this machine has seen of them; nothing is noted as
  /// seen. The owner signed them all, so even an old one shows only credentials that were given out.
  ///
  /// - Parameter leftOut: called with the name and the error of each group that does not open.
  func rostersFound(
    leftOut: (String, VaultError) -> Void = { _, _ in }
  ) throws(VaultError) -> [Roster] {
    var found: [Roster] = []
    for name in try groupNames() {
      do throws(VaultError) { found.append(try rosterFound(of: AccessGroup.Name(name))) } catch {
        leftOut(name, error.named(name))
      }
    }
    return found
  }

  func rosterFound(of name: AccessGroup.Name) throws(VaultError) -> Roster {
    try group(name).file.unwitnessed().beginReadingAlone().state.roster
  }

  /// The highest issue of each application in the rosters of the groups that are here.
  func issuesFound() throws(VaultError) -> [String: KnownIssue] { Applications.issues(in: try rostersFound()) }

  /// Records that the owner gave up a group whose file is gone, so that its name can be used again. A log without its
  /// file is kept aside.
  private func noteRemoval(of name: AccessGroup.Name) throws(VaultError) {
    let registry = try registry()
    guard let entry = try registry.entry(of: name) else { return }
    try replacing(name) { (drafts) throws(VaultError) in
      try lockingGroups { (_) throws(VaultError) in
        let folder = location.groupFolder(name.description)
        try AccessGroupFile.clearFolder(folder, movingTo: drafts.keepingPath(of: name), withLog: true)
      }
    }
    try registry.record(entry, as: .absent, of: name)
  }
}

extension Registry {
  /// Records that the group with this id has this name and is present.
  func recordPresence(of name: AccessGroup.Name, _ id: GroupID) throws(VaultError) {
    let known = try entry(of: name)
    if known?.groupID == id, known?.presence == .present { return }
    let created = known?.created ?? SystemClock.milliseconds()
    try record(Entry(groupID: id, presence: .present, created: created), of: name)
  }
}

extension Member {
  /// Whether the member's credential is the newest of its application, and is not revoked.
  fileprivate func isCurrent(in applications: [String: Application]) -> Bool {
    guard kind == .application else { return true }
    guard let known = applications[application] else { return false }
    return known.issue == issue && known.standing != .revoked
  }
}

extension VaultError {
  /// Whether this error of reading the registry says that it is missing, damaged or older, rather than out of reach.
  var meansLostRegistry: Bool {
    switch self {
    case .notFound(.group), .damaged, .rolledBack, .anotherGroup: true
    default: false
    }
  }
}
