import Sealing
import Testing

@testable import GroupFile

/// What a member who may only read can write into the file, and a repair must not sign.
@Suite struct ForgeryRepairTests {
  /// A row that the group's key seals and nobody signed.
  private func forgedRow(_ fixture: RepairFixture, _ name: String, version: UInt64 = 1) throws -> Row {
    let view = try fixture.group.open().beginReading()
    let secret = try unsafe Array("forged".utf8).withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    let attributes = Attributes(name: name, created: 1, changed: 2, valueKind: 2, valueEpoch: 1)
    return try RowSeal(view.view.state.keys).row(
      attributes, secret, token: view.view.state.keys.token(of: name), version: version, oldest: version,
      previous: .zero
    ).row
  }

  @Test func `a forged row in the place of a proved one is listed, and not kept`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "item/5")
    try fixture.group.tamper { try $0.replaceCurrent(row) }
    let group = try #require(try fixture.repair())
    #expect(group.lost == 1 && group.lostNames == ["item/5"])
    #expect(group.unproved == [UnprovedItem(name: "item/5", version: 1, changed: 2, isKept: false)])
    #expect(try fixture.missing() == ["item/5"])
  }

  @Test func `a forged row beside the proved ones is listed, and not kept`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "planted")
    try fixture.group.tamper { try $0.insertCurrent(row) }
    let group = try #require(try fixture.repair())
    #expect(group.lost == 0)
    #expect(group.unproved.map(\.name) == ["planted"])
    #expect(try fixture.missing().isEmpty)
    #expect(try fixture.value("planted") == nil)
  }

  @Test func `forged rows, with the nodes that would prove them, do not pass for the signed ones`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "item/5", version: 9)
    try fixture.group.tamper { connection in
      try connection.replaceCurrent(row)
      // The tree that an honest writer would have made of the rows as they are now.
      var builder = TreeBuilder()
      let rows = try connection.currentRows()
      while try rows.step() {
        let row = try Row(rows)
        try builder.append(TreeEntry(token: row.token, digest: row.digest))
      }
      rows.reset()
      try connection.run("DELETE FROM node")
      _ = try builder.finish { try connection.storeNode($1, at: $0) }
    }
    let group = try #require(try fixture.repair())
    #expect(try fixture.value("item/5") == nil)
    #expect(group.unproved.contains { $0.name == "item/5" && $0.version == 9 && !$0.isKept })
    #expect(try fixture.missing().contains("item/5"))
  }

  @Test func `an item that the owner names is kept although nothing proves it`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "planted")
    try fixture.group.tamper { try $0.insertCurrent(row) }
    let group = try #require(try fixture.repair(keeping: ["planted"]))
    #expect(group.unproved.map(\.isKept) == [true])
    #expect(try fixture.value("planted") == "forged")
    #expect(try fixture.missing().isEmpty)
  }

  @Test(arguments: ["item/5", "nothing"]) func `a name that is none of an unproved item is refused`(name: String) throws
  {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "planted")
    try fixture.group.tamper { try $0.insertCurrent(row) }
    let before = try fixture.group.files()
    #expect(failure { try fixture.repair(keeping: [name]) } == .noItem)
    let after = try fixture.group.files()
    #expect(before.main == after.main && before.log == after.log)
  }

  @Test func `a backup and a rotation do not take a forged row along`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "item/5")
    try fixture.group.tamper { try $0.replaceCurrent(row) }
    let folder = TemporaryFolder()
    #expect(failure { try fixture.group.open().backUp(to: folder.path) }?.isDamage == true)
    #expect(folder.names().isEmpty)
    let group = fixture.group
    let owner = RepairFixture.Owner(key: { () throws(SealingError) in try SigningKey(seed: group.owner) }, seeds: [:])
    #expect(failure { try group.open().changeRoster(RosterChange(rotates: true), by: owner) }?.isDamage == true)
  }
}
