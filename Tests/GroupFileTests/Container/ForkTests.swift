import Glibc
import TestSupport
import Testing

@testable import GroupFile

/// A child process uses none of its parent's connections.
@Suite(.serialized) struct ForkTests {
  static func expect(_ count: Int64, _ connection: Connection) throws {
    let found = try connection.value("SELECT count(*) FROM state")
    precondition(found == count)
  }

  @Test func `a child opens a group anew, and its parent keeps its locks`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder().makeGroup()
      let place = try ContainerPlace(folder: folder.path)
      do {
        let lease = try ConnectionPool.reader(at: place)
        try ForkTests.expect(1, lease.connection)
      }
      let status = HiddenCalls.status {
        do {
          let lease = try ConnectionPool.writer(at: place, waiting: 1000)
          try lease.connection.begin(.immediate)
          try lease.connection.statement("DELETE FROM state").run()
          try lease.connection.commit()
          return 0
        } catch {
          return 1
        }
      }
      precondition(status == 0)
      try ForkTests.expect(0, ConnectionPool.reader(at: place).connection)
    }
  }

  @Test func `a child neither uses a busy connection nor opens its file`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder().makeGroup()
      let place = try ContainerPlace(folder: folder.path)
      let lease = try ConnectionPool.writer(at: place)
      try lease.connection.begin(.immediate)
      try lease.connection.statement("DELETE FROM state").run()
      let status = HiddenCalls.status {
        var refusals = 0
        do throws(VaultError) { try lease.connection.begin(.reading) } catch {
          refusals += error == .storage(.forked) ? 1 : 0
        }
        do throws(VaultError) { _ = try Connection(at: place, access: .reading) } catch {
          refusals += error == .storage(.forked) ? 1 : 0
        }
        lease.connection.rollback()
        lease.connection.close()
        return refusals == 2 ? 0 : 1
      }
      precondition(status == 0)
      // The parent's transaction continues as if there had been no child.
      try ForkTests.expect(1, Connection(at: place, access: .reading))
      try lease.connection.commit()
      try ForkTests.expect(0, Connection(at: place, access: .reading))
    }
  }

  @Test func `a child that leaves its parent's change does not unlock the group`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder().makeGroup()
      let place = try ContainerPlace(folder: folder.path)
      let lock = try WriterLock(at: place)
      let child = HiddenCalls.fork()
      if child == 0 {
        _ = consume lock
        _exit(0)
      }
      waitpid(child, nil, 0)
      let other = unsafe open(place.lockPath, O_RDWR | O_CLOEXEC)
      precondition(other >= 0 && flock(other, LOCK_EX | LOCK_NB) != 0)
      _ = consume lock
      precondition(flock(other, LOCK_EX | LOCK_NB) == 0)
    }
  }

  @Test func `a long-lived child does not keep its parent's lock`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder().makeGroup()
      let place = try ContainerPlace(folder: folder.path)
      var pipe: [Int32] = [0, 0]
      precondition(unsafe Glibc.pipe(&pipe) == 0)
      var child: pid_t = 0
      do {
        let lock = try WriterLock(at: place)
        child = HiddenCalls.fork()
        if child == 0 {
          sleep(60)
          _exit(0)
        }
        _ = consume lock
      }
      _ = try WriterLock(at: place, waiting: 100)
      kill(child, SIGKILL)
    }
  }
}
