import Foundation
import Testing

@testable import Vault

/// A store with a record, and with an enrolled service if asked for.
final class ServiceFixture {
  let store: StoreFixture
  var credential: String { store.folder + "/service.credential" }

  init(enrolled: Bool = true) throws {
    store = try StoreFixture()
    if enrolled { _ = try owner().enrollService(to: credential) } else { try owner().beginAudit() }
  }

  func owner() throws -> SecretStore { try store.open() }
  func service() throws -> SecretStore { try SecretStore.open(at: store.location, credential: credential) }

  /// All records that are kept, as the owner reads them.
  func records(since time: Timestamp = Timestamp(milliseconds: 0)) throws -> [AuditRecord] {
    let records = try owner().auditRecords(since: time)
    var found: [AuditRecord] = []
    while let record = try records.next() { found.append(record) }
    return found
  }

  static func record(_ item: String, _ time: UInt64 = 1_000) -> AuditRecord {
    AuditRecord(
      time: Timestamp(milliseconds: time),
      caller: AuditRecord.Caller(
        .application("com.example.web"), uid: 33, pid: 7, unit: "web.service", exe: "/bin/web"),
      action: .read, group: "team.shared", item: item, version: 3)
  }
}

extension Timestamp {
  /// Noon of the 15th of a month of the year 2500, later than any clock that runs this.
  static func month(_ number: Int) -> Timestamp {
    let days = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][number - 1] + 14
    return Timestamp(milliseconds: 16_725_225_600_000 + UInt64(days) * 86_400_000 + 43_200_000)
  }
}
