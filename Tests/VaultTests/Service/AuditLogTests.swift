import Foundation
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct AuditLogTests {
  private typealias Record = AuditRecord

  @Test func `the owner reads what the service and the owner have appended`() throws {
    let fixture = try ServiceFixture()
    let before = try fixture.records().count
    let log = try AuditLog(of: fixture.service())
    try log.append([ServiceFixture.record("a"), ServiceFixture.record("b")])
    try AuditLog(of: fixture.owner()).append([ServiceFixture.record("c")])
    let head = try log.append([ServiceFixture.record("d")])
    #expect(try fixture.records().dropFirst(before).map(\.item) == ["a", "b", "c", "d"])
    #expect(try log.head() == head)
    let report = try fixture.owner().verifyAudit()
    #expect(report.isWhole && report.last == head.sequence && report.link == head.link.hexadecimal)
  }

  @Test func `a writer of the record cannot read it`() throws {
    let fixture = try ServiceFixture()
    let service = try fixture.service()
    try AuditLog(of: service).append([ServiceFixture.record("marked-item")])
    #expect(throws: VaultError.denied(.ownerOnly)) { try service.auditRecords() }
    #expect(throws: VaultError.denied(.ownerOnly)) { try service.verifyAudit() }
    for item in try service.group("vault.audit").items() {
      let bytes = try unsafe service.group("vault.audit").get(item.name.description).withUnsafeBytes {
        unsafe Array($0)
      }
      for text in ["marked-item", "com.example.web"] {
        #expect(!String(decoding: bytes, as: UTF8.self).contains(text))
      }
    }
  }

  @Test func `every field of a record is kept`() throws {
    let fixture = try ServiceFixture()
    let full = Record(
      time: Timestamp(milliseconds: 1_234_567_890_123),
      caller: Record.Caller(.owner, uid: 0, pid: 1, unit: "u", exe: "/e", address: "[::1]:1"), action: .dropMonths,
      group: "g", item: "i\n\u{1B}[2J", version: 0, outcome: .denied, subject: "s", detail: "")
    let empty = Record(time: Timestamp(milliseconds: 0), caller: Record.Caller(.nobody), action: .init(rawValue: 255))
    try AuditLog(of: fixture.service()).append([full, empty])
    #expect(try fixture.records().suffix(2) == [full, empty])
    #expect(empty.action.name == "action 255" && Record.Outcome(rawValue: 200).name == "status 200")
  }

  @Test func `no record is refused: long texts are cut, and large numbers are bounded`() throws {
    let fixture = try ServiceFixture()
    let long = String(repeating: "ü", count: 3_000)
    let record = Record(
      time: Timestamp(milliseconds: .max),
      caller: Record.Caller(.application(long), uid: .max, pid: .max, unit: long, exe: long, address: long),
      action: .read, group: long, item: long, version: .max, subject: long, detail: long)
    try AuditLog(of: fixture.service()).append(Array(repeating: record, count: 100))
    let found = try fixture.records().suffix(100)
    #expect(found.allSatisfy { $0.item == String(repeating: "ü", count: 2_046) + "…" })
    #expect(try fixture.owner().verifyAudit().isWhole)
  }

  @Test func `many writers at once make one chain`() throws {
    let fixture = try ServiceFixture()
    let stores = [try fixture.service(), try fixture.owner(), try fixture.service()]
    onThreads(3) { thread in
      for number in 0..<8 {
        #expect(throws: Never.self) {
          try AuditLog(of: stores[thread]).append([ServiceFixture.record("\(thread)-\(number)")])
        }
      }
    }
    let items = try fixture.records().compactMap(\.item).filter { $0.contains("-") && $0.utf8.count == 3 }
    #expect(Set(items).count == 24)
    #expect(try fixture.owner().verifyAudit().isWhole)
  }

  @Test func `after months are dropped, the chain begins later`() throws {
    let fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    for month in 1...5 { try log.append([ServiceFixture.record("month \(month)")], at: .month(month)) }
    let caller = Record.Caller(.nobody)
    #expect(try log.dropMonths(keeping: 12_000, by: caller, at: .month(5)) == 0)
    #expect(try log.dropMonths(keeping: 2, by: caller, at: .month(5)) > 2)
    let items = try fixture.records().map { $0.item ?? $0.action.name }
    #expect(items == ["month 4", "month 5", "drop-months"])
    let report = try fixture.owner().verifyAudit(at: .month(5))
    #expect(report.isWhole && report.first > 3)
    try log.append([ServiceFixture.record("after")], at: .month(6))
    #expect(try fixture.owner().verifyAudit(at: .month(6)).confirmed == report.last)
    #expect(try fixture.owner().group("vault.audit").listing(removed: true).items.isEmpty)
    #expect(throws: VaultError.self) { try log.dropMonths(keeping: 0, by: caller) }
  }

  @Test func `many batches are dropped in several changes, so that the record is not locked for long`() throws {
    let fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    for number in 1...300 { try log.append([ServiceFixture.record("\(number)")], at: .month(1)) }
    try log.append([ServiceFixture.record("kept")], at: .month(2))
    func epoch() throws -> UInt64 { try fixture.owner().group("vault.audit").info().epoch }
    let before = try epoch()
    #expect(try log.dropMonths(keeping: 1, by: Record.Caller(.nobody), at: .month(2)) >= 300)
    #expect(try epoch() >= before + 2)
    #expect(try fixture.records().map { $0.item ?? $0.action.name } == ["kept", "drop-months"])
    #expect(try fixture.owner().verifyAudit(at: .month(2)).isWhole)
  }

  @Test func `records before a damaged place are shown`() throws {
    let fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    for item in ["a", "b"] { try log.append([ServiceFixture.record(item)]) }
    try log.append((1...100).map { ServiceFixture.record("\($0)") })
    let place = try ContainerPlace(folder: fixture.service().group("vault.audit").file.folder)
    let writer = try Connection(at: place, access: .writing)
    try writer.begin(.immediate)
    try writer.statement(
      "UPDATE blob SET bytes=zeroblob(3) WHERE length(bytes)=(SELECT max(length(bytes)) FROM blob)"
    ).run()
    try writer.commit()
    writer.close()
    let records = try fixture.owner().auditRecords()
    var items: [String?] = []
    #expect(throws: VaultError.self) { while let record = try records.next() { items.append(record.item) } }
    #expect(items.suffix(2) == ["a", "b"])
  }

  @Test func `whoever shows the record does not hold a state of it, so its log can be emptied`() throws {
    let fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    try log.append([ServiceFixture.record("a")])
    let records = try fixture.owner().auditRecords()
    #expect(try records.next() != nil)
    let place = try ContainerPlace(folder: fixture.service().group("vault.audit").file.folder)
    let writer = try Connection(at: place, access: .writing)
    #expect(throws: Never.self) { try writer.truncatingCheckpoint(waiting: 1) }
    while try records.next() != nil {}
  }

  @Test func `a clock that is ahead does not drop the record`() throws {
    let fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    for month in 1...5 { try log.append([ServiceFixture.record("month \(month)")], at: .month(month)) }
    func drop(at time: Timestamp) throws -> Int { try log.dropMonths(keeping: 5, by: .init(.nobody), at: time) }
    // What the store's creation recorded is older.
    #expect(try drop(at: .month(5)) > 0)
    let ahead = Timestamp.month(11).milliseconds
    #expect(try drop(at: Timestamp(milliseconds: ahead)) == 0)
    try log.append([ServiceFixture.record("ahead")], at: Timestamp(milliseconds: ahead))
    #expect(try drop(at: Timestamp(milliseconds: ahead + 90_000_000)) == 0)
    try log.append([ServiceFixture.record("back")], at: .month(5))
    #expect(try drop(at: .month(5)) == 0)
    let items = ["month 1", "month 2", "month 3", "month 4", "month 5", "ahead", "back"]
    #expect(try fixture.records().compactMap(\.item) == items)
  }

  @Test func `a clock that goes back does not put a batch into an earlier month`() throws {
    let fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    try log.append([ServiceFixture.record("a")], at: .month(7))
    try log.append([ServiceFixture.record("b")], at: .month(3))
    try log.append([ServiceFixture.record("c")], at: Timestamp(milliseconds: .max))
    try log.append([ServiceFixture.record("d")], at: Timestamp(milliseconds: 0))
    let names = try fixture.owner().group("vault.audit").items().map(\.name.description)
    #expect(!names.contains { $0.hasPrefix("2500-03") || $0.hasPrefix("1970") })
    #expect(names.count { $0.hasPrefix("9999-12/") } == 2)
    #expect(try fixture.owner().verifyAudit(at: .month(12)).findings == [.ahead])
    // What the owner has accepted is not a finding again.
    #expect(try fixture.owner().verifyAudit(accepting: true, at: .month(12)).findings == [.ahead])
    #expect(try fixture.owner().verifyAudit(at: .month(12)).isWhole)
    #expect(try fixture.owner().verifyAudit(at: Timestamp(milliseconds: .max)).isWhole)
  }

  @Test func `only records since a time are read`() throws {
    let fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    let now = Timestamp.now.milliseconds
    try log.append([ServiceFixture.record("old", now - 10_000), ServiceFixture.record("new", now)])
    let since = Timestamp(milliseconds: now - 5_000)
    #expect(try fixture.records(since: since).compactMap(\.item) == ["new"])
  }

  @Test func `records can be followed from a state that was seen`() throws {
    let fixture = try ServiceFixture()
    let log = try AuditLog(of: fixture.service())
    let seen = try fixture.owner().auditRecords().end
    try log.append([ServiceFixture.record("a")])
    try log.append([ServiceFixture.record("b")], at: .month(12))
    try log.append([ServiceFixture.record("c")], at: Timestamp(milliseconds: .max))
    let records = try fixture.owner().auditRecords(after: seen)
    var items: [String?] = []
    while let record = try records.next() { items.append(record.item) }
    #expect(items == ["a", "b", "c"])
    #expect(try fixture.owner().auditRecords(after: records.end).next() == nil)
  }

  @Test func `in a store without a record nothing is recorded or read`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("g")
    #expect(throws: VaultError.notFound(.record)) { try store.open().auditRecords() }
    #expect(try store.open().groupNames() == ["default", "g"])
  }
}
