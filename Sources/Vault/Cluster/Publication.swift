extension SecretStore {
  /// Publishes a group: from now on, the cluster `remote` orders its changes, and every host that joins the group has a
  /// copy of it. The group gets a new key, so that the log begins with a complete file.
  ///
  /// `vaultd` must serve the group, because only `vaultd` talks to the cluster.
  ///
  /// If a backup has brought back a published group, but not the note of its log, this call restores the note.
  ///
  /// - Parameters:
  ///   - name: the group's name; not one of the store's own groups.
  ///   - remote: the name of a remote.
  ///   - progress: called now and then.
  /// - Throws: ``VaultError/notFound(_:)`` for an unknown group or remote; ``VaultError/exists(_:)`` if the group is
  ///   published; ``VaultError/unordered(group:_:)``; ``VaultError/service(_:_:)`` if the cluster cannot be reached or
  ///   refuses the login; ``VaultError/denied(_:)`` for anyone but the owner. The group is unchanged then, unless the
  ///   error says that the outcome is unknown.
  public func publishGroup(
    _ name: String, at remote: String, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) {
    let group = try group(name)
    guard !group.name.isReserved else { throw .invalid("'\(name)' is the store's own group") }
    let state = try group.verifiedState()
    let id = state.manifest.groupID
    guard !state.isPublished else {
      guard try publications().allSatisfy({ $0.group != name }) else { throw .exists(.publication) }
      // A backup brought back the group without the note that says where its log is.
      try setPublished(name, id, at: remote)
      try synchronize(name)
      return
    }
    guard !state.roster.flags.contains(.thisDeviceOnly) else {
      throw .invalid("a group of this device only cannot be published")
    }
    // `vaultd` needs this note to find the remote, so it is written first.
    try setPublished(name, id, at: remote)
    do throws(VaultError) {
      try change(group.name, RosterChange(publishes: true), progress)
    } catch {
      // If it is unknown whether the group was published, the note stays, and `vaultd` finds out.
      if case .unordered(_, .outcomeUnknown) = error { throw error }
      if error == .storage(.unconfirmed) { throw error }
      try clearPublished(name)
      // The texts of these errors say that the group is published.
      switch error {
      case .unordered(_, .unreachable(let why)): throw .unreachableCluster(why)
      case .unordered(_, .refused): throw .service(.denied, "the cluster refuses the login, or does not permit this")
      case .unordered(_, .notHere): throw ServiceClient.nobodyListens
      case .unordered(_, .shut(let why)): throw .locked(.service(why))
      default: throw error
      }
    }
  }

  /// Ends the publication of a group with a last commit. The other hosts must prove it before they can write without
  /// the cluster. After that, each host has an independent group.
  ///
  /// - Throws: ``VaultError/notFound(_:)`` if the group is not published; otherwise as
  ///   ``publishGroup(_:at:progress:)``.
  public func unpublishGroup(_ name: String) throws(VaultError) {
    let group = try group(name)
    // A note may be left from a call whose answer was lost.
    let isNoted = try publishedGroups()[name] != nil
    if isNoted, try !group.verifiedState().isPublished {
      do { try synchronize(name) } catch .notFound(.publication) {}
    }
    if try group.verifiedState().isPublished {
      try change(group.name, RosterChange(publishes: false))
    } else if !isNoted {
      throw .notFound(.publication)
    }
    try clearPublished(name)
  }

  /// The names of the groups that the owner has published and of the published groups that have a copy here, or, for an
  /// application whose credential says where its groups are published, should have one; sorted.
  ///
  /// - Throws: the error of listing the groups. A group that cannot be read is left out.
  public func publishedCopies() throws(VaultError) -> [String] {
    let names = try groupNames()
    let copies = names.filter { (try? copy(of: $0))?.isPublished == true }
    if case .application(let credential) = access, credential.remote != nil {
      return try Set(copies).union(Set(expectedGroupNames()).subtracting(names)).sorted()
    }
    guard access.isOwners else { return copies }
    return try Set(copies).union(publishedGroups().keys).sorted()
  }

  /// Asks `vaultd` to bring the copy of a published group up to date, and waits until it is.
  ///
  /// - Returns: the epoch of the copy's state.
  /// - Throws: ``VaultError/unordered(group:_:)``; ``VaultError/notFound(_:)`` for a group that is not published.
  @discardableResult
  public func synchronize(_ group: String) throws(VaultError) -> UInt64 {
    let known = try copy(of: group)
    if known == nil, try !isExpected(group) { throw .notFound(.group) }
    let file = try self.group(group).file
    do throws(VaultError) { try inGroup(group, file.catchUp()) } catch {
      // The owner may have published it again. If nobody here knows that, it is not published.
      guard known?.isPublished == false, case .unordered = error else { throw error }
      if access.isOwners, try isExpected(group) { throw error }
      throw .notFound(.publication)
    }
    guard let copy = try copy(of: group) else { throw .notFound(.group) }
    guard copy.isPublished || known?.isPublished != false else { throw .notFound(.publication) }
    return copy.state.epoch
  }

  /// Whether there may be a log for a group that has no copy here.
  private func isExpected(_ group: String) throws(VaultError) -> Bool {
    if case .application(let credential) = access { return credential.floors.contains { $0.group == group } }
    return access.isOwners ? try publishedGroups()[group] != nil : false
  }

  /// The epoch of a published group's log when `vaultd` last asked the cluster.
  ///
  /// - Throws: the error that last kept the copy from being brought up to date; ``VaultError/locked(_:)`` if no
  ///   `vaultd` listens or it is sealed; ``VaultError/service(_:_:)`` if it does not answer within ten seconds.
  public func logEpoch(of group: String) throws(VaultError) -> UInt64? {
    let answer = try location.logStatus(of: group)
    if let failure = answer.failure { throw failure }
    return answer.number
  }

  /// Makes a change of a group's members with `make`, as ``AccessGroup/inOrder(_:_:)``.
  ///
  /// As soon as somebody was faster, those whom it puts out may only read, because each commit of theirs would delay it
  /// again. An application's next credential has the rights of the last one, unless its removal is on record.
  func inOrder(
    _ change: RosterChange, of group: AccessGroup, _ make: (RosterChange) throws(VaultError) -> VerifiedState
  ) throws(VaultError) -> VerifiedState {
    var change = change
    func hold() {
      for member in (try? group.verifiedState())?.roster.members ?? [] where member.rights == .write {
        let isReplaced = member.application == change.reissue?.application && member.issue != change.reissue?.issue
        guard member.kind == .application, isReplaced || change.revokes(member) else { continue }
        // First: an error may leave open whether the member may still write.
        if isReplaced { change.reissuedRights = .write }
        var lowering = RosterChange(reissue: (member.application, member.issue))
        lowering.reissuedRights = .read
        _ = try? self.change(group.name, lowering)
      }
    }
    let state = try group.inOrder(hold) { () throws(VaultError) in try make(change) }
    for member in state.roster.members where member.application == change.reissue?.application {
      guard change.reissuedRights == member.rights else { continue }
      record(.grant, group: group.name.description, subject: member.application, detail: member.rights.rawValue)
    }
    return state
  }
}

extension StoreLocation {
  /// What `vaultd` knows of a group's log. It asks no server for that, so one that takes longer is stopped.
  func logStatus(of group: String) throws(VaultError) -> ServiceAnswer {
    try askService(ClusterRequest.status.path(of: group), [], patience: 10, or: ServiceConnection.brokenReading)
  }
}

extension AccessGroup {
  /// Makes a change of a published group, and repeats it on the newest state, after `prepare`, whenever another host was
  /// faster.
  func inOrder<Result, Failure: Error>(
    _ prepare: () -> Void = {}, _ change: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    for _ in 0..<AccessGroup.attemptLimit {
      do { return try change() } catch {
        guard case .unordered(_, .overtaken)? = error as? VaultError, let file = try? file else { throw error }
        do throws(VaultError) { try file.catchUp() } catch let reason {
          // The reason why the newest state is missing says more than the fact that there is one.
          throw reason.named(name.description) as? Failure ?? error
        }
        prepare()
      }
    }
    return try change()
  }

  private static let attemptLimit = 32
}

extension VaultError {
  /// A cluster that cannot be reached, where no published group is concerned.
  package static func unreachableCluster(_ why: String) -> VaultError {
    .service(.busy, "the cluster cannot be reached: \(why)")
  }
}
