internal import Glibc
public import GroupFile
internal import Sealing

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
  /// Others may write meanwhile. Groups that are bound to a device are left out. A group that fails verification is
  /// reported in the result, and the other groups are copied. If the store is only unlocked, the identity file and the
  /// registry are copied without proof. A backup that fails or is killed leaves nothing that looks like a backup.
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
    var files: [(name: AccessGroup.Name, file: AccessGroupFile)] = []
    for name in try groupNames() {
      let name = try AccessGroup.Name(name)
      files.append((name, try group(name).file))
    }
    // The registry is copied last, so that it lists every group in the backup.
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
        try copy(file, of: name, to: folder) { progress(name, $0) }
      }
    } catch {
      switch error {
      case .otherDevice: return .leftOut
      case .storage(let failure) where failure != .replaced && failure != .inputOutput:
        // The copies of the other groups would fail too.
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
    do throws(VaultError) {
      guard let copied = try file.backUp(to: draft, progress: progress) else {
        folder.dropGroup(name)
        return .leftOut
      }
      return .copied(items: copied.items, versions: copied.versions, epoch: copied.epoch)
    } catch {
      folder.dropGroup(name)
      throw error.named(name)
    }
  }

  /// Records when the store was backed up; a backup without all groups does not count.
  private func noteBackup(_ groups: [StoreBackup.Group]) {
    guard let state = location.stateFolder(of: access.ownerKey) else { return }
    for case .failed in groups.map(\.outcome) { return }
    try? Settings.change(in: state) { $0.lastBackup = SystemClock.milliseconds() }
  }
}

extension StoreLocation {
  /// The absolute form of `path`, which must not be inside the store.
  func outside(_ path: String) throws(VaultError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalid("a backup needs a folder") }
    let path = StoreLocation.absolute(path)
    let isInside: Bool
    do throws(FileFault) {
      isInside = CanonicalPath.isInside(try CanonicalPath.of(path), try CanonicalPath.of(home))
    } catch {
      throw .denied(.permissions("the backup's folder \(error.reason)"))
    }
    if isInside { throw .invalid("a backup must be outside the store") }
    return path
  }
}

/// The folder of a backup in progress: everything is in its subfolder `.incomplete` until the backup is complete.
///
/// A folder without `identity` is not a backup, and that file comes last. The next backup into the same folder removes
/// the files that a killed process left.
struct BackupFolder: ~Copyable {
  /// The backup's folder, an absolute path.
  let path: String
  private let folder: Folder
  private let draft: Folder
  private let isMade: Bool

  static let draftName = ".incomplete"

  /// Makes the folder at `path`, or uses it if it is empty, and makes the draft in it.
  ///
  /// - Throws: `exists` if it is not empty; `busy` if another backup into it is in progress; `denied`, `storage`.
  init(at path: String) throws(VaultError) {
    isMade = unsafe mkdir(path, 0o700) == 0
    guard isMade || errno == EEXIST else { throw BackupFolder.error(FileFault(errno: errno)) }
    do throws(FileFault) {
      let folder = try Folder(path, .visible(), followingLink: true)
      try BackupFolder.clear(folder)
      try folder.makeFolder(BackupFolder.draftName)
      let draft = try folder.folder(BackupFolder.draftName, .secret())
      try draft.file.lock(waiting: 0)
      try folder.file.setMode(0o700)
      try draft.makeFolder(IdentityFolder.folderName)
      try draft.makeFolder(IdentityFolder.groupsName)
      self.path = path
      self.folder = folder
      self.draft = draft
    } catch {
      if isMade { BackupFolder.abandon(path) }
      throw BackupFolder.error(error)
    }
  }

  /// Removes a folder in which the draft could not be created.
  private static func abandon(_ path: String) {
    if let folder = try? Folder(path, .visible()) { try? folder.removeTree(draftName) }
    unsafe rmdir(path)
  }

