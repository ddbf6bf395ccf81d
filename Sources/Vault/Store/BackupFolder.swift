internal import Glibc

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
    isMade = Folder.makeNew(path)
    guard isMade || errno == EEXIST else { throw BackupFolder.error(FileFault(errno: errno)) }
    do throws(FileFault) {
      let folder = try Folder(path, .visible(), followingLink: true)
      try BackupFolder.clear(folder)
      try folder.makeFolder(BackupFolder.draftName)
      let draft = try folder.folder(BackupFolder.draftName, .secret())
      try draft.lock(waiting: 0)
      try folder.file.setMode(0o700)
      try draft.makeFolder(IdentityFolder.folderName)
      try draft.makeFolder(IdentityFolder.groupsName)
      self.path = path
      self.folder = folder
      self.draft = draft
    } catch {
      if isMade {
        if let folder = try? Folder(path, .visible()) { try? folder.removeTree(BackupFolder.draftName) }
        unsafe rmdir(path)
      }
      throw BackupFolder.error(error)
    }
  }

  /// Removes the files of an interrupted backup; all other files are not ours to remove.
  private static func clear(_ folder: borrowing Folder) throws(FileFault) {
    guard folder.contains(draftName) else {
      guard try folder.isEmpty() else { throw .taken }
      return
    }
    let old = try folder.folder(draftName, .secret())
    try old.lock(waiting: 0)
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

  func makeGroup(_ name: String) throws(VaultError) -> String {
    do throws(FileFault) { try draft.folder(IdentityFolder.groupsName, .secret()).makeFolder(name) } catch {
      throw BackupFolder.error(error)
    }
    return "\(path)/\(BackupFolder.draftName)/\(IdentityFolder.groupsName)/\(name)"
  }

  func dropGroup(_ name: String) { try? draft.folder(IdentityFolder.groupsName, .secret()).removeTree(name) }

  /// Writes the identity file, and turns the draft into the backup.
  func complete(with identity: IdentityFile) throws(VaultError) {
    do throws(FileFault) {
      try draft.folder(IdentityFolder.folderName, .secret()).replace(
        IdentityFolder.fileName, with: identity.serialized())
      try draft.folder(IdentityFolder.groupsName, .secret()).file.synchronize()
      try draft.file.synchronize()
      for name in [IdentityFolder.groupsName, IdentityFolder.folderName] {
        guard unsafe renameat(draft.file.descriptor, name, folder.file.descriptor, name) == 0 else {
          throw FileFault(errno: errno)
        }
        try folder.file.synchronize()
      }
      // The backup is complete. What is left of the draft does not matter.
      try? folder.removeTree(BackupFolder.draftName)
      // Sync the entry of the folder itself, which may be new.
      try? OpenFile(CanonicalPath.split(path).folder + "/", O_RDONLY | O_DIRECTORY).synchronize()
    } catch {
      throw BackupFolder.error(error)
    }
  }

  consuming func discard() {
    // The identity first: without it, the folder is no backup.
    for name in [IdentityFolder.folderName, IdentityFolder.groupsName, BackupFolder.draftName] {
      try? folder.removeTree(name)
    }
    if isMade { unsafe rmdir(path) }
  }

  private static func error(_ fault: FileFault) -> VaultError {
    switch fault {
    case .taken, .wrongKind: .exists(.backupPlace)
    case .missing: .storage(.noBackupFolder)
    case .busy: .contradiction(.backupInProgress)
    default: VaultError(fault, at: .backup)
    }
  }
}

extension Folder {
  fileprivate func isEmpty() throws(FileFault) -> Bool { try names(limit: 1, hidden: true).isEmpty }

  /// Removes the file or folder `name` with all that can be removed in it, without following links.
  ///
  /// Files come first, whatever others have put beside them.
  ///
  /// - Throws: the first fault, after everything else was removed. After a hundred faults no further folder is removed.
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
