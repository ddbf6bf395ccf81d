internal import CVaultSystem
internal import Glibc
internal import Ground

/// A Unix group whose users may use the files of an access group.
///
/// It decides who may open the files; to read their contents, a user's application must also be a member.
public struct UnixGroup: Sendable, Equatable {
  public let number: UInt32
  /// Whether the Unix group may only read the files.
  public let isReadOnly: Bool

  package init(number: UInt32, isReadOnly: Bool = false) {
    self.number = number
    self.isReadOnly = isReadOnly
  }
}

extension ContainerShape {
  /// Makes the folder of a new group, or reuses the folder that an interrupted creation left.
  ///
  /// - Throws: `denied`, `damaged` if something else has the name, `storage`.
  package func makeFolder(_ path: String) throws(VaultError) {
    if unsafe mkdir(path, 0o700) == 0 {
      // The umask may have removed bits that opening it needs.
      unsafe chmod(path, 0o700)
    } else if errno != EEXIST {
      throw errno == EACCES || errno == EPERM
        ? .denied(.permissions("making '\(path)'")) : ResultCode.error(errno: errno)
    }
    let folder = try onDisk(OpenFile(path, O_RDONLY | O_DIRECTORY))
    try folder.take(self, at: path)
    try onDisk(folder.synchronize())
  }
}

extension ContainerPlace {
  /// The shape of the group's folder.
  ///
  /// - Throws: `notFound`; `denied` for a mode that Vault never sets.
  package func containerShape() throws(VaultError) -> ContainerShape {
    guard let status = try ContainerPlace.status(folder) else { throw .notFound(.group) }
    guard let shape = ContainerShape(folder: status) else { throw ContainerTrust.refused("folder", status.mode) }
    return shape
  }
}

extension ContainerPlace {
  /// Gives the closed folder and its files the shape `shape`. By their paths: closing one more descriptor of the group's file
  /// would end SQLite's locks, and nobody else can reach into the folder.
  fileprivate func open(to shape: ContainerShape) throws(VaultError) {
    let unixGroup = shape.unixGroup?.number ?? getegid()
    for (path, mode) in [
      (path, shape.fileMode), (logPath, shape.fileMode), (indexPath, shape.fileMode), (lockPath, shape.lockMode),
    ] where try ContainerPlace.status(path) != nil {
      guard unsafe lchown(path, uid_t.max, unixGroup) == 0, unsafe chmod(path, mode) == 0 else {
        throw ResultCode.error(errno: errno)
      }
    }
    try onDisk(OpenFile(folder, O_RDONLY | O_DIRECTORY)).take(shape, at: folder)
  }

  /// Whether other users may write the group's files, and so replace its lock at any time.
  func isWritableByOthers() throws(VaultError) -> Bool {
    try ContainerPlace.status(folder).map { $0.mode & 0o022 != 0 } ?? false
  }
}

extension OpenFile {
  /// Gives the folder, which is at `path`, its shape.
  fileprivate func take(_ shape: ContainerShape, at path: String) throws(VaultError) {
    let mode = shape.folderMode
    // A group that is closed again gives up the Unix group that it was shared with.
    let unixGroup = shape.unixGroup?.number ?? getegid()
    let found = try onDisk(status())
    let isGiven = found.st_gid == unixGroup
    if found.st_mode & 0o7777 == mode, isGiven { return }
    guard isGiven || csystem_give_to_group(descriptor, unixGroup) == 0,
      unsafe chmod("/proc/self/fd/\(descriptor)", mode) == 0
    else {
      throw errno == EPERM || errno == EACCES
        ? .denied(.permissions("changing the mode or Unix group of '\(path)'")) : ResultCode.error(errno: errno)
    }
    // If the user is not in the Unix group, the system silently drops the set-group-ID bit.
    guard try onDisk(status()).st_mode & 0o7777 == mode else {
      throw .denied(.permissions("changing the mode of '\(path)'"))
    }
  }
}

extension AccessGroupFile {
  /// The shape of the group's folder.
  ///
  /// - Throws: `notFound`; `denied` for a mode that Vault never sets.
  package func containerShape() throws(VaultError) -> ContainerShape { try resolvedPlace().containerShape() }

  /// Changes the shape of the group while nobody writes: a new folder with copies of the files replaces the old one. So
  /// processes that have the old files open or locked have no hold on the new ones. The contents are not checked, and
  /// users who may only read the files cannot prevent the change.
  ///
  /// - Parameter places: `draft` is the path of the new folder and, afterwards, of the old one, which the caller removes.
  /// - Returns: whether the old files were moved to `places.kept`, because they may have a state that the new ones lack.
  /// - Throws: `denied`, `busy`, `notFound`, `damaged`, `storage`; the group has its former state and shape then.
  package func take(_ shape: ContainerShape, at places: DraftPlaces) throws(VaultError) -> Bool {
    let place = try resolvedPlace()
    do throws(VaultError) {
      // Checked before locking, which would report a link's own mode as too wide.
      _ = try place.file()
      let lock = try WriterLock(at: place, toChangeModes: true, replacing: true)
      let former = (try? place.containerShape()) ?? .closed
      if let copied = try takeCopy(of: place, under: lock, at: places) {
        guard shape != .closed else { return false }
        return try reopening(former) { () throws(VaultError) in
          let draft = try GroupDraft(in: places.draft, for: folder, shape: shape)
          _ = try SalvageCopy.duplicate(ContainerPlace(folder: folder), to: ContainerPlace(folder: draft.folder), shape)
          return try draft.take(keeping: places.kept, dropping: true, holding: copied)
        }
      }
      let draft = try GroupDraft(in: places.draft, for: folder, shape: shape)
      let isWhole = try SalvageCopy.duplicate(place, to: ContainerPlace(folder: draft.folder), shape)
      return try draft.take(keeping: places.kept, dropping: isWhole && !lock.isShared, holding: lock)
    } catch {
      guard error == .permissionDenied else { throw error }
      throw .denied(.permissions(DeniedPath.words(folder: folder, toWrite: false)))
    }
  }
}

