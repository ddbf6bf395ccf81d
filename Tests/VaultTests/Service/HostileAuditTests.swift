import Foundation
import Sealing
import Testing

@testable import Vault

/// What somebody with the service's credential can do to the record, and how the owner finds out.
@Suite struct HostileAuditTests {
  private let fixture: ServiceFixture

  init() throws {
    fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    for number in 1...5 { try log.append([ServiceFixture.record("item \(number)")]) }
  }

  /// The group of the record, as the thief sees it.
  private func group() throws -> AccessGroup { try fixture.service().group("vault.audit") }

  private func names() throws -> [String] {
    try group().items().map(\.name.description).filter { $0.contains("/") }.sorted { $0.suffix(12) < $1.suffix(12) }
  }

  private func bytes(_ name: String) throws -> [UInt8] {
    try unsafe group().get(name).withUnsafeBytes { unsafe Array($0) }
  }

  /// A value whose link is wrong until the chain is made anew.
  private func value(_ content: [UInt8], _ time: Timestamp = .now) throws -> [UInt8] {
    let key = Bytes32(try fixture.service().ownersItem(AuditLog.keyName)!)!
    return StoredBatch(link: .zero, time: time, box: try RecipientKey.seal(content, to: key)).bytes
  }

  private func findings() throws -> [AuditFinding] { try fixture.owner().verifyAudit().findings }

  /// Makes the chain and its end consistent again after batches were changed, as the thief can.
  private func chainAnew() throws {
    let group = try group()
    var head = try group.reading { view throws(VaultError) in
      AuditHead(sequence: 0, link: view.view.state.roster.groupID, month: AuditMonth(number: 0))
    }
    for name in try names() {
      let batch = try #require(AuditNames.batch(name))
      let stored = StoredBatch(try bytes(name))
      let link = AuditHead.link(after: head.link, batch.sequence, stored.box)
      head = AuditHead(sequence: batch.sequence, link: link, month: batch.month)
      try group.set(name, to: link.bytes + stored.bytes.dropFirst(32))
    }
    try group.set("head", to: head.serialized())
  }

  @Test func `a dropped batch is found to be missing`() throws {
    let names = try names()
    try group().destroy(names[2])
    #expect(try findings() == [.missing(from: 3, through: 3)])
    try group().destroy(names.last!)
    #expect(try findings() == [.missing(from: 3, through: 3), .missing(from: 6, through: 6)])
  }

  @Test func `a changed batch is found, whether or not the chain was changed with it`() throws {
    let name = try names()[2]
    var changed = try bytes(name)
    changed[changed.count - 1] ^= 1
    try group().set(name, to: changed)
    #expect(try findings() == [.unreadable(3), .altered(3)])
    try chainAnew()
    #expect(try findings() == [.unreadable(3)])
  }

  @Test func `a batch that was replayed in another place is found, even in a new chain`() throws {
    let names = try names()
    try group().set(names[3], to: bytes(names[1]))
    try chainAnew()
    #expect(try findings() == [.unreadable(4)])
  }

  @Test func `batches of another group or another owner's key are found`() throws {
    let other = try ServiceFixture()
    try AuditLog(of: other.service()).append([ServiceFixture.record("x")])
    let foreign = try other.owner().group("vault.audit").items().map(\.name.description).first { $0.contains("/") }
    let value = try unsafe other.owner().group("vault.audit").get(foreign!).withUnsafeBytes { unsafe Array($0) }
    try group().set(names()[0], to: value)
    try chainAnew()
    #expect(try findings() == [.unreadable(1)])
  }

  @Test func `what an earlier verification saw cannot be shortened or rewritten unnoticed`() throws {
    #expect(try fixture.owner().verifyAudit().isWhole)
    let names = try names()
    // A new record in place of the third, which the thief can seal, in a chain made anew.
    let now = Timestamp.now
    let batch = AuditBatch.serialized([ServiceFixture.record("invented").serialized()], sequence: 3, time: now)
    try group().set(names[2], to: value(batch, now))
    try chainAnew()
    #expect(try findings() == [.rewritten(known: 6)])
    for name in names.suffix(2) { try group().destroy(name) }
    try chainAnew()
    #expect(try findings() == [.shortened(known: 6)])
    // Once the owner knows why, verification begins anew.
    #expect(try !fixture.owner().verifyAudit(accepting: true).isWhole)
    let report = try fixture.owner().verifyAudit()
    #expect(report.isWhole && report.confirmed == 4)
  }

