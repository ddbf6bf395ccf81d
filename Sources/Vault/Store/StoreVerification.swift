/// The result of proving one group completely.
public struct GroupVerification: Sendable {
  public let name: String
  /// The counts of what was proved, or the error.
  public let result: Result<Counts, VaultError>
  /// Whether the group was created on another machine and is bound to it, so that it cannot be proved here.
  public var isOfOtherDevice = false
  /// Whether this is the owner's registry in a store that is only unlocked. The registry was not proved then, and
  /// groups may be missing unnoticed.
  public var needsOwner = false

  /// The counts of what was proved.
  public struct Counts: Sendable, Equatable {
    /// The number of current items.
    public let items: UInt64
    /// The number of tombstones.
    public let removed: UInt64
    /// The number of older versions.
    public let versions: UInt64
    /// The number of the proved state.
    public let epoch: UInt64
  }
}

extension SecretStore {
  /// Proves everything in the named groups, or in all groups: each item, version and large value, the tree, the roster,
  /// the chain.
  ///
  /// For an application, "all groups" means those that it is a member of, or was when its credential was written. For
  /// the owner it includes the registry, which is compared with the folders, so that a missing group is found. In a
  /// store that is only unlocked, the registry's result says that it was not proved. Removed members that the registry
  /// could not record then are recorded now, and files are put back that a killed process had only moved away; nothing
  /// else is changed.
  ///
  /// - Parameters:
  ///   - names: the groups; empty means all.
  ///   - progress: called now and then with a group's name and the number of items proved so far.
  /// - Throws: ``VaultError/invalid(_:)``, ``VaultError/denied(_:)`` or ``VaultError/storage(_:)`` if verification
  ///   cannot begin. The error of a group is in its result.
  public func verify(
    groups names: [String] = [], progress: (String, UInt64) -> Void = { _, _ in }
  ) throws(VaultError) -> [GroupVerification] {
    if location.holdsState { notices.post(.stateInsideStore) }
    var results: [GroupVerification] = []
    // A killed process may have left their files aside.
    for (name, _) in vanishedGroups() { try? replacing(AccessGroup.Name(name)) { (_) throws(VaultError) in } }
    guard names.isEmpty else {
      let applications = registeredApplications
      for name in names {
        let gone = GroupVerification(name: name, result: .failure(.notFound(.group)))
        results.append(verify(try group(name), progress) ?? gone)
        results += unwantedMembers(of: try group(name), applications).map { .init(name: name, result: .failure($0)) }
      }
      return results
    }
    for name in try expectedGroupNames() {
      guard let verification = verify(try group(name), progress) else { continue }
      if case .failure(let error) = verification.result, isOthersBusiness(name, error) { continue }
      results.append(verification)
    }
    if access.lacksIdentity {
      let reason = VaultError.ownerNeeded(.unprovedRegistry)
      results.append(
        GroupVerification(name: AccessGroup.Name.registry.description, result: .failure(reason), needsOwner: true))
    } else if access.isOwners {
      do {
        results += try verifyRegistry(found: results.map(\.name), progress)
      } catch {
        results.append(GroupVerification(name: AccessGroup.Name.registry.description, result: .failure(error)))
      }
    }
    return results.sorted { $0.name < $1.name }
  }

  /// - Returns: `nil` for a group that was removed meanwhile.
  private func verify(_ group: AccessGroup, _ progress: (String, UInt64) -> Void) -> GroupVerification? {
    let name = group.name.description
    do throws(VaultError) {
      let report = try settled(name) { () throws(VaultError) in
        let file = try group.file
        return try inGroup(name, file.verify(isName: { (try? Item.Name(stored: $0)) != nil }) { progress(name, $0) })
      }
      guard let report else { return nil }
      notices.post(report.notices)
      notices.post((try? group.file.interruption(of: name)) ?? [])
      // The file is proved to be as it was signed, but `list` could not show these rows.
      guard !report.holdsStrangeRows else { throw .strangeRows(group: name) }
      let counts = GroupVerification.Counts(
        items: report.items, removed: report.tombstones, versions: report.versions, epoch: report.epoch)
      return GroupVerification(name: name, result: .success(counts))
    } catch {
      return GroupVerification(name: name, result: .failure(error), isOfOtherDevice: isOfOtherDevice(error))
    }
  }

  /// Proves the registry, and that the groups it names are the ones in the folders.
  private func verifyRegistry(
    found: [String], _ progress: (String, UInt64) -> Void
  ) throws(VaultError) -> [GroupVerification] {
    let registry = try registry()
    guard let own = verify(registry.group, progress) else { throw vanished(.registry) }
    guard case .success = own.result else { return [own] }
    var problems = try atOdds(registry) { (entries) throws(VaultError) in
      var problems = vanished(of: entries).filter { !found.contains($0.name) }
      for name in found {
        if let problem = contradiction(name, entries[try AccessGroup.Name(name)]) { problems.append((name, problem)) }
      }
      return problems
    }
    let applications = try registry.applications()
    for name in found { problems += unwantedMembers(of: try group(name), applications).map { (name, $0) } }
    return [own] + problems.map { GroupVerification(name: $0.name, result: .failure($0.problem)) }
  }

  /// The groups that the owner's registry names and that do not exist, sorted by name, or the registry alone, with its
  /// error, if it cannot be read. None for anyone who cannot open it: an application, or a store that is only unlocked.
  package func vanishedGroups() -> [(name: String, problem: VaultError)] {
    guard access.isOwners, !access.lacksIdentity else { return [] }
    do throws(VaultError) {
      return try atOdds(registry()) { (entries) throws(VaultError) in vanished(of: entries) }
    } catch {
      return [(AccessGroup.Name.registry.description, error)]
    }
  }

