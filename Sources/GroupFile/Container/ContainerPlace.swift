internal import Glibc

/// Which file a path led to: what tells two spellings of one path from two files.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64
}

/// The folder of a group and the files in it, looked at with `lstat` alone.
///
/// Nobody but SQLite opens the group's file, its log or its index: the locks that SQLite holds end when the process
/// closes *any* descriptor of the file, and an acknowledged write is lost with them.
package struct ContainerPlace: Hashable, Sendable {
  /// The folder's path, absolute and free of links.
  package let folder: String
  /// The name of the group's file in it.
  package let name: String

  /// Resolves `folder`.
  ///
  /// - Throws: `missing`, `denied`, `networkFileSystem`, or `storage` where the path is too long for SQLite.
  package init(folder: String, name: String = ContainerPlace.groupFileName) throws(GroupFileError) {
    guard let resolved = unsafe realpath(folder, nil) else { throw ResultCode.error(errno: errno) }
    defer { unsafe free(resolved) }
    let path = unsafe String(cString: resolved)
    guard path.utf8.count + name.utf8.count <= ContainerPlace.pathLimit else { throw .storage(.pathTooLong) }
    try NetworkFileSystem.refuse(path)
    self.folder = path
    self.name = name
  }

  private init(resolved folder: String, name: String) {
    self.folder = folder
    self.name = name
  }

  /// The place of another file in the same folder.
  func sibling(_ name: String) -> ContainerPlace { ContainerPlace(resolved: folder, name: name) }

  package static let groupFileName = "group.vault"
  package static let lockName = "lock"

  // SQLite copies paths of up to 512 bytes, the longest ending included, into arrays on its stack.
  private static let pathLimit = 480

  var path: String { folder + "/" + name }
  var logPath: String { path + "-wal" }
  var indexPath: String { path + "-shm" }
  var journalPath: String { path + "-journal" }
  var lockPath: String { folder + "/" + ContainerPlace.lockName }

  /// Looks at the shape of the group's files: a reader's first refusals.
  ///
  /// - Returns: Which file the path leads to.
  /// - Throws: `missing` without a file; `altered` where the file, its log or its index is not a regular file, or where
  ///   a rollback journal lies beside it, which Vault never makes.
  package func check() throws(GroupFileError) -> FileIdentity {
    guard let status = try ContainerPlace.status(path) else { throw .missing }
    guard status.isRegular else { throw .altered("the group file is not a regular file") }
    guard try ContainerPlace.status(journalPath) == nil else { throw .altered("a journal lies beside the group file") }
    for beside in [logPath, indexPath] {
      if let status = try ContainerPlace.status(beside), !status.isRegular {
        throw .altered("a file beside the group file is not a regular file")
      }
    }
    return status.identity
  }

  /// What `lstat` says of a path.
  struct Status {
    let identity: FileIdentity
    let isRegular: Bool
    let byteCount: Int
    let permissions: mode_t
  }

  /// What lies at `path`, not following a link there; `nil` if nothing does.
  static func status(_ path: String) throws(GroupFileError) -> Status? {
    var found = stat()
    guard unsafe lstat(path, &found) == 0 else {
      if errno == ENOENT { return nil }
      throw ResultCode.error(errno: errno)
    }
    return Status(
      identity: FileIdentity(device: UInt64(found.st_dev), inode: UInt64(found.st_ino)),
      isRegular: found.st_mode & S_IFMT == S_IFREG, byteCount: Int(found.st_size), permissions: found.st_mode & 0o777)
  }
}
