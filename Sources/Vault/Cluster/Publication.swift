internal import Glibc
public import GroupFile

extension SecretStore {
  /// Publishes a group: from now on, the cluster `remote` orders its changes, and every host that joins the group has a
  /// copy of it. The group gets a new key, so that the log begins with a complete file.
  ///
  /// `vaultd` must serve the group, because only `vaultd` talks to the cluster.
  ///
  /// If a backup has brought back a published group, but not the note that says where its log is, this call restores
  /// the note.
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
      // Their own words say that the group is published.
      switch error {
      case .unordered(_, .unreachable(let why)): throw .unreachableCluster(why)
      case .unordered(_, .notHere): throw .locked(.service("nobody listens on its socket, or not for this user"))
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
    guard try group.verifiedState().isPublished else { throw .notFound(.publication) }
    try change(group.name, RosterChange(publishes: false))
    try clearPublished(name)
  }
}

extension VaultError {
  /// A cluster that cannot be reached, or does not let us in, where no published group is concerned.
  package static func unreachableCluster(_ why: String) -> VaultError {
    .service(.busy, "the cluster cannot be reached: \(why)")
  }
}

extension SecretStore {
  /// The names of the groups that the owner has published and of the published groups that have a copy here, sorted.
  ///
  /// - Throws: the error of listing the groups. A group that cannot be read is left out.
  public func publishedCopies() throws(VaultError) -> [String] {
    let copies = try groupNames().filter { (try? copy(of: $0))?.isPublished == true }
    guard access.isOwners else { return copies }
    return try Set(copies).union(publishedGroups().keys).sorted()
  }

  /// Asks `vaultd` to bring the copy of a published group up to date, and waits until it is.
  ///
  /// - Returns: the epoch of the copy's state.
  /// - Throws: ``VaultError/unordered(group:_:)``; ``VaultError/notFound(_:)`` for a group that is not published.
  @discardableResult
  public func synchronize(_ group: String) throws(VaultError) -> UInt64 {
    if let copy = try copy(of: group) {
      guard copy.isPublished else { throw .notFound(.publication) }
    } else {
      guard try isExpected(group) else { throw .notFound(.group) }
    }
    let file = try self.group(group).file
    try inGroup(group, file.catchUp())
    guard let copy = try copy(of: group) else { throw .notFound(.group) }
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
  ///   `vaultd` answers.
  public func logEpoch(of group: String) throws(VaultError) -> UInt64? {
    let answer = try location.askService(ClusterRequest.status.path(of: group), [])
    if let failure = answer.failure { throw failure }
    return answer.number
  }
}

extension AccessGroup {
  /// Makes a change of a published group, and repeats it on the newest state whenever another host was faster.
  func inOrder<Result, Failure: Error>(_ change: () throws(Failure) -> Result) throws(Failure) -> Result {
    for _ in 0..<AccessGroup.attemptLimit {
      do { return try change() } catch {
        guard case .unordered(_, .overtaken)? = error as? VaultError, let file = try? file else { throw error }
        do throws(VaultError) { try file.catchUp() } catch let reason {
          // The reason why the newest state is missing says more than the fact that there is one.
          throw reason.named(name.description) as? Failure ?? error
        }
      }
    }
    return try change()
  }

  private static let attemptLimit = 32
}

/// The state of this host's copy of a group.
package struct GroupCopy: Sendable, Equatable {
  package let state: PublishedState
  package let isPublished: Bool
  /// Whether this host's member may change the group.
  package let isWriter: Bool
  /// When the state was signed, by the writer's clock, in milliseconds since 1970.
  package let time: UInt64

  init(_ state: VerifiedState) {
    self.state = PublishedState(state)
    isPublished = state.isPublished
    isWriter = state.member.rights >= .write
    time = state.manifest.time
  }
}

/// Calls with which `vaultd` keeps copies of published groups up to date.
extension SecretStore {
  /// The copy of a group on this host; `nil` if there is none, or if it is older than the state that this machine has
  /// seen.
  ///
  /// A credential names states of groups that may never have been here. A copy that is missing, or that a backup has
  /// set back, can be fetched again.
  package func copy(of group: String) throws(VaultError) -> GroupCopy? {
    do {
      return GroupCopy(try self.group(group).verifiedState())
    } catch {
      switch error {
      case .notFound(.group): return nil
      case .rolledBack(_, _, _, let reason) where reason != .broughtBack: return nil
      default: throw error
      }
    }
  }

  /// Proves a commit against the group's copy, and moves the copy to the commit's state.
  ///
  /// - Returns: `false` if the copy already has this state or a later one.
  /// - Throws: ``VaultError/unordered(group:_:)`` with `overtaken` for a commit that follows another state;
  ///   ``VaultError/damaged(group:level:detail:)`` for one that cannot be proved. The copy is unchanged then.
  package func apply(_ commit: [UInt8], to group: String) throws(VaultError) -> Bool {
    let file = try self.group(group).file
    return try inGroup(group, file.apply(GroupCommit(parsing: commit)))
  }

