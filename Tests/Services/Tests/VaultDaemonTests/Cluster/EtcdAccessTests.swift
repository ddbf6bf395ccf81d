import Foundation
import NIOSSL
import Testing
import VaultFoundation

@testable import Ground
@testable import GroupFile
@testable import Sealing
@testable import Vault
@testable import VaultDaemon

@Suite(.serialized, .enabled(if: EtcdCluster.isInstalled, "\(EtcdCluster.needsEtcd)"))
struct EtcdAccessTests {
  private static let rootPassword = "the root's password"

  /// A cluster where logins are needed; `root` may do everything.
  private func protectedCluster() async throws -> (EtcdCluster, EtcdProvisioning) {
    let cluster = try await EtcdCluster(1)
    let open = EtcdProvisioning(client: try cluster.client())
    try await open.enable(rootPassword: try Secret(Self.rootPassword))
    return (cluster, EtcdProvisioning(client: try cluster.client(user: "root", password: Self.rootPassword)))
  }

  @Test func `a writer writes, a reader reads, and nobody touches another group`() async throws {
    let (cluster, provisioning) = try await protectedCluster()
    let (ours, other) = (EtcdCluster.newGroup(), EtcdCluster.newGroup())
    for group in [ours, other] { try await provisioning.addRoles(for: group) }
    for user in ["writer", "reader"] { try await provisioning.addUser(user, password: try Secret("secret of \(user)")) }
    try await provisioning.grant(.write, on: ours, to: "writer")
    try await provisioning.grant(.read, on: ours, to: "reader")
    let writer = try cluster.client(user: "writer", password: "secret of writer")
    let reader = try cluster.client(user: "reader", password: "secret of reader")

    let head = try await EtcdLog(writer, group: ours).publish(1, Data.test(LogLimits.part + 9, seed: 3))
    let log = EtcdLog(reader, group: ours)
    #expect(try await log.head() == head)
    let base = try #require(try await log.base())
    #expect(try await log.bytes(of: base) == Data.test(LogLimits.part + 9, seed: 3))
    var events = log.watch(after: head).makeAsyncIterator()
    let next = try await EtcdLog(writer, group: ours).append(.test(2), after: head, over: nil)
    #expect(try await events.next() == .commit(StoredCommit(commit: .test(2), revision: next.revision)))

    await #expect(throws: LogError.refused) { try await log.append(.test(3), after: next, over: nil) }
    await #expect(throws: LogError.refused) { try await log.replaceHead(at: next.revision, with: 3, link: .test(3)) }
    for client in [writer, reader] {
      let foreign = EtcdLog(client, group: other)
      await #expect(throws: LogError.refused) { try await foreign.head() }
      await #expect(throws: LogError.refused) { try await foreign.publish(1) }
      var refused = foreign.watch(after: head).makeAsyncIterator()
      await #expect(throws: LogError.refused) { try await refused.next() }
    }
    await #expect(throws: LogError.refused) {
      try await EtcdProvisioning(client: writer).grant(.write, on: other, to: "writer")
    }
  }

  @Test func `users and roles can be provisioned again and changed`() async throws {
    let (cluster, provisioning) = try await protectedCluster()
    let group = EtcdCluster.newGroup()
    for password in ["first", "second"] {
      try await provisioning.addRoles(for: group)
      try await provisioning.addUser("web", password: try Secret(password))
      try await provisioning.grant(.write, on: group, to: "web")
    }
    let old = EtcdLog(try cluster.client(user: "web", password: "first"), group: group)
    await #expect(throws: LogError.refused) { try await old.head() }
    let log = EtcdLog(try cluster.client(user: "web", password: "second"), group: group)
    let head = try await log.publish(1)

    try await provisioning.grant(.read, on: group, to: "web")
    #expect(try await log.head() == head)
    await #expect(throws: LogError.refused) { try await log.append(.test(2), after: head, over: nil) }
    try await provisioning.revoke(on: group, from: "web")
    try await provisioning.revoke(on: group, from: "web")
    await #expect(throws: LogError.refused) { try await log.head() }
  }

  @Test func `a plan of the owner makes users that may do what their applications may, and shuts them out`()
    async throws
  {
    let (cluster, provisioning) = try await protectedCluster()
    let daemon = try RunningDaemon(binds: false, serves: false)
    let owner = try daemon.owner()
    _ = try owner.createGroup("team")
    let address = "etcd://127.0.0.1:\(cluster.ports[0])"
    try owner.addRemote(Remote("office", at: address, user: "vault", password: try Secret("of the remote")))
    let id = [UInt8](repeating: 7, count: 32)
    try owner.setPublished("team", try #require(GroupID(id)), at: "office")
    let path = daemon.folder + "/web"
    _ = try owner.applications.issue(
      "web", to: path, grants: [.init(.read, in: "team")], remote: "office", hasOwnLogin: true)
    let web = try #require(try ApplicationCredential(at: path).remote)
    for _ in 0..<2 {
      let (plan, _) = try owner.provisioningPlan("office", as: "root", password: try Secret(Self.rootPassword))
      try await EtcdProvisioning.carryOut(plan)
    }
    let head = try await EtcdLog(try EtcdClient(owner.remote("office")), group: id).publish(1)
    let log = EtcdLog(try EtcdClient(web), group: id)
    #expect(try await log.head() == head)
    await #expect(throws: LogError.refused) { try await log.append(.test(2), after: head, over: nil) }
    try await Blocking.write { try owner.revoke("web", from: "team") }
    // The user of the remote is no root, so somebody who is must do it.
    let (weak, _) = try owner.provisioningPlan("office", as: "vault", password: try Secret("of the remote"))
    await #expect(throws: VaultError.self) { try await EtcdProvisioning.carryOut(weak) }
    #expect(try await log.head() == head)
    let (plan, permissions) = try owner.provisioningPlan("office", as: "root", password: try Secret(Self.rootPassword))
    #expect(permissions.map(\.access) == [.write, .none])
    try await EtcdProvisioning.carryOut(plan)
    await #expect(throws: LogError.refused) { try await log.head() }
    withExtendedLifetime(provisioning) {}
  }

  /// The owner's store, whose changes of published groups go through the daemon.
  private func ownerAsking(_ daemon: RunningDaemon) throws -> SecretStore {
    let location = try StoreLocation(environment: [
      "VAULT_HOME": daemon.folder + "/home", "VAULT_STATE": daemon.folder + "/state", "VAULT_SOCKET": daemon.socket,
    ])
    return try SecretStore.open(at: location, unlocking: .keyFile(daemon.folder + "/key"))
  }

  /// What the command prints, and its status.
  private func vault(_ words: String, _ daemon: RunningDaemon) async throws -> String {
    let folder = try #require(Bundle.main.executableURL).deletingLastPathComponent().path
    return try await RunningDaemon.output(
      of: "/usr/bin/env",
      [
        "VAULT_HOME=\(daemon.folder)/home", "VAULT_STATE=\(daemon.folder)/state", "VAULT_SOCKET=\(daemon.socket)",
        "VAULT_KEY_FILE=\(daemon.folder)/key", "PATH=\(folder):/usr/bin:/bin", "sh", "-c",
        "vault \(words) 2>&1; echo status $?",
      ])
  }

  /// The owner of a store with a new group `team`, which the daemon may write, and a remote for it.
  private func prepareTeam(_ daemon: RunningDaemon, at remote: consuming Remote) async throws -> SecretStore {
    let owner = try ownerAsking(daemon)
    try owner.createGroup("team")
    _ = try owner.enrollService(to: daemon.folder + "/again", .again, serving: [.init(.write, in: "team")])
    try owner.addRemote(remote)
    return owner
  }

  @Test func `a sealed daemon orders no change and answers no status, and goes on once it is unsealed`() async throws {
    let daemon = try RunningDaemon(binds: false)
    let owner = try await prepareTeam(daemon, at: Remote("office", at: EtcdCluster.shared().address))
    try await Blocking.write {
      try owner.publishGroup("team", at: "office")
      _ = try owner.group("team").set("name", to: "first")
    }
    #expect(try await daemon.curl("/v1/sys/seal", "-X", "PUT").status == 204)
    await #expect(throws: VaultError.unordered(group: "team", .shut("it is sealed, or cannot write its record"))) {
      _ = try await Blocking.write { try owner.group("team").set("name", to: "second") }
    }
    await #expect(throws: VaultError.locked(.service("it is sealed, or cannot write its record"))) {
      try await Blocking.read { try owner.logEpoch(of: "team") }
    }
    #expect(try await daemon.curl("/v1/sys/unseal", "-X", "PUT").status == 200)
    _ = try await Blocking.write { try owner.group("team").set("name", to: "third") }
    let versions = try await Blocking.read { try owner.group("team").history("name").count }
    #expect(versions == 2)
  }

  @Test func `uninstalling an application for good takes away what its etcd user may do`() async throws {
    let (cluster, provisioning) = try await protectedCluster()
    let daemon = try RunningDaemon(binds: false)
    let address = "etcd://127.0.0.1:\(cluster.ports[0])"
    let owner = try await prepareTeam(
      daemon, at: Remote("office", at: address, user: "root", password: try Secret(Self.rootPassword)))
    try await Blocking.write { try owner.publishGroup("team", at: "office") }
    let path = daemon.folder + "/web"
    try await Blocking.write {
      _ = try owner.applications.issue("web", to: path)
      try owner.grant(.write, in: "team", to: "web")
      _ = try owner.applications.issue("web", to: path + "2", .again, remote: "office", hasOwnLogin: true)
      try owner.provision("office", as: "root", password: try Secret(Self.rootPassword))
    }
    let web = try #require(try ApplicationCredential(at: path + "2").remote)
    let id = try #require(try owner.publications().first).id
    let log = EtcdLog(try EtcdClient(web), group: id.bytes)
    #expect(try await log.head() != nil)
    let told = try await vault("app uninstall web --revoke --yes", daemon)
    #expect(told.contains("its etcd user no longer has access to the commits of 'team'\nstatus 0\n"))
    await #expect(throws: LogError.refused) { try await log.head() }
    withExtendedLifetime(provisioning) {}
  }

  @Test func `whoever makes permissions hears that the cluster asks nobody for a login, until it does`() async throws {
    let cluster = try await EtcdCluster(1)
    let daemon = try RunningDaemon(binds: false)
    let address = "etcd://127.0.0.1:\(cluster.ports[0])"
    let owner = try await prepareTeam(
      daemon, at: Remote("office", at: address, user: "root", password: try Secret(Self.rootPassword)))
    try await Blocking.write { try owner.publishGroup("team", at: "office") }
    try (Self.rootPassword + "\n").write(toFile: daemon.folder + "/password", atomically: true, encoding: .utf8)
    let provision = "remote provision office --root-password-fd 3 3<\(daemon.folder)/password"
    let warning = "the cluster of 'office' requires no login, so permissions have no effect"
    let told = try await vault(provision, daemon)
    #expect(told.contains(warning))
    #expect(told.contains("root\tteam\treadwrite\n"))
    try await EtcdProvisioning(client: try cluster.client()).enable(rootPassword: try Secret(Self.rootPassword))
    let later = try await vault(provision, daemon)
    #expect(!later.contains(warning))
    #expect(later.contains("root\tteam\treadwrite\n"))
  }

  @Test func `the note that a lost answer left is removed, and does not keep other groups from being synchronized`()
    async throws
  {
    let daemon = try RunningDaemon(binds: false)
    let owner = try await prepareTeam(daemon, at: Remote("office", at: EtcdCluster.shared().address))
    try await Blocking.write {
      try owner.publishGroup("team", at: "office")
      try owner.grant(.write, in: "default", to: "vault.service")
    }
    let id = try owner.group("default").verifiedState().manifest.groupID
    try owner.setPublished("default", id, at: "office")
    let told = try await vault("sync", daemon)
    #expect(told.contains("team: epoch "))
    #expect(told.hasSuffix("status 10\n"))
    #expect(try await vault("group unpublish default", daemon).hasSuffix("status 0\n"))
    #expect(try owner.publishedGroups() == ["team": "office"])
    #expect(try await vault("group unpublish default", daemon).hasSuffix("status 10\n"))
    #expect(try await vault("sync", daemon).hasSuffix("status 0\n"))
  }

  @Test func `whoever is revoked at a cluster without users can still delete there, and the command says so`()
    async throws
  {
    let daemon = try RunningDaemon(binds: false)
    let owner = try await prepareTeam(daemon, at: Remote("office", at: EtcdCluster.shared().address))
    try await Blocking.write {
      _ = try owner.applications.issue("web", to: daemon.folder + "/web")
      for group in ["team", "default"] { try owner.grant(.write, in: group, to: "web") }
      try owner.publishGroup("team", at: "office")
    }
    let told = try await vault("revoke team web", daemon)
    #expect(told.contains("warning: the cluster 'office' asks for no login, so 'web' can still delete and overwrite"))
    #expect(told.hasSuffix("status 0\n"))
    #expect(try await !vault("revoke default web", daemon).contains("asks for no login"))
  }

  @Test func `a token that the servers have forgotten is renewed`() async throws {
    let (cluster, provisioning) = try await protectedCluster()
    let group = EtcdCluster.newGroup()
    try await provisioning.addRoles(for: group)
    try await provisioning.addUser("web", password: try Secret("secret"))
    try await provisioning.grant(.write, on: group, to: "web")
    let log = EtcdLog(try cluster.client(user: "web", password: "secret"), group: group)
    let head = try await log.publish(1)
    var events = log.watch(after: head).makeAsyncIterator()
    // Tokens are in a server's memory alone.
    cluster.kill(0)
    try cluster.start(0)
    let next = try await log.append(.test(2), after: head, over: nil)
    #expect(try await events.next() == .commit(StoredCommit(commit: .test(2), revision: next.revision)))
  }

  @Test func `a client logs in as soon as the servers begin to ask for logins`() async throws {
    let cluster = try await EtcdCluster(1)
    let group = EtcdCluster.newGroup()
    let log = EtcdLog(try cluster.client(user: "root", password: Self.rootPassword), group: group)
    let nameless = EtcdLog(try cluster.client(), group: group)
    let head = try await log.publish(1)
    var events = log.watch(after: head).makeAsyncIterator()
    try await EtcdProvisioning(client: try cluster.client()).enable(rootPassword: try Secret(Self.rootPassword))
    let next = try await log.append(.test(2), after: head, over: nil)
    #expect(try await events.next() == .commit(StoredCommit(commit: .test(2), revision: next.revision)))
    await #expect(throws: LogError.refused) { try await nameless.head() }
  }

  @Test func `a cluster that was made anew, and does not know how old a login is, gets a new one`() async throws {
    let (cluster, provisioning) = try await protectedCluster()
    // The login is made for a later state than that of the new cluster.
    for _ in 0..<30 { try await provisioning.addRoles(for: EtcdCluster.newGroup()) }
    let log = EtcdLog(
      try cluster.client(user: "root", password: Self.rootPassword), group: EtcdCluster.newGroup())
    _ = try await log.publish(1)
    cluster.kill(0)
    try FileManager.default.removeItem(atPath: cluster.folder + "/n0")
    try cluster.start(0)
    try await EtcdProvisioning(client: try cluster.client()).enable(rootPassword: try Secret(Self.rootPassword))
    #expect(try await log.head() == nil)
  }

  @Test func `without a login, or with a wrong one, everything is refused`() async throws {
    let (cluster, _) = try await protectedCluster()
    for client in [
      try cluster.client(), try cluster.client(user: "root", password: "wrong"),
      try cluster.client(user: "nobody", password: "wrong"),
    ] {
      let log = EtcdLog(client, group: EtcdCluster.newGroup())
      await #expect(throws: LogError.refused) { try await log.head() }
      await #expect(throws: LogError.refused) { try await log.publish(1) }
      var events = log.watch(after: nil).makeAsyncIterator()
      await #expect(throws: LogError.refused) { try await events.next() }
    }
  }

  @Test func `a login that the servers do not need does no harm`() async throws {
    let client = try await EtcdCluster.shared().client(user: "web", password: "secret")
    let log = EtcdLog(client, group: EtcdCluster.newGroup())
    let head = try await log.publish(1)
    #expect(try await log.head() == head)
  }

  // MARK: TLS

  @Test func `both sides prove themselves with certificates, ours without a common name`() async throws {
    let authority = try await TestAuthority()
    let cluster = try await EtcdCluster(1, scheme: "https", arguments: authority.serverArguments, isReady: false)
    let group = EtcdCluster.newGroup()
    let log = EtcdLog(try EtcdClient(try authority.remote(at: cluster.address)), group: group)
    let head = try await log.publish(1)
    var events = log.watch(after: head).makeAsyncIterator()
    let next = try await log.append(.test(2), after: head, over: nil)
    #expect(try await events.next() == .commit(StoredCommit(commit: .test(2), revision: next.revision)))

    let stranger = try await TestAuthority()
    var limits = EtcdClient.TimeLimits()
    (limits.call, limits.attempt) = (.seconds(60), .seconds(30))
    let distrusting = try EtcdClient(
      Remote("test", at: cluster.address, authority: stranger.certificate), timeLimits: limits)
    await #expect(throws: LogError.untrusted) { try await EtcdLog(distrusting, group: group).head() }
    // The server refuses a client without a certificate after the handshake; which error that is differs.
    limits.call = .seconds(2)
    let nameless = try EtcdClient(
      Remote("test", at: cluster.address, authority: authority.certificate), timeLimits: limits)
    await #expect(throws: LogError.self) { try await EtcdLog(nameless, group: group).head() }
  }

  @Test(arguments: [1, 2]) func `a change may be made although what comes back is no TLS`(_ count: Int) async throws {
    let authority = try await TestAuthority()
    let cluster = try await EtcdCluster.shared()
    var proxies: [GatewayProxy] = []
    for _ in 0..<count {
      proxies.append(try await GatewayProxy(to: cluster.ports[0], security: authority.serverSecurity()))
    }
    let group = EtcdCluster.newGroup()
    let head = try await EtcdLog(try cluster.client(), group: group).publish(1)
    let address = "etcds://" + proxies.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    var limits = EtcdClient.TimeLimits()
    // Where there is another server, it is asked until the time is over.
    (limits.call, limits.attempt) = (count == 1 ? .seconds(60) : .seconds(10), .seconds(30))
    let remote = try Remote("test", at: address, authority: authority.certificate)
    let log = EtcdLog(try EtcdClient(remote, timeLimits: limits), group: group)
    for proxy in proxies { proxy.mode = .garble }
    await #expect(throws: LogError.outcomeUnknown) { try await log.append(.test(2), after: head, over: nil) }
    // Reading leaves nothing open, so it tells what is wrong, unless the time is over during a later attempt.
    if count == 1 { await #expect(throws: LogError.untrusted) { try await log.head() } }
    for proxy in proxies { proxy.mode = .honest }
    #expect(try await log.head()?.epoch == 2)
  }

  @Test func `certificates that cannot be read are refused before the first connection`() throws {
    let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    #expect(throws: EtcdError.untrusted(isSent: false)) {
      try EtcdClient(try Remote("test", at: "etcds://127.0.0.1:1", authority: text))
    }
  }
}

