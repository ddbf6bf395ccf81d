internal import CVaultSystem
internal import Glibc

/// A Unix group whose users may use the files of an access group.
///
/// It decides who may open the files; to read their contents, a user's application must also be a member.
public struct UnixGroup: Sendable, Equatable {
  public let number: UInt32
  /// Whether the Unix group may only read the files.
  public let isReadOnly: Bool

  package init(number: UInt32, isReadOnly: Bool = false) { (self.number, self.isReadOnly) = (number, isReadOnly) }

  /// Whether the system lets this process give files to the group: root may use any group, others only their own.
  package var isOurs: Bool {
    if geteuid() == 0 || getegid() == number { return true }
    var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
    return unsafe getgroups(CInt(groups.count), &groups) > 0 && groups.contains(number)
  }
}

extension ContainerShape {
  /// The shape after a change: the Unix group is let in again, but not where the system does not let this process give files
  /// to it, so that an owner who has left it can still remove others.
  package var attainable: ContainerShape {
    let shape = if case .interrupted(let group) = self { ContainerShape.shared(group) } else { self }
    return shape.unixGroup?.isOurs == false ? .closed : shape
  }

  /// A folder that is interrupted for a minute, in nanoseconds, was left by a killed command.
  package static let longestInterruption = 60_000_000_000

  private var folderGroup: UInt32 {
    if case .interrupted(let group) = self { return group.number }
    // A group that is closed again gives up the Unix group that it was shared with.
    return unixGroup?.number ?? getegid()
  }

  /// Makes the folder of a new group, or reuses the folder that an interrupted creation left.
  ///
  /// - Throws: `denied`, `damaged` if something else has the name, `storage`.
  package func makeFolder(_ path: String) throws(VaultError) {
    if !Folder.makeNew(path), errno != EEXIST {
      throw errno == EACCES || errno == EPERM
        ? .denied(.permissions("making '\(path)'")) : VaultError(FileFault(errno: errno))
    }
    let folder = try onDisk(OpenFile(path, O_RDONLY | O_DIRECTORY))
    try take(folder, at: path)
    try onDisk(folder.synchronize())
  }

  private func take(_ folder: borrowing OpenFile, at path: String) throws(VaultError) {
    let mode = folderMode
    let found = try onDisk(folder.status())
    let isGiven = found.st_gid == folderGroup
    if found.st_mode & 0o7777 == mode, isGiven { return }
    guard isGiven || csystem_give_to_group(folder.descriptor, folderGroup) == 0,
      unsafe chmod("/proc/self/fd/\(folder.descriptor)", mode) == 0
    else {
      throw errno == EPERM || errno == EACCES
        ? .denied(.permissions("changing the mode or Unix group of '\(path)'")) : VaultError(FileFault(errno: errno))
    }
    // If the user is not in the Unix group, the system silently drops the set-group-ID bit.
    guard try onDisk(folder.status()).st_mode & 0o7777 == mode else {
      throw .denied(.permissions("changing the mode of '\(path)'"))
    }
  }
}

extension ContainerPlace {
  /// The shape of the group's folder; throws `notFound`, or `denied` for a mode that Vault never sets.
  package func containerShape() throws(VaultError) -> ContainerShape {
    guard let status = try ContainerPlace.status(folder) else { throw .notFound(.group) }
    return try ContainerShape(folder: status)
  }

  /// What a writer changes of the file's and the log's status.
  func traces() throws(VaultError) -> [Int] {
    var traces: [Int] = []
    for case let found? in [try ContainerPlace.status(path), try ContainerPlace.status(logPath)] {
      traces += [Int(found.st_ino), found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec]
    }
    return traces
  }

  /// Whether the owner is replacing the files, and lets this user in again; not if a command was killed long ago.
  func isBeingReplaced() throws(VaultError) -> Bool {
    guard let status = try ContainerPlace.status(folder),
      case .interrupted(let group) = try ContainerShape(folder: status)
    else { return false }
    return group.isOurs && ChangeTime(status).age < ContainerShape.longestInterruption
  }

  /// Moves anything that is not a regular file away from the paths of log and index, such as a FIFO that somebody put there
  /// to stop everybody. It holds no data.
  @discardableResult
  func clearCompanions() -> Bool {
    var isMoved = false
    for path in [logPath, indexPath] {
      guard let found = try? ContainerPlace.status(path), !found.isRegular else { continue }
      if NewName.moveAside(path) != nil { isMoved = true }
    }
    return isMoved
  }
}

extension AccessGroupFile {
  /// Says that a killed command has closed the files of the group `name`, and nobody has let others in again.
  ///
  /// - Parameter age: how long ago at least, in nanoseconds: by default longer than a command takes.
  package func interruption(of name: String, olderThan age: Int = ContainerShape.longestInterruption) -> [Notice] {
    guard let status = try? ContainerPlace.status(resolvedPlace().folder), ChangeTime(status).age >= age,
      case .interrupted(let group)? = try? ContainerShape(folder: status), group.isOurs
    else { return [] }
    return [.groupInterrupted(group: name, unixGroup: group.number)]
  }
}
