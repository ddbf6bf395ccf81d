internal import Glibc
internal import Sealing

extension SecretStore {
  /// The names of the groups whose files exist, sorted; nothing is verified.
  ///
  /// An application that may not list the folder of groups gets the groups that it knows: its own, those that its
  /// credential names, and those that it has opened before. The service also gets those into which it was let since.
  ///
  /// - Throws: ``VaultError/denied(_:)``, ``VaultError/storage(_:)``.
  public func groupNames() throws(VaultError) -> [String] {
    if case .service(let service) = access { return try service.groups() }
    do {
      return try location.groupNames()
    } catch .denied(let reason) {
      guard case .application(let credential) = access else { throw .denied(reason) }
      let served = credential.application == Applications.service ? try? servedGroups() : nil
      return location.knownGroupNames(credential, and: served ?? [])
    }
  }

  package func itemGroupNames() throws(VaultError) -> [String] {
    try groupNames().filter { (try? AccessGroup.Name($0))?.isReserved == false }
  }

  /// The groups that a command for all groups visits: the existing ones, and, for an application, those that its
  /// credential names, so that a missing one is noticed.
  func expectedGroupNames() throws(VaultError) -> [String] {
    let names = try groupNames()
    guard case .application(let credential) = access else { return names }
    // Where an application joined, its groups that are not published never were. Only if all are missing, some are late.
    let isJoined = location.hasJoined(credential.application) && !awaitsGroups
    let expected = credential.floors.map(\.group).filter { group in
      (try? AccessGroup.Name(group)).map { !isJoined || witness($0).read() != .absent } ?? true
    }
    return Set(names).union(expected).sorted()
  }

  /// Whether an application has joined here and none of its groups has arrived yet. Which of them are published, only
  /// `vaultd` can find out.
  package var awaitsGroups: Bool {
    guard case .application(let credential) = access, location.hasJoined(credential.application) else { return false }
    let names = credential.floors.compactMap { try? AccessGroup.Name($0.group) }
    return names.allSatisfy { !location.hasGroup($0) && witness($0).read() == .absent }
  }

  /// The groups that a change of all groups must visit: the existing ones and those that the registry knows, sorted.
  ///
  /// Whoever may write the folder of groups can hide a group and bring it back after the change.
  ///
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner.
  func ownersGroupNames() throws(VaultError) -> [AccessGroup.Name] {
    let known = try registry().groups().filter { $0.value.presence != .absent }.map(\.key)
    let found = try groupNames().map { (name) throws(VaultError) in try AccessGroup.Name(name) }
    return Set(found + known).subtracting([.registry]).sorted { $0.description < $1.description }
  }

  /// Creates a group; the owner is its only member.
  ///
  /// - Parameters:
  ///   - name: the group's name.
  ///   - new: the group's properties.
  /// - Throws: ``VaultError/exists(_:)``; ``VaultError/rolledBack(group:found:known:reason:)`` if a group of this name
  ///   is known and its file is gone; ``VaultError/denied(_:)`` for anyone but the owner, and for a Unix group that
  ///   this user is not in; ``VaultError/invalid(_:)``; ``VaultError/locked(_:)`` for a device key that cannot be used.
  @discardableResult
  public func createGroup(_ name: String, _ new: NewGroup = NewGroup()) throws(VaultError) -> AccessGroup {
    let name = try AccessGroup.Name(name)
    guard !name.isReserved else { throw .invalid("names that begin with 'vault.' are the store's own") }
    guard try registry().application(name.description) == nil else { throw .exists(.applicationName) }
    guard let keep = UInt16(exactly: new.keep), GroupLimits.keptVersions.contains(keep) else {
      throw .invalid("a group keeps 1 to 1,000 versions of an item")
    }
    var creation = GroupCreation(name: name.description, time: SystemClock.milliseconds())
    creation.keep = keep
    if new.lifetime == .purged { creation.flags.insert(.purgedAtUninstall) }
    if let unixGroup = new.unixGroup {
      guard !new.isThisDeviceOnly else { throw SecretStore.boundAndShared }
      try unixGroup.requireOurs()
      creation.shape = .shared(unixGroup)
    }
    if new.isThisDeviceOnly {
      guard let state = location.stateFolder(of: access.ownerKey) else { throw .locked(.noStateFolder) }
      try location.makeStateFolder(of: access.ownerKey)
      creation.device = try DeviceKeyFile.readOrMake(in: state)
    }
    return try recording(.createGroup, group: name.description) { () throws(VaultError) in
      try createGroup(name, creation)
    }
  }

