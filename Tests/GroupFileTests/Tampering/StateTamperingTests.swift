import Sealing
import Testing

@testable import GroupFile

/// Someone who can write the storage but has no key changes the header, roster, manifest, wraps or chain.
@Suite struct StateTamperingTests {
  private static let parts: [StatePart] = [.header, .roster, .manifest]

  private func expectRefused(_ group: TamperedGroup, _ line: Int = #line) throws {
    try group.expectRefused("item/5")
    #expect(failure { try group.fixture.open().beginReading() }?.isDamage == true)
  }

  @Test(arguments: parts)
  func `a part that is missing, too short or too long is refused`(_ part: StatePart) throws {
    for change in ["DELETE FROM state WHERE part=", "UPDATE state SET bytes=x'' WHERE part="] {
      let group = try TamperedGroup()
      #expect(RawFile.run(group.fixture.folder + "/group.vault", [change + "\(part.rawValue)"], keepingLog: true))
      try expectRefused(group)
    }
    for change: ([UInt8]) -> [UInt8] in [{ Array($0.dropLast()) }, { $0 + [0] }, { $0 + $0 }] {
      let group = try TamperedGroup()
      try group.fixture.tamper { try $0.storePart(part, change(try $0.part(part))) }
      try expectRefused(group)
    }
  }

  @Test(arguments: parts)
  func `a part from another group is refused`(_ part: StatePart) throws {
    let group = try TamperedGroup()
    let foreign = try GroupFixture().peek { try $0.part(part) }
    try group.fixture.tamper { try $0.storePart(part, foreign) }
    try expectRefused(group)
  }

  @Test func `an older manifest over newer rows is refused`() throws {
    let group = try TamperedGroup()
    let older = try group.fixture.peek { try $0.part(.manifest) }
    try group.fixture.set(["item/5": "newer"])
    try group.fixture.tamper { try $0.storePart(.manifest, older) }
    #expect(failure { try group.fixture.value("item/5") }?.isRollback == true)
    group.fixture.witness.reading = .absent
    try group.expectRefused("item/5")
  }

  @Test func `an older roster under a newer manifest is refused`() throws {
    let group = try TamperedGroup()
    let older = try group.fixture.peek { try $0.part(.roster) }
    try group.fixture.forge().changeRoster { $0.keep = 5 }
    #expect(try group.fixture.value("item/5") == "value of item/5")
    try group.fixture.tamper { try $0.storePart(.roster, older) }
    try expectRefused(group)
  }

  @Test func `a roster that changed since a process verified it is detected before the process writes`() throws {
    let group = try TamperedGroup()
    for part in [StatePart.header, .roster] {
      let before = try group.fixture.peek { try $0.part(part) }
      let file = try group.fixture.open()
      #expect(try file.value("item/5") == "value of item/5")
      try group.fixture.tamper { try $0.storePart(part, before + [0]) }
      try group.expectNothingSigned("set") { try file.beginWriting() }
      try group.expectNothingSigned("verify") { try file.verify() }
      try group.expectNothingSigned("compact") { try file.compact() }
      try group.fixture.tamper { try $0.storePart(part, before) }
    }
  }

  @Test func `a wrap that changed since a process verified it is detected before the process writes`() throws {
    let group = try TamperedGroup()
    let file = try group.fixture.open()
    #expect(try file.value("item/5") == "value of item/5")
    try group.fixture.tamper { try $0.run("UPDATE wrap SET sealed=zeroblob(length(sealed))") }
    try group.expectNothingSigned("set") { try file.beginWriting() }
    try group.expectNothingSigned("verify") { try file.verify() }
    try group.expectNothingSigned("compact") { try file.compact() }
    try expectRefused(group)
  }

  @Test func `a wrap without a member changes no answer, and verifying finds it`() throws {
    let group = try TamperedGroup()
    try group.fixture.tamper { try $0.storeWrap([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 73)) }
    #expect(try group.fixture.value("item/5") == "value of item/5")
    try group.expectUnverifiable()
  }

  @Test(
    arguments: [
      "DELETE FROM chain WHERE epoch=4" as StaticString, "DELETE FROM chain WHERE epoch=1",
      "DELETE FROM chain", "UPDATE chain SET rest=zeroblob(32) WHERE epoch=2",
      "INSERT INTO chain VALUES(5, zeroblob(32))", "UPDATE chain SET rest=zeroblob(32) WHERE epoch=4",
      "UPDATE chain SET epoch=7 WHERE epoch=2", "UPDATE chain SET rest=zeroblob(31) WHERE epoch=2",
    ].map(RowTamperingTests.Change.init))
  func `verifying finds a changed chain`(_ change: RowTamperingTests.Change) throws {
    let group = try TamperedGroup()
    #expect(try group.fixture.open().verify().epoch == 4)
    try group.fixture.tamper { try $0.run(change.sql) }
    try group.expectUnverifiable()
  }

  @Test(arguments: ["UPDATE chain SET rest=zeroblob(32) WHERE epoch=5000", "INSERT INTO chain VALUES(2, zeroblob(32))"])
  func `verifying finds a changed newest link, and one that should be gone, although older ones are gone`(
    _ sql: String
  ) throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    try group.forge().storeManifest { $0.epoch = 5_000 }
    #expect(try group.open().verify().epoch == 5_000)
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    #expect(RawFile.run(group.folder + "/group.vault", [sql], keepingLog: true))
    guard case .damaged(_, .chain, _) = failure({ try group.open().verify() }) else {
      Issue.record("taken")
      return
    }
  }

  @Test func `a planted chain link of the next epoch is replaced by the signed one`() throws {
    let group = try TamperedGroup()
    let behind = MemoryWitness(group.fixture.witness.reading)
    try group.fixture.tamper { try $0.run("INSERT INTO chain VALUES(5, zeroblob(32))") }
    try group.fixture.set(["item/5": "new"])
    #expect(try group.fixture.open(behind).value("item/5") == "new")
    #expect(try group.fixture.open().verify().epoch == 5)
  }
}
