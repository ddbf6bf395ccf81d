internal import Glibc

extension SecretStore {
  /// Restores the groups of a backup.
  ///
  /// Every file is copied into the store and proved completely before the first group is changed. A group that does not
  /// exist is put in place. An existing group in another state is replaced only if `replacing` is set, and its files
  /// are kept. If this machine has seen a newer state of a group, it refuses the restored one until the group is
  /// accepted.
  ///
  /// If this machine knows nothing about a group, as on a new machine, the group gets a new roster and a new key, and
  /// its revision, generation and epoch rise by 1,024, because the lost machine may have used the next numbers already.
  /// Members must then accept it. Applications whose credentials were replaced or revoked since, according to the store's
  /// own registry and groups, are not let in.
  ///
  /// A published group gets no new key: its log has the states that follow the backup, and `vaultd` fetches them, at
  /// once if it is running.
  ///
  /// Each group is restored completely or not at all. Repeating an interrupted call finishes it.
  ///
  /// - Parameters:
  ///   - path: the backup's folder; it is only read.
  ///   - names: the groups to restore; empty means all.
  ///   - replacing: whether existing groups in another state are replaced. The registry never is, and the record of
  ///     decisions only if it is named, unless they do not verify.
  ///   - progress: called now and then with a group's name.
  /// - Throws: ``VaultError/notFound(_:)`` for a named group that is not in the backup; ``VaultError/denied(_:)`` for
  ///   anyone but the owner, ``VaultError/contradiction(_:)`` for another owner's backup,
  ///   ``VaultError/damaged(group:level:detail:)`` if there is no complete backup, ``VaultError/storage(_:)``. The
  ///   error of a single group is in the result.
  @discardableResult
  public func restoreBackup(
    from path: String, groups names: [String] = [], replacing: Bool = false,
    progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> StoreRestoration {
    let isWhole = names.isEmpty
    let names = try groups(names, inBackup: location.outside(path))
    try location.makeStateFolder(of: access.ownerKey)
    let detail = names.map(\.description).joined(separator: " ")
    let hasRecord = location.hasGroup(.audit)
    return try recording(.restoreBackup, detail: detail) { () throws(VaultError) in
      let groupsFolder = "\(location.home)/\(IdentityFolder.groupsName)"
      guard Folder.makeNew(groupsFolder) || errno == EEXIST else {
        throw VaultError(FileFault(errno: errno), at: .store)
      }
      let drafts = try draftFolder()
      var steps: [Restoration] = []
      let leaves = try leftOutOfRestoration()
      for name in names {
        let keepsOwn = name == .registry || isWhole && name == .audit
        steps.append(
          try Restoration(of: name, in: self, from: path, replacing, keepsOwn, drafts, leaving: leaves) {
            progress(name.description, $0)
          })
      }
      // The registry is restored last: the store is incomplete without it.
      var missing = try completeRegistry(&steps)
      let replaced = steps.filter { $0.prepared != nil }.map(\.name)
      let sorted = replaced.sorted { $0.description < $1.description }
      try drafts.locking(sorted[...]) { () throws(VaultError) in
        try lockingGroups { (_) throws(VaultError) in
          for index in steps.indices { steps[index].place(in: self, replacing, drafts) }
          noteRestored(&steps)
        }
      }
      // What came back does not contain it.
      if hasRecord, replaced.contains(.audit) { record(.restoreBackup, detail: detail) }
      for index in steps.indices { steps[index].followLog(in: self, leaving: leaves) }
      if isWhole {
        let restored = Set(names.map(\.description))
        missing += vanishedGroups().map(\.name).filter { !restored.contains($0) }
      }
      return StoreRestoration(
        groups: steps.map { StoreRestoration.Group(name: $0.name.description, outcome: $0.outcome) }, missing: missing)
    }
  }

  /// The names of the groups in the backup of this store at `path`, restricted to `wanted` unless it is empty; the
  /// registry comes last.
  package func groups(_ wanted: [String], inBackup path: String) throws(VaultError) -> [AccessGroup.Name] {
    _ = try owner()
    let backup = try StoreLocation(home: path, state: path)
    guard try IdentityFile(inBackup: path).ownerKey == access.ownerKey else {
      throw .contradiction(.anotherStoresBackup)
    }
    var names = try backup.groupNames().map { (name) throws(VaultError) in try AccessGroup.Name(name) }
    if backup.hasGroup(.registry) { names.append(.registry) }
    guard !names.isEmpty else { throw .damaged(.backup, "it contains no group") }
    guard wanted.allSatisfy({ name in names.contains { $0.description == name } }) else { throw .notFound(.group) }
    return wanted.isEmpty ? names : names.filter { wanted.contains($0.description) }
  }

  /// Completes the draft of a registry. The issue numbers of applications rise, because the next ones may have been used
  /// since the backup. If this machine knows nothing about the registry, groups that are not restored are recorded as gone.
  ///
  /// - Returns: the groups that the registry names and that do not exist here.
  private func completeRegistry(_ steps: inout [Restoration]) throws(VaultError) -> [String] {
    guard let index = steps.firstIndex(where: { $0.name == .registry }), let draft = steps[index].prepared else {
      return []
    }
    let registry = Registry(group: AccessGroup(.init(.registry, .file(draft.file), notices)))
    var missing: [String] = []
    for (name, known) in try registry.groups() where draft.isRenewed && known.presence == .present {
      // A group whose copy is damaged may still be restored from another backup.
      guard !steps.contains(where: { $0.name == name }), !location.hasGroup(name) else { continue }
      try registry.record(known, as: .absent, of: name)
      missing.append(name.description)
    }
    let rosters = try rostersFound()
    for roster in rosters { try registry.recordRemovals(by: roster) }
    try registry.raiseIssues(above: rosters)
    try steps[index].proveAgain()
    return missing.sorted()
  }

  private func noteRestored(_ steps: inout [Restoration]) {
    do throws(VaultError) {
      let registry = try registry()
      for step in steps where step.name != .registry {
        if let id = step.restoredID { try registry.recordPresence(of: step.name, id) }
      }
    } catch {
      for index in steps.indices where steps[index].name == .registry { steps[index].fail(error) }
    }
  }
}

/// The result of restoring a backup.
public struct StoreRestoration: Sendable {
  /// Each group of the backup, sorted by name; the owner's registry is among them.
  public let groups: [Group]
  /// Groups that the owner's registry names and that are neither in the backup nor in the store, such as those bound to
  /// a device; sorted. If groups were named, only what a registry on a new machine had to record as gone.
  public let missing: [String]

  /// The result for one group.
  public struct Group: Sendable {
    public let name: String
    public let outcome: Outcome
  }

  /// How restoring a group ended.
  @nonexhaustive
  public enum Outcome: Sendable {
    /// The backup's state is in place. A machine that has seen a newer state refuses it as rolled back until the group
    /// is accepted.
    case restored(Restored)
    /// The group already had this state, or the state that an earlier call made from it.
    case unchanged
    /// Only for the owner's registry: the store's own one is intact and stays in use.
    case kept
    /// Restoring failed; the group is unchanged.
    case failed(VaultError)
  }

  /// A group that was restored.
  public struct Restored: Sendable {
    /// The number of current items.
    public let items: UInt64
    /// The number of the state that is in place now.
    public internal(set) var epoch: UInt64
    /// The folder that now holds the replaced files; `nil` if there were none.
    public let keptAside: String?
    /// Whether it got a new roster and a new key, because this machine knew nothing about the group.
    public let isRenewed: Bool
    /// The members that can open it, the owner included.
    public let members: [Member]
    /// Members of the backup's state that are not let in, because their credentials were replaced or revoked since.
    public internal(set) var left: [Member]
  }
}