  /// Creates a group of an application or of the store itself, unless its file exists.
  func makeMissing(_ name: AccessGroup.Name, keep: UInt16 = 10, _ flags: Roster.Flags = []) throws(VaultError) {
    let registry = try registry()
    guard location.hasGroup(name) else {
      var creation = GroupCreation(name: name.description, time: SystemClock.milliseconds())
      (creation.keep, creation.flags) = (keep, flags)
      try createGroup(name, creation)
      return
    }
    guard let entry = try registry.entry(of: name), entry.presence != .present else { return }
    try registry.record(entry, as: .present, of: name)
  }

  /// Creates a group and records it in the registry.
  @discardableResult
  func createGroup(_ name: AccessGroup.Name, _ creation: GroupCreation) throws(VaultError) -> AccessGroup {
    let registry = try registry()
    try lockingGroups { (groups) throws(VaultError) in
      let known = try registry.entry(of: name)
      if location.hasGroup(name) {
        // A process that was killed after making the file leaves the entry unfinished.
        if let known, isUnfinished(name, known) { try registry.record(known, as: .present, of: name) }
        throw .exists(.group)
      }
      let seen = witness(name).read()
      if seen == .invalid {
        throw .damaged(group: name.description, level: .witness, detail: "neither record is valid")
      }
      // A machine without a witness knows from the registry alone that the group existed.
      if seen.record?.flags.contains(.removed) == false || known?.presence == .present { throw vanished(name) }
      // Recorded before and after, so that a process killed in between leaves neither an unregistered nor a missing
      // group.
      let entry = Registry.Entry(groupID: GroupID(Randomness.bytes(32))!, presence: .changing, created: creation.time)
      try registry.record(entry, of: name)
      try make(name, creation, groupID: entry.groupID, as: self.group(name).file.context.seed, in: groups)
      do throws(VaultError) { try registry.record(entry, as: .present, of: name) } catch .storage {
        // On a full disk the entry stays as it is. The group is complete, and whoever reads such an entry looks for the
        // group itself.
      }
    }
    return group(name)
  }

  /// Removes a group with all its items. Backups, snapshots and disk blocks may still hold them.
  ///
  /// Repeating an interrupted removal finishes it; what was removed and put back is not verified again.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, ``VaultError/denied(_:)`` for anyone but the owner, and the error of a
  ///   group that fails verification.
  public func removeGroup(_ name: String) throws(VaultError) { try removeGroup(name, if: nil) }

  /// - Parameter isWanted: `nil`, or asked while nobody else writes; a no is thrown as `contradiction(.superseded)`.
  func removeGroup(_ name: String, if isWanted: ((Roster) -> Bool)?) throws(VaultError) {
    let group = try group(name)
    try recording(.removeGroup, group: name) { () throws(VaultError) in
      try replacing(group.name) { (drafts) throws(VaultError) in
        let (path, places) = (drafts.path(of: group.name) + ".removed", drafts.places(of: group.name))
        try lockingGroups { (groups) throws(VaultError) in
          try remove(group, in: groups, to: path, at: places, isWanted)
        }
      }
      // Otherwise vaultd would go on asking for its log.
      if (try? publishedGroups())?[name] != nil { try clearPublished(name) }
    }
  }

