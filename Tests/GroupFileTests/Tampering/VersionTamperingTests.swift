import Testing

@testable import GroupFile

@Suite struct VersionTamperingTests {
  /// `item/0` has the versions 3, 2 and 1. Reading a changed older version is damage, and the newest version is unaffected.
  private func expectRefused(_ version: UInt64, in group: TamperedGroup, _ line: Int = #line) throws {
    let view = try group.fixture.open().beginReading()
    #expect(failure { try view.history("item/0") }?.isDamage == true)
    #expect(failure { try view.present("item/0", version: version) }?.isDamage == true)
    #expect(try group.fixture.value("item/0") == "third")
    try group.expectUnverifiable()
  }

  @Test func `a missing older version is damage`() throws {
    let group = try TamperedGroup()
    let token = try group.token("item/0")
    try group.fixture.tamper { try $0.run("DELETE FROM version WHERE token=? AND version=1", token.bytes) }
    try expectRefused(1, in: group)
    #expect(try group.fixture.open().beginReading().present("item/0", version: 2).row.version == 2)
  }

  @Test func `missing all older versions is damage`() throws {
    let group = try TamperedGroup()
    try group.fixture.tamper { try $0.run("DELETE FROM version") }
    try expectRefused(2, in: group)
  }

  @Test func `two versions with swapped contents are refused`() throws {
    let group = try TamperedGroup()
    let token = try group.token("item/0")
    try group.fixture.tamper { connection in
      let first = try #require(try connection.olderRow(token, version: 1))
      let second = try #require(try connection.olderRow(token, version: 2))
      try connection.run("DELETE FROM version WHERE token=?", token.bytes)
      try connection.insertOlder(first.moved(to: token, version: 2))
      try connection.insertOlder(second.moved(to: token, version: 1))
    }
    try expectRefused(2, in: group)
  }

  @Test func `another item's version is refused`() throws {
    let group = try TamperedGroup()
    let (token, other) = (try group.token("item/0"), try group.token("item/1"))
    try group.fixture.tamper { connection in
      let foreign = try #require(try connection.olderRow(other, version: 1))
      try connection.run("DELETE FROM version WHERE token=? AND version=1", token.bytes)
      try connection.insertOlder(foreign.moved(to: token))
    }
    try expectRefused(1, in: group)
  }

  @Test func `a version below the oldest kept one is never shown, and verifying finds it`() throws {
    let fixture = try GroupFixture(keep: 2)
    for value in ["a", "b", "c"] { try fixture.set(["name": value]) }
    let token = try fixture.forge().keys.token(of: "name")
    try fixture.tamper { connection in
      let row = try #require(try connection.olderRow(token, version: 2))
      try connection.insertOlder(row.moved(to: token, version: 1, oldest: 1))
    }
    let view = try fixture.open().beginReading()
    #expect(try view.history("name").map(\.row.version) == [3, 2])
    #expect(throws: VaultError.notFound(.version(1))) { try view.present("name", version: 1) }
    #expect(failure { try fixture.open().verify() }?.isDamage == true)
  }

  @Test func `an altered version is not overwritten by the next change`() throws {
    let group = try TamperedGroup()
    try group.fixture.tamper { try $0.run("UPDATE version SET nonce=zeroblob(24) WHERE version=2") }
    try group.fixture.set(["item/0": "fourth"])
    let view = try group.fixture.open().beginReading()
    #expect(try view.present("item/0", version: 3).row.version == 3)
    #expect(failure { try view.present("item/0", version: 2) }?.isDamage == true)
  }

  @Test(arguments: [2, 3])
  func `an oldest version that a member made up is found by reading the history and by verifying`(count: Int) throws {
    let group = try GroupFixture()
    for value in ["a", "b", "c"].suffix(count) { try group.set(["name": value]) }
    let row = try group.forge().row("name", version: 1)
    try group.tamper { connection in
      try connection.run("DELETE FROM version WHERE token=? AND version=1", row.token.bytes)
      try connection.insertOlder(row)
    }
    #expect(failure { try group.open().beginReading().history("name") }?.isDamage == true)
    #expect(failure { try group.open().verify() }?.isDamage == true)
    #expect(try group.value("name") == "c")
  }
}
