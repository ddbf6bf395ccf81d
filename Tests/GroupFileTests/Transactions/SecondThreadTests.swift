import Glibc
import Sealing
import TestSupport
import Testing

@testable import GroupFile

struct SecondThreadTests {
  /// Notes which thread releases it.
  private final class Witness: Sendable {
    private let note: @Sendable () -> Void

    init(_ note: @escaping @Sendable () -> Void) { self.note = note }

    deinit { note() }
  }

  @Test func `jobs run one after the other on a thread of their own, and the caller sees what they did`() {
    let thread = SecondThread()
    let threads = Locked<[pthread_t]>([])
    for number in 1...1_000 {
      thread.begin { threads.withLock { $0.append(pthread_self()) } }
      thread.wait()
      #expect(!thread.isBusy && threads.withLock { $0.count } == number)
    }
    #expect(threads.withLock { threads in threads.allSatisfy { pthread_equal($0, threads[0]) != 0 } })
    #expect(threads.withLock { pthread_equal($0[0], pthread_self()) == 0 })
  }

  @Test func `what a job has captured is released by the caller`() {
    let thread = SecondThread()
    let releaser = Locked<pthread_t?>(nil)
    // The closure has the only reference.
    func job(_ witness: Witness) -> @Sendable () -> Void { { withExtendedLifetime(witness) {} } }
    thread.begin(job(Witness { releaser.withLock { $0 = pthread_self() } }))
    thread.wait()
    #expect(releaser.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } } == true)
  }

  @Test func `what is not needed any more is released by the second thread before its next job`() {
    let thread = SecondThread()
    let releaser = Locked<pthread_t?>(nil)
    thread.begin {}
    thread.wait()
    thread.release(Witness { releaser.withLock { $0 = pthread_self() } })
    #expect(releaser.withLock { $0 } == nil)
    let isReleasedThere = Locked(false)
    thread.begin {
      let releaser = releaser.withLock { $0 }
      isReleasedThere.withLock { $0 = releaser.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }
    thread.wait()
    #expect(isReleasedThere.withLock { $0 })
  }

  @Test func `a job begun last is done even if its thread is given up`() {
    let done = Locked(false)
    do {
      let thread = SecondThread()
      thread.begin { done.withLock { $0 = true } }
    }
    #expect(eventually { done.withLock { $0 } })
  }
}
