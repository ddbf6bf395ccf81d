internal import GroupFile
internal import Sealing

/// What a backup came to.
public struct StoreBackup: Sendable {
  /// The backup's folder, an absolute path.
  public let path: String
  /// Each group of the store, sorted by name; the owner's registry is among them.
  public let groups: [Group]

  /// What became of one group.
  public struct Group: Sendable {
    public let name: String
    public let outcome: Outcome
  }

  /// What became of a group.
  @nonexhaustive
  public enum Outcome: Sendable {
    /// The copy is proved: so many items and older versions, at this state.
    case copied(items: UInt64, versions: UInt64, epoch: UInt64)
    /// The owner's registry of a store that is only unlocked: it was copied as it is, and nothing of it was proved. Nor was
    /// the identity file.
    case copiedUnproved
    /// The group is bound to a device, so that no copy of it could be opened elsewhere.
    case leftOut
    /// The group does not verify, so it is not in the backup.
    case failed(VaultError)
  }
}

extension SecretStore {
  /// Copies the store into a folder of its own: the identity file, and one consistent, completely proved state of each group.
  ///
  /// Others may write meanwhile. Groups that are bound to a device are left out; a group that does not verify is named in the
  /// result, and the others are copied. Where the store is only unlocked, the identity file and the registry are taken along
  /// as they are, unproved. A backup that fails, or is killed, leaves nothing that looks like one.
  ///
  /// - Parameters:
  ///   - path: the folder, outside of the store; it is made, or is empty.
  ///   - progress: called now and then with a group's name.
  /// - Throws: ``VaultError/denied(_:)`` for anybody but the owner, ``VaultError/exists(_:)`` for a folder that is not empty,
  ///   ``VaultError/storage(_:)``. There is no backup then.
  @discardableResult
  public func backUp(
    to path: String, progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> StoreBackup {
    guard access.isOwners else { throw .denied(.ownerOnly) }
    let path = try location.outside(path)
    let identity = try location.identityFile()
    guard identity.ownerKey == access.ownerKey else {
      throw .damaged(group: nil, level: "identity", detail: "it was replaced by another store's meanwhile")
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
    var files: [(name: AccessGroup.Name, file: AccessGroupFile)] = []
    for name in try groupNames() {
      let name = try AccessGroup.Name(name)
      files.append((name, group(name).file))
    }
    // The owner's list comes last, so that it knows each group that is in the backup.
    let isWhole = !access.lacksIdentity
    if isWhole { files.append((.registry, try registry().group.file)) }
    var groups: [StoreBackup.Group] = []
    for (name, file) in files {
      guard let outcome = try outcome(of: file, name.description, in: folder, progress) else { continue }
      groups.append(StoreBackup.Group(name: name.description, outcome: outcome))
    }
    if !isWhole { groups.append(try copyRegistryUnproved(to: folder)) }
    guard groups.contains(where: { if case .copied = $0.outcome { true } else { false } }) else {
      for case .failed(let error) in groups.map(\.outcome) { throw error }
      throw .contradiction("there is nothing that could be backed up")
    }
    return groups
  }

  /// Takes the registry along although nobody here has its key.
  private func copyRegistryUnproved(to folder: borrowing BackupFolder) throws(VaultError) -> StoreBackup.Group {
    let name = AccessGroup.Name.registry.description
    let draft = try folder.makeGroup(name)
    do throws(GroupFileError) {
      try AccessGroupFile.copyUnproved(from: location.places.groupFolder(name), to: draft)
      return StoreBackup.Group(name: name, outcome: .copiedUnproved)
    } catch {
      folder.dropGroup(name)
      return StoreBackup.Group(name: name, outcome: .failed(VaultError(error, group: name)))
    }
  }

  /// - Returns: `nil` for a group that was removed meanwhile.
  private func outcome(
    of file: AccessGroupFile, _ name: String, in folder: borrowing BackupFolder,
    _ progress: (String, MaintenanceProgress) -> Void
  ) throws(VaultError) -> StoreBackup.Outcome? {
    do throws(VaultError) {
      return try settled(name) { () throws(VaultError) in
        try copy(file, of: name, to: folder) { progress(name, $0) }
      }
    } catch {
      switch error {
      case .otherDevice: return .leftOut
      case .storage
      where error != VaultError(.moved, group: name) && error != VaultError(.storage(.inputOutput), group: name):
        // The other groups would not fare better.
        throw error
      default: return .failed(error)
      }
    }
  }

  private func copy(
    _ file: AccessGroupFile, of name: String, to folder: borrowing BackupFolder,
    _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> StoreBackup.Outcome {
    let draft = try folder.makeGroup(name)
    do throws(GroupFileError) {
      guard let copied = try file.backUp(to: draft, progress: { progress(MaintenanceProgress($0)) }) else {
        folder.dropGroup(name)
        return .leftOut
      }
      return .copied(items: copied.items, versions: copied.versions, epoch: copied.epoch)
    } catch {
      folder.dropGroup(name)
      throw VaultError(error, group: name)
    }
  }

  /// Remembers when the store was backed up; one that lacks a group does not count.
  private func noteBackup(_ groups: [StoreBackup.Group]) {
    guard let state = location.places.stateFolder(of: access.ownerKey) else { return }
    for case .failed in groups.map(\.outcome) { return }
    try? Settings.change(in: state) { $0.lastBackup = SystemClock.milliseconds() }
  }
}

extension StoreLocation {
  /// `path` as an absolute one that does not lie in the store.
  func outside(_ path: String) throws(VaultError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalid("a backup needs a folder") }
    let path = Locations.absolute(path)
    let isInside: Bool
    do throws(FileFault) {
      isInside = CanonicalPath.isInside(try CanonicalPath.of(path), try CanonicalPath.of(home))
    } catch {
      throw .denied(.permissions("the backup's folder \(error.reason)"))
    }
    if isInside { throw .invalid("a backup lies outside of the store") }
    return path
  }
}
