import Testing

@testable import GroupFile

@Suite struct ConnectionMaintenanceTests {
  private func write(_ connection: Connection, _ count: Int) throws {
    try connection.begin(.immediate)
    try connection.statement("INSERT INTO chain SELECT ifnull(max(epoch),0)+1,zeroblob(?) FROM chain")
      .bind(1, Int64(count)).run()
    try connection.commit()
  }

  @Test func `a small log stays, and a large one is moved into the file`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    try write(connection, 200_000)
    try connection.checkpointIfLarge()
    #expect(folder.bytes(of: "group.vault-wal").count > 200_000)
    #expect(folder.bytes(of: "group.vault").count < 100_000)
    try write(connection, 200_000)
    try connection.checkpointIfLarge()
    #expect(folder.bytes(of: "group.vault-wal").isEmpty)
    #expect(folder.bytes(of: "group.vault").count > 400_000)
    #expect(folder.reading() == nil)
  }

  @Test func `short-lived writers do not make the log grow`() throws {
    let folder = try TemporaryFolder().makeGroup()
    for _ in 0..<30 {
      let connection = try Connection(folder: folder.path, access: .writing)
      try write(connection, 30_000)
      try connection.checkpointIfLarge()
    }
    #expect(folder.bytes(of: "group.vault-wal").count < 400_000)
  }

  @Test func `a connection that keeps writing reuses its log instead of growing it`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    var sizes: [Int] = []
    for _ in 0..<100 {
      try write(connection, 30_000)
      try connection.checkpointIfLarge()
      sizes.append(folder.bytes(of: "group.vault-wal").count)
    }
    #expect(sizes.suffix(60).min()! > Connection.lastingLogLimit)
    #expect(sizes.max()! < 2 * Connection.lastingLogLimit)
    #expect(folder.bytes(of: "group.vault").count > 90 * 30_000)
    #expect(folder.reading() == nil)
  }

  @Test func `a large commit does not leave a large log`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    for _ in 0..<20 { try write(connection, 100) }
    try write(connection, 1_500_000)
    try connection.checkpointIfLarge()
    #expect(folder.bytes(of: "group.vault-wal").isEmpty)
  }

  @Test(.timeLimit(.minutes(5)))
  func `while a reader holds the log, its writers wait for it only when the log has doubled`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let reader = try Connection(folder: folder.path, access: .reading)
    let connection = try Connection(folder: folder.path, access: .writing)
    try reader.begin(.reading)
    try write(connection, 1_500_000)
    try connection.checkpointIfLarge(waiting: 1)
    for _ in 0..<4 {
      try write(connection, 300_000)
      // Waits for the reader, who never finishes.
      try connection.checkpointIfLarge(waiting: .max)
    }
    try reader.commit()
    // More than twice what the first attempt found, so this one waits, and finds the log free.
    try write(connection, 1_500_000)
    try connection.checkpointIfLarge()
    #expect(folder.bytes(of: "group.vault-wal").isEmpty)
  }

  @Test func `a reader keeps the log from being moved, and commits do not wait for the reader`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let reader = try Connection(folder: folder.path, access: .reading)
    let connection = try Connection(folder: folder.path, access: .writing)
    try reader.begin(.reading)
    try write(connection, 300_000)
    try connection.checkpointIfLarge()
    let grown = folder.bytes(of: "group.vault-wal").count
    #expect(grown > 300_000)
    for _ in 0..<10 {
      try write(connection, 10)
      // A writer that tried to move the log now would wait for the reader, who never finishes.
      try connection.checkpointIfLarge(waiting: .max)
    }
    #expect(throws: VaultError.busy(group: nil)) { try connection.truncatingCheckpoint(waiting: 10) }
    // The reader still sees the state from when they began.
    #expect(try reader.value("SELECT count(*) FROM chain") == 0)
    try reader.commit()
    try connection.truncatingCheckpoint()
    #expect(folder.bytes(of: "group.vault-wal").isEmpty)
  }

  @Test func `deleted content is not in the file after a truncating checkpoint`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    let mark = Array("the mark of a deleted row".utf8)
    try connection.begin(.immediate)
    try connection.statement("INSERT INTO wrap VALUES(?,?)").bind(1, [1]).bind(2, mark).run()
    try connection.commit()
    try connection.truncatingCheckpoint()
    #expect(holds(folder, mark))
    try connection.begin(.immediate)
    try connection.statement("DELETE FROM wrap").run()
    try connection.commit()
    try connection.truncatingCheckpoint()
    #expect(!holds(folder, mark))
  }

  private func holds(_ folder: TemporaryFolder, _ mark: [UInt8]) -> Bool {
    folder.names().contains { name in
      let bytes = folder.bytes(of: name)
      return bytes.indices.dropLast(mark.count).contains { bytes[$0..<$0 + mark.count].elementsEqual(mark) }
    }
  }
}
