import Foundation
import Glibc
import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct WriterLockTests {
  @Test func `a second writer in the same process waits, and gives up after the time limit`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    do {
      let lock = try WriterLock(at: place)
      let elapsed = ContinuousClock().measure {
        #expect(throws: VaultError.busy(group: nil)) { _ = try WriterLock(at: place, waiting: 200) }
      }
      #expect(elapsed > .milliseconds(190))
      _ = consume lock
    }
    _ = try WriterLock(at: place, waiting: 0)
  }

  @Test func `a thread that has waited for long gets its turn before one that comes back at once`() {
    let turn = WriterTurn()
    #expect(turn.take(until: Deadline(after: 0)))
    onThreads(2) { thread in
      guard thread == 0 else {
        #expect(turn.take(until: Deadline(after: 180_000)))
        return
      }
      #expect(eventually { turn.testOnlyWaiterCount == 1 })
      usleep(30_000)
      turn.pass()
      // The other thread never passes the turn.
      #expect(!turn.take(until: Deadline(after: 0)))
    }
    #expect(turn.testOnlyWaiterCount == 0)
  }

  @Test func `a writer waits for another process's lock, and gives up after the time limit`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    // To `flock`, a lock of another descriptor is like a lock of another process.
    let other = unsafe open(place.lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(other, LOCK_EX) == 0)
    let elapsed = ContinuousClock().measure {
      #expect(throws: VaultError.busy(group: nil)) { _ = try WriterLock(at: place, waiting: 200) }
    }
    #expect(elapsed > .milliseconds(190))
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { close(other) }
    _ = try WriterLock(at: place, waiting: 180_000)
  }

  @Test func `a writer waits for another process's lock even if no thread can be started`() async {
    await #expect(processExitsWith: .success) {
      // Root may start any number of threads.
      if geteuid() == 0 { precondition(setuid(65_533) == 0) }
      let folder = try TemporaryFolder().makeGroup()
      let place = try ContainerPlace(folder: folder.path)
      let other = unsafe open(place.lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      precondition(flock(other, LOCK_EX) == 0)
      let begins = CountingSemaphore()
      let isStarted = DetachedThread.start {
        begins.wait()
        usleep(50_000)
        close(other)
      }
      precondition(isStarted)
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      precondition(unsafe setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &none) == 0)
      precondition(!DetachedThread.start {})
      begins.signal()
      _ = try WriterLock(at: place, waiting: 180_000)
    }
  }

  @Test func `a wait that was given up blocks nobody, and there is never a second`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    let other = unsafe open(place.lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(other, LOCK_EX) == 0)
    for _ in 0..<50 { #expect(throws: VaultError.busy(group: nil)) { _ = try WriterLock(at: place, waiting: 2) } }
    let inode = try #require(try ContainerPlace.status(place.lockPath)?.identity.inode)
    #expect(eventually { lockWaiterCount(inode: inode) == 1 })
    flock(other, LOCK_UN)
    // The abandoned wait gets the lock and releases it.
    #expect(eventually { flock(other, LOCK_EX | LOCK_NB) == 0 })
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) { close(other) }
    _ = try WriterLock(at: place, waiting: 180_000)
  }

  @Test func `lock files that are replaced again and again occupy one thread at most`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    var others: [CInt] = []
    defer { for other in others { close(other) } }
    func replaceLock() {
      unsafe unlink(place.lockPath)
      unsafe others.append(open(place.lockPath, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
    }
    func isBusy() -> Bool {
      do { _ = try WriterLock(at: place, waiting: 20) } catch { return true }
      return false
    }
    let turn = ConnectionPool.shared.turn(at: place.lockPath)
    replaceLock()
    #expect(flock(others[0], LOCK_EX) == 0)
    #expect(eventually { isBusy() && turn.wait != nil })
    let first = try #require(turn.wait)
    for round in 1...4 {
      replaceLock()
      // Those that are free must not make it forget the thread that is still blocked.
      let isLocked = round.isMultiple(of: 2)
      if isLocked { #expect(flock(others[round], LOCK_EX) == 0) }
      #expect(isBusy() == isLocked && turn.wait === first)
    }
    close(others.removeFirst())
    #expect(eventually { !first.isBlocked })
    #expect(eventually { isBusy() && turn.wait !== first })
  }

  @Test func `a lock file that was replaced during the wait does not lock anyone out`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    let other = unsafe open(place.lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(other, LOCK_EX) == 0)
    let moved = Locked(false)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) {
      unsafe unlink(place.lockPath)
      moved.withLock { $0 = true }
      close(other)
    }
    let lock = try WriterLock(at: place, waiting: 180_000)
    #expect(moved.withLock { $0 })
    // Later lockers find the new file, which is locked.
    let next = unsafe open(place.lockPath, O_RDWR | O_CLOEXEC)
    #expect(next >= 0 && flock(next, LOCK_EX | LOCK_NB) != 0)
    close(next)
    _ = consume lock
  }

  @Test func `threads take the lock in turn`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    let inside = Locked((now: 0, most: 0, turns: 0))
    onThreads(8) { _ in
      for _ in 0..<50 {
        guard let lock = try? WriterLock(at: place, waiting: 180_000) else { continue }
        inside.withLock { state in
          state.now += 1
          state.most = max(state.most, state.now)
          state.turns += 1
        }
        inside.withLock { $0.now -= 1 }
        _ = consume lock
      }
    }
    #expect(inside.withLock { $0.most } == 1)
    #expect(inside.withLock { $0.turns } == 400)
  }
}
