import Testing

@testable import GroupFile

/// Values that are too large for their rows.
@Suite struct BlobTamperingTests {
  private func group() throws -> TamperedGroup {
    let group = try TamperedGroup()
    for name in ["item/0", "item/1"] {
      try group.fixture.set([name: String(repeating: "\(name) ", count: 200)])
    }
    return group
  }

  private func expectRefused(_ name: String, in group: TamperedGroup) throws {
    #expect(failure { try group.fixture.value(name) }?.isDamage == true)
    try group.expectUnverifiable()
  }

  @Test func `large values swapped between items are refused`() throws {
    let group = try group()
    let (left, right) = (try group.token("item/0"), try group.token("item/1"))
    try group.fixture.tamper { connection in
      let here = try #require(try connection.blob(left, version: 4))
      let there = try #require(try connection.blob(right, version: 3))
      try connection.run("DELETE FROM blob")
      try connection.insertBlob(left, version: 4, there)
      try connection.insertBlob(right, version: 3, here)
    }
    try expectRefused("item/0", in: group)
    try expectRefused("item/1", in: group)
    #expect(try group.fixture.value("item/5") == "value of item/5")
  }

  @Test func `a large value of an older version is refused in place of the newest`() throws {
    let group = try group()
    try group.fixture.set(["item/0": String(repeating: "newest ", count: 200)])
    let token = try group.token("item/0")
    try group.fixture.tamper { connection in
      let older = try #require(try connection.blob(token, version: 4))
      try connection.run("UPDATE blob SET bytes=? WHERE token=? AND version=5", older, token.bytes)
    }
    try expectRefused("item/0", in: group)
  }

  @Test(
    arguments: [
      "DELETE FROM blob" as StaticString, "UPDATE blob SET bytes=zeroblob(length(bytes))",
      "UPDATE blob SET bytes=x''", "UPDATE blob SET bytes=substr(bytes,1,512)", "UPDATE blob SET version=version+1",
      "UPDATE blob SET bytes=zeroblob(1500000)",
    ].map(RowTamperingTests.Change.init))
  func `a large value that was changed is refused`(_ change: RowTamperingTests.Change) throws {
    let group = try group()
    try group.fixture.tamper { try $0.run(change.sql) }
    try expectRefused("item/0", in: group)
  }

  @Test func `a large value without a row changes no answer, and verifying finds it`() throws {
    let group = try group()
    let token = try group.token("item/5")
    try group.fixture.tamper { try $0.insertBlob(token, version: 1, [UInt8](repeating: 1, count: 700)) }
    #expect(try group.fixture.value("item/5") == "value of item/5")
    try group.expectUnverifiable()
  }

  @Test func `large values of pruned versions are removed`() throws {
    let fixture = try GroupFixture(keep: 2)
    for number in 0..<4 { try fixture.set(["name": String(repeating: "\(number) ", count: 400)]) }
    let count = try fixture.peek { try $0.value("SELECT count(*) FROM blob") }
    #expect(count == 2)
    #expect(try fixture.open().verify().versions == 1)
  }
}
