import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Synchronization
import Testing
import VaultFoundation

@testable import Ground
@testable import GroupFile
@testable import Sealing
@testable import Vault
@testable import VaultDaemon

/// What other users of the machine may ask about published groups.
@Suite struct ClusterAnswersTests {
  private let failures = Failures(.allowing(failures: 3))
  private let seal = Seal { () throws(VaultError) in throw .locked(.credential(.missing)) }
  private let replication = Replication(
    { [] }, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, log: { _, _ in throw LogError.unavailable })

  /// Asks as another user than the daemon's, or as root.
  private func ask(_ path: String, as peer: Peer) async throws -> Int? {
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: path)
    let request = Request(head: head, body: .init(buffer: ByteBuffer()))
    let answers = ClusterAnswers(
      seal: seal, replication: replication, limits: Limits(), bodies: BodyBudget(limit: 1_000), failures: failures)
    return try await answers.answer(to: request, Target(request), Connection(peer: peer))?.status.code
  }

  private func peer(_ user: UInt32) -> Peer {
    var peer = Peer()
    peer.user = user
    return peer
  }

  @Test(arguments: ["sync/team", "commit/team", "base/team", "servers/team", "provision/office", "join"])
  func `a refused request of a stranger counts as a failure`(_ path: String) async throws {
    let stranger = peer(geteuid() + 12_345)
    // Once, a new minute may begin meanwhile.
    for _ in 0..<6 where !failures.isBlocked(stranger.key) { _ = try? await ask("/vault/1/" + path, as: stranger) }
    #expect(failures.isBlocked(stranger.key))
  }

  @Test(arguments: ["join", "provision/office"])
  func `a stranger's refused request to join or to change etcd is in the record`(_ path: String) async throws {
    let daemon = try RunningDaemon(binds: false, serves: false)
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/vault/1/" + path)
    let request = Request(head: head, body: .init(buffer: ByteBuffer()))
    _ = await daemon.interface().answer(request, over: Connection(peer: peer(geteuid() + 12_345)))
    let records = try daemon.records()
    #expect(records.map(\.detail) == [String(path.split(separator: "/")[0])])
    #expect(records.allSatisfy { $0.outcome == .denied && $0.caller.uid == geteuid() + 12_345 })
  }

  @Test func `a refused request of the daemon's own user does not count`() async throws {
    for _ in 0..<6 { _ = try await ask("/vault/1/sync/team", as: peer(geteuid())) }
    #expect(!failures.isBlocked(peer(geteuid()).key))
  }

  @Test(arguments: ["sync/team", "commit/team", "base/team", "status/team", "provision/office", "join"])
  func `a daemon that somebody has sealed answers nothing about published groups`(_ path: String) async throws {
    // Without a credential of its own, it serves those that were joined.
    #expect(try await ask("/vault/1/" + path, as: peer(geteuid())) == 200)
    seal.seal()
    for _ in 0..<6 {
      await #expect(throws: Refusal.sealed) { try await ask("/vault/1/" + path, as: peer(geteuid() + 12_345)) }
    }
    #expect(!failures.isBlocked(peer(geteuid() + 12_345).key))
    #expect(throws: VaultError.self) { try seal.unseal() }
    #expect(try await ask("/vault/1/" + path, as: peer(geteuid())) == 200)
  }
}

extension ReplicaTests {
  @Test func `what other users send for a published group counts towards the limit of all bodies`() async throws {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let source = ReplicaSource(
      group: "team", id: try #require(GroupID([UInt8](repeating: 1, count: 32))), store: other.store,
      remote: try Remote("test", at: "etcd://127.0.0.1:1"))
    let replication = Replication({ [source] }, logger, log: { [server] _, _ in MemoryLog(server) })
    let budget = BodyBudget(limit: 20)
    let seal = Seal { () throws(VaultError) in throw .locked(.credential(.missing)) }
    let answers = ClusterAnswers(
      seal: seal, replication: replication, limits: Limits(), bodies: budget, failures: Failures(Limits()))
    var stranger = Peer()
    stranger.user = geteuid() + 12_345
    for (count, refusal) in [(11, Refusal.tooManyBodies), (10, nil)] {
      let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/vault/1/commit/team")
      let body = ByteBuffer(bytes: [UInt8](repeating: 0, count: count))
      let request = Request(head: head, body: .init(buffer: body))
      var refused: Refusal?
      do { _ = try await answers.answer(to: request, Target(request), Connection(peer: stranger)) } catch {
        refused = error as? Refusal
      }
      #expect(refused == refusal)
    }
    #expect(budget.held == 0)
  }

