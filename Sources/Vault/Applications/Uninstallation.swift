/// The result of an uninstallation for the application's groups; each list is sorted.
public struct Uninstallation: Sendable, Equatable {
  /// Groups declared as purged, which were removed with all their items.
  public internal(set) var purged: [String] = []
  /// Groups that a copy of the credential can still open.
  public internal(set) var kept: [String] = []
  /// Groups that the application was removed from, and that have a new key.
  public internal(set) var revoked: [String] = []
  /// Those of ``revoked`` that are declared as purged and could not be removed; ``SecretStore/removeGroup(_:)`` does it.
  public internal(set) var notRemoved: [UnchangedGroup] = []
  /// Groups that could not be changed, although the application may be a member; the same call finishes them.
  public internal(set) var unchanged: [UnchangedGroup] = []
}

extension Applications {
  /// Applies each group's declared lifetime after the application was uninstalled.
  ///
  /// A group declared as purged is removed, unless another application is a member of it. The other groups are kept,
  /// and the application stays a member of them, for its next installation. Its private group counts as well if it was
  /// removed from that.
  ///
  /// - Parameters:
  ///   - id: the application's id.
  ///   - revoking: whether the application also leaves the kept groups, so that no credential of it opens anything.
  ///   - isDroppingUnproved: whether signed items of those groups that can no longer be proved may be dropped.
  ///   - areLossesWanted: if given, decides whether these groups may be removed, before anything is changed; one whose
  ///     removal was interrupted is among them. Another group that cannot be read then is not removed.
  ///   - confirm: if given, revoking also accepts states of groups that contradict what this machine has seen, as
  ///     ``SecretStore/revoke(_:from:droppingUnproved:accepting:progress:)`` does.
  ///   - progress: called now and then with a group's name while the group gets a new key.
  /// - Throws: ``VaultError/notFound(_:)`` if neither the registry nor a group names the application;
  ///   ``VaultError/declined``. If this call does not revoke, also the other errors of ``application(_:)``, and
  ///   ``VaultError/contradiction(_:)`` if another process replaced or revoked the application meanwhile. Repeating an
  ///   interrupted call finishes it.
  @discardableResult
  public func uninstall(
    _ id: String, revoking: Bool = false, droppingUnproved isDroppingUnproved: Bool = false,
    removing areLossesWanted: (([String]) -> Bool)? = nil, accepting confirm: ((ReturningState) -> Bool)? = nil,
    progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> Uninstallation {
    let registry = try store.registry()
    var found = try registry.application(id)
    if found == nil, revoking { found = try unlisted(id) }
    guard let entry = found else { throw try unknown(id) }
    var wanted: Set<AccessGroup.Name>?
    if let areLossesWanted {
      var lost: [AccessGroup.Name] = []
      let states = try store.verifiedStates { name, error in
        if name.description == id, store.isBeingRemoved(name, error) { lost.append(name) }
      }
      lost += states.map(\.roster).filter { $0.isPurged(with: id) }.map(\.name)
      guard lost.isEmpty || areLossesWanted(lost.map(\.description)) else { throw .declined }
      wanted = Set(lost)
    }
    return try store.recording(.uninstall, subject: id, detail: revoking ? "revoke" : nil) { () throws(VaultError) in
      try uninstall(entry, registry, wanted, revoking, isDroppingUnproved, accepting: confirm, progress)
    }
  }

  /// - Parameter wanted: the groups that may be removed; `nil` for all that are declared as purged.
  private func uninstall(
    _ entry: Application, _ registry: Registry, _ wanted: Set<AccessGroup.Name>?, _ revoking: Bool,
    _ isDroppingUnproved: Bool, accepting confirm: ((ReturningState) -> Bool)?,
    _ progress: (String, MaintenanceProgress) -> Void
  ) throws(VaultError) -> Uninstallation {
    let id = entry.id
    var entry = entry
    if revoking, entry.standing != .revoked {
      // Recorded first, so that no other process adds the application to a group meanwhile.
      entry = try registry.change(id) { now in
        var revoked = now ?? entry
        revoked.standing = .revoked
        return revoked
      }
    }
    var report = Uninstallation()
    var unread: [UnchangedGroup] = []
    let states = try store.verifiedStates { name, error in
      // Of another group, nothing says that it was being removed with this application.
      if name.description == id, wanted?.contains(name) ?? true, store.isBeingRemoved(name, error),
        (try? store.removeGroup(id)) != nil
      {
        report.purged.append(name.description)
      } else {
        unread += unchanged(name, error)
      }
    }
    var purged: Set<AccessGroup.Name> = []
    for state in states {
      let roster = state.roster
      if wanted?.contains(roster.name) ?? true, roster.isPurged(with: id) {
        purged.insert(roster.name)
      } else if Membership(of: id, in: state) == nil {
        continue
      } else if revoking {
        report.revoked.append(roster.groupName)
      } else {
        report.kept.append(roster.groupName)
      }
    }
    let rotation = RosterChange(rotates: true, dropsUnproved: isDroppingUnproved)
    /// Removes a purged group; otherwise it is to be kept.
    func removes(_ name: AccessGroup.Name) -> Bool {
      let group = name.description
      /// A new key mends the file. The application stays a member until the group is removed, so that the call can be
      /// repeated if it is killed.
      func mend() throws(VaultError) -> Roster {
        try store.change(name, rotation, accepting: confirm) { progress(group, $0) }.roster
      }
      if revoking, wanted == nil, let file = try? store.group(name).file,
        unread.contains(where: { $0.name == group && file.canAvoid($0.problem) }),
        let roster = (try? store.group(name).verifiedState().roster) ?? (try? mend()),
        roster.isPurged(with: id)
      {
        purged.insert(name)
      }
      guard purged.contains(name) else { return false }
      do throws(VaultError) {
        func remove() throws(VaultError) {
          try store.removeGroup(group) {
            $0.isPurged(with: id) && entry.isUpToDate(with: try? registry.application(id))
          }
        }
        do throws(VaultError) { try remove() } catch {
          guard revoking, error != .contradiction(.superseded), store.location.hasGroup(name) else { throw error }
          _ = try mend()
          try remove()
        }
        report.purged.append(group)
        return true
      } catch {
        if !store.location.hasGroup(name), store.witness(name).read().record?.flags.contains(.removed) == true {
          report.purged.append(group)
          return true
        }
        if error == .contradiction(.superseded) {
          // Another application may be a member by now, or this one have a new credential.
          if !revoking { report.kept.append(group) }
        } else if revoking {
          report.notRemoved += unchanged(name, error)
        } else {
          report.unchanged += unchanged(name, error)
        }
        if revoking { report.revoked.append(group) }
        return false
      }
    }
    if revoking {
      var bound = removeBinding(of: id)
      let change = RosterChange(dropsUnproved: isDroppingUnproved) { $0.application == id }
      var unchanged = try changeEverywhere(change, accepting: confirm, unless: removes, progress)
      if !bound.isEmpty { bound = removeBinding(of: id) }
      unchanged += bound.filter { group in !unchanged.contains { $0.name == group.name } }
      report.revoked.removeAll { name in unchanged.contains { $0.name == name } }
      report.notRemoved.removeAll { group in unchanged.contains { $0.name == group.name } }
      report.unchanged = unchanged
      // What could not be read before was changed all the same.
      let missed = unread.filter { group in !(unchanged.map(\.name) + report.revoked).contains(group.name) }
      for group in missed {
        let roster = try? store.group(group.name).verifiedState().roster
        if roster?.removed.contains(where: { $0.application == id }) == true { report.revoked.append(group.name) }
      }
    } else {
      for name in purged { _ = removes(name) }
      report.unchanged += unread
      if entry.standing != .revoked {
        let known = entry
        entry.standing = .uninstalled
        try registry.record(entry, since: known)
      }
    }
    report.unchanged.sort { $0.name < $1.name }
    report.notRemoved.sort { $0.name < $1.name }
    report.purged.sort()
    report.kept.sort()
    report.revoked.sort()
    return report
  }
}

extension SecretStore {
  /// Whether a process was killed while it removed a group, before it had moved the files. `error` is that of reading.
  fileprivate func isBeingRemoved(_ name: AccessGroup.Name, _ error: VaultError) -> Bool {
    guard case .rolledBack(_, _, _, .broughtBack) = error else { return false }
    return (try? registry().entry(of: name))?.presence == .changing
  }
}

extension Roster {
  /// Whether the group goes with the application `id`: it is purged, and no other application is a member, except that the
  /// service may serve the private one. Where `id` was removed from another group than its private one, the owner may have
  /// kept that group on purpose.
  fileprivate func isPurged(with id: String) -> Bool {
    let known = groupName == id ? [id, Applications.service] : [id]
    let isAlone = members.allSatisfy { $0.kind != .application || known.contains($0.application) }
    guard GroupLifetime(flags) == .purged, isAlone else { return false }
    return groupName == id || members.contains { $0.application == id }
  }
}
