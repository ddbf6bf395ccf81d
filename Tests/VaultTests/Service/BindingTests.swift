import Foundation
import Testing

@testable import Vault

@Suite struct BindingTests {
  private typealias Alternative = ServiceBinding.Alternative
  private let web = "com.example.web"

  @Test func `the service reads what the owner has bound`() throws {
    let fixture = try ServiceFixture()
    let applications = try fixture.owner().applications
    let token = try ServiceBinding.Reference(item: "api/token", field: "key", group: "team.shared")
    try applications.bind(web, Alternative(unit: "web.service", user: "www-data"))
    try applications.bind(
      web, Alternative(unit: "web@1.service", exe: "/usr/bin/web \"x\" \\", credentials: ["api.token": token]))
    try applications.bind("com.example.db", Alternative(user: "70", label: "db//&unconfined"))
    let found = try fixture.service().serviceBindings()
    #expect(found.map(\.application) == ["com.example.db", web])
    #expect(found[1].alternatives.map(\.unit) == ["web.service", "web@1.service"])
    #expect(found[1].alternatives.map(\.user) == ["www-data", nil])
    #expect(found[1].alternatives[1].exe == "/usr/bin/web \"x\" \\")
    #expect(found[1].alternatives[1].credentials == ["api.token": token])
    #expect(found[0].alternatives[0].label == "db//&unconfined")
  }

  @Test func `binding the same conditions again adds their credentials`() throws {
    let fixture = try ServiceFixture()
    let applications = try fixture.owner().applications
    let (a, b) = (try ServiceBinding.Reference(item: "a"), try ServiceBinding.Reference(item: "b"))
    try applications.bind(web, Alternative(unit: "web.service", credentials: ["one": a, "two": a]))
    try applications.bind(web, Alternative(unit: "web.service", credentials: ["two": b]))
    let found = try fixture.service().serviceBindings()
    #expect(found.count == 1 && found[0].alternatives.count == 1)
    #expect(found[0].alternatives[0].credentials == ["one": a, "two": b])
  }

  @Test func `rights that were lowered in an application's own group stay lowered`() throws {
    let fixture = try ServiceFixture()
    func rights() throws -> MemberRights? {
      try fixture.owner().applications.groups(of: web).first { $0.name == web }?.rights
    }
    try fixture.owner().applications.bind(web, Alternative(user: "0"))
    try fixture.owner().grant(.read, in: web, to: web)
    try fixture.owner().applications.bind(web, Alternative(user: "1"))
    #expect(try rights() == .read)
    for issuance in [Applications.Issuance.first, .again, .replacing] {
      let path = fixture.store.folder + "/\(issuance)"
      _ = try fixture.owner().applications.issue(web, to: path, issuance)
      #expect(try rights() == .read)
    }
  }

  @Test func `an application that does not exist yet gets a group and no credential`() throws {
    let fixture = try ServiceFixture()
    let bound = try fixture.owner().applications.bind(web, Alternative(unit: "web.service"))
    #expect(bound.unserved.isEmpty && bound.hasService)
    let application = try fixture.owner().applications.application(web)
    #expect(application.standing == .registered && application.issued == nil)
    try fixture.service().group(web).set("a", to: "served")
    // The first credential can be written later, and opens the same group.
    try fixture.store.issue(web)
    #expect(try fixture.owner().applications.application(web).standing == .issued)
  }

  @Test func `the service gets an application's rights in its groups and no more`() throws {
    let fixture = try ServiceFixture()
    for name in ["readable", "writable"] { try fixture.owner().createGroup(name) }
    try fixture.store.issue(web, grants: [.init(.read, in: "readable"), .init(.write, in: "writable")])
    #expect(try fixture.owner().applications.unserved(web).count == 3)
    try fixture.owner().applications.bind(web, Alternative(unit: "web.service"))
    #expect(try fixture.owner().applications.unserved(web).isEmpty)
    let rights = try fixture.owner().service().groups.map { "\($0.name) \($0.rights.rawValue)" }
    #expect(rights == ["com.example.web write", "readable read", "writable write"])
  }

