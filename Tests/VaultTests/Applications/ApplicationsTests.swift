import Foundation
import Glibc
import Testing

@testable import GroupFile
@testable import Vault

extension StoreFixture {
  func path(_ name: String) -> String { folder + "/" + name }

  /// Issues a credential to an application and opens the store with it, on the same machine.
  @discardableResult
  func issue(
    _ id: String, _ issuance: Applications.Issuance = .first, grants: [Applications.Grant] = [],
    lifetime: GroupLifetime? = nil
  ) throws -> SecretStore {
    let path = path(UUID().uuidString)
    _ = try open().applications.issue(id, to: path, issuance, grants: grants, lifetime: lifetime)
    return try SecretStore.open(at: location, credential: path)
  }
}

extension SecretStore {
  func value(_ name: String, in group: String) throws -> String? {
    try self.group(group).get(name).exportInsecurelyAsString()
  }
}

@Suite struct ApplicationsTests {
  private let notMember = VaultError.denied(.notAMember)

  @Test func `a first credential that was written, but not recorded, is finished by the same call`() throws {
    let store = try StoreFixture()
    _ = try store.open().applications.issue("web", to: store.path("web"))
    let written = try Data(contentsOf: URL(filePath: store.path("web")))
    let known = try #require(try store.open().registry().application("web"))
    var interrupted = known
    (interrupted.standing, interrupted.issued) = (.interrupted, nil)
    try store.open().registry().record(interrupted, since: known)
    #expect(throws: VaultError.self) { try store.open().applications.issue("web", to: store.path("other/web")) }
    _ = try store.open().applications.issue("web", to: store.path("web"))
    #expect(try store.open().applications.application("web").standing == .issued)
    #expect(try Data(contentsOf: URL(filePath: store.path("web"))) == written)
  }

  @Test func `a lost wrap is searched with every number of an application that rosters name`() throws {
    let store = try StoreFixture()
    try store.issue("other")
    let open = try store.open()
    let identity = try open.owner()
    try open.registry().change("other") { known in
      var raised = known!
      (raised.issue, raised.highestIssue) = (9_000, 9_000)
      return raised
    }
    let keys = try open.memberSeeds(identity).map { try $0.signingPublicKey }
    // The first ones, too, which no roster names.
    for issue: UInt32 in [1, 2, 3, 4, 9_000] {
      let key = try identity.seed(application: "other", issue: issue).signingPublicKey
      #expect(keys.contains(key), "\(issue)")
    }
  }

