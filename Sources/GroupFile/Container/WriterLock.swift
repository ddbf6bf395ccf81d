internal import Glibc
internal import Sealing

/// The turn to write among the threads of this process, and then among all processes: a `flock` on the file `lock`.
///
/// SQLite's own lock is taken afterwards. It is waited for by naps, which alone would leave some of many writers behind.
package struct WriterLock: ~Copyable {
  private let turn: WriterTurn
  private let file: LockFile

  /// Waits for the turn.
  ///
  /// - Parameters:
  ///   - milliseconds: How long to wait, at most, for both.
  ///   - toChangeModes: Whether a group that everybody may read is locked, too: to be closed.
  /// - Throws: `busy` after that; `altered` where `lock` is not a regular file; `denied`, `storage`, `missing` (folder).
  package init(
    at place: ContainerPlace, waiting milliseconds: Int = 10_000, toChangeModes: Bool = false
  ) throws(GroupFileError) {
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    let turn = ConnectionTable.shared.turn(at: place.lockPath)
    guard turn.take(waiting: milliseconds) else { throw .busy }
    do throws(GroupFileError) {
      file = try WriterLock.lock(place, turn, until: deadline, toChangeModes)
    } catch {
      turn.pass()
      throw error
    }
    self.turn = turn
  }

  deinit {
    // Unlocked, and not only closed: a child forked meanwhile holds the same lock through its copy.
    flock(file.descriptor, LOCK_UN)
    turn.file = file
    turn.pass()
  }

  private static func lock(
    _ place: ContainerPlace, _ turn: WriterTurn, until deadline: ContinuousClock.Instant, _ toChangeModes: Bool
  ) throws(GroupFileError) -> LockFile {
    while true {
      let opened: LockFile
      if let kept = turn.file { opened = kept } else { opened = try LockFile(place, toChangeModes) }
      turn.file = nil
      let isFree = flock(opened.descriptor, LOCK_EX | LOCK_NB) == 0
      guard let file = isFree ? opened : try wait(opened, turn, until: deadline) else { throw .busy }
      // A file that was taken away meanwhile locks nobody out.
      if file.identity == (try? ContainerPlace.status(place.lockPath))?.identity { return file }
      Glibc.close(file.descriptor)
    }
  }

  private static func wait(
    _ opened: LockFile, _ turn: WriterTurn, until deadline: ContinuousClock.Instant
  ) throws(GroupFileError) -> LockFile? {
    let rest = Int((deadline - ContinuousClock.now) / .milliseconds(1))
    let wait: LockWait
    if rest > 0, let begun = turn.wait, begun.resume(for: opened.identity) {
      Glibc.close(opened.descriptor)
      wait = begun
    } else if rest > 0 {
      wait = try LockWait(opened)
    } else {
      Glibc.close(opened.descriptor)
      return nil
    }
    turn.wait = nil
    let file = try wait.finish(waiting: rest)
    if file == nil { turn.wait = wait }
    return file
  }
}

/// The file `lock` of a group, open.
struct LockFile {
  let descriptor: Int32
  /// Which file it is.
  let identity: FileIdentity

  /// Opens the file, and makes it where there is none.
  init(_ place: ContainerPlace, _ toChangeModes: Bool) throws(GroupFileError) {
    let path = place.lockPath
    let found = try ContainerPlace.status(path)
    if let found, !found.isRegular { throw LockFile.foreign }
    // Without waiting, should a FIFO have taken its place just now.
    let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let mode = try found == nil ? LockFile.mode(of: place, toChangeModes) : 0
    descriptor = unsafe open(path, found == nil ? flags | O_CREAT : flags, mode)
    guard descriptor >= 0 else { throw ResultCode.error(errno: errno) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw LockFile.foreign
    }
    if status.st_mode & S_IROTH != 0 {
      // Everybody may lock the lock, and so perhaps the files, too.
      do throws(GroupFileError) { _ = try LockFile.mode(of: place, toChangeModes) } catch {
        close(descriptor)
        throw error
      }
    }
    if found == nil, status.st_mode & 0o777 != mode { fchmod(descriptor, mode) }
    identity = FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  private static let foreign = GroupFileError.altered("the lock file is not a regular file")

  /// Whoever may write the group's file may lock; one who may only read it must not keep writers out.
  private static func mode(of place: ContainerPlace, _ toChangeModes: Bool) throws(GroupFileError) -> mode_t {
    guard let status = try ContainerPlace.status(place.path) else { return 0o600 }
    // Everybody who may read the files may lock them, so they are for reading only.
    guard toChangeModes || status.mode & S_IROTH == 0 else { throw ContainerTrust.refused("file", status.mode) }
    return status.mode & S_IWGRP == 0 ? 0o600 : 0o660
  }
}

/// The turn to write to one file among the threads of this process.
///
/// `flock` between descriptors of one process would do, but waiting for it takes a thread.
@safe final class WriterTurn: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let passed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isTaken: Bool
  /// A wait for the other processes' lock that was given up, for whoever has the turn.
  var wait: LockWait?
  /// The lock file as the last turn left it, open and not locked, for whoever has the turn.
  var file: LockFile?

