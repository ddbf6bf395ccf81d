import Testing

@testable import GroupFile

/// No content of a file makes a statement run for long.
@Suite struct BoundTests {
  private func repeating() throws -> TemporaryFolder {
    let folder = try TemporaryFolder().makeGroup()
    #expect(RepeatingTree.plant(in: folder) > 6_000_000_000)
    return folder
  }

  @Test(
    arguments: [
      "SELECT epoch,rest FROM chain ORDER BY epoch", "SELECT max(rest) FROM chain",
      "SELECT epoch FROM chain WHERE rest=x'00' ORDER BY rest LIMIT 1",
    ] as [StaticString])
  func `scanning a tree that repeats its children ends with altered`(_ sql: StaticString) throws {
    let folder = try repeating()
    let connection = try Connection(folder: folder.path, access: .reading)
    try connection.begin(.reading)
    #expect(throws: VaultError.damaged(.container, "a table does not end where it should")) {
      try connection.statement(sql).run()
    }
    // Stopping a statement harms neither the connection nor other statements.
    try connection.statement("SELECT bytes FROM state").run()
    try connection.commit()
  }

  @Test func `checking a whole file whose tree repeats its children ends with altered`() throws {
    let folder = try repeating()
    let connection = try Connection(folder: folder.path, access: .reading)
    #expect(throws: VaultError.damaged(.container, "the file's structure is damaged")) { try connection.quickCheck() }
  }

  @Test(
    arguments: ["DELETE FROM chain", "DELETE FROM chain WHERE epoch<50", "VACUUM"] as [StaticString])
  func `deleting from a tree that repeats its children ends with altered`(_ sql: StaticString) throws {
    let folder = try repeating()
    let connection = try Connection(folder: folder.path, access: .writing)
    if sql.description != "VACUUM" { try connection.begin(.immediate) }
    let failure = #expect(throws: VaultError.self) {
      try sql.description == "VACUUM" ? connection.vacuum() : connection.statement(sql).run()
    }
    #expect(failure.isAltered)
    connection.rollback()
  }

  @Test func `a valid file of many small rows is checked and rewritten within its bound`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    try connection.begin(.immediate)
    for epoch in 1...20_000 {
      try connection.statement("INSERT INTO chain VALUES(?,?)").bind(1, Int64(epoch))
        .bind(2, [UInt8](repeating: 1, count: 32)).run()
      try connection.statement("INSERT INTO blob VALUES(?,?,?)").bind(1, [UInt8](repeating: 1, count: 16))
        .bind(2, Int64(epoch)).bind(3, [1]).run()
    }
    try connection.commit()
    try connection.quickCheck()
    try connection.begin(.immediate)
    connection.handle.stepLimit = 25 * 40_000
    try connection.statement("DELETE FROM blob WHERE version>0").run()
    try connection.commit()
    let before = folder.bytes(of: "group.vault").count
    try connection.vacuum()
    try connection.truncatingCheckpoint()
    #expect(folder.bytes(of: "group.vault").count < before || before < 100_000)
    try connection.begin(.reading)
    try connection.quickCheck()
    try connection.commit()
    #expect(folder.reading() == nil)
  }

  @Test func `a scan of a valid file succeeds within its bound and fails under a tighter one`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    try connection.begin(.immediate)
    for epoch in 1...2000 {
      try connection.statement("INSERT INTO chain VALUES(?,?)").bind(1, Int64(epoch)).bind(2, [UInt8(1)]).run()
    }
    try connection.commit()
    try connection.begin(.reading)
    connection.handle.stepLimit = 25 * 2000
    try connection.statement("SELECT epoch,rest FROM chain").run()
    connection.handle.stepLimit = 3000
    #expect(throws: VaultError.self) { try connection.statement("SELECT epoch,rest FROM chain").run() }
    // Each run is counted separately.
    for _ in 0..<1000 {
      try connection.statement("SELECT rest FROM chain WHERE epoch=?").bind(1, Int64(7)).run()
    }
    try connection.commit()
  }
}
