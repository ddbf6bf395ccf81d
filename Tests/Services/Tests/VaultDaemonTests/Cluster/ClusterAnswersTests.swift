import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Synchronization
import Testing
import VaultFoundation

@testable import Ground
@testable import Sealing
@testable import VaultDaemon

/// What other users of the machine may ask about published groups.
@Suite struct ClusterAnswersTests {
  private let failures = Failures(limit: 3)
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

  @Test(arguments: ["sync/team", "commit/team", "base/team", "provision/office", "join"])
  func `a refused request of a stranger counts as a failure`(_ path: String) async throws {
    let stranger = peer(geteuid() + 12_345)
    // Once, a new minute may begin meanwhile.
    for _ in 0..<6 where !failures.isBlocked(stranger) { _ = try? await ask("/vault/1/" + path, as: stranger) }
    #expect(failures.isBlocked(stranger))
  }

  @Test func `a refused request of the daemon's own user does not count`() async throws {
    for _ in 0..<6 { _ = try await ask("/vault/1/sync/team", as: peer(geteuid())) }
    #expect(!failures.isBlocked(peer(geteuid())))
  }

  @Test(arguments: ["sync/team", "commit/team", "base/team", "status/team", "provision/office", "join"])
  func `a daemon that somebody has sealed answers nothing about published groups`(_ path: String) async throws {
    // Without a credential of its own, it serves those that were joined.
    #expect(try await ask("/vault/1/" + path, as: peer(geteuid())) == 200)
    seal.seal()
    for _ in 0..<6 {
      await #expect(throws: Refusal.sealed) { try await ask("/vault/1/" + path, as: peer(geteuid() + 12_345)) }
    }
    #expect(!failures.isBlocked(peer(geteuid() + 12_345)))
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
    let budget = BodyBudget(limit: 10)
    let seal = Seal { () throws(VaultError) in throw .locked(.credential(.missing)) }
    let answers = ClusterAnswers(
      seal: seal, replication: replication, limits: Limits(), bodies: budget, failures: Failures(limit: 100))
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
    #expect(budget.take(10))
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
      seal: seal, replication: replication, limits: Limits(), bodies: budget, failures: Failures(limit: 100))
    var peer = Peer()
    peer.user = geteuid() + 12_345
    let (body, sending) = RequestBody.makeStream()
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/vault/1/commit/team")
    let request = Request(head: head, body: body)
    let connection = Connection(peer: peer)
    let answer = Task { try await answers.answer(to: request, Target(request), connection)?.status.code }
    try await sending.yield(ByteBuffer(bytes: [0]))
    while budget.take(10) {
      budget.giveBack(10)
      await Task.yield()
    }
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
