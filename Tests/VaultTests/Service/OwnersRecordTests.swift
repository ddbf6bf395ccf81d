import Foundation
import Glibc
import Testing

@testable import Vault

/// What the owner signs is recorded, with and without a service.
@Suite struct OwnersRecordTests {
  @Test func `everything that the owner signs is in the record`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    let owner = try fixture.owner()
    let folder = fixture.store.folder
    let app = "com.example.app"
    try owner.createGroup("g").set("a", to: 1)
    _ = try owner.applications.issue(app, to: folder + "/1")
    _ = try owner.applications.issue(app, to: folder + "/2", .again)
    _ = try owner.applications.issue(app, to: folder + "/3", .replacing)
    try owner.grant(.read, in: "g", to: app)
    try owner.revoke(app, from: "g")
    try owner.rotateGroup("g")
    try owner.shareGroup("g", with: UnixGroup("\(getgid())"))
    try owner.unshareGroup("g")
    try owner.applications.bind(app, .init(unit: "a.service"))
    try owner.applications.unbind(app)
    _ = try owner.enrollService(to: fixture.credential, serving: [.init(.read, in: "g")])
    try owner.applications.uninstall(app)
    try owner.revokeService()
    let slot = try owner.addKeyFile(folder + "/new key")
    try owner.removeSlot(slot.number)
    _ = try owner.addPassphrase(Secret("a long passphrase"))
    try owner.changePassphrase(to: Secret("another long passphrase"))
    _ = try owner.createRecoveryCode()
    try owner.backUp(to: folder + "/backup")
    try owner.restoreBackup(from: folder + "/backup", groups: ["g"])
    try owner.removeGroup("g")
    let actions = try fixture.records().map(\.action.name)
    #expect(
      actions == [
        "begin-audit", "create-group", "issue", "issue", "replace", "grant", "revoke", "rotate", "share", "unshare",
        "bind", "unbind", "enroll", "uninstall", "uninstall", "add-slot", "remove-slot", "add-slot", "change-slot",
        "add-slot", "restore-backup", "remove-group",
      ])
    #expect(owner.takeNotices().isEmpty)
    let records = try fixture.records()
    #expect(records.allSatisfy { $0.caller.who == .owner && $0.caller.uid == getuid() && $0.caller.pid == getpid() })
    let grant = try #require(records.first { $0.action == .grant })
    #expect(grant.group == "g" && grant.subject == app && grant.detail == "read")
    #expect(try fixture.owner().verifyAudit().isWhole)
  }

  @Test func `reading and failing leave no record`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    let owner = try fixture.owner()
    try owner.group("default").set("a", to: 1)
    _ = try owner.group("default").get("a")
    #expect(throws: VaultError.self) { try owner.rotateGroup("absent") }
    #expect(throws: VaultError.self) { try owner.createGroup("default") }
    #expect(throws: VaultError.self) { try owner.removeSlot(7) }
    _ = try owner.acceptGroup("default")
    #expect(try fixture.records().map(\.action) == [.beginAudit])
  }

  @Test func `an act is in the record before it is done`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    let owner = try fixture.owner()
    // So many that the acts report progress.
    try owner.group("default").transaction { edit in for number in 1...2_000 { edit.set("\(number)", to: number) } }
    let app = "com.example.app"
    var seen: [[String]] = []
    func look() { seen.append((try? fixture.records().map(\.action.name)) ?? []) }
    for (name, file) in [(app, "/1"), (app + "2", "/2")] {
      _ = try owner.applications.issue(name, to: fixture.store.folder + file, grants: [.init(.read, in: "default")])
    }
    try owner.rotateGroup("default", progress: { _ in look() })
    _ = try owner.applications.issue(app, to: fixture.store.folder + "/3", .replacing, progress: { _, _ in look() })
    try owner.revoke(app, from: "default", progress: { _ in look() })
    try owner.applications.uninstall(app + "2", revoking: true, progress: { _, _ in look() })
    let acts = ["begin-audit", "issue", "issue", "rotate", "replace", "revoke", "uninstall"]
    #expect(Set(seen) == Set((4...7).map { Array(acts.prefix($0)) }))
    #expect(try fixture.records().map(\.action.name) == acts)
  }

  @Test func `an accepted state is in the record before it is signed`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    let owner = try fixture.owner()
    try owner.group("default").set("a", to: 1)
    try owner.backUp(to: fixture.store.folder + "/backup")
    try owner.rotateGroup("default")
    try owner.restoreBackup(from: fixture.store.folder + "/backup", groups: ["default"], replacing: true)
    let declined = try owner.acceptGroup("default") { _ in false }
    #expect(declined == .declined)
    #expect(try fixture.records().map(\.action) == [.beginAudit, .rotate, .restoreBackup])
    try owner.acceptGroup("default")
    #expect(try fixture.records().map(\.action) == [.beginAudit, .rotate, .restoreBackup, .accept])
  }

  @Test func `an act that fails is recorded again, with the error`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    let file = fixture.store.location.groupFolder("default") + "/group.vault"
    try Data(repeating: 0x41, count: 65_536).write(to: URL(filePath: file))
    #expect(throws: VaultError.self) { try fixture.owner().rotateGroup("default") }
    let records = try fixture.records()
    #expect(records.map(\.action) == [.beginAudit, .rotate, .rotate])
    #expect(records.map(\.outcome.name) == ["allowed", "allowed", "damaged"])
  }

  @Test func `beginning the record twice changes nothing`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().beginAudit()
    #expect(try fixture.records().count == 1)
    #expect(try fixture.owner().groupNames() == ["default", "vault.audit", "vault.service"])
  }

  @Test func `a record comes back with a backup, and what is lost with it is a finding`() throws {
    let fixture = try ServiceFixture()
    let backup = fixture.store.folder + "/backup"
    try fixture.owner().backUp(to: backup)
    try fixture.owner().createGroup("later")
    #expect(try fixture.owner().verifyAudit().isWhole)
    try fixture.owner().restoreBackup(from: backup, groups: ["vault.audit"], replacing: true)
    try fixture.owner().acceptGroup("vault.audit")
    let findings = try fixture.owner().verifyAudit().findings
    #expect(!findings.isEmpty)
  }
}
