internal import CVaultSQLite
internal import Glibc

/// The users who may use a group's folder and files: only their owner, or one Unix group too.
///
/// Vault makes three shapes. It also reads a fourth, which version control, images and file servers make, and refuses
/// any other. The folder's set-group-ID bit gives new files its Unix group, and SQLite gives log and index the mode of
/// the file, so a group keeps its shape no matter who writes to it.
package enum ContainerShape: Equatable, Sendable {
  /// 0700 and 0600.
  case closed
  /// 2750 and 0640: the Unix group may read.
  case readable(unixGroup: UInt32)
  /// 2770 and 0660: the Unix group may read and write.
  case writable(unixGroup: UInt32)
  /// 0755 and 0644: everyone may read, and nobody writes through Vault. The files are sealed, so a public copy reveals
  /// only sizes and times. But locks held by other users could block a writer.
  case visible

  package var folderMode: UInt32 {
    switch self {
    case .closed: 0o700
    case .readable: 0o2750
    case .writable: 0o2770
    case .visible: 0o755
    }
  }

  /// The mode of the group's file, its log and its index.
  package var fileMode: UInt32 {
    switch self {
    case .closed: 0o600
    case .readable: 0o640
    case .writable: 0o660
    case .visible: 0o644
    }
  }

  /// The mode of the lock file: users who may only read must not block writers.
  var lockMode: UInt32 {
    switch self {
    case .closed, .readable, .visible: 0o600
    case .writable: 0o660
    }
  }

  package var unixGroup: UInt32? {
    switch self {
    case .closed, .visible: nil
    case .readable(let unixGroup), .writable(let unixGroup): unixGroup
    }
  }

  /// The shape that matches a folder's mode; `nil` for a mode that admits anyone else. The owner's own bits do not
  /// matter.
  init?(folder: ContainerPlace.Status) {
    switch folder.mode & ContainerTrust.permissions {
    case 0: self = .closed
    case 0o2050: self = .readable(unixGroup: folder.unixGroup)
    case 0o2070: self = .writable(unixGroup: folder.unixGroup)
    case 0o055: self = .visible
    default: return nil
    }
  }
}

extension ContainerShape {
  /// Makes the folder of a new group, or reuses the folder that an interrupted creation left.
  ///
  /// - Throws: `deniedAt`, `altered` if something else has the name, `storage`.
  package func makeFolder(_ path: String) throws(GroupFileError) {
    if unsafe mkdir(path, 0o700) == 0 {
      // The umask may have removed bits that opening it needs.
      unsafe chmod(path, 0o700)
    } else if errno != EEXIST {
      throw errno == EACCES || errno == EPERM ? .deniedAt("making '\(path)'") : ResultCode.error(errno: errno)
    }
    let folder = try OpenFolder(path)
    try folder.take(self)
    try folder.synchronise()
  }
}

extension ContainerPlace {
  /// The shape of the group's folder.
  ///
  /// - Throws: `missing`; `exposed` for a mode that Vault never sets.
  package func containerShape() throws(GroupFileError) -> ContainerShape {
    guard let status = try ContainerPlace.status(folder) else { throw .missing }
    guard let shape = ContainerShape(folder: status) else { throw ContainerTrust.refused("folder", status.mode) }
    return shape
  }
}

/// An open folder whose mode is changed.
private struct OpenFolder: ~Copyable {
  let path: String
  private let descriptor: CInt

  init(_ path: String) throws(GroupFileError) {
    descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    self.path = path
  }

  deinit { close(descriptor) }

  func synchronise() throws(GroupFileError) {
    guard fsync(descriptor) == 0 else { throw ResultCode.error(errno: errno) }
  }

  /// Gives the folder its shape.
  func take(_ shape: ContainerShape) throws(GroupFileError) {
    let mode = shape.folderMode
    // A group that is closed again gives up the Unix group that it was shared with.
    let unixGroup = shape.unixGroup ?? getegid()
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0 else { throw ResultCode.error(errno: errno) }
    if found.st_gid != unixGroup {
      guard csqlite_give_to_group(descriptor, unixGroup) == 0 else { throw refused() }
    }
    if found.st_mode & 0o7777 == mode, found.st_gid == unixGroup { return }
    guard unsafe chmod("/proc/self/fd/\(descriptor)", mode) == 0 else { throw refused() }
    // If the user is not in the Unix group, the system silently drops the set-group-ID bit.
    guard unsafe fstat(descriptor, &found) == 0, found.st_mode & 0o7777 == mode else {
      throw .deniedAt("changing the mode of '\(path)'")
    }
  }

  private func refused() -> GroupFileError {
    errno == EPERM || errno == EACCES
      ? .deniedAt("changing the mode or Unix group of '\(path)'") : ResultCode.error(errno: errno)
  }
}

extension AccessGroupFile {
  /// The shape of the group's folder.
  ///
  /// - Throws: `missing`; `exposed` for a mode that Vault never sets.
  package func containerShape() throws(GroupFileError) -> ContainerShape { try resolvedPlace().containerShape() }

  /// Changes the shape of the group while nobody writes: a new folder with copies of the files replaces the old one. So
  /// processes that have the old files open or locked have no hold on the new ones. The contents are not checked, and
  /// users who may only read the files cannot prevent the change.
  ///
  /// - Parameter places: `draft` is the path of the new folder, `kept` the path to which the old one is moved.
  /// - Throws: `deniedAt`, `busy`, `missing`, `altered`, `storage`; the group is unchanged then.
  package func take(_ shape: ContainerShape, at places: DraftPlaces) throws(GroupFileError) {
    let place = try resolvedPlace()
    do throws(GroupFileError) {
      // Checked before locking, which would report a link's own mode as too wide.
      _ = try place.file()
      let lock = try WriterLock(at: place, toChangeModes: true)
      let draft = try GroupDraft(in: places.draft, for: folder, shape: shape)
      try SalvageCopy.duplicate(place, to: ContainerPlace(folder: places.draft), shape)
      _ = try draft.take(keeping: places.kept, holding: lock)
    } catch .denied {
      throw .deniedAt(DeniedPath.words(folder: folder, toWrite: false))
    }
  }
}
