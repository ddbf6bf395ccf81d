internal import Glibc

/// The turn to write among the threads of this process, and then among all processes: a `flock` on the file `lock`.
///
/// SQLite's own lock is taken afterwards. It is waited for by naps, which alone would leave some of many writers behind.
package struct WriterLock: ~Copyable {
  private let turn: WriterTurn
  private let descriptor: Int32

  /// Waits for the turn.
  ///
  /// - Parameter milliseconds: How long to wait, at most, for both.
  /// - Throws: `busy` after that; `altered` where `lock` is not a regular file; `denied`, `storage`, `missing` (folder).
  package init(at place: ContainerPlace, waiting milliseconds: Int = 10_000) throws(GroupFileError) {
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    let turn = ConnectionTable.shared.turn(at: place.lockPath)
    guard turn.take(waiting: milliseconds) else { throw .busy }
    do throws(GroupFileError) {
      descriptor = try WriterLock.lock(place, turn, until: deadline)
    } catch {
      turn.pass()
      throw error
    }
    self.turn = turn
  }

  deinit {
    // Unlocked, and not only closed: a child forked meanwhile holds the same lock through its copy.
    flock(descriptor, LOCK_UN)
    Glibc.close(descriptor)
    turn.pass()
  }

  private static func lock(
    _ place: ContainerPlace, _ turn: WriterTurn, until deadline: ContinuousClock.Instant
  ) throws(GroupFileError) -> Int32 {
    let mode = try mode(of: place)
    while true {
      let opened = try open(place, mode: mode)
      let descriptor = flock(opened, LOCK_EX | LOCK_NB) == 0 ? opened : try wait(opened, turn, until: deadline)
      guard let descriptor else { throw .busy }
      // A file that was taken away while we waited for it locks nobody out.
      if identity(of: descriptor) == (try? ContainerPlace.status(place.lockPath))?.identity { return descriptor }
      Glibc.close(descriptor)
    }
  }

  private static func wait(
    _ opened: Int32, _ turn: WriterTurn, until deadline: ContinuousClock.Instant
  ) throws(GroupFileError) -> Int32? {
    let rest = Int((deadline - ContinuousClock.now) / .milliseconds(1))
    let identity = identity(of: opened)
    let wait: LockWait
    if rest > 0, let begun = turn.wait, begun.resume(for: identity) {
      Glibc.close(opened)
      wait = begun
    } else if rest > 0 {
      wait = try LockWait(opened, identity)
    } else {
      Glibc.close(opened)
      return nil
    }
    turn.wait = nil
    let descriptor = try wait.finish(waiting: rest)
    if descriptor == nil { turn.wait = wait }
    return descriptor
  }

  /// Whoever may write the group's file may lock; one who may only read it must not keep writers out.
  private static func mode(of place: ContainerPlace) throws(GroupFileError) -> mode_t {
    guard let status = try ContainerPlace.status(place.path) else { return 0o600 }
    // Everybody who may read the files may lock them, so they are for reading only.
    guard status.mode & S_IROTH == 0 else { throw ContainerTrust.refused("file", status.mode) }
    return status.mode & S_IWGRP == 0 ? 0o600 : 0o660
  }

  private static func open(_ place: ContainerPlace, mode: mode_t) throws(GroupFileError) -> Int32 {
    let path = place.lockPath
    let found = try ContainerPlace.status(path)
    if let found, !found.isRegular { throw .altered("the lock file is not a regular file") }
    // Without waiting, should a FIFO have taken its place just now.
    let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let descriptor = unsafe Glibc.open(path, found == nil ? flags | O_CREAT : flags, mode)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      Glibc.close(descriptor)
      throw .altered("the lock file is not a regular file")
    }
    if found == nil, status.st_mode & 0o777 != mode { fchmod(descriptor, mode) }
    return descriptor
  }

  private static func identity(of descriptor: Int32) -> FileIdentity? {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }
}
