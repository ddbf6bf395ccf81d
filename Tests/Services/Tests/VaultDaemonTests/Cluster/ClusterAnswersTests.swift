import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Testing
import VaultFoundation

@testable import VaultDaemon

/// What other users of the machine may ask about published groups.
@Suite struct ClusterAnswersTests {
  private let failures = Failures(limit: 3)
  private let replication = Replication(
    { [] }, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, log: { _, _ in throw LogError.unavailable })

  /// Asks as another user than the daemon's, or as root.
  private func ask(_ path: String, as peer: Peer) async throws -> Int? {
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: path)
    let request = Request(head: head, body: .init(buffer: ByteBuffer()))
    let answers = ClusterAnswers(replication: replication, limits: Limits(), failures: failures)
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
}
