internal import Glibc

/// A thread beside the caller's, for work on what the caller has read already: sealing and opening rows.
///
/// It does one job at a time, and ends with the value. Where the system gives no thread, the caller does the work.
@safe package final class SecondThread: Sendable {
  private let bench = Bench()

  package init() {}

  deinit { bench.end() }

  /// Begins `job`; the one before has been waited for.
  package func begin(_ job: @escaping @Sendable () -> Void) {
    if !bench.offer(job) { job() }
  }

  /// Waits until the job that was begun last is done.
  package func wait() { bench.wait() }

  /// Where the two threads meet. It outlives the value until the thread has seen the end.
  @safe private final class Bench: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var job: (@Sendable () -> Void)?
    private var isStarted = false
    private var isEnded = false

    init() {
      unsafe pthread_mutex_init(mutex, nil)
      unsafe pthread_cond_init(changed, nil)
    }

    deinit {
      unsafe pthread_cond_destroy(changed)
      unsafe pthread_mutex_destroy(mutex)
      unsafe changed.deallocate()
      unsafe mutex.deallocate()
    }

    func offer(_ new: @escaping @Sendable () -> Void) -> Bool {
      if !isStarted { isStarted = DetachedThread.start { self.run() } }
      guard isStarted else { return false }
      locked { job = new }
      return true
    }

    func wait() {
      unsafe pthread_mutex_lock(mutex)
      while job != nil { unsafe pthread_cond_wait(changed, mutex) }
      unsafe pthread_mutex_unlock(mutex)
    }

    func end() { locked { isEnded = true } }

    private func locked(_ change: () -> Void) {
      unsafe pthread_mutex_lock(mutex)
      change()
      unsafe pthread_cond_broadcast(changed)
      unsafe pthread_mutex_unlock(mutex)
    }

    private func run() {
      while true {
        unsafe pthread_mutex_lock(mutex)
        while job == nil, !isEnded { unsafe pthread_cond_wait(changed, mutex) }
        let next = job
        unsafe pthread_mutex_unlock(mutex)
        guard let next else { return }
        next()
        locked { job = nil }
      }
    }
  }
}
