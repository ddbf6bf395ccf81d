internal import Sealing

extension SecretStore {
  /// Puts a new registry in the place of one that is gone, or in which nothing can be proved.
  ///
  /// It lists the groups that open and those that this machine has seen, and the applications that rosters and bindings
  /// name. What the groups do not show is lost: an application that is nowhere a member under its newest issue, or that
  /// its private group has removed, counts as revoked, and its next issue is 1,024 higher, because later ones may have
  /// been given out. Groups that do not open are named in notices.
  func remakeRegistry(_ confirm: (ReturningState) -> Bool) throws(VaultError) -> AcceptedState {
    let identity = try owner()
    let file = try registry().group.file
    let name = AccessGroup.Name.registry
    return try replacing(name) { (drafts) throws(VaultError) in
      let places = drafts.places(of: name)
      return try lockingGroups { (_) throws(VaultError) in
        // Another process may have made it meanwhile.
        if (try? registry().group.verifiedState()) != nil { return .nothingToAccept }
        let draft = try GroupDraft(in: places.draft, for: file.folder)
        _ = try GroupCreation(name: name.description, time: SystemClock.milliseconds()).write(
          to: draft.folder, groupID: GroupID(Randomness.bytes(32))!, owner: identity.rosterSigningKey(),
          seed: file.context.seed)
        let drafted = file.unwitnessed(in: draft.folder)
        let registry = Registry(group: AccessGroup(.init(name, .file(drafted), notices)))
        let rosters = try rostersFound { notices.post(.groupLeftOut(group: $0, reason: $1.message)) }
        let entries = groupEntries(of: rosters)
        for (group, entry) in entries { try registry.record(entry, of: group) }
        for roster in rosters { try registry.recordRemovals(by: roster) }
        let unnamed = try registry.raiseIssues(above: rosters)
        let applications = try applicationEntries(of: rosters, above: unnamed)
        for application in applications { try registry.record(application, since: nil) }
        let state = try drafted.provedState().state
        var returning = ReturningState(OfferedState(state: state, known: nil, reason: .lost)) { _ in false }
        returning.groups = entries.filter { $0.value.presence == .present }.keys.map(\.description).sorted()
        returning.applications = applications
        guard confirm(returning) else { return .declined }
        try file.requireWitness()
        if try draft.take(keeping: places.kept) {
          notices.post(.groupRemade(group: name.description, keptAside: places.kept))
        }
        if !file.noteAccepted(state) { notices.post(.witnessUnwritten) }
        return .accepted(epoch: state.manifest.epoch)
      }
    }
  }

  /// Raises the issues in the registry after it was accepted or repaired, because others may have been given out that
  /// it does not know.
  ///
  /// - Parameter isNew: whether this call has changed the registry. Otherwise only an interrupted call is finished.
  func raiseIssues(isNew: Bool) throws(VaultError) {
    let registry = try registry()
    if !isNew { guard try registry.awaitsRaise() else { return } }
    let rosters = try rostersFound()
    for name in rosters.map(\.name) {
      // Somebody may be let in meanwhile.
      do throws(VaultError) {
        try replacing(name) { (_) throws(VaultError) in try registry.recordRemovals(by: rosterFound(of: name)) }
      } catch {
        notices.post(.removalUnrecorded(group: name.description, reason: error.message))
      }
    }
    try registry.raiseIssues(above: rosters) { known in
      guard known.standing == .issued, let own = rosters.first(where: { $0.groupName == known.id })
      else { return false }
      return own.issues[known.id] ?? 0 >= known.issue && own.hasRemoved(known.id, own.issues[known.id])
    }
  }

  /// Records again that applications were removed from groups, for entries that the registry has lost. Those that this
  /// machine has seen as members stay in.
  func recordRemovals(lost names: [String]) throws(VaultError) {
    let (registry, applications) = (try registry(), try registry().applications())
    for case (let group, let id)? in names.map(Registry.removal) {
      guard let known = applications[id], let group = try? self.group(group) else { continue }
      let isSeen = witness(group.name).read().record != nil
      let members = isSeen ? (try? group.verifiedState())?.roster.members ?? [] : []
      guard !members.contains(where: { $0.application == id }) else { continue }
      try registry.changeRemovals(of: [id], from: group.name.description) { max($1, known.issue) }
    }
  }

  /// The entries of the groups that open or that this machine has seen. What it has seen decides about the id, and
  /// about a group that was removed.
  private func groupEntries(of rosters: [Roster]) -> [AccessGroup.Name: Registry.Entry] {
    let time = SystemClock.milliseconds()
    var entries: [AccessGroup.Name: Registry.Entry] = [:]
    for roster in rosters {
      entries[roster.name] = Registry.Entry(groupID: roster.groupID, presence: .present, created: time)
    }
    let seen = (try? location.witnesses(of: access.ownerKey).groups()) ?? []
    for name in seen.compactMap({ try? AccessGroup.Name($0) }) where name != .registry {
      guard case .valid(let record) = witness(name).read(), record.groupID != .zero else { continue }
      entries[name] = Registry.Entry(
        groupID: record.groupID, presence: record.flags.contains(.removed) ? .absent : .present, created: time)
    }
    return entries
  }

  /// The entries of the applications that rosters and bindings name, sorted by id.
  ///
  /// - Parameter unnamed: the highest issue that an application may have had which no roster names.
  private func applicationEntries(of rosters: [Roster], above unnamed: UInt32) throws(VaultError) -> [Application] {
    var issues = Applications.issues(in: rosters).mapValues(\.issue)
    var standings = issues.mapValues { _ in Application.Standing.revoked }
    for member in rosters.flatMap(\.members) where issues[member.application] == member.issue {
      standings[member.application] = .issued
    }
    // Somebody may have hidden one of the groups that the application was removed from.
    for roster in rosters where roster.hasRemoved(roster.groupName, issues[roster.groupName]) {
      standings[roster.groupName] = .revoked
    }
    let bindings = AccessGroup(.init(.service, .file(try group(.service).file.unwitnessed()), notices))
    for item in location.hasGroup(.service) ? (try? bindings.items(prefix: ServiceBinding.prefix)) ?? [] : [] {
      let id = String(item.name.description.dropFirst(ServiceBinding.prefix.count))
      if issues[id] == nil, (try? Applications.name(id)) != nil {
        (issues[id], standings[id]) = (try Applications.issue(1, above: unnamed), .registered)
      }
    }
    return try issues.sorted { $0.key < $1.key }.map {
      (id, issue) throws(VaultError) in
      let highest = try Applications.issue(Applications.lead, above: issue)
      let own = rosters.first { $0.groupName == id }
      let standing = standings[id] ?? .revoked
      return Application(
        id: id, issue: issue, highestIssue: highest, standing: standing,
        lifetime: own.map { GroupLifetime($0.flags) } ?? .survives, created: .now,
        issued: standing == .registered ? nil : .now)
    }
  }
}

extension Roster {
  /// Whether the application's credential with this issue was removed, and none of its credentials is a member.
  fileprivate func hasRemoved(_ application: String, _ issue: UInt32?) -> Bool {
    issues[application] == issue && issue != nil && !members.contains { $0.application == application }
  }
}
