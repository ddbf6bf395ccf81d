import Sealing
import Testing

@testable import GroupFile

/// The type and length of every value are checked.
@Suite struct StatementTests {
  @Test(arguments: ["'text'", "1", "1.5", "NULL", "x'0102'", "x'01020304'", "zeroblob(3000000)", "x''"])
  func `a value of another type or length is reported as altered`(_ value: String) throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(RawFile.runUnconstrained(folder.group, ["UPDATE state SET bytes=\(value)"]))
    let connection = try Connection(folder: folder.path, access: .reading)
    try connection.begin(.reading)
    let row = try connection.statement("SELECT bytes FROM state")
    let failure = #expect(throws: VaultError.self) {
      #expect(try row.step())
      _ = try row.bytes(0, count: 3...3)
    }
    #expect(failure.isAltered)
    try connection.commit()
  }

  @Test(arguments: ["'7a'", "7.5", "NULL", "x'37'", "9007199254740992", "-1"])
  func `a number of another type or range is reported as altered`(_ value: String) throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(RawFile.runUnconstrained(folder.group, ["INSERT INTO version VALUES(x'00',1,\(value),1,1,1,1,1,1)"]))
    let connection = try Connection(folder: folder.path, access: .reading)
    try connection.begin(.reading)
    let row = try connection.statement("SELECT state FROM version")
    let failure = #expect(throws: VaultError.self) {
      #expect(try row.step())
      _ = try row.counter(0)
    }
    #expect(failure.isAltered)
    try connection.commit()
  }

  @Test func `values read back as they were bound, including an empty blob`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    try connection.begin(.immediate)
    let insert = try connection.statement("INSERT INTO blob VALUES(?,?,?)")
    let digest = try #require(Bytes32([UInt8](repeating: 9, count: 32)))
    try insert.bind(1, digest.bytes).bind(2, counter: 1 << 52).bind(3, []).run()
    let big = [UInt8](repeating: 7, count: 1_200_000)
    try insert.bind(1, [1]).bind(2, Int64(2)).bind(3, big).run()
    try connection.commit()
    try connection.begin(.reading)
    let rows = try connection.statement("SELECT token,version,bytes FROM blob ORDER BY version")
    #expect(try rows.step())
    #expect(try rows.bytes(2, count: 0...9_000_000) == big)
    #expect(try rows.step())
    #expect(try rows.bytes(0, count: 32...32) == digest.bytes)
    #expect(try rows.counter(1) == 1 << 52)
    #expect(try rows.bytes(2, count: 0...0).isEmpty)
    #expect(try !rows.step())
    try connection.commit()
  }

  @Test func `a value longer than the format allows cannot be stored`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    try connection.begin(.immediate)
    let insert = try connection.statement("INSERT INTO blob VALUES(?,?,?)").bind(1, [1]).bind(2, Int64(1))
    #expect(throws: VaultError.self) { try insert.bind(3, [UInt8](repeating: 0, count: 2 << 20 + 1)).run() }
    connection.rollback()
  }

  @Test func `each statement is prepared once`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .reading)
    func find() throws -> Statement { try connection.statement("SELECT bytes FROM state") }
    #expect(try find() === find())
  }

  @Test func `binding a value ends the statement's run`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .reading)
    try connection.begin(.reading)
    let find = try connection.statement("SELECT bytes FROM state WHERE part=?")
    for _ in 0..<3 {
      try find.bind(1, Int64(1))
      #expect(try find.step())
    }
    try connection.commit()
    #expect(!connection.isInTransaction)
  }
}
