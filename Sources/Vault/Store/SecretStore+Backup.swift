/// The result of a backup.
public struct StoreBackup: Sendable {
  /// The backup's folder, an absolute path.
  public let path: String
  /// Each group of the store, sorted by name; the owner's registry is among them.
  public let groups: [Group]

  /// The result for one group.
  public struct Group: Sendable {
    public let name: String
    public let outcome: Outcome
  }

  /// How the backup of a group ended.
  @nonexhaustive
  public enum Outcome: Sendable {
    /// The copy is proved: the numbers of its items and older versions, and its state.
    case copied(items: UInt64, versions: UInt64, epoch: UInt64)
    /// The owner's registry of a store that is only unlocked. It was copied without proving anything, and so was the
    /// identity file.
    case copiedUnproved
    /// The group is bound to a device, so a copy of it could not be opened elsewhere.
    case leftOut
    /// The group failed verification, so it is not in the backup.
    case failed(VaultError)
  }
}

extension SecretStore {
  /// Copies the store into a new folder: the identity file, and one consistent, completely proved state of each group.
  ///
  /// Others may write meanwhile. Groups that are bound to a device are left out. A group that fails verification, or
  /// whose files are gone, is reported in the result, and the other groups are copied. If the store is only unlocked,
  /// the identity file and the registry are copied without proof. A backup that fails or is killed leaves nothing that
  /// looks like a backup.
  ///
  /// - Parameters:
  ///   - path: the folder, outside the store; it is created, or must be empty.
  ///   - progress: called now and then with a group's name.
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner, ``VaultError/exists(_:)`` for a folder that is not
  ///   empty, ``VaultError/storage(_:)``. No backup is left then.
  @discardableResult
  public func backUp(
    to path: String, progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> StoreBackup {
    guard access.isOwners else { throw .denied(.ownerOnly) }
    let path = try location.outside(path)
    let identity = try location.identityFolder.read()
    guard identity.ownerKey == access.ownerKey else {
      throw .damaged(group: nil, level: .identity, detail: "another store's identity has replaced it")
    }
    let folder = try BackupFolder(at: path)
    do throws(VaultError) {
      let groups = try copyGroups(to: folder, progress)
      try folder.complete(with: identity)
      noteBackup(groups)
      return StoreBackup(path: path, groups: groups)
    } catch {
      folder.discard()
      throw error
    }
  }

  private func copyGroups(
    to folder: borrowing BackupFolder, _ progress: (String, MaintenanceProgress) -> Void
  ) throws(VaultError) -> [StoreBackup.Group] {
    // The registry is copied last, so that it lists every group in the backup.
    let isWhole = !access.lacksIdentity
    let names = try groupNames().map { (name) throws(VaultError) in try AccessGroup.Name(name) }
    var groups: [StoreBackup.Group] = []
    for name in isWhole ? names + [.registry] : names {
      // Its files are closed again before the next group's are opened.
      let file = try file(of: name)
      var outcome = try outcome(of: file, name.description, in: folder, progress)
      // Without the registry, no recovery begins from the backup.
      if outcome == nil, name == .registry { outcome = .failed(vanished(name)) }
      if let outcome { groups.append(StoreBackup.Group(name: name.description, outcome: outcome)) }
    }
    if isWhole {
      for (name, problem) in vanishedGroups() where name != AccessGroup.Name.registry.description {
        groups.append(StoreBackup.Group(name: name, outcome: .failed(problem)))
      }
    } else {
      groups.append(try copyRegistryUnproved(to: folder))
    }
    groups.sort { $0.name < $1.name }
    guard groups.contains(where: { if case .copied = $0.outcome { true } else { false } }) else {
      // Without the registry, groups that this machine never saw fail, too.
      let registry = groups.filter { $0.name == AccessGroup.Name.registry.description }
      for case .failed(let error) in (registry + groups).map(\.outcome) { throw error }
      throw .contradiction(.nothingToBackUp)
    }
    return groups
  }

  /// Copies the registry without proof, because this process does not have its key.
  private func copyRegistryUnproved(to folder: borrowing BackupFolder) throws(VaultError) -> StoreBackup.Group {
    let name = AccessGroup.Name.registry.description
    let draft = try folder.makeGroup(name)
    do throws(VaultError) {
      try AccessGroupFile.copyUnproved(from: location.groupFolder(name), to: draft)
      return StoreBackup.Group(name: name, outcome: .copiedUnproved)
    } catch {
      folder.dropGroup(name)
      return StoreBackup.Group(name: name, outcome: .failed(error.named(name)))
    }
  }

  /// - Returns: `nil` for a group that was removed meanwhile.
  private func outcome(
    of file: AccessGroupFile, _ name: String, in folder: borrowing BackupFolder,
    _ progress: (String, MaintenanceProgress) -> Void
  ) throws(VaultError) -> StoreBackup.Outcome? {
    do throws(VaultError) {
      return try settled(name) { () throws(VaultError) in
        let draft = try folder.makeGroup(name)
        do throws(VaultError) {
          guard let copied = try file.backUp(to: draft, progress: { progress(name, $0) }) else {
            folder.dropGroup(name)
            return .leftOut
          }
          return .copied(items: copied.items, versions: copied.versions, epoch: copied.epoch)
        } catch {
          folder.dropGroup(name)
          throw error.named(name)
        }
      }
    } catch {
      switch error {
      case _ where isOfOtherDevice(error): return .leftOut
      case .storage(let failure) where !failure.isOfOneFile:
        // The copies of the other groups would fail too.
        throw error
      default: return .failed(error)
      }
    }
  }

  /// Records when the store was backed up; a backup without all groups does not count.
  private func noteBackup(_ groups: [StoreBackup.Group]) {
    for case .failed in groups.map(\.outcome) { return }
    let state = location.stateFolder(of: access.ownerKey)
    try? Settings.change(in: state, of: access.ownerKey) { $0.lastBackup = SystemClock.milliseconds() }
  }
}

extension StoreLocation {
  /// The absolute form of `path`, which must not be inside the store.
  package func outside(_ path: String) throws(VaultError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalid("a backup needs a folder") }
    let path = StoreLocation.absolute(path)
    let isInside = try atLevel(.backup) { () throws(FileFault) in
      CanonicalPath.isInside(try CanonicalPath.of(path), try CanonicalPath.of(home))
    }
    if isInside { throw .invalid("a backup must be outside the store") }
    return path
  }
}
