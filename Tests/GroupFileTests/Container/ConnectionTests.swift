import Testing

@testable import GroupFile

@Suite struct ConnectionTests {
  @Test func `a new file is placed, and reads back what was written`() throws {
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
}
