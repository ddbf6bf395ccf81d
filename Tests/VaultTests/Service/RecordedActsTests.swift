import Foundation
import Testing

@testable import GroupFile
@testable import Vault

/// Acts of the owner that fail, are refused, or concern the record itself.
@Suite struct RecordedActsTests {
  private let fixture: ServiceFixture
  private var acts: [String] {
    get throws { try fixture.records().dropFirst(before).map { "\($0.action.name) \($0.outcome.name)" } }
  }
  private let before: Int

  init() throws {
    fixture = try ServiceFixture()
    before = try fixture.records().count
  }

  private func backUp() throws -> String {
    let path = fixture.store.folder + "/backup"
    try fixture.owner().backUp(to: path)
    return path
  }

  @Test func `what only the owner may do is not recorded for anyone else`() throws {
    for member in [try fixture.service(), try fixture.store.issue("app")] {
      #expect(throws: VaultError.denied(.ownerOnly)) { try member.rotateGroup("vault.service") }
      #expect(throws: VaultError.denied(.ownerOnly)) { try member.removeGroup("default") }
      #expect(member.takeNotices().isEmpty)
    }
    #expect(try acts == ["issue allowed"])
  }

  @Test func `a slot that cannot be written is recorded again, with the error`() throws {
    let identity = fixture.store.location.home + "/" + IdentityFolder.folderName
    try FileManager.default.createDirectory(
      atPath: identity + "/.\(IdentityFolder.fileName).new", withIntermediateDirectories: false)
    #expect(throws: VaultError.self) { try fixture.owner().addKeyFile(fixture.store.path("new key")) }
    #expect(try acts.map { $0.split(separator: " ")[0] } == ["add-slot", "add-slot"])
    #expect(try acts.first == "add-slot allowed" && acts.last != "add-slot allowed")
  }

  /// Puts an older state of the group `default` in the place of a newer one, and damages it.
  private func damageOlderState(droppingItems: Bool) throws {
    try fixture.owner().group("default").set("a", to: "old")
    let folder = fixture.store.location.groupFolder("default")
    try FileManager.default.copyItem(atPath: folder, toPath: fixture.store.path("old"))
    try fixture.owner().group("default").set("a", to: "new")
    try FileManager.default.removeItem(atPath: folder)
    try FileManager.default.moveItem(atPath: fixture.store.path("old"), toPath: folder)
    let connection = try Connection(at: ContainerPlace(folder: folder), access: .writing)
    try connection.begin(.immediate)
    try connection.statement(droppingItems ? "DELETE FROM item" : "DELETE FROM node").run()
    try connection.commit()
    connection.close()
  }

  @Test func `an older state in a damaged file is recorded once`() throws {
    try damageOlderState(droppingItems: false)
    try fixture.owner().acceptGroup("default")
    #expect(try acts == ["accept allowed"])
  }

  @Test func `a state that cannot be accepted after all is recorded again, with the error`() throws {
    try damageOlderState(droppingItems: true)
    #expect(throws: VaultError.self) { try fixture.owner().acceptGroup("default") }
    #expect(try acts == ["accept allowed", "accept damaged"])
  }

  @Test func `a state that is declined when it is offered again is recorded again`() throws {
    try damageOlderState(droppingItems: false)
    nonisolated(unsafe) var answers = [false, true]
    let accepted = try fixture.owner().acceptGroup("default") { _ in unsafe answers.popLast() ?? false }
    #expect(accepted == .declined)
    let outcome = AuditRecord.Outcome(VaultError.declined).name
    #expect(try acts == ["accept allowed", "accept \(outcome)"] && outcome != "allowed")
  }

  @Test func `a new key for the record with an older state of it is recorded`() throws {
    let backup = try backUp()
    try fixture.owner().rotateGroup("vault.audit")
    try fixture.owner().restoreBackup(from: backup, groups: ["vault.audit"], replacing: true)
    let owner = try fixture.owner()
    try owner.rotateGroup("vault.audit", accepting: { _ in true })
    #expect(try acts == ["rotate allowed"])
  }

  @Test func `a record that is restored where there is none names the restoration once`() throws {
    let backup = try backUp()
    try FileManager.default.removeItem(atPath: fixture.store.location.groupFolder("vault.audit"))
    try fixture.owner().restoreBackup(from: backup)
    let last = try fixture.records().dropFirst(before)
    #expect(last.map(\.action) == [.restoreBackup])
    #expect(last.first?.detail?.contains("default") == true)
  }

  @Test func `a binding is recorded before the service gets rights for it`() throws {
    try fixture.store.issue("app")
    let owner = try fixture.owner()
    nonisolated(unsafe) let seenActs = { (try? self.acts) ?? [] }
    nonisolated(unsafe) var seen: [[String]] = []
    owner.testOnlyBeforeLook.withLock { $0 = { _ in unsafe seen.append(unsafe seenActs()) } }
    _ = try owner.applications.bind("app", .init(unit: "a.service"))
    #expect(unsafe !seen.isEmpty && seen.allSatisfy { $0 == ["issue allowed", "bind allowed"] })
  }

  @Test func `an application that is unbound keeps its tokens until that is recorded`() throws {
    try fixture.store.issue("app")
    try fixture.owner().applications.bind("app", .init(user: "0"))
    let tokens = try fixture.service().group("vault.tokens")
    try tokens.set("token", to: "hash", .init(attributes: ["application": "app"]))
    // While somebody writes to the record, nobody else can.
    let folder = fixture.store.location.groupFolder("vault.audit")
    let connection = try Connection(at: ContainerPlace(folder: folder), access: .writing)
    try connection.begin(.immediate)
    let applications = try fixture.owner().applications
    let unbound = Thread { _ = try? applications.unbind("app") }
    unbound.start()
    Thread.sleep(forTimeInterval: 1)
    #expect(try tokens.items().count == 1)
    connection.rollback()
    connection.close()
    while !unbound.isFinished { Thread.sleep(forTimeInterval: 0.01) }
    #expect(try tokens.items().isEmpty)
    #expect(try acts.last == "unbind allowed" && fixture.owner().serviceBindings().isEmpty)
  }

  @Test func `a path is no name of a group in the record`() throws {
    #expect(throws: VaultError.self) { try fixture.owner().unshareGroup("../groups/default") }
    #expect(try acts.isEmpty)
  }
}
