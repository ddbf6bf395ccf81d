import Testing

@testable import GroupFile

/// A change signs the digests of the other items in the same leaf, so those items are verified too.
@Suite struct SiblingTests {
  @Test func `an item is not set next to a tampered one, and nothing is signed`() throws {
    let group = try TamperedGroup()
    let sibling = try group.sibling(of: "item/5")
    let token = try group.token(sibling)
    try group.fixture.tamper { try $0.run("UPDATE item SET nonce=zeroblob(24) WHERE token=?", token.bytes) }
    try group.expectNothingSigned("set") { try group.fixture.set(["item/5": "new"]) }
    try group.expectRefused(sibling)
    #expect(try group.fixture.value("item/5") == "value of item/5")
  }

  @Test func `neither an existing nor a new item is set next to a deleted one`() throws {
    let group = try TamperedGroup()
    let fresh = try group.newName(beside: "item/5")
    let token = try group.token("item/5")
    try group.fixture.tamper { try $0.run("DELETE FROM item WHERE token=?", token.bytes) }
    try group.expectNothingSigned("set") { try group.fixture.set([fresh: "new"]) }
  }

  @Test func `an item is set beside a row that nobody signed`() throws {
    let group = try TamperedGroup()
    let row = try group.fixture.forge().row(group.newName(beside: "item/5"))
    try group.fixture.tamper { try $0.insertCurrent(row) }
    try group.fixture.set(["item/5": "new"])
    #expect(try group.fixture.value("item/5") == "new")
    #expect(failure { try group.fixture.open().verify() }?.isDamage == true)
  }

  @Test func `an item in another leaf than a tampered one can be set, and the tampered one is still refused`() throws {
    let group = try TamperedGroup()
    let stranger = try group.stranger(to: "item/5")
    let token = try group.token("item/5")
    try group.fixture.tamper { try $0.run("UPDATE item SET nonce=zeroblob(24) WHERE token=?", token.bytes) }
    try group.fixture.set([stranger: "new"])
    #expect(try group.fixture.value(stranger) == "new")
    try group.expectRefused("item/5")
  }

  @Test func `several items of one leaf are set in one transaction`() throws {
    let group = try TamperedGroup()
    try group.fixture.set(Dictionary(uniqueKeysWithValues: group.names.map { ($0, "all new") }))
    try group.fixture.set(Dictionary(uniqueKeysWithValues: group.names.map { ("more " + $0, "new") }))
    #expect(try group.fixture.open().verify().items == 400)
  }

  @Test func `a row forged beside one that is read is not kept in memory and answered later`() throws {
    let group = try GroupFixture()
    let names = (0..<400).map { "item/\($0)" }
    try group.set(Dictionary(uniqueKeysWithValues: names.map { ($0, "value") }))
    let row = try group.forge().row(names[0])
    try group.tamper { try $0.replaceCurrent(row) }
    let file = try group.open()
    // After many reads, a reader also keeps the values beside the one that it was asked for.
    for name in names.dropFirst() { #expect(try file.value(name) == "value") }
    #expect(failure { try file.value(names[0]) }?.isDamage == true)
  }
}