  private func remove(
    _ group: AccessGroup, in groups: borrowing Folder, to path: String, at places: DraftPlaces,
    _ isWanted: ((Roster) -> Bool)?
  ) throws(VaultError) {
    let name = group.name.description
    let registry = try registry()
    let known = try registry.entry(of: group.name)
    let mayFinish = known?.presence == .changing || isWanted == nil && location.hasGroup(group.name)
    if mayFinish, try inGroup(name, group.file.finishRemoval(to: path)) {
      guard let known else { return }
      return try registry.record(known, as: .absent, of: group.name)
    }
    var entry = known ?? Registry.Entry(groupID: .zero, presence: .present, created: SystemClock.milliseconds())
    var hasBegun = false
    do throws(VaultError) {
      try group.file.remove(to: path, at: places) { (roster) throws(VaultError) in
        guard isWanted?(roster) != false else { throw .contradiction(.superseded) }
        (entry.groupID, entry.presence, hasBegun) = (roster.groupID, .changing, true)
        try registry.record(entry, of: group.name)
      }
    } catch {
      if hasBegun, witness(group.name).read().record?.flags.contains(.removed) != true {
        try? registry.record(entry, as: .present, of: group.name)
      }
      throw error.named(name)
    }
    try location.settleEntrance(groups)
    do throws(VaultError) { try registry.record(entry, as: .absent, of: group.name) } catch .storage {
      // On a full disk the entry stays as it is. The group is gone, and its witness says that the owner removed it.
    }
  }

  /// Drops tombstones and returns free space to the file system; if the space cannot be returned, a notice says so. An
  /// item that is set again then begins at version 1.
  ///
  /// - Parameters:
  ///   - name: the group's name.
  ///   - progress: called now and then with the number of items proved so far.
  /// - Returns: the number of dropped tombstones.
  /// - Throws: the error of the group, which is proved completely first; it is unchanged then.
  @discardableResult
  public func compactGroup(_ name: String, progress: (UInt64) -> Void = { _ in }) throws(VaultError) -> UInt64 {
    let file = try group(name).file
    return try inGroup(
      name, file.compact(progress: progress) { notices.post(.spaceNotFreed(group: name, reason: $0.message)) })
  }

  /// - Parameter groups: the folder of groups, whose lock the caller holds.
  func make(
    _ name: AccessGroup.Name, _ creation: GroupCreation, groupID: GroupID, as seed: MemberSeed,
    in groups: borrowing Folder
  ) throws(VaultError) {
    let identity = try owner()
    let folder = location.groupFolder(name.description)
    do {
      if groups.contains(name.description) {
        let drafts = try draftFolder()
        try AccessGroupFile.clearFolder(folder, movingTo: drafts.path(of: name))
      }
      try creation.shape.makeFolder(folder)
      let record = try creation.write(to: folder, groupID: groupID, owner: identity.rosterSigningKey(), seed: seed)
      try atLevel(.store) { () throws(FileFault) in try groups.file.synchronize() }
      let isWitnessed = witness(name).raiseDurably { reading in
        // Another process may have written to the new group already, and raised its witness further.
        if case .valid(let known) = reading, known.groupID == record.groupID { nil } else { record }
      }
      if !isWitnessed { notices.post(.witnessUnwritten) }
    } catch {
      throw error.named(name.description)
    }
    if creation.shape != .closed { try location.settleEntrance(groups) }
  }

  /// Calls `look`, and calls it again if the group may have been in the middle of being created or removed: its file,
  /// its witness and its entry in the registry cannot change at the same moment. Whoever changes them holds the lock of
  /// the folder of groups, and so does the second call; if `look` changes the group, it only waits for that lock,
  /// because a change takes the group's own lock first. `nil` for a group that was removed meanwhile.
  func settled<Result>(
    _ name: String, isChange: Bool = false, _ look: () throws(VaultError) -> Result
  ) throws(VaultError) -> Result? {
    testOnlyWillLook(at: name)
    do {
      return try look()
    } catch {
      guard error.canPass else { throw error }
    }
    testOnlyWillLook(at: name)
    do throws(VaultError) {
      guard isChange else { return try keepingGroups(look) }
      try keepingGroups { () throws(VaultError) in }
      return try look()
    } catch .notFound(.group) {
      return nil
    }
  }

