extension SecretStore {
  /// Rebuilds a damaged group from every item that its last signed state proves, with a new signed roster and manifest.
  ///
  /// The damaged files are kept aside. Items that open but are not proved are listed, and kept only if they are named.
  /// Lost items are listed too, by name if it is known.
  ///
  /// - Parameters:
  ///   - name: the group's name; `vault.owner` is the owner's registry.
  ///   - names: unproved items to keep. If nothing is damaged, they are taken from the files that the last repair kept
  ///     aside, and written as new versions.
  ///   - isLossAccepted: whether signed items or versions that can no longer be proved may be given up; called only if
  ///     there are some, with what would be kept and lost.
  ///   - progress: called now and then.
  /// - Returns: `nil` if nothing is damaged; the group is unchanged then.
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner; ``VaultError/unproved(group:items:versions:)`` if a
  ///   loss is not accepted; ``VaultError/damaged(group:level:detail:)`` if no signed state is left;
  ///   ``VaultError/rolledBack(group:found:known:reason:)`` if a newer one was seen;
  ///   ``VaultError/notFound(_:)`` for a name that no unproved item has. The group is unchanged then.
  @discardableResult
  public func repairGroup(
    _ name: String, keepingUnproved names: [String] = [], isLossAccepted: (GroupRepair) -> Bool = { _ in false },
    progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> GroupRepair? {
    let identity = try owner()
    let name = try AccessGroup.Name(name)
    let file = try file(of: name)
    let wanted = try names.map { (name) throws(VaultError) in try Item.Name(name).description }
    guard AccessGroupFile.exists(in: file.folder) else {
      _ = try inGroup(name.description, file.beginReading())
      throw .busy(group: name.description)
    }
    return try replacing(name) { (drafts) throws(VaultError) in
      var aside = drafts.keepingPath(of: name)
      do throws(VaultError) {
        var repair = try file.repair(
          at: drafts.path(of: name), keeping: aside, unproved: wanted, by: identity, members: memberSeeds(identity),
          isLossAccepted: isLossAccepted
        ) { progress($0) }
        if repair == nil {
          if name == .registry { try raiseIssues(isNew: false) }
          guard !wanted.isEmpty else { return nil }
          // The names of unproved items are known only from the report of an earlier repair.
          let settled = drafts.kept(of: name).filter { $0.place(of: DraftPlaces.lockedMark) == nil }
          guard let last = settled.last else { throw .notFound(.item) }
          repair = try file.adopt(wanted, from: last, at: drafts.path(of: name) + ".salvage")
          aside = last
        }
        repair?.keptAside = aside
        if repair?.isUnwitnessed == true { notices.post(.witnessUnwritten) }
        if name == .registry {
          try raiseIssues(isNew: true)
          try recordRemovals(lost: repair?.lostNames ?? [])
        }
        record(.repair, group: name.description)
        return repair
      } catch {
        throw error.named(name.description)
      }
    }
  }
}