  @Test func `a commit that arrives while the daemon is sealed is not ordered`() async throws {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let source = ReplicaSource(
      group: "team", id: try #require(GroupID([UInt8](repeating: 1, count: 32))), store: other.store,
      remote: try Remote("test", at: "etcd://127.0.0.1:1"))
    let seal = Seal { () throws(VaultError) in throw .locked(.credential(.missing)) }
    let replication = Replication(
      { seal.isShut ? [] : [source] }, logger, log: { [server] _, _ in MemoryLog(server) })
    let budget = BodyBudget(limit: 10)
    let answers = ClusterAnswers(
      seal: seal, replication: replication, limits: Limits(), bodies: budget, failures: Failures(Limits()))
    var peer = Peer()
    peer.user = geteuid() + 12_345
    let (body, sending) = RequestBody.makeStream()
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/vault/1/commit/team")
    let request = Request(head: head, body: body)
    let connection = Connection(peer: peer)
    let answer = Task { try await answers.answer(to: request, Target(request), connection)?.status.code }
    try await sending.yield(ByteBuffer(bytes: [0]))
    while budget.held == 0 { try await Task.sleep(for: .milliseconds(5)) }
    seal.seal()
    replication.endAll()
    try await sending.yield(ByteBuffer(bytes: [0]))
    sending.finish()
    await #expect(throws: Refusal.sealed) { try await answer.value }
    #expect(await replication.replica(of: "team") == nil)
  }

  @Test func `a list of groups that was made before the daemon was sealed begins nothing afterwards`() async throws {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let source = ReplicaSource(
      group: "team", id: try #require(GroupID([UInt8](repeating: 1, count: 32))), store: other.store,
      remote: try Remote("test", at: "etcd://127.0.0.1:1"))
    let (asked, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isFirst = Atomic(true)
    let replication = Replication(
      {
        guard isFirst.exchange(false, ordering: .relaxed) else { return [] }
        asked.signal()
        go.wait()
        return [source]
      }, logger, log: { [server] _, _ in MemoryLog(server) })
    async let refreshed: Void = replication.refresh()
    await onThread { asked.wait() }
    replication.endAll()
    go.signal()
    await refreshed
    #expect(await replication.replica(of: "team") == nil)
  }
}

/// What tells whether a remote's new address is that of the same cluster.
extension ReplicaTests {
  /// The epoch of the test's log for a daemon with the store of `host`, whose own cluster is away.
  private func epoch(for host: Host) async throws -> UInt64? {
    let remote = try Remote("test", at: "etcd://127.0.0.1:1")
    let id = try #require(try await host.replica.copy()).state.groupID
    let isOwn = Mutex(true)
    let replication = Replication(
      { [ReplicaSource(group: "team", id: id, store: host.store, remote: remote)] },
      Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      log: { [server] _, _ in
        let log = MemoryLog(server)
        log.isAway = isOwn.withLock { isOwn in
          defer { isOwn = false }
          return isOwn
        }
        return log
      })
    // What the host changes later goes through its own replica again.
    defer { host.store.publish { [replica = host.replica] _ in ReplicaPublisher { replica } } }
    let replica = try #require(await replication.replica(of: "team"))
    return try await replication.epoch(of: replica, on: remote)
  }

  @Test func `a log with the state of the copy, or with states that follow it, is the group's`() async throws {
    let epoch = try #require(try await owner.log.head()).epoch
    #expect(try await self.epoch(for: other) == epoch)
    for value in ["second", "third"] { try await owner.set(value) }
    #expect(try await self.epoch(for: other) == epoch + 2)
  }

  @Test func `a log with an older state, or with another history, is not the group's`() async throws {
    let epoch = try await loseSecondChange()
    #expect(try await self.epoch(for: owner) == nil)
    for (count, value) in ["another second", "another third"].enumerated() {
      try await other.set(value)
      #expect(try await self.epoch(for: owner) == nil)
      #expect(try await self.epoch(for: other) == epoch + UInt64(count))
    }
  }
}

@Suite(.timeLimit(.minutes(5)), .enabled(if: EtcdCluster.isInstalled, "\(EtcdCluster.needsEtcd)"))
struct OtherClusterTests {
  @Test func `only servers that have the newest known state of a group are taken for its cluster`() async throws {
    let (own, other) = (try await EtcdCluster(1), try await EtcdCluster(1))
    let daemon = try RunningDaemon(binds: false)
    let location = try StoreLocation(environment: [
      "VAULT_HOME": daemon.folder + "/home", "VAULT_STATE": daemon.folder + "/state", "VAULT_SOCKET": daemon.socket,
    ])
    let owner = try await SecretStore.open(at: location, unlocking: .keyFile(daemon.folder + "/key"))
    func ask(_ cluster: EtcdCluster) async throws {
      let remote = try Remote("office", at: cluster.address)
      try await Blocking.read { try owner.requireLog(of: "team", at: remote) }
    }
    try await Blocking.write {
      try owner.createGroup("team")
      try owner.grant(.write, in: "team", to: "vault.service")
      try owner.addRemote(Remote("office", at: own.address))
      try owner.publishGroup("team", at: "office")
    }
    try await ask(own)
    let refusal = VaultError.otherCluster(group: "team")
    await #expect(throws: refusal) { try await ask(other) }
    // A restored copy of the cluster, which has the same number.
    for cluster in [own, other] { cluster.kill(0) }
    try FileManager.default.removeItem(atPath: other.folder + "/n0")
    try FileManager.default.copyItem(atPath: own.folder + "/n0", toPath: other.folder + "/n0")
    for cluster in [own, other] { try cluster.start(0) }
    try await ask(other)
    _ = try await Blocking.write { try owner.group("team").set("name", to: "newer") }
    try await ask(own)
    await #expect(throws: refusal) { try await ask(other) }
    other.kill(0)
    await #expect(throws: VaultError.unordered(.unreachable("no server answers"))) { try await ask(other) }
  }
}
