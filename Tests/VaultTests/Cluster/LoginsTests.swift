import Foundation
import GroupFile
import Sealing
import Testing

@testable import Vault

/// Logins of applications for etcd, and what the owner has `vaultd` make there.
@Suite struct LoginsTests {
  private let fixture: ServiceFixture
  private let id = GroupID([UInt8](0..<32))!

  init() throws {
    fixture = try ServiceFixture(enrolled: false)
    let owner = try fixture.owner()
    try owner.addRemote(RemoteFixture.full("office"))
    try owner.createGroup("team")
    try owner.setPublished("team", id, at: "office")
  }

  private func issue(
    _ application: String, own: Bool?, _ rights: MemberRights, _ issuance: Applications.Issuance = .first
  ) throws -> ApplicationCredential {
    let path = fixture.store.folder + "/\(application)-\(UUID().uuidString)"
    _ = try fixture.owner().applications.issue(
      application, to: path, issuance, grants: [.init(rights, in: "team")], remote: "office", hasOwnLogin: own)
    return try ApplicationCredential(at: path)
  }

  private func plan() throws -> (ProvisioningPlan, [EtcdPermission]) {
    try fixture.owner().provisioningPlan("office", as: "root", password: Secret("of the root"))
  }

  @Test func `an application's own login stays in its credentials, and replacing one changes the password`() throws {
    let first = try issue("web", own: true, .read)
    #expect(try first.remote?.user == "vault-web" && first.remote?.address == RemoteFixture.full("office").address)
    let password = first.remote?.password()?.exportInsecurelyAsString()
    #expect(password?.utf8.count == 64)
    for own in [true, nil] {
      let again = try issue("web", own: own, .read, .again)
      #expect(again.remote?.password()?.exportInsecurelyAsString() == password)
    }
    let replaced = try issue("web", own: nil, .read, .replacing)
    #expect(replaced.remote?.user == "vault-web")
    #expect(replaced.remote?.password()?.exportInsecurelyAsString() != password)
    #expect(try issue("web", own: false, .read, .again).remote?.user == "web")
    #expect(try issue("web", own: nil, .read, .again).remote?.user == "web")
    #expect(try issue("shop", own: nil, .read).remote?.user == "web")
  }

  @Test
  func `a credential that is not written leaves the login as it was, and a repeated replacement has the noted one`()
    throws
  {
    _ = try issue("web", own: true, .read)
    func passwords() throws -> [String?] {
      try plan().0.users.map { unsafe $0.password?.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
    }
    let before = try passwords()
    #expect(throws: VaultError.exists(.applicationID)) { try issue("web", own: false, .read) }
    let taken = fixture.store.folder + "/taken"
    try Data().write(to: URL(fileURLWithPath: taken))
    let applications = try fixture.owner().applications
    #expect(throws: VaultError.self) { _ = try applications.issue("web", to: taken, .replacing, remote: "office") }
    #expect(try passwords() == before)
    // One group is missing, so the replacement must be repeated.
    let folder = fixture.store.location.home + "/groups/team"
    try FileManager.default.moveItem(atPath: folder, toPath: folder + "+")
    let path = fixture.store.folder + "/new"
    #expect(try applications.issue("web", to: path, .replacing, remote: "office").unchanged.map(\.name) == ["team"])
    let written = try ApplicationCredential(at: path).remote?.password()?.exportInsecurelyAsString()
    try FileManager.default.moveItem(atPath: folder + "+", toPath: folder)
    #expect(try fixture.owner().applications.issue("web", to: path, .replacing, remote: "office").unchanged.isEmpty)
    #expect(try passwords().contains(written) && passwords() != before)
  }

  @Test func `a first credential that was written, but not recorded, is finished if it is as a new one would be`()
    throws
  {
    let path = fixture.store.folder + "/web"
    func issue(own: Bool? = true) throws {
      _ = try fixture.owner().applications.issue(
        "web", to: path, grants: [.init(.read, in: "team")], remote: "office", hasOwnLogin: own)
    }
    func interrupt() throws {
      let registry = try fixture.owner().registry()
      let known = try #require(try registry.application("web"))
      var interrupted = known
      (interrupted.standing, interrupted.issued) = (.interrupted, nil)
      try registry.record(interrupted, since: known)
    }
    try issue()
    let written = try Data(contentsOf: URL(filePath: path))
    try interrupt()
    #expect(throws: VaultError.exists(.credentialPlace)) { try issue(own: false) }
    try issue()
    #expect(try fixture.owner().applications.application("web").standing == .issued)
    #expect(try Data(contentsOf: URL(filePath: path)) == written)
    // Another address, another age, and a group that the file does not name.
    try interrupt()
    let full = try RemoteFixture.full("office")
    for changed in [
      try Remote("office", at: "etcds://n3:2379", user: "web", password: Secret("correct horse"), maxAge: 300),
      try Remote(
        "office", at: full.address, authority: full.authority, certificate: full.certificate, key: full.key(),
        user: full.user, password: full.password(), maxAge: 301, heartbeat: full.heartbeat),
    ] {
      try fixture.owner().addRemote(changed, replacing: true)
      #expect(throws: VaultError.exists(.credentialPlace)) { try issue() }
    }
    try fixture.owner().addRemote(full, replacing: true)
    try fixture.owner().createGroup("more")
    _ = try fixture.owner().grant(.read, in: "more", to: "web")
    #expect(throws: VaultError.exists(.credentialPlace)) { try issue() }
    _ = try fixture.owner().revoke("web", from: "more")
    try issue()
    #expect(try Data(contentsOf: URL(filePath: path)) == written)
  }

  @Test func `a hidden list of logins does not let one pass for withdrawn`() throws {
    _ = try issue("web", own: true, .read)
    let folder = fixture.store.location.home + "/groups/vault.service"
    try FileManager.default.moveItem(atPath: folder, toPath: folder + "+")
    #expect(throws: VaultError.self) { try fixture.owner().withdrawLogin(of: "web", from: "team") }
  }

  @Test func `a plan gives each user the rights that the application has`() throws {
    _ = try issue("reader", own: true, .read)
    _ = try issue("writer", own: true, .write)
    _ = try issue("shared", own: false, .write)
    let (plan, permissions) = try plan()
    #expect(plan.remote.user == "root" && plan.remote.password()?.exportInsecurelyAsString() == "of the root")
    #expect(plan.users.map(\.name) == ["web", "vault-reader", "vault-shared", "vault-writer"])
    #expect(plan.users.map { $0.grants.map(\.id) } == [[id], [id], [id], [id]])
    #expect(plan.users.map { $0.grants.map(\.access) } == [[.write], [.read], [.none], [.write]])
    #expect(permissions.map(\.access) == [.write, .read, .write])
    #expect(permissions.allSatisfy { $0.group == "team" })
    try fixture.owner().revoke("writer", from: "team")
    #expect(try self.plan().1.map(\.access) == [.write, .read, .none])
  }

  @Test func `a plan also covers groups that are to be published next`() throws {
    let owner = try fixture.owner()
    try owner.createGroup("next")
    let next = try owner.group("next").verifiedState().manifest.groupID
    let (plan, permissions) = try owner.provisioningPlan(
      "office", for: ["next", "team"], as: "root", password: Secret("of the root"))
    #expect(plan.users.map { $0.grants.map(\.id) } == [[id, next]])
    #expect(permissions.map(\.group) == ["team", "next"])
    for (group, error) in [("none", VaultError.notFound(.group)), ("elsewhere", .exists(.publication))] {
      if group == "elsewhere" {
        try owner.addRemote(RemoteFixture.full("other"))
        try owner.createGroup(group)
        try owner.setPublished(group, next, at: "other")
      }
      #expect(throws: error) {
        try owner.provisioningPlan("office", for: [group], as: "root", password: Secret("of the root"))
      }
    }
  }

