internal import Glibc
internal import GroupFile

/// The folder of a backup while it is made: `.incomplete` in it holds everything until all is there.
///
/// A folder without `identity` is no backup, and that comes last. What a killed process left is cleared by the next backup
/// into the same folder.
struct BackupFolder: ~Copyable {
  /// The backup's folder, an absolute path.
  let path: String
  private let folder: Folder
  private let draft: Folder
  private let isMade: Bool

  static let draftName = ".incomplete"

  /// Makes the folder at `path`, unless it is there and empty, and the draft in it.
  ///
  /// - Throws: `exists` where it is not empty; `busy` where another backup is being made in it; `denied`, `storage`.
  init(at path: String) throws(VaultError) {
    isMade = unsafe mkdir(path, 0o700) == 0
    guard isMade || errno == EEXIST else { throw BackupFolder.error(FileFault(errno: errno)) }
    do throws(FileFault) {
      let folder = try Folder(path, .visible(), followingLink: true)
      try BackupFolder.clear(folder)
      try folder.makeFolder(BackupFolder.draftName)
      let draft = try folder.folder(BackupFolder.draftName, .secret())
      try draft.file.lock(waiting: 0)
      if fchmod(folder.file.descriptor, 0o700) != 0 { throw FileFault(errno: errno) }
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

  /// Removes a folder in which the draft could not be made.
  private static func abandon(_ path: String) {
    if let folder = try? Folder(path, .visible()) { try? folder.removeTree(draftName) }
    unsafe rmdir(path)
  }

  /// Removes what an interrupted backup left; anything else is not ours to remove.
  private static func clear(_ folder: borrowing Folder) throws(FileFault) {
    guard folder.contains(draftName) else {
      guard try folder.isEmpty() else { throw .taken }
      return
    }
    let old = try folder.folder(draftName, .secret())
    try old.file.lock(waiting: 0)
    guard !folder.contains(IdentityFolder.folderName) else {
      // That backup is complete: the process ended after everything had been moved out of the draft.
      try folder.removeTree(draftName)
      throw .taken
    }
    // They were moved out of the draft already when the process ended.
    if folder.contains(IdentityFolder.groupsName) { try folder.removeTree(IdentityFolder.groupsName) }
    try folder.removeTree(draftName)
    guard try folder.isEmpty() else { throw .taken }
  }

  /// Makes the folder of one group, and tells its path.
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

  /// Writes the identity file, and makes the draft the backup.
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
      // The folder itself, if it is new.
      try? OpenFile(CanonicalPath.split(path).folder + "/", O_RDONLY | O_DIRECTORY).synchronize()
    } catch {
      throw BackupFolder.error(error)
    }
  }

  /// Removes all that was made.
  consuming func discard() {
    try? folder.removeTree(BackupFolder.draftName)
    try? folder.removeTree(IdentityFolder.groupsName)
    if isMade { unsafe rmdir(path) }
  }

  private static func error(_ fault: FileFault) -> VaultError {
    switch fault {
    case .taken: .exists("a file or folder in the backup's place")
    case .missing: .storage("the folder above the backup's is not there")
    case .busy: .contradiction("another backup is being made in this folder")
    case .storage(let failure): .storage(failure.rawValue)
    default: .denied(.permissions("the backup's folder \(fault.reason)"))
    }
  }
}

extension Folder {
  /// Whether nothing at all is in the folder.
  fileprivate func isEmpty() throws(FileFault) -> Bool { try names(limit: 1, hidden: true).isEmpty }

  /// Removes the file or folder `name` with all that is in it; links are not followed.
  func removeTree(_ name: String) throws(FileFault) {
    if unsafe unlinkat(file.descriptor, name, 0) == 0 || errno == ENOENT { return }
    guard errno == EISDIR else { throw FileFault(errno: errno) }
    try removeFolder(name)
  }

  private func removeFolder(_ name: String) throws(FileFault) {
    let inner = try folder(name, FileTrust(owners: [geteuid(), 0], forbiddenMode: 0))
    for entry in try inner.names(hidden: true) { try inner.removeTree(entry) }
    guard unsafe unlinkat(file.descriptor, name, AT_REMOVEDIR) == 0 else { throw FileFault(errno: errno) }
  }
}
