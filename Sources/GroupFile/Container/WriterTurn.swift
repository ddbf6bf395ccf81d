internal import Glibc
internal import Ground
internal import Sealing

/// The right to write to one file among the threads of this process.
///
/// `flock` between descriptors of one process would also work, but waiting for it occupies a thread.
///
/// The thread that passed the turn may take it again before a waiting one wakes up, because a change of threads costs as
/// much as a tenth of a small change. But once the first waiter has waited for long, the turn is handed to it.
@safe package final class WriterTurn: @unchecked Sendable {
  /// A waiting thread.
  @safe private final class Waiter {
    let wakes = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    let patience = Deadline(after: 20)
    /// Whether the turn was handed to this thread.
    var hasTurn = false

    init() {
      // The monotonic clock, which cannot be set back during a wait.
      var attributes = pthread_condattr_t()
      unsafe pthread_condattr_init(&attributes)
      unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      unsafe pthread_cond_init(wakes, &attributes)
      unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
      unsafe pthread_cond_destroy(wakes)
      unsafe wakes.deallocate()
    }
  }

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var isTaken: Bool
  /// In the order in which they began to wait.
  private var waiters: [Waiter] = []
  /// A wait for the other processes' lock that an earlier holder of the turn gave up; only the current holder uses it.
  var wait: LockWait?
  /// The lock file as the last holder of the turn left it, open and unlocked; only the current holder uses it.
  var file: LockFile?

  package init(isTaken: Bool = false) {
    self.isTaken = isTaken
    unsafe pthread_mutex_init(mutex, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Waits for the turn; returns `false` if `deadline` passes without it.
  package func take(until deadline: Deadline) -> Bool {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    if isTaken {
      let waiter = Waiter()
      waiters.append(waiter)
      var time = deadline.time
      while isTaken, !waiter.hasTurn {
        if unsafe pthread_cond_timedwait(waiter.wakes, mutex, &time) == ETIMEDOUT { break }
      }
      if waiter.hasTurn { return true }
      waiters.removeAll { $0 === waiter }
      guard !isTaken else { return false }
    }
    isTaken = true
    return true
  }

  var waiterCount: Int {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return waiters.count
  }

  /// Passes the turn to the next waiter; callable from any thread.
  package func pass() {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    guard let first = waiters.first else {
      isTaken = false
      return
    }
    if first.patience.hasPassed {
      first.hasTurn = true
      waiters.removeFirst()
    } else {
      isTaken = false
    }
    unsafe pthread_cond_signal(first.wakes)
  }
}

/// Waits for a `flock` in a separate thread, so that the caller can stop waiting.
///
/// The blocking call grants the lock in turn but has no time limit; repeated attempts have no order, and with eight
/// writers they starved some for seconds. A wait that was given up continues and can be resumed; otherwise it releases
/// the lock as soon as it gets it.
final class LockWait: Sendable {
  private enum State {
    case wanted, unwanted, taken
    case failed(Int32)
  }

  private let file: LockFile
  private let state = Locked(State.wanted)
  private let ended = WriterTurn(isTaken: true)

  /// Begins to wait for `file`.
  ///
  /// - Throws: `storage` if no thread can be started.
  init(_ file: LockFile) throws(VaultError) {
    self.file = file
    guard DetachedThread.start({ self.run() }) else { throw .storage(.memory) }
  }

  /// Waits until `deadline`.
  ///
  /// - Returns: the file, now locked; `nil` if the wait continues in the background.
  /// - Throws: the error that kept the wait from getting the lock.
  func finish(until deadline: Deadline) throws(VaultError) -> LockFile? {
    _ = ended.take(until: deadline)
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

  /// Resumes a wait that was given up; returns `false` if it has ended meanwhile, or was for another file.
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
    // The wait was given up, or the lock is unavailable.
    if !isTaken { flock(file.descriptor, LOCK_UN) }
    ended.pass()
  }
}
