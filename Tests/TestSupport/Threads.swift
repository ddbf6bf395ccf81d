import Glibc
import Ground
import Synchronization

/// Waits until other threads or processes make a condition true.
///
/// Tests use this instead of sleeping, because timing depends on the machine. The limit only ends a hang.
///
/// - Returns: false if it is still not true after three minutes.
package func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(180)
  while try !condition() {
    guard ContinuousClock.now < deadline else { return false }
    usleep(5_000)
  }
  return true
}

/// Calls `body` again while it throws an error for which `isPassing` returns true, such as a lock that others hold for
/// too long on a slow disk; for three minutes at most.
package func persistently<Result>(
  _ isPassing: (any Error) -> Bool, _ body: () throws -> Result
) rethrows -> Result {
  let deadline = ContinuousClock.now + .seconds(180)
  while true {
    do { return try body() } catch {
      guard isPassing(error), ContinuousClock.now < deadline else { throw error }
    }
  }
}

/// The number of waiters for a lock of the file with this inode, according to the kernel. Its list can miss a line while
/// other processes lock and unlock.
package func lockWaiterCount(inode: UInt64) -> Int {
  let locks = unsafe open("/proc/locks", O_RDONLY | O_CLOEXEC)
  defer { close(locks) }
  var text: [UInt8] = []
  var page = [UInt8](repeating: 0, count: 65_536)
  // One call returns a page of it at most.
  while case let count = unsafe read(locks, &page, page.count), count > 0 { text += page[..<count] }
  return String(decoding: text, as: UTF8.self).split(separator: "\n").count {
    $0.contains(" -> ") && $0.contains(":\(inode) ")
  }
}

/// Runs `body` on `count` threads at once, with the numbers from 0, and waits for all of them.
///
/// `DispatchQueue.concurrentPerform` uses no more threads than there are cores, so most of its calls never run at the
/// same time.
package func onThreads(_ count: Int, _ body: (Int) -> Void) {
  withoutActuallyEscaping(body) { body in
    var threads: [pthread_t] = []
    for number in 0..<count {
      let work = unsafe Unmanaged.passRetained(Work { body(number) })
      var thread = pthread_t()
      let code = unsafe pthread_create(
        &thread, nil,
        { context in
          unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().run()
          return nil
        }, work.toOpaque())
      precondition(code == 0)
      threads.append(thread)
    }
    for thread in threads { pthread_join(thread, nil) }
  }
}

/// Runs `body` on `count` threads at once, as `onThreads(_:_:)`, and returns the errors that it threw.
package func onThreads(_ count: Int, _ body: (Int) throws -> Void) -> [any Error] {
  let failures = Mutex<[any Error]>([])
  onThreads(count) { (number: Int) -> Void in
    do { try body(number) } catch { failures.withLock { $0.append(error) } }
  }
  return failures.withLock { $0 }
}

private final class Work {
  let run: () -> Void

  init(_ run: @escaping () -> Void) { self.run = run }
}
