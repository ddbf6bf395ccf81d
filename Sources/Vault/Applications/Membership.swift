internal import Sealing

extension SecretStore {
  /// Gives an application rights in a group, or changes the rights that it has.
  ///
  /// A new member can read everything in the group, older versions included.
  ///
  /// - Parameters:
  ///   - group: the group's name.
  ///   - application: the application's name.
  ///   - rights: the application's rights after the call.
  ///   - confirm: if given, a state that contradicts what this machine has seen is accepted in the same step, under a
  ///     new key. It receives that state before anything is changed, and decides whether to accept it.
  /// - Returns: the contents that the application can read.
  /// - Throws: ``VaultError/notFound(_:)`` for an unknown application or group; ``VaultError/contradiction(_:)`` for an
  ///   application whose credentials were revoked; ``VaultError/rolledBack(group:found:known:reason:)`` if a group
  ///   knows a newer credential of it than the registry, or if another group is granted than the private one, which has
  ///   removed the application; ``VaultError/denied(_:)`` for anyone but the owner.
  @discardableResult
  public func grant(
    _ rights: MemberRights, in group: String, to application: String,
    accepting confirm: ((ReturningState) -> Bool)? = nil
  ) throws(VaultError) -> Admission {
    guard try !self.group(group).name.isReserved else { throw .invalid("'\(group)' is the store's own group") }
    let known = try applications.application(application)
    guard known.standing != .revoked else { throw .contradiction(.revokedApplication) }
    let states = try verifiedStates()
    try applications.refuseReplaced(known.issue, of: application, in: states)
    // The private group is where the owner lets an application in again.
    if group != application { try applications.refuseRemoved(known.issue, of: application, in: states) }
    return try recording(.grant, group: group, subject: application, detail: rights.rawValue) {
      () throws(VaultError) in try grant(rights, in: group, to: application, known, accepting: confirm)
    }
  }

  func grant(
    _ rights: MemberRights, in group: String, to application: String,
    _ known: Application, accepting confirm: ((ReturningState) -> Bool)? = nil
  ) throws(VaultError) -> Admission {
    let name = try self.group(group).name
    let registry = try registry()
    var change = RosterChange(grants: [.init(application: application, issue: known.issue, rights: rights)])
    // A process that replaces or revokes the application records that in the registry before it changes any group, so
    // reading the registry again while holding the group's lock is enough.
    change.isStillWanted = { known.isUpToDate(with: try? registry.application(application)) }
    // A state that is only accepted now is described while it is accepted.
    let now = try? self.group(group).verifiedState()
    let member = now?.roster.members.first { $0.application == application }
    // A change would use the index of a group that others may write.
    let isOpen = try self.group(group).file.isWritableByOthers
    let isReturning = member.map { registry.hasRemoved($0, from: group) } == true
    let isDone = isOpen && confirm == nil && member?.issue == known.issue && member?.rights == rights && !isReturning
    if isDone, !change.isStillWanted() { throw .contradiction(.superseded) }
    let state = if isDone, let now { now } else { try self.change(name, change, accepting: confirm) }
    // Without the note, the service finds the group when a caller names it.
    if application == Applications.service { try? noteServed(name) }
    let wasRemoved = state.roster.removed.contains { $0.application == application && $0.issue == known.issue }
    return Admission(
      group: group, rights: rights, itemCount: state.manifest.itemCount, versionCount: state.manifest.versionRowCount,
      isReturning: wasRemoved && now != nil && (member == nil || isReturning))
  }

