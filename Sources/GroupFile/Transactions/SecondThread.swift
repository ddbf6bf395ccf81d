internal import CVaultSystem
internal import Glibc
import Synchronization

/// A second thread for work on data that the caller has already read: sealing and opening rows.
///
/// It does one job at a time, and ends with this value. If the system cannot start a thread, the caller does the work.
///
/// If one thread frees what another one has allocated, both wait for the allocator's lock. So the caller releases what
/// a job has captured, when it waits for the job, and the second thread releases what is passed to `release(_:)`.
@safe package final class SecondThread: Sendable {
  private let bench = Bench()

  package init() {}

  deinit { bench.end() }

  /// Begins `job`. The caller must have waited for the previous one.
  package func begin(_ job: @escaping @Sendable () -> Void) { if !bench.offer(job) { job() } }

  package func begin<Value>(_ result: JobResult<Value>, _ job: @escaping @Sendable () throws(VaultError) -> Value) {
    begin { result.make(job) }
  }

  /// Waits for the job that was begun last. The second thread then releases `value`, which a job has made, before it
  /// begins the next one.
  package func release<Value: Sendable>(_ value: Value) {
    bench.wait()
    bench.unneeded = { _ = value }
  }

  package var isBusy: Bool { bench.isBusy }

  /// Waits for the job that was begun last.
  package func wait() { bench.wait() }

  /// The state that the two threads share. It exists until the second thread has ended, even if that is after `deinit`.
  @safe private final class Bench: @unchecked Sendable {
    private let begun = CountingSemaphore()
    private let finished = CountingSemaphore()
    /// The job that was begun and not waited for.
    private var job: (@Sendable () -> Void)?
    /// Keeps what the second thread will release.
    var unneeded: (@Sendable () -> Void)?
    /// Whether `job` is not finished yet.
    private let hasJob = Atomic(false)
    private var isStarted = false
    private let process = getpid()

    var isBusy: Bool { hasJob.load(ordering: .acquiring) }

    func offer(_ new: @escaping @Sendable () -> Void) -> Bool {
      if !isStarted {
        // Some kernels start a thread on its starter's busy core and move it only 5 to 20 ms later, when many jobs
        // could have been done.
        let processor = csystem_processor()
        isStarted = DetachedThread.start {
          csystem_leave_processor(processor)
          self.run()
        }
      }
      guard isStarted else { return false }
      job = new
      hasJob.store(true, ordering: .releasing)
      begun.signal()
      return true
    }

    func wait() {
      // A forked child has no second thread.
      guard job != nil, process == getpid() else { return }
      watch(whileBusy: true)
      finished.wait()
      job = nil
    }

    /// Lets the second thread end, after its job.
    func end() { begun.signal() }

    private func run() {
      while true {
        watch(whileBusy: false)
        begun.wait()
        guard isBusy else { return }
        unneeded = nil
        job?()
        hasJob.store(false, ordering: .releasing)
        finished.signal()
      }
    }

    /// Looks for a while before the thread sleeps: sleeping and being woken take as long as some twenty rows.
    private func watch(whileBusy: Bool) {
      var looks = 0
      while isBusy == whileBusy, looks < 5_000 { looks += 1 }
    }
  }
}

/// What the last job made, for whoever has waited for it.
package final class JobResult<Value: Sendable>: Sendable {
  private let result: Locked<Result<Value, VaultError>>

  package init(_ first: Value) { result = Locked(.success(first)) }

  fileprivate func make(_ body: () throws(VaultError) -> Value) {
    let new = Result { () throws(VaultError) in try body() }
    result.withLock { $0 = new }
  }

  package func get() throws(VaultError) -> Value { try result.withLock { $0 }.get() }

  func take(leaving empty: Value) throws(VaultError) -> Value {
    try result.withLock { result in
      defer { result = .success(empty) }
      return result
    }.get()
  }
}

/// Threads that are never joined.
package enum DetachedThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Runs `body` in a new thread; if the system cannot start one, returns `false` without running it.
  package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    // Blocks all signals, so that the program's signal handlers run in the program's own threads.
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let retained = unsafe Unmanaged.passRetained(Body(body))
    let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
      if let argument = unsafe argument { unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
      return nil
    }
    var thread = pthread_t()
    guard unsafe pthread_create(&thread, nil, main, retained.toOpaque()) == 0 else {
      unsafe retained.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}
