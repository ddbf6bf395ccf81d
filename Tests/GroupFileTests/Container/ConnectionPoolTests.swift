import Foundation
import Glibc
import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct ConnectionPoolTests {
  @Test func `an idle connection is reused, whichever path leads to its file`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let link = TemporaryFolder()
    #expect(unsafe symlink(folder.path, link.file("link")) == 0)
    var first: ObjectIdentifier?
    for path in [folder.path, link.file("link"), folder.path + "/../" + (folder.path as NSString).lastPathComponent] {
      let lease = try ConnectionPool.reader(at: ContainerPlace(folder: path))
      if let first { #expect(ObjectIdentifier(lease.connection) == first) }
      first = ObjectIdentifier(lease.connection)
    }
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder.path))
  }

  @Test func `two concurrent readers get two connections, and a writer gets a third`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    let first = try ConnectionPool.reader(at: place)
    let second = try ConnectionPool.reader(at: place)
    let writer = try ConnectionPool.writer(at: place)
    #expect(first.connection !== second.connection)
    #expect(writer.connection !== first.connection && writer.connection !== second.connection)
    #expect(writer.connection.access == .writing)
  }

  @Test func `a connection returned in the middle of a transaction is handed out without one`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    do {
      let lease = try ConnectionPool.writer(at: place)
      try lease.connection.begin(.immediate)
      try lease.connection.statement("DELETE FROM state").run()
    }
    let lease = try ConnectionPool.writer(at: place)
    #expect(!lease.connection.isInTransaction)
    #expect(try lease.connection.value("SELECT count(*) FROM state") == 1)
  }

  @Test func `a closed connection is not handed out again`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    do { try ConnectionPool.reader(at: place).connection.close() }
    let lease = try ConnectionPool.reader(at: place)
    try lease.connection.begin(.reading)
    try lease.connection.commit()
  }

  @Test func `a replaced file is opened anew, and nothing is committed to the old one`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let other = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    let lease = try ConnectionPool.writer(at: place)
    try lease.connection.begin(.immediate)
    try lease.connection.statement("DELETE FROM state").run()
    #expect(try !lease.connection.hasMoved())
    for name in ["group.vault", "group.vault-wal", "group.vault-shm"] {
      #expect(unsafe rename(folder.file(name), folder.file(name) + ".old") == 0)
      #expect(unsafe rename(other.file(name), folder.file(name)) == 0)
    }
    #expect(try lease.connection.hasMoved())
    #expect(throws: VaultError.storage(.replaced)) { try lease.connection.commit() }
    #expect(!lease.connection.isInTransaction)
    let reader = try ConnectionPool.reader(at: place)
    #expect(try reader.connection.value("SELECT count(*) FROM state") == 1)
    #expect(reader.connection.identity != lease.connection.identity)
  }

  @Test(arguments: ["group.vault-wal", "group.vault-shm"])
  func `nothing is committed once the log or the index has been deleted`(_ name: String) throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    try connection.begin(.immediate)
    try connection.statement("DELETE FROM state").run()
    folder.remove(name)
    #expect(throws: VaultError.storage(.replaced)) { try connection.commit() }
    connection.close()
    let again = try Connection(folder: folder.path, access: .reading)
    #expect(try again.value("SELECT count(*) FROM state") == 1)
  }

  @Test func `the pool keeps no more idle connections than its limit`() throws {
    var folders = [try TemporaryFolder().makeGroup()]
    let lease = try ConnectionPool.reader(at: ContainerPlace(folder: folders[0].path))
    defer { _ = lease.connection.identity }
    let limit = ConnectionPool.idleLimit.withLock(\.self)
    for _ in 0..<limit + 10 {
      let folder = try TemporaryFolder().makeGroup()
      folders.append(folder)
      _ = try ConnectionPool.reader(at: ContainerPlace(folder: folder.path)).connection.identity
    }
    let open = try folders.flatMap { try openFiles(inside: $0.path) }
    // The file, its log and its index. Other tests share the pool, and may have closed all but the one in use.
    #expect(!(try openFiles(inside: folders[0].path)).isEmpty)
    #expect(open.count <= 3 * (limit + 1))
    for folder in folders { ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder.path)) }
  }

  @Test func `a connection to a file that was replaced while it was used is closed at the end`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let other = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    var old: Connection?
    do {
      let lease = try ConnectionPool.reader(at: place)
      old = lease.connection
      for name in ["group.vault", "group.vault-wal", "group.vault-shm"] {
        #expect(unsafe rename(other.file(name), folder.file(name)) == 0)
      }
      _ = try ConnectionPool.reader(at: place).connection.identity
    }
    #expect(old?.isReusable == false)
    ConnectionPool.closeIdle(at: place)
  }

  @Test func `a process that has written to many groups keeps few lock files open`() throws {
    var folders: [TemporaryFolder] = []
    for _ in 0..<2 * ConnectionPool.turnLimit {
      let folder = try TemporaryFolder().makeGroup()
      folders.append(folder)
      _ = try ConnectionPool.writer(at: ContainerPlace(folder: folder.path)).connection.identity
    }
    let locks = try folders.flatMap { try openFiles(inside: $0.path) }.count { $0 == "lock" }
    // Other tests share the locks, too.
    #expect(locks <= ConnectionPool.turnLimit)
    for folder in folders { ConnectionPool.forget(inside: folder.path) }
    #expect(try folders.flatMap { try openFiles(inside: $0.path) } == [])
  }

  @Test func `sixteen threads read and write without losing a change`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    let failures = Locked<[String]>([])
    onThreads(16) { thread in
      do {
        for round in 0..<20 {
          try increment(place)
          try read(place)
          if round % 7 == thread % 7 { try read(place) }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let lease = try ConnectionPool.reader(at: place)
    #expect(try lease.connection.value("SELECT max(epoch) FROM chain") == 320)
    ConnectionPool.closeIdle(at: place)
  }

  @Test func `connections can be opened while others write`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    let failures = Locked<[String]>([])
    onThreads(6) { thread in
      do {
        for _ in 0..<100 {
          if thread == 0 { try increment(place) } else { try Connection(at: place, access: .reading).close() }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    ConnectionPool.closeIdle(at: place)
  }

  private func increment(_ place: ContainerPlace) throws {
    let lease = try ConnectionPool.writer(at: place, waiting: 180_000)
    try lease.connection.begin(.immediate)
    try lease.connection.statement("INSERT INTO chain SELECT ifnull(max(epoch),0)+1,zeroblob(3000) FROM chain").run()
    try lease.connection.commit()
    try lease.connection.checkpointIfLarge()
  }

  private func read(_ place: ContainerPlace) throws {
    let lease = try ConnectionPool.reader(at: place)
    try lease.connection.begin(.reading)
    try lease.connection.statement("SELECT bytes FROM state").run()
    try lease.connection.commit()
  }
}