  /// Removes an application from a group and gives the group a new key.
  ///
  /// The application may have copied what it could read: see ``exposure(includingChanged:leftOut:progress:)``.
  ///
  /// Unsigned rows cannot prevent the removal: they are dropped, with a notice. A file that is too damaged to be
  /// changed in place, or that another process keeps locked, is replaced by a new one in the same step.
  ///
  /// - Parameters:
  ///   - group: the group's name.
  ///   - application: the application's name.
  ///   - isDroppingUnproved: whether signed items that can no longer be proved may be dropped.
  ///   - confirm: as for ``grant(_:in:to:accepting:)``, so that nothing can happen between accepting and revoking.
  ///   - progress: called now and then.
  /// - Throws: ``VaultError/notFound(_:)`` for an unknown group, or an application that is not a member;
  ///   ``VaultError/unproved(group:items:versions:)``; ``VaultError/denied(_:)`` for anyone but the owner.
  public func revoke(
    _ application: String, from group: String, droppingUnproved isDroppingUnproved: Bool = false,
    accepting confirm: ((ReturningState) -> Bool)? = nil, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) {
    _ = try owner()
    // Before waiting for the lock, and before making a new file if somebody keeps it.
    if confirm == nil, let known = try? self.group(group).info().members {
      guard known.contains(where: { $0.application == application }) else {
        // Finishes what a killed process has left, as any change does.
        try replacing(self.group(group).name) { (_) throws(VaultError) in
          if let roster = try? self.group(group).verifiedState().roster { noteRemovals(by: roster) }
        }
        throw .notFound(.member)
      }
    }
    let wasMember = Locked(false)
    let isTaken = Locked(false)
    let change = RosterChange(dropsUnproved: isDroppingUnproved) { member in
      guard member.application == application else { return false }
      wasMember.withLock { $0 = true }
      return true
    }
    let asking = confirm.map { confirm in
      { (state: ReturningState) in
        isTaken.withLock { $0 = confirm(state) }
        return isTaken.withLock { $0 }
      }
    }
    let name = try self.group(group).name
    try recording(.revoke, group: group, subject: application) { () throws(VaultError) in
      try self.change(name, change, accepting: asking, progress)
      // The application may never have been a member in an older state that was accepted.
      guard wasMember.withLock({ $0 }) || isTaken.withLock({ $0 }) else { throw .notFound(.member) }
    }
  }