/// An authority of certificates, with one of a server on loopback and one of a client, in a folder that goes with it.
private final class TestAuthority: Sendable {
  private let certificates: Certificates
  let certificate: String

  var serverArguments: [String] {
    [
      "--cert-file", certificates.path("server.pem"), "--key-file", certificates.path("server.key"),
      "--client-cert-auth", "--trusted-ca-file", certificates.path("ca.pem"),
    ]
  }

  /// A server of NIO's with the same certificate.
  func serverSecurity() throws -> TLSConfiguration {
    TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(certificates.path("server.pem")).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: certificates.path("server.key"), format: .pem)))
  }

  init() async throws {
    let folder = NSTemporaryDirectory() + "authority-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    certificates = Certificates(folder: folder)
    try await certificates.make("ca")
    // etcd's gateway refuses every client's certificate that has a common name, also its own server's.
    try await certificates.make("server", subject: "/O=server", names: "IP:127.0.0.1", signedBy: "ca")
    try await certificates.make("client", subject: "/O=vault", signedBy: "ca")
    certificate = try certificates.text("ca.pem")
  }

  deinit { try? FileManager.default.removeItem(atPath: certificates.folder) }

  func remote(at address: String) throws -> Remote {
    try Remote(
      "test", at: address, authority: certificate, certificate: try certificates.text("client.pem"),
      key: try Secret(try certificates.text("client.key")))
  }
}

extension EtcdProvisioning {
  /// Makes the user `root` and asks for logins from now on.
  func enable(rootPassword: borrowing Secret) async throws {
    try await addUser("root", password: rootPassword)
    struct Membership: Encodable, Sendable {
      let user = "root"
      let role = "root"
    }
    struct Nothing: Encodable, Sendable {}
    let _: EtcdDone = try await client.call("auth/user/grant", Membership())
    let _: EtcdDone = try await client.call("auth/enable", Nothing())
  }
}
