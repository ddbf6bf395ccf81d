import Testing

@testable import GroupFile

@Suite struct RowTamperingTests {
  @Test func `two swapped rows are refused, and nothing is signed over them`() throws {
    let group = try TamperedGroup()
    let (left, right) = (try group.row("item/5"), try group.row("item/6"))
    try group.fixture.tamper {
      try $0.replaceCurrent(right.moved(to: left.token))
      try $0.replaceCurrent(left.moved(to: right.token))
    }
    try group.expectRefused("item/5")
    try group.expectRefused("item/6")
    #expect(try group.fixture.value("item/7") == "value of item/7")
  }

  @Test func `a deleted row is damage and not absence`() throws {
    let group = try TamperedGroup()
    let token = try group.token("item/5")
    try group.fixture.tamper { try $0.run("DELETE FROM item WHERE token=?", token.bytes) }
    try group.expectRefused("item/5")
  }

  @Test func `an older version in place of the newest is refused`() throws {
    let group = try TamperedGroup()
    let token = try group.token("item/1")
    try group.fixture.tamper { connection in
      let older = try #require(try connection.olderRow(token, version: 1))
      try connection.replaceCurrent(older)
    }
    try group.expectRefused("item/1")
  }

  @Test func `a row from an older copy of the group is refused`() throws {
    let group = try TamperedGroup()
    let older = try group.row("item/5")
    try group.fixture.set(["item/5": "newer"])
    try group.fixture.tamper { try $0.replaceCurrent(older) }
    try group.expectRefused("item/5")
  }

  @Test func `a row copied from another group is refused`() throws {
    let group = try TamperedGroup()
    let foreign = try TamperedGroup().row("item/5")
    let token = try group.token("item/5")
    try group.fixture.tamper { try $0.replaceCurrent(foreign.moved(to: token)) }
    try group.expectRefused("item/5")
  }

  @Test(
    arguments: [
      ("UPDATE item SET version=version+1 WHERE token=?" as StaticString),
      "UPDATE item SET state=2,place=0,secret=x'' WHERE token=?",
      "UPDATE item SET state=2 WHERE token=?",
      "UPDATE item SET oldest=2 WHERE token=?",
      "UPDATE item SET oldest=9 WHERE token=?",
      "UPDATE item SET previous=zeroblob(32) WHERE token=?",
      "UPDATE item SET nonce=zeroblob(24) WHERE token=?",
      "UPDATE item SET attributes=(SELECT attributes FROM version) WHERE token=?",
      "UPDATE item SET attributes=zeroblob(48) WHERE token=?",
      "UPDATE item SET place=0,secret=x'' WHERE token=?",
      "UPDATE item SET place=2,secret=zeroblob(32) WHERE token=?",
      "UPDATE item SET secret=(SELECT secret FROM version) WHERE token=?",
      "UPDATE item SET secret=zeroblob(512) WHERE token=?",
      "UPDATE item SET version=0 WHERE token=?",
      "UPDATE item SET version=9007199254740992 WHERE token=?",
      "UPDATE item SET oldest=-1 WHERE token=?",
    ].map(Change.init))
  func `a row with one column changed is refused`(_ change: Change) throws {
    let group = try TamperedGroup()
    let token = try group.token("item/0")
    try group.fixture.tamper { try $0.run(change.sql, token.bytes) }
    try group.expectRefused("item/0")
  }

  /// A way to change a row.
  struct Change: CustomTestStringConvertible, Sendable {
    let sql: StaticString

    var testDescription: String { sql.description }
  }
}