  /// Gives a group a new key; its members do not change.
  ///
  /// - Parameters:
  ///   - name: the group's name.
  ///   - isDroppingUnproved: whether signed items that can no longer be proved may be dropped.
  ///   - confirm: as for ``revoke(_:from:droppingUnproved:accepting:progress:)``.
  ///   - progress: called now and then.
  /// - Returns: the number of the new key.
  /// - Throws: ``VaultError/notFound(_:)``, ``VaultError/denied(_:)`` for anyone but the owner,
  ///   ``VaultError/unproved(group:items:versions:)``, and ``VaultError/damaged(group:level:detail:)`` if no signed
  ///   state is left. The group is unchanged then.
  @discardableResult
  public func rotateGroup(
    _ name: String, droppingUnproved isDroppingUnproved: Bool = false,
    accepting confirm: ((ReturningState) -> Bool)? = nil, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> UInt64 {
    let change = RosterChange(rotates: true, dropsUnproved: isDroppingUnproved)
    let group = try group(name)
    return try recording(.rotate, group: name) { () throws(VaultError) in
      try self.change(group.name, change, accepting: confirm, progress).manifest.generation
    }
  }

  /// Removes a row that a writer signed but that is not a valid item, with its history. The group gets a new key
  /// without the row. No tombstone is written: if an item of the same name is set later, it begins at version 1 again.
  ///
  /// - Parameters:
  ///   - token: the row's place, from ``StrangeRow/token``: 32 hexadecimal digits.
  ///   - group: the group's name.
  ///   - progress: called now and then.
  /// - Throws: ``VaultError/invalid(_:)`` if `token` is malformed; ``VaultError/notFound(_:)`` if no row has it;
  ///   ``VaultError/denied(_:)`` for anyone but the owner; as ``rotateGroup(_:droppingUnproved:accepting:progress:)``.
  public func removeRow(
    _ token: String, from group: String, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) {
    _ = try owner()
    guard let token = Token(hexadecimal: token) else { throw .invalid("a row's token has 32 hexadecimal digits") }
    let group = try self.group(group)
    let isThere = try group.reading { (view) throws(VaultError) in try view.provedDigest(of: token) != nil }
    guard isThere else { throw .notFound(.item) }
    let change = RosterChange(rotates: true, drops: [token])
    try recording(.removeRow, group: group.name.description, detail: token.hexadecimal) { () throws(VaultError) in
      _ = try self.change(group.name, change, progress)
    }
  }

  /// Makes `change` in the group `name`.
  ///
  /// - Parameter confirm: if given, allows a state that contradicts what was seen.
  @discardableResult
  func change(
    _ name: AccessGroup.Name, _ change: RosterChange, accepting confirm: ((ReturningState) -> Bool)? = nil,
    _ progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> VerifiedState {
    try inOrder(change, of: group(name)) { (change) throws(VaultError) in
      let acceptance = try confirm.map { (confirm) throws(VaultError) in
        try ownersAcceptance(of: name, asking: confirm)
      }
      let (state, putOut) = try self.change(name, change, accepting: acceptance, progress)
      for application in putOut where acceptance == nil {
        notices.post(.memberPutOut(group: name.description, application: application))
      }
      switch acceptance?.registration {
      case .missing, .removed:
        do throws(VaultError) { try registry().recordPresence(of: name, state.manifest.groupID) } catch {
          notices.post(.groupLeftOut(group: AccessGroup.Name.registry.description, reason: error.message))
        }
      default: break
      }
      return state
    }
  }

  /// Records who was removed from a group, while nobody else changes its members.
  func noteRemovals(by roster: Roster) {
    guard roster.groupName != AccessGroup.Name.registry.description else { return }
    do throws(VaultError) { try registry().recordRemovals(by: roster) } catch {
      notices.post(.removalUnrecorded(group: roster.groupName, reason: error.message))
    }
  }

  /// Records in the registry who was let into a group. Until then they count as removed, so that a killed process has let
  /// in nobody.
  private func note(_ grants: [RosterChange.Grant], of name: AccessGroup.Name) throws(VaultError) {
    let letIn = Dictionary(grants.map { ($0.application, $0.issue) }, uniquingKeysWith: max)
    do throws(VaultError) {
      try registry().changeRemovals(of: letIn.keys, from: name.description) { min($1, (letIn[$0] ?? 1) - 1) }
    } catch {
      // They are members already.
      throw .storage(.unconfirmed)
    }
  }

  /// - Returns: also the applications that had been removed before, and came back with an older copy.
  private func change(
    _ name: AccessGroup.Name, _ change: RosterChange, accepting acceptance: OwnersAcceptance?,
    _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> (state: VerifiedState, putOut: Set<String>) {
    var change = change
    let granted = change.grants.map(\.application)
    let (revokes, wasRemoved) = (change.revokes, try removed(from: name, readingFiles: acceptance != nil))
    let putOut = Locked<Set<String>>([])
    // Lower rights do not wait for a new key: whoever loses them could delay that.
    change.staysOut = { [lowers = change.lowers] member in
      guard !lowers, !granted.contains(member.application), !revokes(member), wasRemoved(member) else { return false }
      putOut.withLock { _ = $0.insert(member.application) }
      return true
    }
    let former = Locked<[String: UInt32]>([:])
    let failure = Locked<VaultError?>(nil)
    // Before anything is written, so that nobody is removed without a record if this process is killed.
    change.prepare = { [grants = change.grants] (leaving) throws(VaultError) in
      guard name != .registry else { return }
      let left = Dictionary(leaving.map { ($0.application, $0.issue) }, uniquingKeysWith: max)
      let ids = Set(left.keys).union(grants.map(\.application))
      do throws(VaultError) {
        // The entries of those who are let in are only read here.
        let noted = try self.registry().changeRemovals(of: ids, from: name.description) { max($1, left[$0] ?? 0) }
        former.withLock { $0.merge(noted) { first, _ in first } }
      } catch {
        // Whoever can damage the registry must not keep the owner from removing them.
        guard grants.isEmpty else { throw error }
        failure.withLock { $0 = error }
      }
    }
    let state = try replacing(name) { [change] (drafts) throws(VaultError) in
      if !granted.isEmpty, let entry = try registry().entry(of: name), isUnfinished(name, entry) {
        try registry().record(entry, as: .present, of: name)
      }
      let state: VerifiedState
      do throws(VaultError) { state = try write(change, to: name, accepting: acceptance, drafts, progress) } catch {
        switch error {
        case .storage(.unconfirmed), .unordered(_, .outcomeUnknown): throw error
        default: break
        }
        let former = former.withLock { $0 }
        do throws(VaultError) {
          try registry().changeRemovals(of: former.keys, from: name.description) { former[$0] ?? $1 }
        } catch {
          notices.post(.removalPending(group: name.description, reason: error.message))
        }
        throw error
      }
      if let failure = failure.withLock({ $0 }) {
        notices.post(.removalUnrecorded(group: name.description, reason: failure.message))
        return state
      }
      try note(change.grants, of: name)
      noteRemovals(by: state.roster)
      return state
    }
    return (state, putOut.withLock { $0 })
  }

  /// Makes `change` in the group's files, or in new ones if these do not allow it.
  private func write(
    _ change: RosterChange, to name: AccessGroup.Name, accepting acceptance: OwnersAcceptance?,
    _ drafts: borrowing DraftFolder, _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> VerifiedState {
    let file = try group(name).file
    let obstacle: VaultError
    do throws(VaultError) {
      let changed = try file.changeRoster(
        change, accepting: acceptance, at: drafts.places(of: name), by: owner()
      ) { progress($0) }
      notices.post(changed.left, of: name.description, keptAside: nil)
      return changed.state
    } catch {
      guard file.canAvoid(error) else { throw error.named(name.description) }
      obstacle = error
    }
    do throws(VaultError) {
      // The first try may have left its draft.
      let places = DraftPlaces(draft: drafts.path(of: name) + ".again", kept: drafts.keepingPath(of: name))
      return try rebuild(name, file, change, accepting: acceptance, at: places, progress)
    } catch {
      // What prevents both is not due to the files, and the first error names its place.
      throw !obstacle.isRepairable && error.status == obstacle.status ? obstacle.named(name.description) : error
    }
  }

  /// Makes `change` in a new file with what the last signed state of the old one proves.
  func rebuild(
    _ name: AccessGroup.Name, _ file: AccessGroupFile, _ change: RosterChange,
    accepting acceptance: OwnersAcceptance?, at places: DraftPlaces, _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> VerifiedState {
    let identity = try owner()
    let changed = try inGroup(
      name.description,
      file.changeRoster(
        change, accepting: acceptance, salvagingAt: places, by: identity, members: memberSeeds(identity),
        progress: progress))
    notices.post(changed.left, of: name.description, keptAside: places.kept)
    return changed.state
  }

  /// The seeds of the registered applications; empty if the registry cannot be read.
  func memberSeeds(_ identity: Identity) -> [MemberSeed] {
    guard let known = try? registry().applications() else { return [] }
    // Interrupted changes leave some groups under an earlier issue, which the other groups name as removed.
    let rosters = (try? rostersFound()) ?? []
    return known.flatMap { id, entry in
      let steps = (0...4).flatMap { [$0, $0 * Applications.lead, $0 * Applications.lead + 1] }
      // The first ones, too: the next is far above, because it rises with the clock.
      var issues = Set(steps.filter { $0 < entry.issue }.map { entry.issue - $0 }).union(1...4)
      for roster in rosters {
        issues.formUnion(roster.members.filter { $0.application == id }.map(\.issue))
        issues.formUnion(roster.removed.filter { $0.application == id }.map(\.issue))
      }
      return issues.compactMap { try? identity.seed(application: id, issue: $0) }
    }
  }
}

extension AccessGroup {
  /// The members with their rights, the owner included.
  public var members: [Member] { get throws(VaultError) { try info().members } }
}

extension Item.Writer {
  /// The application's id; `nil` for the owner.
  public var application: String? { if case .application(let id, _) = self { id } else { nil } }
}