  @Test func `unbinding removes the named conditions, or all`() throws {
    let fixture = try ServiceFixture()
    let applications = try fixture.owner().applications
    for unit in ["a.service", "b.service", "c.service"] { try applications.bind(web, Alternative(unit: unit)) }
    let left = try applications.unbind(web, Alternative(unit: "b.service"))
    #expect(left?.alternatives.map(\.unit) == ["a.service", "c.service"])
    #expect(throws: VaultError.notFound(.binding)) { try applications.unbind(web, Alternative(unit: "b.service")) }
    #expect(throws: VaultError.notFound(.binding)) {
      try applications.unbind(web, Alternative(unit: "a.service", user: "0"))
    }
    #expect(try applications.unbind(web) == nil)
    #expect(try fixture.service().serviceBindings().isEmpty)
    #expect(throws: VaultError.notFound(.binding)) { try applications.unbind(web) }
    try applications.bind(web, Alternative(unit: "b.service"))
    #expect(try fixture.service().serviceBindings().count == 1)
  }

  @Test(arguments: [
    "", "null", "{}", "[]", "[[]]", "[{}]", "[\"a\"]", "[{\"unit\":1}]", "[{\"unit\":null}]", "[{\"unit\":\"\"}]",
    "[{\"unit\":[\"web.service\"]}]", "[{\"unit\":\"web\"}]", "[{\"unit\":\"web@.service\"}]",
    "[{\"unit\":\"a b.service\"}]", "[{\"user\":\"a:b\"}]", "[{\"exe\":\"bin\"}]", "[{\"exe\":\"/bin/\"}]",
    "[{\"label\":\"a\\nb\"}]", "[{\"unit\":\"a.service\",\"uint\":\"b\"}]", "[{\"credentials\":{}}]",
    "[{\"unit\":\"a.service\",\"unit\":\"b.service\"}]", "[{\"unit\":\"a.service\"},{\"unit\":\"a.service\"}]",
    "[{\"unit\":\"a.service\",\"credentials\":[]}]", "[{\"unit\":\"a.service\",\"credentials\":{\"x\":\"y\"}}]",
    "[{\"unit\":\"a.service\",\"credentials\":{\"x\":{}}}]",
    "[{\"unit\":\"a.service\",\"credentials\":{\"x\":{\"item\":\"a\",\"more\":\"b\"}}}]",
    "[{\"unit\":\"a.service\",\"credentials\":{\"../x\":{\"item\":\"a\"}}}]",
    "[{\"unit\":\"a.service\",\"credentials\":{\"x\":{\"item\":\"\"}}}]",
    "[{\"unit\":\"a.service\",\"credentials\":{\"x\":{\"item\":\"a\",\"group\":\"../b\"}}}]",
    "[{\"unit\":\"a.service\"}] ]", "[{\"unit\":\"a.service\"}", "[{\"unit\":\"a.service\"},]", "\u{FEFF}[]",
    "[{\"$data\":\"AAAA\"}]", "[{\"unit\":\"a.service\",\"when\":true}]",
  ])
  func `a binding that does not follow the format is refused and not ignored`(text: String) throws {
    let fixture = try ServiceFixture()
    try fixture.owner().applications.bind("com.example.good", Alternative(unit: "good.service"))
    try fixture.owner().group("vault.service").set("bind/\(web)", to: text)
    #expect(throws: VaultError.self) { try fixture.service().serviceBindings() }
    #expect(throws: VaultError.self) { try fixture.owner().applications.bind(web, Alternative(unit: "b.service")) }
  }

  @Test func `a binding under an impossible application id is refused`() throws {
    let fixture = try ServiceFixture()
    for name in ["bind/vault.service", "bind/default", "bind/", "bind/A", "bind/a/b"] {
      try fixture.owner().group("vault.service").set(name, to: "[{\"unit\":\"a.service\"}]")
      #expect(throws: VaultError.self) { try fixture.service().serviceBindings() }
      try fixture.owner().group("vault.service").remove(name)
    }
    #expect(try fixture.service().serviceBindings().isEmpty)
  }

  @Test func `deep and long JSON ends in an error`() throws {
    let deep = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
    #expect(throws: VaultError.self) { try ServiceBinding(application: web, parsing: deep) }
    let long = Array("[\(String(repeating: "{\"unit\":\"a.service\"},", count: 30_000))]".utf8)
    #expect(throws: VaultError.self) { try ServiceBinding(application: web, parsing: long) }
  }

  @Test func `a revoked application loses its bindings and its AppRole secret`() throws {
    let fixture = try ServiceFixture()
    let (settings, secret) = (try fixture.owner().group("vault.service"), "settings/approle/" + web)
    try settings.set(secret, to: "a secret of 16 bytes or more")
    try fixture.owner().applications.bind(web, Alternative(unit: "web.service"))
    try fixture.owner().applications.bind("com.example.db", Alternative(user: "70"))
    try fixture.owner().applications.uninstall(web)
    #expect(try fixture.service().serviceBindings().count == 2)
    try fixture.owner().applications.uninstall(web, revoking: true)
    #expect(try fixture.service().serviceBindings().map(\.application) == ["com.example.db"])
    #expect(throws: VaultError.notFound(.item)) { _ = try settings.get(secret) }
    #expect(throws: VaultError.contradiction(.revokedApplication)) {
      try fixture.owner().applications.bind(web, Alternative(unit: "web.service"))
    }
  }

  @Test func `a binding reads back as the same bytes`() throws {
    let reference = try ServiceBinding.Reference(item: "a/\"b\"", field: "ü", group: "g")
    let binding = try ServiceBinding(
      application: web,
      alternatives: [
        Alternative(
          unit: "a@b.service", user: "root", exe: "/x", label: "l", credentials: ["c": reference, "b": reference]),
        Alternative(user: "0"),
      ])
    let read = try ServiceBinding(application: web, parsing: binding.serialized())
    #expect(read == binding && read.serialized() == binding.serialized())
  }

  @Test func `a binding that an application could have written is refused`() throws {
    let fixture = try ServiceFixture()
    // Only a changed program could make such a roster, with the owner's signature.
    try fixture.owner().change(
      .service, .init(grants: [.init(application: "vault.service", issue: 1, rights: .write)]))
    #expect(throws: VaultError.self) { try fixture.service().serviceBindings() }
    #expect(throws: VaultError.self) { try AuditLog(of: fixture.service()) }
  }

  @Test func `a binding that was written while somebody else could do so is refused afterwards, too`() throws {
    let fixture = try ServiceFixture()
    func setRights(_ rights: MemberRights) throws {
      try fixture.owner().change(
        .service, .init(grants: [.init(application: "vault.service", issue: 1, rights: rights)]))
    }
    try setRights(.write)
    try fixture.service().group("vault.service").set("bind/\(web)", to: "[{\"unit\":\"a.service\"}]")
    try setRights(.read)
    let refusal = VaultError.damaged(group: "vault.service", level: .row, detail: "an item that is not the owner's")
    #expect(throws: refusal) { try fixture.service().serviceBindings() }
    #expect(throws: refusal) { try fixture.service().serviceBinding(of: web) }
    #expect(throws: refusal) { try fixture.owner().applications.bind(web, Alternative(unit: "b.service")) }
  }

  @Test func `the parts of a binding are limited`() throws {
    let all = try (0..<65).map { try Alternative(user: "\($0)") }
    #expect(try ServiceBinding(application: web, alternatives: Array(all.dropLast())).alternatives.count == 64)
    #expect(throws: VaultError.overLimit("64 alternatives of a binding")) {
      try ServiceBinding(application: web, alternatives: all)
    }
    let reference = try ServiceBinding.Reference(item: "a")
    let credentials = Dictionary(uniqueKeysWithValues: (0..<65).map { ("c\($0)", reference) })
    #expect(throws: VaultError.overLimit("64 credentials of a binding")) {
      try Alternative(unit: "a.service", credentials: credentials)
    }
  }
}
