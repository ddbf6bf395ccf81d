import Foundation
import Sealing
import Testing

@testable import Vault

/// Remotes and published groups in the group `vault.service`.
@Suite struct RemotesTests {
  private static let id = GroupID([UInt8](0..<32))!

  @Test func `the service finds the remotes and published groups that the owner has named`() throws {
    let fixture = try ServiceFixture()
    let owner = try fixture.owner()
    try owner.addRemote(RemoteFixture.full("b"))
    try owner.addRemote(RemoteFixture.plain("a"))
    try owner.setPublished("team.shared", RemotesTests.id, at: "b")
    let service = try fixture.service()
    #expect(try service.remotes().map(\.name) == ["a", "b"])
    #expect(try service.remote("b").password()?.exportInsecurelyAsString() == "correct horse")
    #expect(try service.publishedGroups() == ["team.shared": "b"])
    #expect(try service.publications() == [Publication(group: "team.shared", remote: "b", id: RemotesTests.id)])
  }

  @Test(arguments: [
    "a", "a ", "a 00", " " + String(repeating: "0", count: 64), "a " + String(repeating: "A", count: 64),
  ])
  func `a note that does not name remote and group is refused`(_ note: String) throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().addRemote(RemoteFixture.plain("a"))
    try fixture.owner().group("vault.service").set("published/default", to: note)
    #expect(throws: VaultError.self) { try fixture.owner().publishedGroups() }
  }

  @Test func `a store without a service has no remotes, and the first one makes its groups`() throws {
    let store = try StoreFixture()
    #expect(try store.open().remotes().isEmpty && store.open().publishedGroups().isEmpty)
    #expect(throws: VaultError.notFound(.remote)) { try store.open().remote("a") }
    #expect(throws: VaultError.notFound(.remote)) { try store.open().removeRemote("a") }
    #expect(throws: VaultError.notFound(.remote)) { try store.open().setPublished("default", RemotesTests.id, at: "a") }
    try store.open().clearPublished("default")
    try store.open().addRemote(RemoteFixture.plain("a"))
    #expect(try store.open().remotes().map(\.name) == ["a"])
    #expect(try store.open().groupNames() == ["default", "vault.audit", "vault.service"])
  }

  @Test func `a group that no vaultd could publish is not called published`() throws {
    let store = try StoreFixture()
    try store.open().addRemote(RemoteFixture.plain("a"))
    // The machine's own vaultd, if there is one, has nothing to do with it.
    let location = try StoreLocation(environment: [
      "VAULT_HOME": store.location.home, "VAULT_STATE": store.folder + "/state",
      "VAULT_SOCKET": store.folder + "/nobody",
    ])
    let owner = try SecretStore.open(at: location, unlocking: .keyFile(store.keyFile))
    #expect(throws: VaultError.locked(.service("nobody listens on its socket"))) {
      try owner.publishGroup("default", at: "a")
    }
    #expect(try store.open().publishedGroups().isEmpty)
  }

  @Test func `a remote is replaced only on request, and only if it exists`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    #expect(throws: VaultError.notFound(.remote)) {
      try fixture.owner().addRemote(RemoteFixture.plain("a"), replacing: true)
    }
    try fixture.owner().addRemote(RemoteFixture.plain("a"))
    #expect(throws: VaultError.exists(.remote)) { try fixture.owner().addRemote(RemoteFixture.full("a")) }
    try fixture.owner().addRemote(RemoteFixture.full("a"), replacing: true)
    #expect(try fixture.owner().remote("a").user == "web")
  }

  @Test func `a remote is removed only when no group is published there`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    for name in ["a", "b"] { try fixture.owner().addRemote(RemoteFixture.plain(name)) }
    try fixture.owner().setPublished("default", RemotesTests.id, at: "a")
    #expect(throws: VaultError.publishedGroup("default")) { try fixture.owner().removeRemote("a") }
    try fixture.owner().removeRemote("b")
    try fixture.owner().setPublished("other", RemotesTests.id, at: "a")
    try fixture.owner().clearPublished("default")
    #expect(throws: VaultError.publishedGroup("other")) { try fixture.owner().removeRemote("a") }
    try fixture.owner().clearPublished("other")
    try fixture.owner().clearPublished("other")
    try fixture.owner().removeRemote("a")
    #expect(throws: VaultError.notFound(.remote)) { try fixture.owner().removeRemote("a") }
    #expect(try fixture.owner().remotes().isEmpty && fixture.owner().publishedGroups().isEmpty)
  }

  @Test func `no older version of a removed remote is kept`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().addRemote(RemoteFixture.full("a"))
    try fixture.owner().addRemote(RemoteFixture.plain("a"), replacing: true)
    try fixture.owner().removeRemote("a")
    #expect(try fixture.owner().group("vault.service").history("remote/a").map(\.isRemoved) == [true])
  }

  @Test func `a group is published only at an existing remote`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    #expect(throws: VaultError.notFound(.remote)) {
      try fixture.owner().setPublished("default", RemotesTests.id, at: "a")
    }
    #expect(try fixture.owner().publishedGroups().isEmpty)
  }

  @Test func `neither the service nor an application changes remotes`() throws {
    let fixture = try ServiceFixture()
    try fixture.owner().addRemote(RemoteFixture.plain("a"))
    for store in try [fixture.service(), fixture.store.issue("com.example.web")] {
      #expect(throws: VaultError.denied(.ownerOnly)) { try store.addRemote(RemoteFixture.plain("b")) }
      #expect(throws: VaultError.denied(.ownerOnly)) { try store.removeRemote("a") }
      #expect(throws: VaultError.denied(.ownerOnly)) { try store.setPublished("default", RemotesTests.id, at: "a") }
      #expect(throws: VaultError.denied(.ownerOnly)) { try store.clearPublished("default") }
    }
  }

  @Test func `an item that is not a remote, or is another remote, is refused`() throws {
    let fixture = try ServiceFixture()
    let group = try fixture.owner().group("vault.service")
    try group.set("remote/a", to: RemoteFixture.plain("b").testBytes())
    #expect(throws: VaultError.self) { try fixture.service().remotes() }
    try group.set("remote/a", to: "etcd://n1:2379")
    #expect(throws: VaultError.self) { try fixture.service().remotes() }
    try group.remove("remote/a")
    for (name, value) in [("published/", "a"), ("published/A", "a"), ("published/g", "A"), ("published/g", "")] {
      try group.set(name, to: value)
      #expect(throws: VaultError.self) { try fixture.service().publishedGroups() }
      try group.remove(name)
    }
  }

  @Test func `the record names what was added, published and removed, without a secret`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    let owner = try fixture.owner()
    try owner.addRemote(RemoteFixture.full("a"))
    try owner.setPublished("default", RemotesTests.id, at: "a")
    try owner.clearPublished("default")
    try owner.removeRemote("a")
    let records = try fixture.records().dropFirst()
    #expect(records.map(\.action.name) == ["add-remote", "publish", "unpublish", "remove-remote"])
    #expect(records.first?.subject == "a" && records.first?.detail == "etcds://n1.example:2379,n2.example:2379")
    #expect(!"\(records)".contains("correct horse"))
  }

  // MARK: Credentials

  private let web = "com.example.web"

  @Test func `a credential issued with a remote names the remote and all groups`() throws {
    let store = try StoreFixture()
    try store.open().addRemote(RemoteFixture.full())
    try store.open().createGroup("team.shared")
    let path = store.folder + "/credential"
    let grant = Applications.Grant(.read, in: "team.shared")
    _ = try store.open().applications.issue(web, to: path, grants: [grant], remote: "office")
    let credential = try CredentialFile.read(path)
    #expect(credential.floors.map(\.group) == [web, "team.shared"])
    #expect(credential.remote?.password()?.exportInsecurelyAsString() == "correct horse")
    #expect(try SecretStore.open(at: store.location, credential: path).group(web).items().isEmpty)
    _ = try store.open().applications.issue(web, to: path + "2", .again)
    #expect(try CredentialFile.read(path + "2").remote == nil)
    _ = try store.open().applications.issue(web, to: path + "3", .replacing, remote: "office")
    #expect(try CredentialFile.read(path + "3").remote?.name == "office")
  }

  @Test func `an application is not issued a credential with an unknown remote`() throws {
    let store = try StoreFixture()
    #expect(throws: VaultError.notFound(.remote)) {
      try store.open().applications.issue(web, to: store.folder + "/credential", remote: "office")
    }
    #expect(try store.open().applications.list().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: store.folder + "/credential"))
  }
}
