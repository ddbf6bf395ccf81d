import Sealing
import Testing

@testable import GroupFile

/// Rows that the signed tree does not contain.
@Suite struct PlantedRowTests {
  @Test func `a planted item stays absent and cannot be overwritten`() throws {
    let group = try TamperedGroup()
    let planted = try group.row("item/5").moved(to: group.token("planted"))
    try group.fixture.tamper { try $0.insertCurrent(planted) }
    #expect(throws: VaultError.notFound(.item)) { try group.fixture.value("planted") }
    try group.expectNothingSigned("set") { try group.fixture.set(["planted": "new"]) }
    try group.expectUnverifiable()
  }

  @Test func `a listing stops with an error at a planted item`() throws {
    let group = try TamperedGroup()
    let planted = try group.row("item/5").moved(to: Token(high: 0, low: 0))
    try group.fixture.tamper { try $0.insertCurrent(planted) }
    let transaction = try group.fixture.open().beginReading()
    let walk = try RowWalk(transaction)
    #expect(failure { try walk.next() }?.isDamage == true)
  }

  @Test func `a listing stops with an error at an item planted after the last one`() throws {
    let group = try TamperedGroup()
    let planted = try group.row("item/5").moved(to: Token(high: .max, low: .max))
    try group.fixture.tamper { try $0.insertCurrent(planted) }
    let walk = try RowWalk(group.fixture.open().beginReading())
    var count = 0
    let error = failure { while try walk.next() != nil { count += 1 } }
    #expect(error?.isDamage == true)
    #expect(count == group.names.count)
  }

  @Test func `a row that compacting removed and somebody put back stays absent`() throws {
    let group = try TamperedGroup()
    let old = try group.row("item/5")
    let transaction = try group.fixture.open().beginWriting()
    try transaction.destroy("item/5")
    try transaction.commit()
    #expect(try group.fixture.open().compact() == 1)
    try group.fixture.tamper { try $0.insertCurrent(old) }
    #expect(throws: VaultError.notFound(.item)) { try group.fixture.value("item/5") }
    try group.expectNothingSigned("set") { try group.fixture.set(["item/5": "new"]) }
    try group.expectUnverifiable()
  }

  @Test func `a change signs nothing over a planted older version`() throws {
    let group = try TamperedGroup()
    let row = try group.row("item/5")
    try group.fixture.tamper { try $0.insertOlder(row) }
    #expect(try group.fixture.value("item/5") == "value of item/5")
    try group.expectNothingSigned("set") { try group.fixture.set(["item/5": "new"]) }
    try group.expectUnverifiable()
  }

  @Test func `setting a large value signs nothing over a planted one`() throws {
    let group = try TamperedGroup()
    let token = try group.token("large")
    try group.fixture.tamper { try $0.insertBlob(token, version: 1, [UInt8](repeating: 1, count: 700)) }
    #expect(throws: VaultError.notFound(.item)) { try group.fixture.value("large") }
    try group.expectNothingSigned("set") {
      try group.fixture.set(["large": String(repeating: "large ", count: 100)])
    }
    try group.expectUnverifiable()
  }
}
