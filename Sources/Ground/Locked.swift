internal import CVaultSystem
internal import Glibc

/// A value that one thread at a time can use.
///
/// Like `Synchronization.Mutex`, but with a lock that Thread Sanitizer can see. On Linux, the sanitizer reports a race
/// for everything that the standard library's mutex protects.
// Not a class: a process that reads one item would pay for the type of each, made at its first use.
@safe package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  @usableFromInline let mutex = Mutex()
  @usableFromInline let value: UnsafeMutablePointer<Value>

  @inlinable
  package init(_ value: consuming sending Value) {
    unsafe self.value = .allocate(capacity: 1)
    unsafe self.value.initialize(to: value)
  }

  @inlinable
  deinit {
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
    mutex.destroy()
  }

  /// Lends the value while other threads wait. `body` must not call this method again.
  // Inlinable, so that each use is specialized for its types: every get calls it a dozen times.
  @inlinable
  package borrowing func withLock<Result: ~Copyable, Failure>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    mutex.lock()
    defer { mutex.unlock() }
    return try unsafe body(&value.pointee)
  }
}

/// A pthread mutex at a fixed address.
@safe @usableFromInline struct Mutex {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  @usableFromInline init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
  }

  @usableFromInline func destroy() {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  @usableFromInline func lock() { unsafe pthread_mutex_lock(mutex) }

  @usableFromInline func unlock() { unsafe pthread_mutex_unlock(mutex) }
}

/// A POSIX semaphore: counts signals that nobody has waited for yet.
@safe package final class CountingSemaphore: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  package init() { unsafe sem_init(semaphore, 0, 0) }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  package func signal() { unsafe sem_post(semaphore) }

  /// Waits for a signal and takes it; returns `false` if `deadline` passes without one.
  @discardableResult
  package func wait(until deadline: Deadline? = nil) -> Bool {
    while true {
      let result =
        if var time = deadline?.time { unsafe csystem_wait(semaphore, &time) } else {
          unsafe sem_wait(semaphore)
        }
      if result == 0 { return true }
      guard errno == EINTR else { return false }
    }
  }
}
