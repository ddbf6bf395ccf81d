internal import Glibc
internal import GroupFile
internal import Sealing

extension SecretStore {
  /// Puts the groups of a backup back.
  ///
  /// Every file is copied into the store and proved completely before the first group is touched. A group whose place is
  /// empty is put there. One that is there in another state is replaced only where `replacing` says so, and its files are
  /// kept. Where this machine has seen a newer state of a group, it refuses the older one until the group is accepted.
  ///
  /// Where nothing says what was seen of a group, as on a new machine, it gets a new roster and a new key, and its revision,
  /// generation and epoch rise by 1,024: the lost machine may have given out the next numbers already. Members then accept it.
  ///
  /// Each group is restored wholly or not at all; what was interrupted is finished by the same call.
  ///
  /// - Parameters:
  ///   - path: the backup's folder; it is only read.
  ///   - names: only these groups of the backup; none means all.
  ///   - replacing: whether groups that are here in another state are replaced.
  ///   - progress: called now and then with a group's name.
  /// - Throws: ``VaultError/notFound(_:)`` for a named group that is not in the backup; ``VaultError/denied(_:)`` for
  ///   anybody but the owner, ``VaultError/contradiction(_:)`` for another owner's
  ///   backup, ``VaultError/damaged(group:level:detail:)`` where there is no whole backup, ``VaultError/storage(_:)``. What is
  ///   wrong with a single group stands in the result.
  @discardableResult
  public func restoreBackup(
    from path: String, groups names: [String] = [], replacing: Bool = false,
    progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> StoreRestoration {
    let names = try groups(names, inBackup: location.outside(path))
    try location.opening { () throws(IdentityError) in try location.places.makeStateFolder(of: access.ownerKey) }
    let groupsFolder = "\(location.home)/\(IdentityFolder.groupsName)"
    guard unsafe mkdir(groupsFolder, 0o700) == 0 || errno == EEXIST else {
      throw VaultError(IdentityError(FileFault(errno: errno), at: .store))
    }
    let drafts = try DraftFolder.make(in: location.home)
    var steps: [Restoration] = []
    for name in names {
      let step = try Restoration(of: name, in: self, from: path, replacing, drafts) { progress(name.description, $0) }
      steps.append(step)
    }
    // The owner's list comes last: while it is not there, the store is not whole.
    let missing = try completeRegistry(&steps)
    let folder = try location.lockedGroups()
    defer { folder.file.unlock() }
    for index in steps.indices { steps[index].place(in: self, drafts) }
    noteRestored(&steps)
    return StoreRestoration(
      groups: steps.map { StoreRestoration.Group(name: $0.name.description, outcome: $0.outcome) }, missing: missing)
  }

  /// The names of the groups in the backup of this store at `path`, or of those among them that are `wanted`; the registry
  /// comes last.
  private func groups(_ wanted: [String], inBackup path: String) throws(VaultError) -> [AccessGroup.Name] {
    _ = try owner()
    let backup = try StoreLocation(home: path, state: path)
    let identity: IdentityFile
    do {
      identity = try backup.identityFile()
    } catch .noStore {
      throw .damaged(group: nil, level: "backup", detail: "there is none in this folder, or not a whole one")
    }
    guard identity.ownerKey == access.ownerKey else {
      throw .contradiction("the backup is another store's; a lost machine's comes back with: vault init --recover DIR")
    }
    var names: [AccessGroup.Name] = []
    for name in try backup.groupNames() { names.append(try AccessGroup.Name(name)) }
    if AccessGroupFile.exists(in: backup.places.groupFolder(AccessGroup.Name.registry.description)) {
      names.append(.registry)
    }
    guard !names.isEmpty else { throw .damaged(group: nil, level: "backup", detail: "it holds no group") }
    guard wanted.allSatisfy({ name in names.contains { $0.description == name } }) else { throw .notFound(.group) }
    return wanted.isEmpty ? names : names.filter { wanted.contains($0.description) }
  }
}

extension SecretStore {
  /// Finishes the draft of a registry that this machine knows nothing of: groups that do not come back are gone, and the issue
  /// numbers of applications rise, because the lost machine may have given out the next ones.
  ///
  /// - Returns: the groups that the registry names and that are not here.
  private func completeRegistry(_ steps: inout [Restoration]) throws(VaultError) -> [String] {
    guard let index = steps.firstIndex(where: { $0.name == .registry }), let file = steps[index].renewedDraft else {
      return []
    }
    let registry = Registry(group: AccessGroup(.registry, file, notices))
    var missing: [String] = []
    for (name, known) in try registry.groups() where known.presence == .present {
      // One whose copy is damaged may still come back from another backup.
      guard !steps.contains(where: { $0.name == name }),
        !AccessGroupFile.exists(in: location.places.groupFolder(name.description))
      else { continue }
      var entry = known
      entry.presence = .absent
      try registry.record(entry, of: name)
      missing.append(name.description)
    }
    for (id, known) in try registry.applications() {
      var application = known
      application.highestIssue = known.highestIssue.addingReportingOverflow(UInt32(Restoration.lead)).partialValue
      guard application.highestIssue > known.highestIssue else { throw .overLimit("2^32 issues of an application") }
      try registry.record(application, of: id)
    }
    try steps[index].proveAgain()
    return missing.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Notes in the store's own registry which groups are back.
  private func noteRestored(_ steps: inout [Restoration]) {
    do throws(VaultError) {
      let registry = try registry()
      for step in steps where step.name != .registry {
        guard let id = step.restoredID else { continue }
        let known = try registry.entry(of: step.name)
        if known?.groupID == id, known?.presence == .present { continue }
        try registry.record(
          Registry.Entry(
            groupID: id, presence: .present, created: known?.created ?? SystemClock.milliseconds()), of: step.name)
      }
    } catch {
      guard let index = steps.firstIndex(where: { $0.name == .registry }) else { return }
      steps[index].fail(error)
    }
  }
}
