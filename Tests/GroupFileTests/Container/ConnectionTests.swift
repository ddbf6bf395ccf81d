import Dispatch
import Sealing
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
}