  /// Compares the registry with the folders. Differences are checked again while no process creates or removes a group.
  private func atOdds(
    _ registry: Registry,
    _ compare: ([AccessGroup.Name: Registry.Entry]) throws(VaultError) -> [(name: String, problem: VaultError)]
  ) throws(VaultError) -> [(name: String, problem: VaultError)] {
    let entries = try registry.groups()
    testOnlyWillLook(at: registry.group.name.description)
    if try compare(entries).isEmpty { return [] }
    return try keepingGroups { () throws(VaultError) in try compare(try registry.groups()) }
  }

  private func vanished(of entries: [AccessGroup.Name: Registry.Entry]) -> [(name: String, problem: VaultError)] {
    var names = entries.filter(isExpected).map(\.key)
    // An older registry lacks groups that this machine has seen.
    let seen = (try? location.witnesses(of: access.ownerKey).groups()) ?? []
    names += seen.compactMap { try? AccessGroup.Name($0) }.filter { name in
      entries[name] == nil && name != .registry && witness(name).read().record?.flags.contains(.removed) == false
    }
    return names.filter { !location.hasGroup($0) }.map { ($0.description, vanished($0)) }
      .sorted { $0.name < $1.name }
  }

  /// Whether a group with this entry in the registry should have files.
  func isExpected(_ name: AccessGroup.Name, _ entry: Registry.Entry) -> Bool {
    entry.presence == .present || isUnfinished(name, entry)
  }

  /// Whether the registry's entry of a group was left unfinished: this machine has seen the group, and its owner has not
  /// removed it.
  func isUnfinished(_ name: AccessGroup.Name, _ entry: Registry.Entry) -> Bool {
    guard entry.presence == .changing, let seen = witness(name).read().record else { return false }
    return seen.groupID == entry.groupID && !seen.flags.contains(.removed)
  }

  /// The error for a group that should exist and has no file.
  func vanished(_ name: AccessGroup.Name) -> VaultError {
    // For a group that this machine never saw, only the registry shows that it existed.
    let known: UInt64 = if case .valid(let record) = witness(name).read() { record.epoch } else { 1 }
    return .rolledBack(group: name.description, found: 0, known: known, reason: .vanished)
  }

  /// The error for a group that was not found; `nil` if the owner removed it, or has not made it yet.
  func missing(_ name: AccessGroup.Name) throws(VaultError) -> VaultError? {
    let entry = try keepingGroups { () throws(VaultError) in try registry().entry(of: name) }
    // Even if the file is back: whoever hid it chose the moment.
    guard let entry, isExpected(name, entry) else { return nil }
    return vanished(name)
  }

  /// As ``unwantedMembers(of:_:)``, for the group's roster while no other command changes it. Removals that the registry
  /// lacks are recorded. The caller must not hold the lock of the folder of groups: others wait for it while they change
  /// a group.
  func unwantedMembers(
    of group: AccessGroup, _ applications: [String: Application]?, seen roster: Roster? = nil
  ) -> [VaultError] {
    guard applications != nil, let roster = try? roster ?? group.verifiedState().roster else { return [] }
    let found = unwantedMembers(of: roster, applications)
    guard let missing = try? registry().unrecordedRemovals(by: roster), !missing.isEmpty || !found.isEmpty else {
      return found
    }
    do throws(VaultError) {
      return try replacing(group.name) { (_) throws(VaultError) in
        let roster = try group.verifiedState().roster
        noteRemovals(by: roster)
        return unwantedMembers(of: roster, registeredApplications)
      }
    } catch {
      if !missing.isEmpty { notices.post(.removalUnrecorded(group: roster.groupName, reason: error.message)) }
      return found
    }
  }

  /// An error for each member of a group whose credential was replaced or revoked according to the registry, or who was
  /// removed from the group, or is not named there.
  func unwantedMembers(of roster: Roster, _ applications: [String: Application]?) -> [VaultError] {
    guard let applications, let registry = try? registry() else { return [] }
    let isReserved = (try? AccessGroup.Name(roster.groupName))?.isReserved == true
    return roster.members.compactMap { member in
      guard member.kind == .application else { return nil }
      var known = applications[member.application]
      if member.issue > known?.issue ?? 0 {
        // It may have been issued since, and then the registry has known it for longer than any group.
        do { known = try registry.application(member.application) } catch { return nil }
      }
      guard let known, member.issue <= known.issue else {
        return .unlistedMember(group: roster.groupName, application: member.application, issue: member.issue)
      }
      // Who is let in again is recorded after it became a member, so the caller looks again while nobody is let in.
      let isMisplaced = isReserved && member.application != Applications.service
      let isRemoved = isMisplaced || registry.hasRemoved(member, from: roster.groupName)
      guard isRemoved || known.standing == .revoked || member.issue < known.issue else { return nil }
      return .formerMember(
        group: roster.groupName, application: member.application, issue: member.issue,
        isBeingReplaced: known.standing == .interrupted && !isRemoved)
    }
  }

  /// The applications of the owner's registry; `nil` for anyone who cannot open it.
  package var registeredApplications: [String: Application]? {
    access.isOwners && !access.lacksIdentity ? try? registry().applications() : nil
  }

  private func contradiction(_ name: String, _ entry: Registry.Entry?) -> VaultError? {
    func damaged(_ detail: String) -> VaultError { .damaged(group: name, level: .registry, detail: detail) }
    guard AccessGroupFile.exists(in: location.groupFolder(name)) else { return nil }
    guard let entry else { return damaged("the owner never made this group") }
    if entry.presence == .changing { return nil }
    if entry.presence == .absent { return damaged("the owner removed this group") }
    guard let id = try? group(name).file.beginReading().view.state.roster.groupID else { return nil }
    return id == entry.groupID ? nil : damaged("it is another group of the same name")
  }
}