  /// Refuses a commit that another program wants to publish, unless it follows the copy's state and a writer signed it.
  ///
  /// - Throws: as ``apply(_:to:)``.
  package func confirm(_ commit: GroupCommit, of group: String) throws(VaultError) {
    let file = try self.group(group).file
    try inGroup(group, file.confirm(commit))
  }

  /// Signs an empty change of a published group if its newest state is at least `seconds` old.
  ///
  /// - Parameter time: the current time, in milliseconds since 1970.
  /// - Throws: the errors of any change.
  package func renew(_ group: String, olderThan seconds: UInt32, at time: UInt64) throws(VaultError) {
    try self.group(group).writing { (transaction) throws(VaultError) in
      let state = transaction.view.state
      // Another host may have been faster.
      guard state.isPublished, time >= state.manifest.time + UInt64(seconds) * 1_000 else { return }
      transaction.renew()
    }
  }

  /// Proves a complete file and the commits that follow it. If they lead to a later state than the copy's, the file
  /// replaces the copy. A copy that this machine refused as too old is kept aside.
  ///
  /// - Parameters:
  ///   - write: writes the file to the path that it receives.
  ///   - following: returns the next commits after a state; none at the end.
  /// - Returns: whether the file replaced the copy.
  /// - Throws: the errors of `write` and `following`, and the error of the proof; the copy is unchanged then.
  package func adopt(
    _ group: String, _ write: (String) throws(VaultError) -> Void,
    following: (PublishedState) throws(VaultError) -> [[UInt8]]
  ) throws(VaultError) -> Bool {
    let isReadable = (try? copy(of: group)) != nil
    let group = try self.group(group)
    let file = try group.file
    let drafts = try DraftFolder.make(in: location.home)
    let places = drafts.places(of: group.name)
    let draft = try inGroup(group.name.description, GroupDraft(in: places.draft, for: file.folder))
    try write(draft.filePath)
    guard unsafe chmod(draft.filePath, draft.fileMode) == 0 else { throw .storage(.inputOutput) }
    var failure: VaultError?
    let isAdopted: Bool
    do throws(VaultError) {
      isAdopted = try file.adopt(draft, keeping: places.kept, dropping: isReadable) { (state) throws(VaultError) in
        do throws(VaultError) { return try following(state) } catch {
          failure = error
          throw .unordered(.unreachable(error.message))
        }
      }
    } catch {
      throw failure ?? error.named(group.name.description)
    }
    return isAdopted
  }

  /// Whether a commit was made by someone who has the group's key. Its signature is not checked.
  package func isSealed(_ commit: [UInt8], of group: String) throws(VaultError) -> Bool {
    guard let commit = try? GroupCommit(parsing: commit) else { return false }
    return try commit.isSealed(as: self.group(group).verifiedState())
  }

  /// Whether the copy's chain continues the state with this epoch and link.
  package func copyDescends(from epoch: UInt64, _ link: [UInt8], of group: String) throws(VaultError) -> Bool {
    try self.group(group).reading { (view) throws(VaultError) in
      try view.view.descends(from: epoch, link)
    }
  }

  /// Lends a complete, proved file with the copy's current state.
  ///
  /// - Throws: the errors of `body`, and the error of the proof.
  package func copyFile<Result>(
    of group: String, _ body: (_ path: String, _ state: PublishedState) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    let group = try self.group(group)
    let file = try group.file
    let drafts = try DraftFolder.make(in: location.home)
    let folder = drafts.path(of: group.name)
    let state: PublishedState
    do throws(VaultError) {
      _ = try GroupDraft(in: folder, for: file.folder)
      guard try file.backUp(to: folder) != nil else { throw .otherDevice("the group is bound to a device") }
      state = PublishedState(try RestingGroup(in: folder, file.context).state)
    } catch {
      throw error.named(group.name.description)
    }
    return try body("\(folder)/\(ContainerPlace.groupFileName)", state)
  }

  /// Proves the complete file at `path`, which another program wants to publish.
  ///
  /// - Parameter previous: the state that the file's state must continue.
  /// - Throws: the error of the proof; ``VaultError/invalid(_:)`` if the file is not a draft of this store, or does not
  ///   continue `previous`.
  package func provedCopy(
    at path: String, of group: String, after previous: PublishedState
  ) throws(VaultError) -> GroupCopy {
    guard let end = path.lastIndex(of: "/"), path.hasPrefix("\(location.home)/\(DraftFolder.parentName)/"),
      !path.split(separator: "/").contains("..")
    else { throw .invalid("the file is not in the store") }
    let file = try self.group(group).file
    do throws(VaultError) {
      let resting = try RestingGroup(in: String(path[..<end]), file.context)
      _ = try resting.proved()
      guard try resting.descends(from: previous) else { throw .unordered(.overtaken) }
      return GroupCopy(resting.state)
    } catch {
      throw error.named(group)
    }
  }
}
