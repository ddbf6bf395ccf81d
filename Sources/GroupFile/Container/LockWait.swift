internal import Glibc
internal import Sealing

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
