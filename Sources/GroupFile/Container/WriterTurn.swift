internal import Glibc

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
