import Foundation
import Testing

@testable import Vault

@Suite struct EnrolmentTests {
  private let group = "team.shared"

  @Test func `an enrolled service opens the groups that it serves and no others`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    for name in [group, "readable", "closed"] { try fixture.owner().createGroup(name).set("a", to: name) }
    _ = try fixture.owner().enrollService(
      to: fixture.credential, serving: [.init(.write, in: group), .init(.read, in: "readable")])
    let service = try fixture.service()
    #expect(service.application == "vault.service")
    #expect(try service.group(group).set("a", to: "new") == 2)
    #expect(try service.group("readable").get("a").exportInsecurelyAsString() == "readable")
    #expect(throws: VaultError.denied(.readOnly)) { try service.group("readable").set("a", to: "x") }
    #expect(throws: VaultError.denied(.notAMember)) { _ = try service.group("closed").get("a") }
    let info = try fixture.owner().service()
    #expect(info.groups.map { "\($0.name) \($0.rights.rawValue)" } == ["readable read", "team.shared write"])
    #expect(info.credential?.standing == .issued)
  }

  @Test func `a service cannot change its own bindings and settings, or any members`() throws {
    let fixture = try ServiceFixture()
    let service = try fixture.service()
    #expect(throws: VaultError.denied(.readOnly)) { try service.group("vault.service").set("bind/a", to: "[]") }
    #expect(throws: VaultError.denied(.ownerOnly)) { try service.grant(.write, in: "default", to: "vault.service") }
    #expect(throws: VaultError.denied(.ownerOnly)) { try service.applications.bind("a", .init(user: "0")) }
    #expect(throws: VaultError.denied(.ownerOnly)) { try service.beginAudit() }
    #expect(throws: VaultError.denied(.ownerOnly)) { try service.createGroup("mine") }
  }

  @Test func `nobody but the owner and the service can be a member of the store's own groups`() throws {
    let fixture = try ServiceFixture()
    try fixture.store.issue("com.example.app")
    for group in ["vault.service", "vault.audit", "vault.tokens"] {
      for issuance in [Applications.Issuance.first, .again, .replacing] {
        let id = issuance == .first ? "com.example.new" : "com.example.app"
        #expect(throws: VaultError.invalid("'\(group)' is the store's own group")) {
          try fixture.owner().applications.issue(
            id, to: fixture.store.folder + "/other", issuance, grants: [.init(.write, in: group)])
        }
      }
      for application in ["com.example.app", "vault.service"] {
        #expect(throws: VaultError.self) { try fixture.owner().grant(.write, in: group, to: application) }
      }
      #expect(throws: VaultError.self) {
        _ = try fixture.owner().enrollService(
          to: fixture.credential, .again, serving: [.init(.write, in: group)])
      }
    }
    #expect(throws: VaultError.self) {
      try fixture.owner().applications.issue("vault.service", to: fixture.store.folder + "/other")
    }
    #expect(try fixture.service().serviceBindings().isEmpty)
  }

  @Test func `a member that an earlier version let into the store's own groups is named and put out`() throws {
    let fixture = try ServiceFixture()
    try fixture.store.issue("com.example.app")
    let owner = try fixture.owner()
    let known = try owner.applications.application("com.example.app")
    _ = try owner.grant(.write, in: "vault.tokens", to: "com.example.app", known)
    func problems() throws -> [VaultError] {
      try fixture.owner().verify().compactMap { if case .failure(let error) = $0.result { error } else { nil } }
    }
    #expect(
      try problems() == [
        .formerMember(group: "vault.tokens", application: "com.example.app", issue: 1, isBeingReplaced: false)
      ])
    try fixture.owner().revoke("com.example.app", from: "vault.tokens")
    #expect(try problems().isEmpty)
  }

  @Test func `all groups are served on request, except those of the store itself`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().createGroup(group)
    _ = try fixture.owner().enrollService(
      to: fixture.credential, serving: [.init(.read, in: group)], all: true)
    let served = try fixture.owner().service().groups.map { "\($0.name) \($0.rights.rawValue)" }
    #expect(served == ["default write", "team.shared read"])
  }

  @Test func `a replaced credential opens nothing, and the new one has the same groups`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().createGroup(group)
    _ = try fixture.owner().enrollService(to: fixture.credential, serving: [.init(.write, in: group)])
    let stolen = fixture.store.folder + "/stolen"
    try FileManager.default.copyItem(atPath: fixture.credential, toPath: stolen)
    try FileManager.default.removeItem(atPath: fixture.credential)
    _ = try fixture.owner().enrollService(to: fixture.credential, .replacing)
    let thief = try SecretStore.open(at: fixture.store.location, credential: stolen)
    for name in [group, "vault.service", "vault.audit"] {
      #expect(throws: VaultError.denied(.notAMember)) { try thief.group(name).items() }
    }
    #expect(throws: VaultError.denied(.notAMember)) { try AuditLog(of: thief) }
    try fixture.service().group(group).set("a", to: 1)
    try AuditLog(of: fixture.service()).append([ServiceFixture.record("a")])
  }

  @Test func `a revoked service opens nothing, and bindings and record are kept`() throws {
    let fixture = try ServiceFixture()
    try fixture.owner().applications.bind("com.example.web", .init(unit: "web.service"))
    try fixture.owner().revokeService()
    for name in ["com.example.web", "vault.service", "vault.audit"] {
      #expect(throws: VaultError.denied(.notAMember)) { try fixture.service().group(name).items() }
    }
    #expect(try fixture.owner().service().bindings.map(\.application) == ["com.example.web"])
    #expect(try fixture.owner().verifyAudit().isWhole)
    #expect(try fixture.owner().service().credential?.standing == .revoked)
  }

  @Test func `enrolling opens the groups of applications that were bound before`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().createGroup(group)
    let bound = try fixture.owner().applications.bind("com.example.web", .init(unit: "web.service"))
    #expect(bound.unserved.map(\.name) == ["com.example.web"] && !bound.hasService)
    try fixture.owner().grant(.read, in: group, to: "com.example.web")
    _ = try fixture.owner().enrollService(to: fixture.credential)
    let served = try fixture.owner().service()
    #expect(served.groups.map { "\($0.name) \($0.rights.rawValue)" } == ["com.example.web write", "team.shared read"])
    #expect(served.unserved.isEmpty)
  }

  @Test func `bindings that cannot be read do not keep the service's replaced credential valid`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().createGroup(group)
    _ = try fixture.owner().enrollService(to: fixture.credential, serving: [.init(.write, in: group)])
    let stolen = fixture.store.folder + "/stolen"
    try FileManager.default.moveItem(atPath: fixture.credential, toPath: stolen)
    let folder = fixture.store.location.home + "/groups/vault.service"
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      try FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    #expect(
      FileManager.default.createFile(
        atPath: folder + "/group.vault", contents: Data(repeating: 0x61, count: 8_192),
        attributes: [.posixPermissions: 0o600]))
    #expect(throws: VaultError.self) { _ = try fixture.owner().enrollService(to: fixture.credential, .again) }
    let issued = try fixture.owner().enrollService(to: fixture.credential, .replacing)
    #expect(issued.unchanged.map(\.name) == ["vault.service"])
    let thief = try SecretStore.open(at: fixture.store.location, credential: stolen)
    #expect(throws: VaultError.denied(.notAMember)) { try thief.group(group).items() }
    #expect(try fixture.service().group(group).items().isEmpty)
  }
}
