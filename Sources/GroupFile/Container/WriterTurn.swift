internal import Glibc

/// The right to write to one file among the threads of this process.
///
/// `flock` between descriptors of one process would also work, but waiting for it occupies a thread.
///
/// The thread that passed the turn may take it again before a waiting one wakes up, because a change of threads costs as
/// much as a tenth of a small change. But once the first waiter has waited for long, the turn is handed to it.
final class WriterTurn: @unchecked Sendable {
  private struct State {
    var isTaken = false
    /// What wakes each waiting thread, in the order in which they began to wait.
    var waiters: [(wakes: CountingSemaphore, patience: Deadline)] = []
  }

  private let state = Locked(State())
  /// A wait for the other processes' lock that an earlier holder of the turn gave up; only the current holder uses it.
  var wait: LockWait?
  /// The lock file as the last holder of the turn left it, open and unlocked; only the current holder uses it.
  var file: LockFile?

  /// Waits for the turn; returns `false` if `deadline` passes without it.
  func take(until deadline: Deadline) -> Bool {
    let wakes = state.withLock { state -> CountingSemaphore? in
      guard state.isTaken else {
        state.isTaken = true
        return nil
      }
      state.waiters.append((CountingSemaphore(), Deadline(after: 20)))
      return state.waiters.last?.wakes
    }
    guard let wakes else { return true }
    while true {
      let isInTime = wakes.wait(until: deadline)
      let hasTurn = state.withLock { state -> Bool? in
        // Whoever was handed the turn is no waiter any more.
        guard let place = state.waiters.firstIndex(where: { $0.wakes === wakes }) else { return true }
        if state.isTaken, isInTime { return nil }
        state.waiters.remove(at: place)
        defer { state.isTaken = true }
        return !state.isTaken
      }
      if let hasTurn { return hasTurn }
    }
  }

  var testOnlyWaiterCount: Int { state.withLock { $0.waiters.count } }

  /// Passes the turn to the next waiter; callable from any thread.
  func pass() {
    state.withLock { state in
      let first = state.waiters.first
      state.isTaken = first?.patience.hasPassed ?? false
      if state.isTaken { state.waiters.removeFirst() }
      first?.wakes.signal()
    }
  }
}

/// Waits for a `flock` in a separate thread, so that the caller can stop waiting.
///
/// The blocking call grants the lock in turn but has no time limit; repeated attempts have no order, and with eight
/// writers they starved some for seconds. A wait that was given up continues, and releases the lock as soon as it gets it.
final class LockWait: Sendable {
  private enum State {
    case wanted, unwanted, taken
    case failed(Int32)
  }

  private let file: LockFile
  private let state = Locked(State.wanted)
  private let ended = CountingSemaphore()

  /// Begins to wait for `file`; `nil` if the system cannot start a thread.
  init?(_ file: LockFile) {
    self.file = file
    guard DetachedThread.start({ self.run() }) else { return nil }
  }

  /// Waits until `deadline`.
  ///
  /// - Returns: the file, now locked; `nil` if the wait continues in the background.
  /// - Throws: the error that kept the wait from getting the lock.
  func finish(until deadline: Deadline) throws(VaultError) -> LockFile? {
    ended.wait(until: deadline)
    let outcome = state.withLock { state in
      if case .wanted = state { state = .unwanted }
      return state
    }
    return switch outcome {
    case .taken: file
    case .failed(let number): throw VaultError(FileFault(errno: number))
    case .wanted, .unwanted: nil
    }
  }

  /// Whether a wait that was given up still occupies its thread.
  var isBlocked: Bool { state.withLock { if case .unwanted = $0 { true } else { false } } }

  private func run() {
    var failure: Int32
    repeat { failure = flock(file.descriptor, LOCK_EX) == 0 ? 0 : errno } while failure == EINTR
    let isTaken = state.withLock { state in
      if case .wanted = state, failure == 0 { state = .taken } else { state = .failed(failure) }
      if case .taken = state { return true } else { return false }
    }
    // The wait was given up, or the lock is unavailable.
    if !isTaken { flock(file.descriptor, LOCK_UN) }
    ended.signal()
  }
}
