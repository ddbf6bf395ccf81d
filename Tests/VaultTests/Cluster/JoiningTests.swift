import Foundation
import Testing

@testable import Vault

/// What `vault join` does before it asks `vaultd`.
@Suite struct JoiningTests {
  private let web = "com.example.web"
  private let owner: StoreFixture
  private let place: StoreLocation

  init() throws {
    owner = try StoreFixture()
    try owner.open().addRemote(RemoteFixture.full())
    place = try StoreLocation(home: owner.folder + "/joined-home", state: owner.folder + "/joined-state")
  }

  private func issue(
    _ issuance: Applications.Issuance = .first, as name: String, of store: StoreFixture? = nil
  ) throws -> ApplicationCredential {
    let path = owner.folder + "/" + name
    _ = try (store ?? owner).open().applications.issue(web, to: path, issuance, remote: "office")
    return try ApplicationCredential(at: path)
  }

  private func keptIssue() throws -> UInt32 {
    try ApplicationCredential(at: place.joinedCredential(of: web)).issue
  }

  @Test func `a joined store has folders for groups and credentials, and no identity`() throws {
    try place.join(issue(as: "1"))
    let names = try FileManager.default.contentsOfDirectory(atPath: place.home).sorted()
    #expect(names == ["groups", "joined"])
    for path in [place.home, place.home + "/groups", place.home + "/joined", owner.folder + "/joined-state"] {
      #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
    }
    let copy = try place.joinedCredential(of: web)
    #expect(try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int == 0o600)
    #expect(FileManager.default.contents(atPath: copy) == FileManager.default.contents(atPath: owner.folder + "/1"))
    #expect(try place.joinedApplications() == [web])
  }

  @Test func `where an application joined, a group is missed if it was there once, or if none has arrived yet`() throws
  {
    try owner.open().createGroup("team")
    _ = try issue(as: "0")
    try owner.open().grant(.read, in: "team", to: web)
    try place.join(issue(.again, as: "1"))
    let joined = { try SecretStore.open(at: place, credential: owner.folder + "/1") }
    func isVanished(_ problem: VaultError?) -> Bool {
      if case .rolledBack(_, _, _, .vanished)? = problem { true } else { false }
    }
    let fresh = try joined().status()
    #expect(fresh.groups.map(\.name) == [web, "team"] && fresh.groups.allSatisfy { isVanished($0.problem) })
    #expect(fresh.application == web)
    // Once one is here, those that are not published are not missed.
    try FileManager.default.copyItem(
      atPath: owner.location.home + "/groups/team", toPath: place.home + "/groups/team")
    #expect(try joined().verify().map(\.name) == ["team"] && joined().publishedCopies().isEmpty)
    try FileManager.default.removeItem(atPath: place.home + "/groups/team")
    #expect(try joined().status().groups.map(\.name) == ["team"])
    #expect(try isVanished(joined().status().groups.first?.problem))
    #expect(try joined().publishedCopies() == ["team"])
  }

  @Test func `a credential names its groups, with the states that the owner knew`() throws {
    let credential = try issue(as: "1")
    #expect(credential.application == web && credential.issue == 1 && credential.groups == [web])
    #expect(credential.floors.map(\.group) == [web] && credential.floors[0].state.epoch > 0)
    #expect(try credential.ownerKey.bytes == owner.open().ownerKeyBytes)
    #expect(!"\(credential)".contains("correct horse"))
  }

  @Test func `only the same or a newer credential replaces the copy`() throws {
    let first = try issue(as: "1")
    let second = try issue(.replacing, as: "2")
    try place.join(first)
    try place.join(first)
    try place.join(second)
    #expect(try keptIssue() == second.issue)
    #expect(throws: VaultError.contradiction(.newerCredential)) { try place.join(first) }
    #expect(try keptIssue() == second.issue)
    try place.join(issue(.again, as: "3"))
    #expect(try keptIssue() == second.issue)
  }

  @Test func `a credential that knows an older list of members does not replace one of the same identity`() throws {
    try owner.open().createGroup("team")
    try owner.open().grant(.read, in: "team", to: issue(as: "0").application)
    let older = try issue(.again, as: "1")
    try owner.open().rotateGroup("team")
    let newer = try issue(.again, as: "2")
    try place.join(older)
    try place.join(newer)
    #expect(throws: VaultError.contradiction(.newerCredential)) { try place.join(older) }
    try place.join(newer)
  }

  @Test func `a copy that is damaged is replaced`() throws {
    let credential = try issue(as: "1")
    try place.join(credential)
    let copy = try place.joinedCredential(of: web)
    try Data("half".utf8).write(to: URL(fileURLWithPath: copy))
    try place.join(credential)
    #expect(try keptIssue() == 1)
  }

  @Test func `a credential of another owner cannot be joined to the same store`() throws {
    try place.join(issue(as: "1"))
    let other = try StoreFixture()
    try other.open().addRemote(RemoteFixture.full())
    let foreign = try issue(as: "2", of: other)
    #expect(throws: VaultError.exists(.storeAtPlace)) { try place.join(foreign) }
    #expect(throws: VaultError.exists(.storeAtPlace)) { try owner.location.join(foreign) }
    #expect(!FileManager.default.fileExists(atPath: owner.location.home + "/joined"))
  }

  @Test func `a credential without a remote is not joined, and nothing is made`() throws {
    _ = try owner.open().applications.issue(web, to: owner.folder + "/1")
    let credential = try ApplicationCredential(at: owner.folder + "/1")
    #expect(throws: VaultError.contradiction(.remotelessCredential)) { try place.join(credential) }
    #expect(!FileManager.default.fileExists(atPath: place.home))
  }

  @Test func `a folder of credentials that others may read is refused`() throws {
    try place.join(issue(as: "1"))
    _ = unsafe chmod(place.home + "/joined", 0o755)
    #expect(throws: VaultError.self) { try place.joinedApplications() }
    #expect(throws: VaultError.self) { try place.join(issue(.again, as: "2")) }
  }

  @Test func `a store to which nothing was joined has no joined applications`() throws {
    #expect(try place.joinedApplications().isEmpty && owner.location.joinedApplications().isEmpty)
  }

  @Test func `no store is made where applications were joined`() throws {
    try place.join(issue(as: "1"))
    #expect(throws: VaultError.locked(.joinedStore)) {
      try SecretStore.create(at: place, with: .keyFile(owner.folder + "/new"))
    }
    #expect(!FileManager.default.fileExists(atPath: place.home + "/identity/identity"))
  }
}
