internal import CVaultSystem
internal import Glibc

/// The folder of a group and the files in it, examined only with `lstat`.
///
/// Only SQLite may open the group's file, its log or its index, and `LogIndex` and `LogFrames` with care: SQLite's locks
/// end when the process closes *any* descriptor of the file, and an acknowledged write can be lost then.
package final class ContainerPlace: Equatable, Sendable {
  package let folder: String
  let name: String
  let path: String
  // Stored, because every read needs them.
  let logPath, indexPath, journalPath, lockPath: String
  /// The only user besides root who may own the folder.
  let owner: UInt32
  /// What the last look found; no folder if that may have changed unnoticed since.
  private let seen = Locked<(folder: (identity: FileIdentity, changed: ChangeTime)?, file: FileIdentity?)>((nil, nil))

  /// - Parameter owner: the only user besides root who may own the folder; `nil` means the user of this process.
  /// - Throws: `notFound`, `denied`, `networkFileSystem`, or `storage` if the path is too long for SQLite.
  package convenience init(folder: String, owner: UInt32? = nil) throws(VaultError) {
    guard let resolved = unsafe realpath(folder, nil) else { throw VaultError(FileFault(errno: errno)) }
    defer { unsafe free(resolved) }
    guard let path = unsafe String(validatingCString: resolved) else { throw .storage(.pathNotText) }
    let name = ContainerPlace.groupFileName
    guard path.utf8.count + name.utf8.count <= ContainerPlace.pathLimit else { throw .storage(.pathTooLong) }
    if let kind = NetworkFileSystem.kind(of: path) { throw .networkFileSystem(kind) }
    self.init(resolved: path, name: name, owner: owner ?? geteuid())
  }

  private init(resolved folder: String, name: String, owner: UInt32) {
    (self.folder, self.name, self.owner) = (folder, name, owner)
    path = folder + "/" + name
    logPath = path + "-wal"
    indexPath = path + "-shm"
    journalPath = path + "-journal"
    lockPath = folder + "/lock"
  }

  package static func == (left: ContainerPlace, right: ContainerPlace) -> Bool {
    left === right || left.path == right.path && left.owner == right.owner
  }

  func sibling(_ name: String) -> ContainerPlace { ContainerPlace(resolved: folder, name: name, owner: owner) }

  package static let groupFileName = "group.vault"

  // SQLite copies paths of up to 512 bytes, including the longest suffix, into arrays on its stack.
  private static let pathLimit = 480

  // MARK: Shape

  struct Shape {
    let identity: FileIdentity
    let log: stat?
    let index: stat?
  }

  /// Checks the group's files, or all but the index: the first checks of a reader.
  ///
  /// - Throws: `notFound` if there is no file; `damaged` if the file, its log or its index is not a regular file, or if
  ///   there is a rollback journal, which Vault never makes; `denied` if others may read or write them.
  func shape(withIndex: Bool = true) throws(VaultError) -> Shape {
    while true {
      let around = try ContainerPlace.status(folder)
      do throws(VaultError) { return try shape(in: around, withIndex: withIndex) } catch {
        // The folder was exchanged, so this may be a mixture of two.
        guard try ContainerPlace.status(folder)?.identity != around?.identity else { throw error }
      }
    }
  }

  private func shape(in folder: stat?, withIndex: Bool) throws(VaultError) -> Shape {
    guard let folder else { throw .notFound(.group) }
    let file = try file()
    guard try ContainerPlace.status(journalPath) == nil else { throw ContainerPlace.journalFound }
    let log = try ContainerPlace.status(logPath)
    let index = withIndex ? try ContainerPlace.status(indexPath) : nil
    guard log?.isRegular != false, index?.isRegular != false else {
      throw .damaged(.container, "the log or index of the group file is not a regular file")
    }
    let shape = try ContainerShape(folder: folder)
    // In a shared folder each writer owns their files.
    guard folder.st_uid == owner || folder.st_uid == 0 else {
      throw .denied(.permissions("the group's folder belongs to another user"))
    }
    // Replaced files keep their modes in a folder that was closed. They are read without the index that others may still use.
    let fileMode = !withIndex && folder.mode & ContainerShape.permissions == 0o2000 ? 0o660 : shape.fileMode
    for case let file? in [file, log, index] where file.mode & ContainerShape.permissions & ~fileMode != 0 {
      throw ContainerShape.refused("file", file.mode)
    }
    return Shape(identity: file.identity, log: log, index: index)
  }

  /// Whether the file can only be read without log and index, because one is missing and cannot be made in the folder,
  /// so that nobody can write either; or because nobody writes anyway (`isResting`). A log with content and without an
  /// index cannot be read.
  func isFrozen(_ shape: Shape, isResting: Bool) throws(VaultError) -> Bool {
    if isResting, shape.log?.byteCount ?? 0 == 0 { return true }
    guard shape.log == nil || shape.index == nil else { return false }
    do throws(VaultError) {
      try ContainerPlace.checkWritable(folder)
      return false
    } catch {
      guard shape.log?.byteCount ?? 0 == 0 else { throw error }
      return true
    }
  }

  /// Identifies the file at the path, and checks that there is no journal: enough to use an open connection again.
  ///
  /// As long as the folder's status says that no file in it was created, removed or renamed, the files are not looked
  /// at again.
  ///
  /// - Throws: as `shape`.
  func identity() throws(VaultError) -> FileIdentity {
    guard let folder = try ContainerPlace.status(folder) else { throw .notFound(.group) }
    let (look, known) = ((folder.identity, ChangeTime(folder)), seen.withLock { $0 })
    if let seen = known.folder, seen == look, let file = known.file { return file }
    let file = try file().identity
    guard try ContainerPlace.status(journalPath) == nil else { throw ContainerPlace.journalFound }
    seen.withLock { $0 = (look.1.isSettled ? look : nil, file) }
    return file
  }

  /// Whether the last look found another file at the path.
  func hasLost(_ file: FileIdentity) -> Bool { seen.withLock { $0.file.map { $0 != file } ?? false } }

  func file() throws(VaultError) -> stat {
    guard let file = try ContainerPlace.status(path) else { throw .notFound(.group) }
    guard file.isRegular else { throw .damaged(.container, "the group file is not a regular file") }
    return file
  }

  static let journalFound = VaultError.damaged(.container, "a journal lies beside the group file")

  /// Throws `exists` if a group's file, log or index exists here, because a new file would inherit the log.
  func checkVacant() throws(VaultError) {
    for path in [path, logPath, indexPath, journalPath] {
      guard try ContainerPlace.status(path) == nil else { throw .exists(.group) }
    }
  }

  /// The status of `path`, without following a link; `nil` if nothing exists there.
  static func status(_ path: String) throws(VaultError) -> stat? {
    var found = stat()
    guard unsafe lstat(path, &found) == 0 else {
      if errno == ENOENT { return nil }
      throw VaultError(FileFault(errno: errno))
    }
    return found
  }

  /// Identifies what is at `path`, without following a link; `nil` if nothing exists there. For files that are written
  /// often: unlike `status`, it does not slow down the next sync.
  package static func identity(of path: String, in folder: CInt = AT_FDCWD) throws(VaultError) -> FileIdentity? {
    if let identity = FileIdentity(path, in: folder) { return identity }
    guard errno == ENOENT else { throw VaultError(FileFault(errno: errno)) }
    return nil
  }

  /// Throws the reason why this process may not write to the file or folder at `path`: `denied`, or `storage`
  /// (read-only).
  static func checkWritable(_ path: String) throws(VaultError) {
    guard unsafe csystem_access(path, W_OK) == 0 else { throw VaultError(FileFault(errno: errno)) }
  }
}

