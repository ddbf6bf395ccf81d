import Foundation
import Vault

/// Makes calls, one after the other, on a thread that may wait for disks and locks.
///
/// Swift's own threads are as few as the cores and must not wait, so that the tasks of a program go on.
actor CallQueue {
  private let thread = WaitingThread()

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  func run<Result: ~Copyable & Sendable, Failure>(
    _ call: @Sendable () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try call()
  }
}

/// A thread that begins with the first job and ends when there was none for a while.
private final class WaitingThread: SerialExecutor, @unchecked Sendable {
  private let changed = NSCondition()
  private var jobs: [UnownedJob] = []
  private var isRunning = false

  /// In seconds.
  private static let patience = 10.0

  func enqueue(_ job: consuming ExecutorJob) {
    changed.lock()
    jobs.append(UnownedJob(job))
    if isRunning {
      changed.signal()
      changed.unlock()
    } else {
      isRunning = true
      changed.unlock()
      // Without a thread, the caller's thread has to do it: late is better than never.
      if !DetachedThread.start({ self.work(whileIdle: WaitingThread.patience) }) { work(whileIdle: 0) }
    }
  }

  private func work(whileIdle seconds: Double) {
    while true {
      changed.lock()
      let end = Date(timeIntervalSinceNow: seconds)
      while jobs.isEmpty, changed.wait(until: end) {}
      let next = jobs
      jobs = []
      if next.isEmpty { isRunning = false }
      changed.unlock()
      guard !next.isEmpty else { return }
      for job in next { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
  }
}