  @Test func `removing an application that is no member changes nothing, even if somebody keeps the lock`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "one")
    try store.issue("other")
    let folder = store.location.home + "/groups/team"
    let lock = unsafe Glibc.open(folder + "/lock", O_RDONLY | O_CLOEXEC)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    let place = try ContainerPlace.identity(of: folder)
    #expect(throws: VaultError.notFound(.member)) { try store.open().revoke("other", from: "team") }
    #expect(try ContainerPlace.identity(of: folder) == place)
  }

  @Test func `an application has a private group and the groups it was granted`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team.shared")
    try store.open().group("team.shared").set("token", to: "t")
    let api = try store.issue("com.example.api", grants: [.init(.read, in: "team.shared")])
    #expect(api.defaultGroupName == "com.example.api")
    try api.group(api.defaultGroupName).set("mine", to: "m")
    #expect(try api.value("token", in: "team.shared") == "t")
    #expect(throws: VaultError.denied(.readOnly)) { try api.group("team.shared").set("token", to: "x") }
    #expect(throws: notMember) { try api.value("a", in: "default") }
    let members = try store.open().group("team.shared").members
    #expect(members.map(\.who.application).contains("com.example.api") && members.count == 2)
    let listed = try store.open().applications.list()
    #expect(listed.map(\.id) == ["com.example.api"] && listed[0].standing == .issued && listed[0].issue == 1)
    #expect(
      try store.open().applications.groups(of: "com.example.api").map(\.name) == ["com.example.api", "team.shared"])
  }

  @Test func `a sealed credential opens with its passphrase, from a file or from bytes`() throws {
    let store = try StoreFixture()
    let path = store.path("credential")
    _ = try store.open().applications.issue("ann", to: path, sealedBy: Secret("for Ann"))
    @Sendable func typed(_ text: String) -> @Sendable () throws(VaultError) -> Secret {
      { () throws(VaultError) in try Secret(text) }
    }
    let opened = try SecretStore.open(at: store.location, unlocking: .credential(path, passphrase: typed("for Ann")))
    #expect(opened.application == "ann")
    let bytes = try Secret(Data(contentsOf: URL(filePath: path)).map { $0 })
    let fromBytes = try SecretStore.open(
      at: store.location, unlocking: .credentialBytes(bytes, passphrase: typed("for Ann")))
    #expect(fromBytes.application == "ann")
    #expect(throws: VaultError.wrongKey(.passphrase)) {
      _ = try SecretStore.open(at: store.location, unlocking: .credential(path, passphrase: typed("for Bob")))
    }
    #expect(throws: VaultError.self) { try SecretStore.open(at: store.location, credential: path) }
  }

  @Test func `after a reinstall an application opens everything it had`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team.shared")
    try store.issue("com.example.api", grants: [.init(.write, in: "team.shared")]).group("team.shared")
      .set("token", to: "t")
    try store.open().applications.uninstall("com.example.api")
    #expect(try store.open().applications.application("com.example.api").standing == .uninstalled)
    let again = try store.issue("com.example.api", .again)
    #expect(try again.value("token", in: "team.shared") == "t")
    try again.group("team.shared").set("token", to: "new")
    #expect(try store.open().applications.application("com.example.api").issue == 1)
  }

  @Test func `a replaced credential opens nothing written later`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team.shared")
    let stolen = try store.issue("com.example.api", grants: [.init(.read, in: "team.shared")])
    try stolen.group("com.example.api").set("mine", to: "m")
    try store.open().group("team.shared").set("token", to: "t")
    let new = try store.issue("com.example.api", .replacing)
    for group in ["com.example.api", "team.shared"] {
      #expect(throws: notMember) { try stolen.group(group).items() }
    }
    #expect(try new.value("mine", in: "com.example.api") == "m")
    #expect(try new.value("token", in: "team.shared") == "t")
    #expect(throws: VaultError.denied(.readOnly)) { try new.group("team.shared").set("token", to: "x") }
    let exposed = try store.open().exposure()
    #expect(exposed.map { "\($0.group) \($0.item)" } == ["com.example.api mine", "team.shared token"])
    #expect(exposed[0].readers == [.application("com.example.api", issue: 1)])
  }

  @Test func `a value stays exposed when it is set again, copied or renamed`() throws {
    let store = try StoreFixture()
    try store.issue("com.example.api", grants: [.init(.read, in: "default")])
    let group = try store.open().group("default")
    for name in ["same", "back", "again", "moved", "changed"] { try group.set(name, to: "known \(name)") }
    try group.set("short", to: "true")
    try group.set("large", to: String(repeating: "known ", count: 10_000))
    try store.open().revoke("com.example.api", from: "default")
    try group.set("same", to: "known same", Details(label: .to("new label")))
    try group.set("changed", to: "known Changed")
    try group.set("back", to: "other")
    try group.set("back", to: "known back")
    try group.remove("again")
    try group.set("again", to: "known again")
    try group.set("short", to: "false")
    try group.set("other", to: "true")
    try group.transaction { edit in
      edit.set("copy", to: try edit.get("moved"), kind: .string)
      edit.set("changed", to: try edit.get("moved"), kind: .string)
      edit.set("new name", to: try edit.get("moved"), kind: .string)
      edit.set("large again", to: try edit.get("large"), kind: .string)
      edit.remove("moved")
      edit.remove("large")
    }
    let exposed = { try store.open().exposure().map(\.item.description) }
    #expect(try exposed() == ["again", "back", "changed", "copy", "large again", "new name", "same"])
    try group.set("short", to: "true")
    #expect(try exposed().contains("short"))
    for name in try exposed() { try group.set(name, to: "unknown \(name)") }
    #expect(try exposed().isEmpty)
  }

  @Test func `the exposed values are without vaultd's companions, which nobody can change`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team")
    try store.issue("com.example.api", grants: [.init(.read, in: "team")])
    // Only vaultd writes JSON there; a text of such a name is somebody's own.
    for name in ["a", "own//kv"] { try store.open().group("team").set(name, to: "1") }
    try store.open().group("team").set("a//kv", to: Secret("{}"), kind: .json)
    try store.open().revoke("com.example.api", from: "team")
    #expect(try store.open().exposure().map(\.item.description) == ["a", "own//kv"])
    for name in ["a", "own//kv"] { try store.open().group("team").set(name, to: "2") }
    #expect(try store.open().exposure().isEmpty)
    #expect(try store.open().exposure(includingChanged: true).map(\.item.description) == ["a", "own//kv"])
  }

  @Test func `uninstalling treats each group as its lifetime declares`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("kept")
    try store.issue("com.example.job", grants: [.init(.write, in: "kept")], lifetime: .purged)
    try store.issue("com.example.api", lifetime: .purged)
    try store.issue("com.example.web", grants: [.init(.read, in: "com.example.api")])
    let job = try store.open().applications.uninstall("com.example.job")
    #expect(job.purged == ["com.example.job"] && job.kept == ["kept"] && job.revoked.isEmpty)
    let api = try store.open().applications.uninstall("com.example.api")
    #expect(api.purged.isEmpty && api.kept == ["com.example.api"])
    #expect(try store.open().groupNames() == ["com.example.api", "com.example.web", "default", "kept"])
    // The purged private group is recreated empty, and the other rights are unchanged.
    let again = try store.issue("com.example.job", .again)
    #expect(try again.group("com.example.job").items().isEmpty)
    try again.group("kept").set("a", to: "b")
  }

  @Test func `after uninstalling with revocation no credential of the application opens anything`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team.shared")
    let api = try store.issue("com.example.api", grants: [.init(.read, in: "team.shared")])
    try api.group("com.example.api").set("mine", to: "m")
    let report = try store.open().applications.uninstall("com.example.api", revoking: true)
    #expect(report.revoked == ["com.example.api", "team.shared"] && report.kept.isEmpty)
    for group in report.revoked { #expect(throws: notMember) { try api.group(group).items() } }
    #expect(throws: VaultError.contradiction(.revokedApplication)) {
      try store.issue("com.example.api", .again)
    }
    #expect(throws: VaultError.self) { try store.open().grant(.read, in: "team.shared", to: "com.example.api") }
    let new = try store.issue("com.example.api", .replacing)
    #expect(try new.value("mine", in: "com.example.api") == "m")
    #expect(throws: notMember) { try new.group("team.shared").items() }
  }

  @Test func `a grant reports how much can be read, and a revoked application loses access`() throws {
    let store = try StoreFixture()
    let api = try store.issue("com.example.api")
    for value in ["1", "2", "3"] { try store.open().group("default").set("a", to: value) }
    let admission = try store.open().grant(.read, in: "default", to: "com.example.api")
    #expect(admission.group == "default" && admission.rights == .read)
    #expect(admission.itemCount == 1 && admission.versionCount == 2)
    #expect(try api.group("default").history("a").count == 3)
    try store.open().revoke("com.example.api", from: "default")
    #expect(throws: notMember) { try api.group("default").items() }
    #expect(throws: VaultError.notFound(.member)) {
      try store.open().revoke("com.example.api", from: "default")
    }
  }

  @Test func `an application that left its private group gets its credential again once that lets it in again`() throws
  {
    let (store, api) = (try StoreFixture(), "com.example.api")
    try store.issue(api, grants: [.init(.read, in: "default")])
    try store.open().revoke(api, from: api)
    #expect(throws: VaultError.rolledBack(group: api, found: 1, known: 1, reason: .olderIssue)) {
      try store.issue(api, .again)
    }
    #expect(try store.open().grant(.write, in: api, to: api).isReturning)
    #expect(try store.issue(api, .again).group("default").items().isEmpty)
  }

  @Test func `only the owner can admit and remove members`() throws {
    let store = try StoreFixture()
    let api = try store.issue("com.example.api", grants: [.init(.write, in: "default")])
    let ownerOnly = VaultError.denied(.ownerOnly)
    #expect(throws: ownerOnly) { try api.applications.list() }
    #expect(throws: ownerOnly) { try api.applications.issue("com.example.web", to: store.path("x")) }
    #expect(throws: ownerOnly) { try api.applications.uninstall("com.example.api") }
    #expect(throws: ownerOnly) { try api.grant(.read, in: "default", to: "com.example.api") }
    #expect(throws: ownerOnly) { try api.revoke("com.example.api", from: "default") }
    #expect(throws: ownerOnly) { try api.rotateGroup("default") }
    #expect(throws: ownerOnly) { try api.exposure() }
    #expect(throws: ownerOnly) { try api.createGroup("mine") }
    #expect(throws: ownerOnly) { try api.removeGroup("default") }
    #expect(!FileManager.default.fileExists(atPath: store.path("x")))
  }

  @Test func `an id that is taken, reserved or invalid is refused`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team.shared")
    #expect(throws: VaultError.exists(.group)) { try store.issue("team.shared") }
    try store.issue("com.example.api")
    #expect(throws: VaultError.exists(.applicationID)) { try store.issue("com.example.api") }
    #expect(throws: VaultError.exists(.applicationName)) {
      try store.open().createGroup("com.example.api")
    }
    try store.open().applications.uninstall("com.example.api", revoking: true)
    try store.open().removeGroup("com.example.api")
    #expect(throws: VaultError.exists(.applicationName)) {
      try store.open().createGroup("com.example.api")
    }
    for id in ["default", "owner", "vault.owner", "vault.app", "", "../up", "a/b", "A", "a..b", ".a"] {
      #expect("\(id)") {
        try store.issue(id)
      } throws: { error in
        guard case .invalid = error as? VaultError else { return false }
        return true
      }
    }
    for unknown in [Applications.Issuance.again, .replacing] {
      #expect(throws: VaultError.notFound(.application)) { try store.issue("com.example.web", unknown) }
    }
    #expect(throws: VaultError.notFound(.application)) {
      try store.open().grant(.read, in: "default", to: "com.example.web")
    }
    #expect(throws: VaultError.notFound(.group)) {
      try store.issue("com.example.web", grants: [.init(.read, in: "nowhere")])
    }
    #expect(try store.open().applications.list().map(\.id) == ["com.example.api"])
  }

  @Test func `a credential never overwrites a file, and nothing is issued if one is there`() throws {
    let store = try StoreFixture()
    let taken = store.path("taken")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: taken))
    #expect(throws: VaultError.exists(.credentialPlace)) {
      _ = try store.open().applications.issue("com.example.api", to: taken)
    }
    for path in ["no/folder", "home/inside", "home/groups/inside", "folder/"] {
      #expect(throws: VaultError.self) { try store.open().applications.issue("com.example.api", to: store.path(path)) }
    }
    #expect(throws: VaultError.self) { try store.open().applications.issue("com.example.api", to: "") }
    #expect(try store.open().applications.list().isEmpty)
    #expect(try Data(contentsOf: URL(fileURLWithPath: taken)) == Data("mine".utf8))
    _ = try store.open().applications.issue("com.example.api", to: store.path("credential"))
    let attributes = try FileManager.default.attributesOfItem(atPath: store.path("credential"))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test func `a credential of the same application in another store opens nothing here`() throws {
    let store = try StoreFixture()
    let other = try StoreFixture()
    try store.issue("com.example.api")
    try other.issue("com.example.api")
    _ = try other.open().applications.issue("com.example.api", to: other.path("credential"), .again)
    let stranger = try SecretStore.open(at: store.location, credential: other.path("credential"))
    for group in ["com.example.api", "default"] {
      #expect(throws: notMember) { try stranger.group(group).items() }
    }
  }

  @Test func `a missing credential that was named is an error and no other source is tried`() throws {
    let store = try StoreFixture()
    try store.open().group("default").set("a", to: "owner's")
    #expect(throws: VaultError.locked(.credential(.missing))) {
      try SecretStore.open(at: store.location, credential: store.path("missing"))
    }
    let location = try StoreLocation(environment: [
      "VAULT_HOME": store.folder + "/home", "VAULT_STATE": store.folder + "/state",
      "VAULT_CREDENTIAL": store.path("missing"), "VAULT_KEY_FILE": store.keyFile,
    ])
    #expect(throws: VaultError.locked(.credential(.missing))) { try SecretStore.open(at: location) }
  }

  @Test func `a group that does not verify is left out of answers about all groups and named`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("broken")
    try store.issue("com.example.api", grants: [.init(.read, in: "broken")])
    let file = store.folder + "/home/groups/broken/group.vault"
    // A new file without a log, because open connections would still return what was written last.
    for ending in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: file + ending) }
    let bytes = Data(repeating: 0x61, count: 8_192)
    #expect(FileManager.default.createFile(atPath: file, contents: bytes, attributes: [.posixPermissions: 0o600]))
    let owner = try store.open()
    #expect(try owner.applications.groups(of: "com.example.api").map(\.name) == ["com.example.api"])
    #expect(try owner.exposure().isEmpty)
    let notices = owner.takeNotices()
    #expect(notices.contains { if case .groupLeftOut("broken", _) = $0 { true } else { false } })
  }

  @Test func `an application's status and verification cover its own groups`() throws {
    let store = try StoreFixture()
    let api = try store.issue("com.example.api", grants: [.init(.read, in: "default")])
    #expect(try api.status().groups.map(\.name) == ["com.example.api", "default"])
    try store.issue("com.example.web")
    #expect(try api.status().groups.map(\.name) == ["com.example.api", "default"])
    #expect(try api.verify().map(\.name) == ["com.example.api", "default"])
    // A group that the application was removed from is reported too.
    try store.open().revoke("com.example.api", from: "default")
    #expect(try api.status().groups.map(\.problem) == [nil, notMember])
    guard case .failure(notMember) = try api.verify()[1].result else {
      Issue.record("verified")
      return
    }
  }

  @Test func `an application notices that a group named in its credential is missing`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team.shared")
    let api = try store.issue("com.example.api", grants: [.init(.read, in: "team.shared")])
    try FileManager.default.removeItem(atPath: store.folder + "/home/groups/team.shared")
    #expect(try api.status().groups.map(\.name) == ["com.example.api", "team.shared"])
    guard case .failure(.rolledBack(_, _, _, .vanished)) = try api.verify()[1].result else {
      Issue.record("not missed")
      return
    }
  }
}