  func testOnlyWillLook(at name: String) { testOnlyBeforeLook.withLock { $0 }?(name) }

  /// Runs `body` while no other process creates, shares or removes a group. If an application may not open the folder
  /// of groups, `body` runs without the lock.
  func keepingGroups<Result>(_ body: () throws(VaultError) -> Result) throws(VaultError) -> Result {
    if !access.isOwners, (try? location.groupNames()) == nil { return try body() }
    return try lockingGroups { (_) throws(VaultError) in try body() }
  }

  /// Runs `body` with the folder of groups while no other process creates, shares or removes a group.
  ///
  /// A thread that has the lock already only runs `body`: looking at a group may need it.
  ///
  /// - Throws: ``VaultError/noStore(path:)``, ``VaultError/busy(group:)``, ``VaultError/denied(_:)``, and what `body`
  ///   throws.
  func lockingGroups<Result>(_ body: (borrowing Folder) throws(VaultError) -> Result) throws(VaultError) -> Result {
    let thread = UInt(pthread_self())
    let isHeld = keepers.withLock { $0.contains(thread) }
    let groups = try location.groupsFolder(isLocked: !isHeld)
    if isHeld { return try body(groups) }
    keepers.withLock { _ = $0.insert(thread) }
    defer {
      keepers.withLock { _ = $0.remove(thread) }
      groups.unlock()
    }
    return try body(groups)
  }
}

extension StoreLocation {
  fileprivate func groupsFolder(isLocked: Bool) throws(VaultError) -> Folder {
    do throws(FileFault) {
      let folder = try Folder(home + "/" + IdentityFolder.groupsName, .visible(), followingLink: true)
      if isLocked { try folder.lock(waiting: 10_000) }
      return folder
    } catch {
      throw error == .missing ? noGroups : VaultError(error, at: .store)
    }
  }

  /// The error for a store without the folder of groups. Where an identity is, a store was.
  private var noGroups: VaultError {
    guard (try? identityFolder.read()) != nil else { return .noStore(path: home) }
    return .damaged(group: nil, level: .store, detail: "the folder of all groups is missing")
  }

  /// The names of the groups whose files exist, sorted, without the registry. Nothing is opened or verified.
  ///
  /// - Throws: ``VaultError/noStore(path:)``; ``VaultError/damaged(group:level:detail:)`` of level `store` if there is
  ///   an identity, but no folder of groups; ``VaultError/denied(_:)``, ``VaultError/storage(_:)``.
  public func groupNames() throws(VaultError) -> [String] {
    do throws(FileFault) {
      let folder = try Folder(home + "/" + IdentityFolder.groupsName, .visible(), followingLink: true)
      // A folder without a group's file is left by a process that was killed while creating or removing a group.
      return try folder.names().filter { name in
        FolderName.isValid(name) && name != AccessGroup.Name.registry.description
          && AccessGroupFile.exists(in: groupFolder(name))
      }
    } catch {
      switch error {
      case .missing: throw noGroups
      case .denied:
        throw .denied(
          .permissions("listing the groups in '\(home)/\(IdentityFolder.groupsName)', which only its owner may do"))
      default: throw VaultError(error, at: .store)
      }
    }
  }
}

extension VaultError {
  /// Whether a group that is being created or removed can cause this error.
  fileprivate var canPass: Bool {
    switch self {
    case .notFound(.group), .rolledBack, .anotherGroup, .witnessUnavailable, .damaged(_, .registry, _): true
    case .damaged(_, .witness, _), .damaged(_, .container, _), .denied(.permissions), .storage(.replaced): true
    default: false
    }
  }
}
