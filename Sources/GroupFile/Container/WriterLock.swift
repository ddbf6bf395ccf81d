internal import Glibc

/// The right to write, first among the threads of this process, and then among all processes: a `flock` on the file
/// `lock`.
///
/// SQLite's own lock is taken afterwards. SQLite waits for it by sleeping and retrying, which alone would starve some
/// of many writers.
package struct WriterLock: ~Copyable {
  private let turn: WriterTurn
  private let file: LockFile
  private let process = getpid()
  /// Whether somebody else may still have the lock that was at the path before, and write.
  let isShared: Bool

  /// Waits `milliseconds` at most for both turns; `toChangeModes` locks even a group that everyone may read. A lock
  /// file that somebody keeps locked, or that cannot be opened, is replaced if `replacing`, else it is an error.
  package init(
    at place: ContainerPlace, waiting milliseconds: Int = 10_000, toChangeModes: Bool = false, replacing: Bool = false
  ) throws(VaultError) {
    let deadline = Deadline(after: milliseconds)
    let turn = ConnectionPool.shared.turn(at: place.lockPath)
    guard turn.take(until: deadline) else { throw .busy(group: nil) }
    do throws(VaultError) {
      do throws(VaultError) {
        file = try WriterLock.lock(place, turn, until: deadline, toChangeModes)
        isShared = false
      } catch {
        guard replacing, error.isAvoidable else { throw error }
        file = try LockFile(replacingAt: place)
        isShared = true
      }
    } catch {
      turn.pass()
      throw error
    }
    self.turn = turn
  }

  deinit {
    // Closing alone would not unlock: a child forked meanwhile shares the lock through its copy of the descriptor, and must
    // leave it to this process.
    if process == getpid() { flock(file.descriptor, LOCK_UN) }
    turn.file = file
    turn.pass()
  }

  private static func lock(
    _ place: ContainerPlace, _ turn: WriterTurn, until deadline: Deadline, _ toChangeModes: Bool
  ) throws(VaultError) -> LockFile {
    while true {
      let opened = if let kept = turn.file { kept } else { try LockFile(place, toChangeModes) }
      turn.file = nil
      let isFree = flock(opened.descriptor, LOCK_EX | LOCK_NB) == 0
      if isFree, turn.wait?.isBlocked == false { turn.wait = nil }
      guard let file = isFree ? opened : try wait(opened, turn, until: deadline) else { throw .busy(group: nil) }
      // If the file was removed meanwhile, its lock excludes nobody, so open the new one.
      if file.identity == (try? ContainerPlace.status(place.lockPath))?.identity { return file }
    }
  }

  private static func wait(
    _ opened: LockFile, _ turn: WriterTurn, until deadline: Deadline
  ) throws(VaultError) -> LockFile? {
    guard !deadline.hasPassed else { return nil }
    guard turn.wait?.isBlocked != true, let wait = LockWait(opened) else {
      // No thread can wait in turn, or one that was given up still waits; there is never a second.
      try onDisk(opened.file.lock(until: deadline))
      return opened
    }
    turn.wait = nil
    let file = try wait.finish(until: deadline)
    if file == nil { turn.wait = wait }
    return file
  }
}

/// The open file `lock` of a group; closed when nobody uses it any more.
final class LockFile: Sendable {
  let identity: FileIdentity
  let file: OpenFile

  var descriptor: CInt { file.descriptor }

  private init(_ file: consuming OpenFile, _ status: stat) {
    identity = FileIdentity(status)
    self.file = file
  }

  convenience init(_ place: ContainerPlace, _ toChangeModes: Bool) throws(VaultError) {
    let found = try ContainerPlace.status(place.lockPath)
    if let found, !found.isRegular { throw LockFile.foreign }
    let mode = try LockFile.mode(of: place, toChangeModes)
    let file = try onDisk(LockFile.open(place.lockPath, making: found == nil ? mode : nil))
    let status = try onDisk(file.status())
    // A FIFO may have replaced the file just now.
    guard status.isRegular else { throw LockFile.foreign }
    self.init(file, status)
  }

  private static func open(_ path: String, making mode: mode_t?) throws(FileFault) -> OpenFile {
    // Another process may be faster, or somebody link a file of this user's there, whose mode must stay.
    if let mode { do { return try OpenFile(path, O_RDONLY | O_CREAT | O_EXCL, mode: mode) } catch .taken {} }
    return try OpenFile(path, O_RDONLY)
  }

  /// Puts a new file, which is locked already, at the path of the lock.
  ///
  /// If the path is taken by something that a file does not replace, the lock excludes nobody. Whoever needs this lock
  /// expects that of any.
  convenience init(replacingAt place: ContainerPlace) throws(VaultError) {
    let path = "\(place.lockPath)-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    let mode = try LockFile.mode(of: place, true)
    let file = try onDisk(OpenFile(path, O_RDONLY | O_CREAT | O_EXCL, mode: mode))
    let status: stat
    do throws(FileFault) {
      try file.lock(waiting: 0)
      status = try file.status()
    } catch {
      unsafe unlink(path)
      throw VaultError(error)
    }
    self.init(file, status)
    if unsafe rename(path, place.lockPath) != 0 { unsafe unlink(path) }
  }

  private static let foreign = VaultError.damaged(.container, "the lock file is not a regular file")

  /// The mode of the lock file: users who may write the group's file may lock, but users who may only read must not.
  private static func mode(of place: ContainerPlace, _ toChangeModes: Bool) throws(VaultError) -> mode_t {
    guard let status = try ContainerPlace.status(place.path) else { return 0o600 }
    // Everyone who may read the files may lock them, so Vault only reads such a group.
    guard toChangeModes || status.mode & S_IROTH == 0 else { throw ContainerShape.refused("file", status.mode) }
    return status.mode & S_IWGRP == 0 ? 0o600 : 0o660
  }
}
