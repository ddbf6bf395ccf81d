public import GroupFile

/// The result of an uninstallation for the application's groups; each list is sorted.
public struct Uninstallation: Sendable, Equatable {
  /// Groups declared as purged, which were removed with all their items.
  public internal(set) var purged: [String] = []
  /// Groups that a copy of the credential can still open.
  public internal(set) var kept: [String] = []
  /// Groups that the application was removed from, and that have a new key.
  public internal(set) var revoked: [String] = []
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
  ///   - confirm: if given, revoking also accepts states of groups that contradict what this machine has seen, as
  ///     ``SecretStore/revoke(_:from:droppingUnproved:accepting:progress:)`` does.
  ///   - progress: called now and then with a group's name while the group gets a new key.
  /// - Throws: ``VaultError/notFound(_:)`` if neither the registry nor a group names the application. If this call does
  ///   not revoke, also the other errors of ``application(_:)``, and ``VaultError/contradiction(_:)`` if another process
  ///   replaced or revoked the application meanwhile. Repeating an interrupted call finishes it.
  @discardableResult
  public func uninstall(
    _ id: String, revoking: Bool = false, droppingUnproved isDroppingUnproved: Bool = false,
    accepting confirm: ((ReturningState) -> Bool)? = nil,
    progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> Uninstallation {
    let registry = try store.registry()
    var found = try registry.application(id)
    if found == nil, revoking { found = try unlisted(id) }
    guard var entry = found else { throw try unknown(id) }
    if revoking, entry.standing != .revoked {
      // Recorded first, so that no other process adds the application to a group meanwhile.
      entry = try registry.change(id) { now in
        var revoked = now ?? entry
        revoked.standing = .revoked
        return revoked
      }
    }
    var report = Uninstallation()
    let states = try store.verifiedStates { report.unchanged += unchanged($0, $1) }
    var purged: [String] = []
    for (name, state) in states {
      if state.roster.isPurged(with: id, in: name.description) {
        purged.append(name.description)
      } else if Membership(of: id, in: name, state) == nil {
        continue
      } else if revoking {
        report.revoked.append(name.description)
      } else {
        report.kept.append(name.description)
      }
    }
    func purge() {
      report.unchanged.removeAll { purged.contains($0.name) }
      for name in purged where !report.purged.contains(name) {
        do throws(VaultError) {
          try store.removeGroup(name) { $0.isPurged(without: id) }
          report.purged.append(name)
        } catch .contradiction(.superseded) {
          // Another application is a member by now.
          if revoking { report.revoked.append(name) } else { report.kept.append(name) }
          purged.removeAll { $0 == name }
        } catch {
          report.unchanged.append(UnchangedGroup(name: name, problem: error))
        }
      }
    }
    purge()
    if revoking {
      var bound = removeBinding(of: id)
      let change = RosterChange(dropsUnproved: isDroppingUnproved) { $0.application == id }
      let unrevoked = try changeEverywhere(change, accepting: confirm, progress)
      // Changing a group may still succeed after reading it failed, and mend the groups that hold the binding.
      report.unchanged.removeAll { group in !states.contains { $0.name.description == group.name } }
      // Changing a group may have mended what kept it from being removed. But the application may have got a new credential
      // meanwhile.
      if try registry.application(id)?.standing == .revoked { purge() }
      if !bound.isEmpty { bound = removeBinding(of: id) }
      var left = unrevoked + bound.filter { group in !unrevoked.contains { $0.name == group.name } }
      left.removeAll { report.purged.contains($0.name) }
      report.unchanged.removeAll { group in left.contains { $0.name == group.name } }
      report.unchanged = (report.unchanged + left).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
      report.revoked.removeAll { name in unrevoked.contains { $0.name == name } }
    } else if entry.standing != .revoked {
      let known = entry
      entry.standing = .uninstalled
      try registry.record(entry, since: known)
    }
    report.kept.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    report.revoked.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    store.record(.uninstall, subject: id, detail: revoking ? "revoke" : nil)
    return report
  }

  /// The groups that uninstalling the application removes, sorted by name.
  package func purgedGroups(of id: String) throws(VaultError) -> [String] {
    try store.verifiedStates().filter { $0.state.roster.isPurged(with: id, in: $0.name.description) }.map(
      \.name.description)
  }
}

extension Roster {
  /// Whether the group goes with the application `id`. Where it was removed from another group than its private one, the
  /// owner may have kept that group on purpose.
  fileprivate func isPurged(with id: String, in name: String) -> Bool {
    guard isPurged(without: id) else { return false }
    if members.contains(where: { $0.application == id }) { return true }
    return name == id && removed.contains { $0.application == id }
  }

  /// Whether the group is purged, and no other application is a member.
  fileprivate func isPurged(without id: String) -> Bool {
    GroupLifetime(flags) == .purged && members.allSatisfy { $0.kind != .application || $0.application == id }
  }
}