  init(isTaken: Bool = false) {
    self.isTaken = isTaken
    unsafe pthread_mutex_init(mutex, nil)
    // A clock that nobody sets back while somebody waits.
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(passed, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    if let file { close(file.descriptor) }
    unsafe pthread_cond_destroy(passed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe passed.deallocate()
    unsafe mutex.deallocate()
  }

  /// Waits for the turn; `false` after `milliseconds` without it.
  func take(waiting milliseconds: Int) -> Bool {
    var deadline = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &deadline)
    let nanoseconds = deadline.tv_nsec + milliseconds % 1000 * 1_000_000
    deadline.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
    deadline.tv_nsec = nanoseconds % 1_000_000_000
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while isTaken { if unsafe pthread_cond_timedwait(passed, mutex, &deadline) == ETIMEDOUT { break } }
    guard !isTaken else { return false }
    isTaken = true
    return true
  }

  /// Passes the turn to the next; from any thread.
  func pass() {
    unsafe pthread_mutex_lock(mutex)
    isTaken = false
    unsafe pthread_cond_signal(passed)
    unsafe pthread_mutex_unlock(mutex)
  }
}

/// Waits for a `flock` in a thread of its own, so that whoever asked may stop waiting.
///
/// The call that takes a lock in turn has no time limit, and trying again and again has no turn: with eight writers it
/// left some behind for seconds. A wait that nobody wants any more goes on, can be taken up again, and otherwise lets go
/// of the lock as soon as it has it.
final class LockWait: Sendable {
  private enum State {
    case wanted, unwanted, taken
    case failed(Int32)
  }

  private let file: LockFile
  private let state = Locked(State.wanted)
  private let ended = WriterTurn(isTaken: true)

  /// Begins to wait for `file`, which belongs to the wait until it has the lock.
  ///
  /// - Throws: `storage` where there can be no further thread.
  init(_ file: LockFile) throws(GroupFileError) {
    self.file = file
    guard DetachedThread.start({ self.run() }) else {
      close(file.descriptor)
      throw .storage(.memory)
    }
  }

  /// Waits for at most `milliseconds`.
  ///
  /// - Returns: The file, now locked and the caller's; `nil` where the wait goes on without them.
  /// - Throws: the error that kept the wait from getting the lock.
  func finish(waiting milliseconds: Int) throws(GroupFileError) -> LockFile? {
    _ = ended.take(waiting: milliseconds)
    let outcome = state.withLock { state in
      if case .wanted = state { state = .unwanted }
      return state
    }
    return switch outcome {
    case .taken: file
    case .failed(let number): throw ResultCode.error(errno: number)
    case .wanted, .unwanted: nil
    }
  }

  /// Takes up a wait that was given up; `false` where it has ended meanwhile, or was for another file.
  func resume(for identity: FileIdentity) -> Bool {
    state.withLock { state in
      guard case .unwanted = state, file.identity == identity else { return false }
      state = .wanted
      return true
    }
  }

  private func run() {
    var failure: Int32 = 0
    while flock(file.descriptor, LOCK_EX) != 0 {
      failure = errno
      guard failure == EINTR else { break }
      failure = 0
    }
    let isTaken = state.withLock { state in
      if case .wanted = state, failure == 0 { state = .taken } else { state = .failed(failure) }
      if case .taken = state { return true } else { return false }
    }
    if !isTaken {
      // Unlocked and closed: nobody wants it, or nobody can have it.
      flock(file.descriptor, LOCK_UN)
      close(file.descriptor)
    }
    ended.pass()
  }
}