  @Test(arguments: ["", String(repeating: "u", count: 257), String(repeating: "u", count: 65_536)])
  func `a stored login whose user etcd cannot have is refused`(user: String) throws {
    _ = try issue("web", own: true, .read)
    try fixture.owner().group(AccessGroup.Name.service.description).set("login/office/web", to: user + "\npassword")
    let error = VaultError.damaged(
      group: AccessGroup.Name.service.description, level: .row, detail: "a login does not follow the format")
    #expect(throws: error) { try plan() }
  }

  @Test func `only the bytes of a plan are read as a plan`() throws {
    _ = try issue("writer", own: true, .write)
    let (plan, _) = try plan()
    let secret = try plan.serialized()
    let bytes = unsafe secret.withUnsafeBytes { unsafe Array($0) }
    let decoded = try unsafe bytes.withUnsafeBytes { try unsafe ProvisioningPlan(decoding: $0) }
    #expect(decoded.remote.isSame(as: plan.remote))
    #expect(decoded.users.map(\.name) == plan.users.map(\.name))
    #expect(decoded.users.map { $0.grants.map(\.access) } == [[.write], [.write]])
    for (one, other) in zip(decoded.users, plan.users) {
      #expect(one.givenPassword()?.exportInsecurelyAsString() == other.givenPassword()?.exportInsecurelyAsString())
    }
    for count in 0..<bytes.count {
      #expect(throws: VaultError.self) {
        try unsafe bytes[..<count].withUnsafeBytes { try unsafe ProvisioningPlan(decoding: $0) }
      }
    }
    #expect(throws: VaultError.self) {
      try unsafe (bytes + [0]).withUnsafeBytes { try unsafe ProvisioningPlan(decoding: $0) }
    }
  }

  @Test func `whether a permission in etcd must be withdrawn depends on the login`() throws {
    _ = try issue("own", own: true, .read)
    _ = try issue("shared", own: false, .read)
    let owner = try fixture.owner()
    #expect(try owner.withdrawLogin(of: "nobody", from: "team") == .notNeeded)
    #expect(try owner.withdrawLogin(of: "own", from: "default") == .notNeeded)
    #expect(try owner.withdrawLogin(of: "shared", from: "team") == .shared(remote: "office", user: "web"))
    #expect(try owner.withdrawLogin(of: "own", from: "team") == .refused(remote: "office"))
  }

  @Test func `a remote without a user has no logins`() throws {
    try fixture.owner().addRemote(RemoteFixture.plain("open"))
    let path = fixture.store.folder + "/credential"
    #expect(throws: VaultError.self) {
      try fixture.owner().applications.issue("web", to: path, remote: "open", hasOwnLogin: true)
    }
    _ = try fixture.owner().applications.issue("web", to: path, remote: "open")
    #expect(throws: VaultError.self) {
      try fixture.owner().provisioningPlan("open", as: "root", password: Secret("x"))
    }
  }
}