  @Test func `what an earlier verification saw is not forgotten while the record is hidden`() throws {
    #expect(try fixture.owner().verifyAudit().isWhole)
    let folder = fixture.store.location.home + "/groups/vault.audit"
    try FileManager.default.moveItem(atPath: folder, toPath: folder + "+")
    _ = try fixture.owner().applications.issue("com.example.app", to: fixture.store.folder + "/app")
    #expect(throws: VaultError.self) {
      try fixture.owner().applications.bind("com.example.app", .init(unit: "a.service"))
    }
    try FileManager.default.moveItem(atPath: folder + "+", toPath: folder)
    for name in try names().suffix(2) { try group().destroy(name) }
    try chainAnew()
    #expect(try findings() == [.shortened(known: 6)])
  }

  @Test func `an act whose record is hidden is done, and a notice says that it was not recorded`() throws {
    let owner = try fixture.owner()
    let folder = fixture.store.location.home + "/groups/vault.audit"
    try FileManager.default.moveItem(atPath: folder, toPath: folder + "+")
    try owner.rotateGroup("default")
    #expect(owner.takeNotices().contains { if case .unrecorded = $0 { true } else { false } })
  }

  @Test(arguments: [0, 1])
  func `batches that an earlier verification saw cannot pass for dropped months`(_ monthsEarlier: Int) throws {
    #expect(try fixture.owner().verifyAudit().isWhole)
    let names = try names()
    let last = try #require(AuditNames.batch(names.last!))
    let invented = AuditHead(
      sequence: last.sequence + 1, link: Digest([UInt8](repeating: 17, count: 32))!,
      month: last.month.earlier(by: monthsEarlier))
    // Another month may have begun since.
    let time = StoredBatch(try bytes(names.last!)).time
    for name in ["anchor", "head"] { try group().set(name, to: invented.serialized()) }
    for name in names { try group().destroy(name) }
    #expect(try fixture.owner().verifyAudit(at: time).findings == [.shortened(known: 6)])
  }

  @Test func `a chain that begins in the middle of a month is a finding`() throws {
    let names = try names()
    let second = try #require(AuditNames.batch(names[1]))
    let link = try #require(StoredBatch(bytes(names[1])).link)
    try group().set("anchor", to: AuditHead(sequence: 2, link: link, month: second.month).serialized())
    for name in names.prefix(2) { try group().destroy(name) }
    #expect(try findings() == [.misplaced(3)])
  }

  @Test func `another end than the last batch's is found, and so is a beginning that leaves batches before it`() throws
  {
    let names = try names()
    let (second, last) = (try #require(AuditNames.batch(names[1])), try #require(AuditNames.batch(names[5])))
    let head = try bytes("head")
    try group().set("head", to: AuditHead(sequence: 6, link: .zero, month: last.month).serialized())
    #expect(try findings() == [.wrongEnd])
    try group().set("head", to: head)
    let link = try #require(StoredBatch(bytes(names[1])).link)
    try group().set("anchor", to: AuditHead(sequence: 2, link: link, month: second.month).serialized())
    #expect(try findings() == [.outside(1), .outside(2), .misplaced(3)])
  }

  @Test func `nothing is appended where no number is left, or while the witness cannot be written`() throws {
    let log = try AuditLog(of: fixture.service())
    try log.requireWritable()
    let state = fixture.store.folder + "/state"
    #expect(unsafe chmod(state, 0o777) == 0)
    #expect(
      throws: VaultError.witnessUnavailable(group: "vault.audit", reason: "it cannot be written")
    ) { try AuditLog(of: fixture.service()).requireWritable() }
    #expect(unsafe chmod(state, 0o700) == 0)
    let last = AuditHead(sequence: AuditHead.sequenceLimit, link: .zero, month: AuditMonth(number: 0))
    try group().set("head", to: last.serialized())
    #expect(throws: VaultError.overLimit("10^12 batches of the record")) {
      try log.append([ServiceFixture.record("x")])
    }
  }

  @Test func `a key of the record that is not the owner's is not used`() throws {
    let owner = try fixture.owner()
    try owner.group(.service).set(AuditLog.keyName, to: [UInt8](repeating: 9, count: 32))
    let count = try names().count
    try owner.createGroup("fresh")
    #expect(owner.takeNotices().contains { if case .unrecorded = $0 { true } else { false } })
    #expect(try names().count == count)
    #expect(throws: VaultError.self) { try owner.beginAudit() }
  }

  @Test func `records after the last verification can be forged, as SECURITY.md says`() throws {
    let now = Timestamp.now
    let batch = AuditBatch.serialized([ServiceFixture.record("invented").serialized()], sequence: 3, time: now)
    try group().set(names()[2], to: value(batch, now))
    try chainAnew()
    #expect(try findings().isEmpty)
    #expect(try fixture.records().contains { $0.item == "invented" })
  }

  @Test(arguments: [0, 1, 31, 32, 39, 40, 87, 88, 89, 1_000, 1_048_576])
  func `garbage of any size is a finding and does not end the reading`(count: Int) throws {
    try group().set(names()[2], to: [UInt8](repeating: 0x5A, count: count))
    #expect(try findings().contains(.unreadable(3)))
    let records = try fixture.owner().auditRecords()
    var items: [String] = []
    while let record = try records.next() { items += record.item.map { [$0] } ?? [] }
    #expect(items == ["item 1", "item 3", "item 4", "item 5"])
    #expect(records.unreadableCount == 1)
  }

  @Test func `a batch that opens but has a wrong format is a finding`() throws {
    let now = Timestamp.now
    let good = AuditBatch.serialized([ServiceFixture.record("a").serialized()], sequence: 3, time: now)
    var contents: [[UInt8]] = [
      [], Array(good.dropLast()), good + [0], AuditBatch.serialized([], sequence: 4, time: now),
      AuditBatch.serialized([], sequence: 3, time: Timestamp(milliseconds: 5)),
    ]
    // Counts that promise more than is there, and a record longer than any.
    contents.append(Array(good.prefix(34)) + [0xFF, 0xFF, 0xFF, 0xFF] + good.dropFirst(38))
    contents.append(Array(good.prefix(38)) + [0xFF, 0xFF, 0xFF, 0xFF] + good.dropFirst(42))
    contents.append(AuditBatch.serialized([[1, 255, 0xFF, 0xFF, 0xFF, 0xFF]], sequence: 3, time: now))
    contents.append(AuditBatch.serialized([[5, 2, 0xFF, 0xFE]], sequence: 3, time: now))
    contents.append(AuditBatch.serialized([[UInt8](repeating: 0, count: 70_000)], sequence: 3, time: now))
    for content in contents {
      try group().set(names()[2], to: value(content, now))
      try chainAnew()
      #expect(try findings() == [.unreadable(3)])
    }
  }

  @Test func `a batch that was moved to another month, or given another time, is found`() throws {
    let names = try names()
    let last = try #require(AuditNames.batch(names[5]))
    // An earlier month would be dropped sooner, and an earlier time would hide it from a search.
    for (month, name) in [(-1, "earlier"), (1, "later")] {
      let moved = AuditNames.Batch(month: AuditMonth(number: last.month.number + month), sequence: last.sequence)
      let value = try bytes(names[5])
      try group().destroy(names[5])
      try group().set(moved.name, to: value)
      try chainAnew()
      #expect(try findings() == [.misplaced(6)], "\(name)")
      try group().destroy(moved.name)
      try group().set(names[5], to: value)
      try chainAnew()
      #expect(try findings().isEmpty)
    }
    var value = try bytes(names[5])
    value.replaceSubrange(32..<40, with: [UInt8](repeating: 0, count: 8))
    try group().set(names[5], to: value)
    #expect(try findings() == [.unreadable(6)])
  }

  @Test func `no cut and no flipped byte of a batch traps`() {
    let good = AuditBatch.serialized([ServiceFixture.record("a").serialized(), []], sequence: 3, time: .now)
    for count in 0..<good.count { _ = try? AuditBatch(parsing: Array(good.prefix(count))) }
    for place in good.indices {
      for bit in 0..<8 {
        var changed = good
        changed[place] ^= 1 << bit
        _ = try? AuditBatch(parsing: changed)
      }
    }
  }

  @Test func `batches outside the chain and other items are named`() throws {
    let month = try names()[0].prefix(7)
    try group().set("\(month)/999999999999", to: "x")
    try group().set("\(month)/1", to: "x")
    try group().set("2020-01/000000000003", to: bytes(names()[2]))
    try group().set("something", to: "x")
    let found = try findings()
    #expect(found.contains(.outside(999_999_999_999)))
    #expect(found.contains(.strangeItems(2)))
    #expect(found.contains { if case .misplaced(3) = $0 { true } else { false } })
  }

  @Test(arguments: [
    [], [0], [1, 1, 5], [1, 7, 1, 1, 1, 1, 1, 1, 1], [UInt8](repeating: 0xFF, count: 4_096),
    AuditHead(sequence: 3, link: .zero, month: AuditMonth(number: AuditMonth.limit + 1)).serialized(),
  ])
  func `a broken end stops appending and is a finding`(content: [UInt8]) throws {
    for name in ["head", "anchor"] {
      let before = try? bytes(name)
      try group().set(name, to: content)
      if name == "head" {
        #expect(throws: VaultError.self) { try AuditLog(of: fixture.owner()).append([ServiceFixture.record("x")]) }
      }
      #expect(try findings().contains(.unknownEnd))
      if let before { try group().set(name, to: before) } else { try group().remove(name) }
    }
    #expect(try findings().isEmpty)
  }

  @Test func `a record whose end was removed takes no more batches until the owner accepts, and then continues`() throws
  {
    let last = UInt64(try names().count)
    try group().remove("head")
    // In another month no batch has the first number, so a second chain could begin there.
    let log = try AuditLog(of: fixture.service())
    #expect(throws: VaultError.self) { try log.append([ServiceFixture.record("x")], at: .month(3)) }
    #expect(throws: VaultError.self) { try log.requireWritable() }
    #expect(try findings() == [.endRemoved(last: last)])
    let report = try fixture.owner().verifyAudit(accepting: true)
    #expect(report.isTakenUp && report.last == last && report.findings == [.endRemoved(last: last)])
    try log.append([ServiceFixture.record("y")])
    #expect(try fixture.records().suffix(3).map { $0.item ?? $0.action.name } == ["item 5", "repair", "y"])
    #expect(try findings().isEmpty)
  }

  @Test func `batches that were removed together with the end are missed if a verification has seen them`() throws {
    let seen = try fixture.owner().verifyAudit().last
    try group().destroy(names().last!)
    try group().remove("head")
    #expect(try findings() == [.endRemoved(last: seen - 1), .shortened(known: seen)])
  }

  @Test func `a record with an unreadable end can be continued in the same way`() throws {
    try group().set("head", to: "broken")
    #expect(try fixture.owner().verifyAudit(accepting: true).isTakenUp)
    try AuditLog(of: fixture.service()).append([ServiceFixture.record("y")])
    #expect(try findings().isEmpty)
  }

  @Test func `nothing is appended if a batch exists after the noted end`() throws {
    let batch = try #require(AuditNames.batch(names()[2]))
    let link = Digest(try bytes(names()[2]).prefix(32))!
    try group().set("head", to: AuditHead(sequence: 3, link: link, month: batch.month).serialized())
    #expect(throws: VaultError.self) { try AuditLog(of: fixture.service()).append([ServiceFixture.record("x")]) }
    #expect(try findings().contains(.outside(4)))
  }

  @Test func `a noted end in the far future takes neither time nor memory`() throws {
    let last = AuditHead(sequence: 999_999_999_999, link: .zero, month: AuditMonth(number: AuditMonth.limit))
    try group().set("head", to: last.serialized())
    let next = UInt64(try names().count + 1)
    #expect(try findings() == [.missing(from: next, through: 999_999_999_999), .ahead])
    #expect(try fixture.records().count == Int(next) - 1)
    let start = try fixture.owner().auditRecords().end
    #expect(try fixture.owner().auditRecords(after: start).next() == nil)
  }

  @Test func `what a thief wrote as a token ends when the service's credential is replaced`() throws {
    try fixture.service().group("vault.tokens").set("hash", to: "", Details(attributes: ["application": "web"]))
    _ = try fixture.owner().enrollService(to: fixture.store.folder + "/new", .replacing)
    #expect(try fixture.owner().group(.tokens).items().isEmpty)
  }

  @Test func `a new record begins after a broken one was removed`() throws {
    #expect(try fixture.owner().verifyAudit().isWhole)
    try group().set("head", to: "broken")
    try fixture.owner().removeGroup("vault.audit")
    _ = try fixture.owner().enrollService(to: fixture.store.folder + "/new", .replacing)
    let service = try SecretStore.open(at: fixture.store.location, credential: fixture.store.folder + "/new")
    try AuditLog(of: service).append([ServiceFixture.record("new")])
    #expect(try fixture.records().map { $0.item ?? $0.action.name } == ["enroll", "new"])
    #expect(try findings().isEmpty)
  }

  @Test func `an owner's act is done although its record cannot be written`() throws {
    try group().set("head", to: "broken")
    let owner = try fixture.owner()
    try owner.createGroup("fresh")
    #expect(owner.takeNotices().contains { if case .unrecorded = $0 { true } else { false } })
    #expect(try fixture.owner().groupNames().contains("fresh"))
  }
}
