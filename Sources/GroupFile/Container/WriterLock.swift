internal import Glibc

/// The turn to write among the threads of this process, and then among all processes: a `flock` on the file `lock`.
///
/// SQLite's own lock is taken afterwards; its waiting by naps alone leaves some of many writers behind for long.
package struct WriterLock: ~Copyable {
  private let turn: WriterTurn
  private let descriptor: Int32

  /// Waits for the turn.
  ///
  /// - Parameter milliseconds: How long to wait, at most, for each of the two.
  /// - Throws: `busy` after that; `altered` where `lock` is not a regular file; `denied`, `storage`, `missing` (folder).
  package init(at place: ContainerPlace, waiting milliseconds: Int = 10_000) throws(GroupFileError) {
    let turn = ConnectionTable.shared.turn(at: place.lockPath)
    guard turn.take(waiting: milliseconds) else { throw .busy }
    do throws(GroupFileError) {
      descriptor = try WriterLock.lock(place, waiting: milliseconds)
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

  private static func lock(_ place: ContainerPlace, waiting milliseconds: Int) throws(GroupFileError) -> Int32 {
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    let mode = try WriterLock.mode(of: place)
    var nap: UInt32 = 200
    while true {
      let opened = try WriterLock.open(place, mode: mode)
      while flock(opened, LOCK_EX | LOCK_NB) != 0 {
        guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < deadline else {
          let failure: GroupFileError = errno == EWOULDBLOCK || errno == EINTR ? .busy : ResultCode.error(errno: errno)
          Glibc.close(opened)
          throw failure
        }
        usleep(nap)
        nap = min(nap * 2, 5000)
      }
      // A file that was taken away while we waited for it locks nobody out.
      if WriterLock.identity(of: opened) == (try? ContainerPlace.status(place.lockPath))?.identity { return opened }
      Glibc.close(opened)
      guard ContinuousClock.now < deadline else { throw .busy }
    }
  }

  /// Whoever may write the group's file may lock; one who may only read it must not keep writers out.
  private static func mode(of place: ContainerPlace) throws(GroupFileError) -> mode_t {
    guard let status = try ContainerPlace.status(place.path) else { return 0o600 }
    return status.permissions & S_IWGRP == 0 ? 0o600 : 0o660
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