  /// Removes the files of an interrupted backup; all other files are not ours to remove.
  private static func clear(_ folder: borrowing Folder) throws(FileFault) {
    guard folder.contains(draftName) else {
      guard try folder.isEmpty() else { throw .taken }
      return
    }
    let old = try folder.folder(draftName, .secret())
    try old.file.lock(waiting: 0)
    guard !folder.contains(IdentityFolder.folderName) else {
      // That backup is complete: the process was killed after it had moved everything out of the draft.
      try folder.removeTree(draftName)
      throw .taken
    }
    // The groups are here if the process was killed between moving them out of the draft and moving the identity.
    if folder.contains(IdentityFolder.groupsName) { try folder.removeTree(IdentityFolder.groupsName) }
    try folder.removeTree(draftName)
    guard try folder.isEmpty() else { throw .taken }
  }

  /// Makes the folder of one group, and returns its path.
  func makeGroup(_ name: String) throws(VaultError) -> String {
    do throws(FileFault) {
      try draft.folder(IdentityFolder.groupsName, .secret()).makeFolder(name)
    } catch {
      throw BackupFolder.error(error)
    }
    return "\(path)/\(BackupFolder.draftName)/\(IdentityFolder.groupsName)/\(name)"
  }

  /// Removes the folder of a group that could not be copied.
  func dropGroup(_ name: String) {
    try? draft.folder(IdentityFolder.groupsName, .secret()).removeTree(name)
  }

  /// Writes the identity file, and turns the draft into the backup.
  func complete(with identity: IdentityFile) throws(VaultError) {
    do throws(FileFault) {
      try draft.folder(IdentityFolder.folderName, .secret()).replace(
        IdentityFolder.fileName, with: identity.serialized())
      try draft.folder(IdentityFolder.groupsName, .secret()).file.synchronize()
      try draft.file.synchronize()
      for name in [IdentityFolder.groupsName, IdentityFolder.folderName] {
        guard
          unsafe renameat(draft.file.descriptor, name, folder.file.descriptor, name) == 0
        else { throw FileFault(errno: errno) }
        try folder.file.synchronize()
      }
      try folder.removeTree(BackupFolder.draftName)
      try folder.file.synchronize()
      // Sync the entry of the folder itself, which may be new.
      try? OpenFile(CanonicalPath.split(path).folder + "/", O_RDONLY | O_DIRECTORY).synchronize()
    } catch {
      throw BackupFolder.error(error)
    }
  }

  /// Removes everything that was created.
  consuming func discard() {
    try? folder.removeTree(BackupFolder.draftName)
    try? folder.removeTree(IdentityFolder.groupsName)
    if isMade { unsafe rmdir(path) }
  }

  private static func error(_ fault: FileFault) -> VaultError {
    switch fault {
    case .taken: .exists(.backupPlace)
    case .missing: .storage(.noBackupFolder)
    case .busy: .contradiction(.backupInProgress)
    case .storage(let failure): .storage(failure)
    default: .denied(.permissions("the backup's folder \(fault.reason)"))
    }
  }
}

extension Folder {
  /// Whether nothing at all is in the folder.
  fileprivate func isEmpty() throws(FileFault) -> Bool { try names(limit: 1, hidden: true).isEmpty }

  /// Removes the file or folder `name` with all that can be removed in it, without following links.
  ///
  /// Files come first, whatever others have put beside them.
  ///
  /// - Throws: the first fault, after everything else was removed. After a hundred of them no further folder is removed.
  func removeTree(_ name: String) throws(FileFault) {
    if unsafe unlinkat(file.descriptor, name, 0) == 0 || errno == ENOENT { return }
    guard errno == EISDIR else { throw FileFault(errno: errno) }
    // Another user may have made it, and it may be empty.
    if unsafe unlinkat(file.descriptor, name, AT_REMOVEDIR) == 0 { return }
    let inner = try folder(name, FileTrust(owners: [geteuid(), 0], forbiddenMode: 0))
    // Otherwise other users who still have a shared folder open could create files in it.
    try? inner.file.setMode(0o700)
    try unsafe inner.visit { (entry, _) in
      unsafe unlinkat(inner.file.descriptor, entry, 0)
      return true
    }
    var faults: [FileFault] = []
    try unsafe inner.visit { (entry, name) in
      if unsafe unlinkat(inner.file.descriptor, entry, AT_REMOVEDIR) == 0 { return true }
      do throws(FileFault) { try inner.removeTree(name) } catch { faults.append(error) }
      return faults.count < 100
    }
    guard unsafe unlinkat(file.descriptor, name, AT_REMOVEDIR) == 0 else {
      throw faults.first ?? FileFault(errno: errno)
    }
  }
}