extension AccessGroupFile {
  /// Puts a closed folder with copies of the files in the place of one that others may write, or whose lock somebody else
  /// may have. No state changes by that, and if the process ends before it has looked at the replaced files, they are at
  /// the path of `places.kept` with the suffix `DraftPlaces.lockedMark`.
  ///
  /// Whatever was acknowledged was committed before the exchange, because each writer looks at the path after its commit.
  /// So if the replaced files have a newer state than the copies, they are copied once more; what is written to them later
  /// counts as not done.
  ///
  /// - Returns: the lock of the new files. `nil` if `lock` is enough, or if no state is proved in the copies; nothing was
  ///   replaced then. The replaced files stay only if they may have a state that the new ones lack.
  /// - Throws: `denied`, `storage`; the group has its old files then, or copies of them.
  func takeCopy(
    of place: ContainerPlace, under lock: borrowing WriterLock, at places: DraftPlaces
  ) throws(VaultError) -> WriterLock? {
    let isOpen = try place.isWritableByOthers()
    guard lock.isShared || isOpen else { return nil }
    do throws(VaultError) {
      return try takeCopy(
        at: DraftPlaces(draft: places.draft + ".copy", kept: places.kept + DraftPlaces.lockedMark))
    } catch {
      guard error.isRepairable else { throw error }
      return nil
    }
  }

  private func takeCopy(at places: DraftPlaces) throws(VaultError) -> WriterLock {
    let first = try FolderCopy.make(of: ContainerPlace(folder: folder), in: places.draft, for: self)
    _ = try first.draft.takeWhileLocked(keeping: places.kept, dropping: false)
    // From now on, others reach nothing there but what they have open.
    unsafe chmod(places.kept, 0o700)
    guard let replaced = try? ContainerPlace(folder: places.kept),
      let newest = try? newestEpoch(at: replaced, salvagingIn: places.draft + ".salvage")
    else { return first.lock }
    if newest == first.epoch {
      try? NewName.give(places.draft, to: places.kept)
    } else if newest > first.epoch,
      let second = try? FolderCopy.make(of: replaced, in: places.draft + "+again", for: self),
      second.epoch > first.epoch
    {
      _ = try second.draft.takeWhileLocked(keeping: places.kept + "+copy", dropping: true)
      try? NewName.give(places.draft, to: places.kept)
      return second.lock
    }
    return first.lock
  }
}

extension AccessGroupFile {
  /// Runs `body`, and if it fails gives closed copies of the group's files the shape that the files had before.
  package func reopening<Result>(
    _ shape: ContainerShape, _ body: () throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    do { return try body() } catch {
      if shape != .closed, let place = try? ContainerPlace(folder: folder), (try? place.containerShape()) == .closed {
        try? place.open(to: shape)
      }
      throw error
    }
  }
}

/// A new folder with copies of a group's files, which only this process can open and has locked.
private struct FolderCopy: ~Copyable {
  let draft: GroupDraft
  /// The number of the newest signed state in them.
  let epoch: UInt64
  let lock: WriterLock

  static func make(
    of source: ContainerPlace, in folder: String, for file: AccessGroupFile
  ) throws(VaultError) -> FolderCopy {
    let draft = try GroupDraft(in: folder, for: file.folder, shape: .closed)
    let target = try ContainerPlace(folder: folder)
    _ = try SalvageCopy.duplicate(source, to: target, .closed)
    let epoch = try file.newestEpoch(at: target, salvagingIn: folder + ".salvage")
    return FolderCopy(draft: draft, epoch: epoch, lock: try WriterLock(at: target))
  }
}

extension ContainerPlace {
  /// Moves anything that is not a regular file away from the paths of log and index, such as a FIFO that somebody put there
  /// to stop everybody. It holds no data.
  ///
  /// - Returns: whether something was moved.
  @discardableResult
  func clearCompanions() -> Bool {
    var isMoved = false
    for path in [logPath, indexPath] {
      guard let found = try? ContainerPlace.status(path), !found.isRegular else { continue }
      let aside = "\(path)-\(String(UInt64.random(in: .min ... .max), radix: 16))"
      if (try? NewName.give(aside, to: path)) != nil { isMoved = true }
    }
    return isMoved
  }
}