extension stat {
  var identity: FileIdentity { FileIdentity(self) }
  var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
  var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
  var byteCount: Int { st_size }
  /// How many of them can be stored, rather than holes. Some file systems count late or compress, so this is generous; and
  /// one may say any number.
  var storedByteCount: Int { min(st_size, max(8 * 512 * max(0, min(st_blocks, 1 << 40)), 1 << 26)) }
  var mode: mode_t { st_mode & 0o7777 }
}

/// The users who may use a group's folder and files: only their owner, or one Unix group too.
///
/// Vault makes these shapes. It also reads 0755, which version control, images and file servers make, and refuses any
/// other: a wider mode is probably a mistake, so it is reported and not used. The folder's set-group-ID bit gives
/// new files its Unix group, and SQLite gives log and index the mode of the file, so a group keeps its shape no matter
/// who writes to it.
package enum ContainerShape: Equatable, Sendable {
  /// 0700 and 0600.
  case closed
  /// 2750 and 0640 if the Unix group may only read, otherwise 2770 and 0660.
  case shared(UnixGroup)
  /// 3700 and 0600: closed while the owner replaces files that the Unix group may write. Others wait for that.
  case interrupted(UnixGroup)
  /// 0755 and 0644: everyone may read, and nobody writes through Vault. The files are sealed, so a public copy reveals
  /// only sizes and times. But locks held by other users could block a writer.
  case visible

  package var folderMode: UInt32 { modes.folder }
  package var fileMode: UInt32 { modes.file }

  private var modes: (folder: UInt32, file: UInt32) {
    switch self {
    case .closed: (0o700, 0o600)
    case .shared(let group): group.isReadOnly ? (0o2750, 0o640) : (0o2770, 0o660)
    case .interrupted: (0o3700, 0o600)
    case .visible: (0o755, 0o644)
    }
  }

  /// The mode of the lock file: users who may only read must not block writers.
  var lockMode: UInt32 { fileMode == 0o660 ? 0o660 : 0o600 }

  package var unixGroup: UnixGroup? { if case .shared(let group) = self { group } else { nil } }

  /// The shape that matches a folder's mode; throws `denied` for one that admits anyone else, which Vault never sets.
  /// The owner's own bits do not matter.
  init(folder: stat) throws(VaultError) {
    switch folder.mode & ContainerShape.permissions {
    // `chmod 700` on a shared folder leaves its set-group-ID bit.
    case 0, 0o2000: self = .closed
    case 0o3000: self = .interrupted(UnixGroup(number: folder.st_gid))
    case 0o2050, 0o2070: self = .shared(UnixGroup(number: folder.st_gid, isReadOnly: folder.mode & S_IWGRP == 0))
    case 0o055: self = .visible
    default: throw ContainerShape.refused("folder", folder.mode)
    }
  }

  fileprivate static let permissions: mode_t = 0o7077

  static func refused(_ what: String, _ mode: mode_t) -> VaultError {
    .denied(.openToOthers("the group's \(what) is open to other users (mode \(String(mode, radix: 8)))"))
  }
}

/// Finds the path that the system's permissions refuse after a call failed, because an error number names no path.
enum DeniedPath {
  /// The first step towards the group in `folder` that this process may not take, such as "entering '/srv/store'".
  static func words(folder: String, toWrite: Bool) -> String {
    var path = ""
    for part in folder.split(separator: "/") {
      path += (folder.hasPrefix("/") || !path.isEmpty ? "/" : "") + part
      if isRefused(path, X_OK) { return "entering '\(path)'" }
    }
    let file = "\(folder)/\(ContainerPlace.groupFileName)"
    if isRefused(file, R_OK) { return "reading '\(file)'" }
    for path in toWrite ? [file, file + "-wal", file + "-shm"] : [] where isRefused(path, W_OK) {
      return "writing '\(path)'"
    }
    for path in [file + "-wal", file + "-shm"] + (toWrite ? ["\(folder)/lock"] : []) where isRefused(path, R_OK) {
      return "reading '\(path)'"
    }
    return isRefused(folder, W_OK) ? "making a file in '\(folder)'" : "using '\(folder)'"
  }

  private static func isRefused(_ path: String, _ what: CInt) -> Bool {
    unsafe csystem_access(path, what) != 0 && (errno == EACCES || errno == EPERM)
  }
}
