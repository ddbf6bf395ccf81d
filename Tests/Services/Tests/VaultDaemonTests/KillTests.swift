import Foundation
import Testing
import VaultFoundation

@testable import VaultDaemon

/// The daemon is killed while it works.
struct KillTests {
  /// What clients were told.
  private struct Told: Sendable {
    /// The last number that was acknowledged, by client.
    var written: [Int: Int] = [:]
    var reads = 0
  }

  private static let executable = Bundle.main.executableURL?.deletingLastPathComponent().appending(path: "vaultd")

  /// Reads and writes an item of its own until the daemon is gone.
  private static func work(_ client: Int, from first: Int, on socket: String) -> (written: Int, reads: Int) {
    var (written, reads) = (first, 0)
    guard let connection = RawClient(socket) else { return (written, reads) }
    while true {
      guard
        let write = connection.request("POST", "/v1/web/data/item\(client)", #"{"data":{"value":"\#(written + 1)"}}"#),
        write.status == 200
      else { return (written, reads) }
      written += 1
      guard let read = connection.request("GET", "/v1/web/data/item\(client)"), read.status == 200 else {
        return (written, reads)
      }
      reads += 1
    }
  }

  @Test func `no acknowledged write is lost and no read is without its record, whenever the daemon is killed`()
    async throws
  {
    let executable = try #require(Self.executable)
    let daemon = try RunningDaemon(serves: false)
    let clients = 4
    var told = Told()
    for round in 0..<8 {
      let process = Process()
      process.executableURL = executable
      process.arguments = ["--socket", daemon.socket, "--credential", daemon.folder + "/credential"]
      process.environment = ["VAULT_HOME": daemon.folder + "/home", "VAULT_STATE": daemon.folder + "/state"]
      process.standardError = FileHandle.nullDevice
      try process.run()
      while RawClient(daemon.socket) == nil { try await Task.sleep(for: .milliseconds(5)) }
      let socket = daemon.socket
      let results = await withTaskGroup(of: (Int, (written: Int, reads: Int)).self) { group in
        for client in 0..<clients {
          let first = told.written[client] ?? 0
          group.addTask { (client, await onThread { Self.work(client, from: first, on: socket) }) }
        }
        try? await Task.sleep(for: .milliseconds(30 + 37 * round))
        kill(process.processIdentifier, SIGKILL)
        return await group.reduce(into: []) { $0.append($1) }
      }
      await onThread { process.waitUntilExit() }
      for (client, result) in results {
        told.written[client] = result.written
        told.reads += result.reads
      }
      for client in 0..<clients {
        let acknowledged = told.written[client] ?? 0
        guard acknowledged > 0 else { continue }
        let value = try daemon.text("item\(client)", in: "web")
        // A write whose answer did not arrive may have been made.
        #expect([acknowledged, acknowledged + 1].contains(Int(value) ?? -1))
        told.written[client] = Int(value)
      }
    }
    #expect(told.reads > 0)
    let recorded = try daemon.records().count { $0.action == .read && $0.outcome == .allowed }
    #expect(recorded >= told.reads)
  }
}
