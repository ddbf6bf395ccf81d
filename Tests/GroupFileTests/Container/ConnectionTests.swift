import CVaultSQLite
import CVaultSystem
import Dispatch
import Foundation
import Ground
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import GroupFile

@Suite struct ConnectionTests {
  @Test func `a new file reads back what was written to it`() throws {
    let folder = TemporaryFolder()
    let making = try Connection.create(folder: folder.path)
    try making.begin(.immediate)
    try making.statement("INSERT INTO state VALUES(?,?)").bind(1, Int64(1)).bind(2, [1, 2, 3]).run()
    try making.commit()
    try making.place()
    let reader = try Connection(folder: folder.path, access: .reading)
    try reader.begin(.reading)
    let row = try reader.statement("SELECT bytes FROM state WHERE part=?").bind(1, Int64(1))
    #expect(try row.step())
    #expect(try row.bytes(0, count: 3...3) == [1, 2, 3])
    try reader.commit()
    #expect(folder.names() == ["group.vault", "group.vault-shm", "group.vault-wal"])
  }
  @Test func `a log that grows while the file is opened is not mistaken for another log`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let isOver = Locked(false)
    let end = DispatchSemaphore(value: 0)
    let path = folder.path
    DispatchQueue.global().async {
      defer { end.signal() }
      guard let writer = try? Connection(folder: path, access: .writing) else { return }
      while !isOver.withLock({ $0 }) {
        try? writer.begin(.immediate)
        try? writer.statement("UPDATE state SET bytes=randomblob(3000)").run()
        try? writer.commit()
      }
    }
    defer {
      isOver.withLock { $0 = true }
      end.wait()
    }
    for _ in 0..<200 { _ = try Connection(folder: path, access: .reading) }
  }

  @Test func `a file that is replaced while it is opened is never mixed with the log of its successor`() throws {
    // The successors are larger, and all that they hold is in their logs.
    let small = try TemporaryFolder().makeGroup()
    let large = try TemporaryFolder().makeGroup()
    let writer = try Connection(folder: large.path, access: .writing)
    try writer.begin(.immediate)
    for part in 101...140 {
      try writer.statement("INSERT INTO state VALUES(?,zeroblob(9000))").bind(1, Int64(part)).run()
    }
    try writer.commit()
    writer.close()
    let parent = TemporaryFolder()
    let place = parent.file("group")
    let manager = FileManager.default
    let successors = (0..<200).map { parent.file("\($0)") }
    for (number, successor) in successors.enumerated() {
      try manager.copyItem(atPath: number % 2 == 0 ? large.path : small.path, toPath: successor)
    }
    try manager.copyItem(atPath: small.path, toPath: place)
    let isOver = Atomic(false)
    let failures = onThreads(4) { thread in
      guard thread == 0 else {
        while !isOver.load(ordering: .acquiring) {
          let connection: Connection
          do throws(VaultError) { connection = try Connection(folder: place, access: .reading) } catch {
            guard error == .storage(.replaced) else { throw error }
            continue
          }
          // Other threads open and close the same file and its successors meanwhile.
          for _ in 0..<20 {
            try connection.begin(.reading)
            let count = try connection.value("SELECT count(*) FROM state")
            try connection.commit()
            guard count == 1 || count == 41 else { throw VaultError.damaged(.state, "\(count)") }
          }
        }
        return
      }
      defer { isOver.store(true, ordering: .releasing) }
      for successor in successors {
        #expect(unsafe csystem_exchange(successor, place) == 0)
        usleep(500)
        // A reader may be making a log in it at this moment; what is left goes with the folder around it.
        try? manager.removeItem(atPath: successor)
      }
    }
    #expect(failures.isEmpty, "\(failures)")
  }
}
