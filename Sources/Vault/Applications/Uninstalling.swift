internal import GroupFile

/// What became of an application's groups when it was uninstalled; each list is sorted.
public struct Uninstallation: Sendable, Equatable {
  /// Groups that were declared purged, and are gone with all their items.
  public internal(set) var purged: [String] = []
  /// Groups that a copy of the credential still opens.
  public internal(set) var kept: [String] = []
  /// Groups that the application was in, and whose key is a new one.
  public internal(set) var revoked: [String] = []
  /// Groups in which nothing could be done, although the application may be a member; the same call finishes it.
  public internal(set) var unchanged: [UnchangedGroup] = []
}

extension Applications {
  /// Does what each group's declared lifetime says when the application is gone from the machine.
  ///
  /// A group that was declared purged is removed, unless another application is a member of it. All others stay, and with
  /// them the application's place in them, for its next installation.
  ///
  /// - Parameters:
  ///   - id: the application's id.
  ///   - revoking: whether the application also leaves the groups that stay, so that no credential of it opens anything.
  ///   - isDroppingUnproved: whether signed items of those groups that cannot be proved any more are left behind.
  ///   - confirm: where given, revoking takes states of groups that contradict what this machine has seen, as
  ///     ``SecretStore/revoke(_:from:droppingUnproved:accepting:progress:)`` does.
  ///   - progress: called now and then with a group's name while it gets a new key.
  /// - Throws: ``VaultError/notFound(_:)``. What was interrupted is finished by the same call.
  @discardableResult
  public func uninstall(
    _ id: String, revoking: Bool = false, droppingUnproved isDroppingUnproved: Bool = false,
    accepting confirm: ((ReturningState) -> Bool)? = nil,
    progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> Uninstallation {
    let registry = try store.registry()
    guard var entry = try registry.application(id) else { throw .notFound(.application) }
    if revoking, entry.standing != .revoked {
      // Noted first, so that nobody lets it in again meanwhile.
      entry.standing = .revoked
      try registry.record(entry, of: id)
    }
    var report = Uninstallation()
    let states = try store.verifiedStates { report.unchanged += unchanged($0, $1) }
    for membership in states.compactMap({ Membership(of: id, in: $0, $1) }) {
      let name = membership.name.description
      if GroupLifetime(membership.state.roster.flags) == .purged, !membership.isShared {
        do throws(VaultError) {
          try store.removeGroup(name)
          report.purged.append(name)
        } catch {
          report.unchanged.append(UnchangedGroup(name: name, problem: error))
        }
      } else if revoking {
        report.revoked.append(name)
      } else {
        report.kept.append(name)
      }
    }
    if revoking {
      var change = RosterChange { $0.application == id }
      change.dropsUnproved = isDroppingUnproved
      let unrevoked = try changeEverywhere(change, accepting: confirm, progress)
      // A group that cannot be read may still be one that can be changed.
      report.unchanged.removeAll { group in !states.contains { $0.name.description == group.name } }
      report.unchanged.removeAll { group in unrevoked.contains { $0.name == group.name } }
      report.unchanged = (report.unchanged + unrevoked).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
      report.revoked.removeAll { name in unrevoked.contains { $0.name == name } }
    } else if entry.standing != .revoked {
      entry.standing = .uninstalled
      try registry.record(entry, of: id)
    }
    return report
  }
}
