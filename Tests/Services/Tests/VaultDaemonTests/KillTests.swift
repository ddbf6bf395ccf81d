import Foundation
import Synchronization
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

  static let executable = Bundle.main.executableURL?.deletingLastPathComponent().appending(path: "vaultd").path

  /// How many requests are answered in all before the test ends.
  private static let requests = ProcessInfo.processInfo.environment["VAULT_TEST_FULL"] == "1" ? 10_000 : 600

  /// Reads and writes an item of its own until the daemon is gone.
  private static func work(
    _ client: Int, from first: Int, on socket: String, _ answered: Answered
  ) -> (written: Int, reads: Int) {
    var (written, reads) = (first, 0)
    guard let connection = RawClient(socket) else { return (written, reads) }
    while true {
      guard
        let write = connection.request("POST", "/v1/web/data/item\(client)", #"{"data":{"value":"\#(written + 1)"}}"#),
        write.status == 200
      else { return (written, reads) }
      written += 1
      answered.add()
      guard let read = connection.request("GET", "/v1/web/data/item\(client)"), read.status == 200 else {
        return (written, reads)
      }
      reads += 1
      answered.add()
    }
  }

  /// Counts answers, and kills the process when there are enough.
  private final class Answered: Sendable {
    private let left: Mutex<Int>
    private let process: Int32

    init(killing process: Int32, after count: Int) {
      self.process = process
      left = Mutex(count)
    }

    func add() {
      let isLast = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isLast { kill(process, SIGKILL) }
    }
  }

  @Test
  func `no acknowledged write is lost and no read or change is without its record, whenever the daemon is killed`()
    async throws
  {
    let executable = try #require(Self.executable)
    let daemon = try RunningDaemon(serves: false)
    var random = Numbers(seed: 18)
    let clients = 16
    var told = Told()
    var answered = 0
    while answered < Self.requests {
      let process = try Program(
        executable, ["--socket", daemon.socket, "--credential", daemon.folder + "/credential"],
        environment: ["VAULT_HOME": daemon.folder + "/home", "VAULT_STATE": daemon.folder + "/state"], isQuiet: true)
      while RawClient(daemon.socket) == nil { try await Task.sleep(for: .milliseconds(5)) }
      let socket = daemon.socket
      let count = Int.random(in: 1...200, using: &random)
      let counter = Answered(killing: process.number, after: count)
      let results = await withTaskGroup(of: (Int, (written: Int, reads: Int)).self) { group in
        for client in 0..<clients {
          let first = told.written[client] ?? 0
          group.addTask { (client, await onThread { Self.work(client, from: first, on: socket, counter) }) }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      answered += count
      await onThread { process.wait() }
      for (client, result) in results {
        told.written[client] = result.written
        told.reads += result.reads
      }
      for client in 0..<clients {
        let acknowledged = told.written[client] ?? 0
        let value = Int((try? daemon.text("item\(client)", in: "web")) ?? "0")
        // A write whose answer did not arrive may have been made.
        #expect([acknowledged, acknowledged + 1].contains(value))
        told.written[client] = value
      }
    }
    let records = try daemon.records().filter { $0.outcome == .allowed }
    #expect(told.reads > 0 && records.count { $0.action == .read } >= told.reads)
    let changes = Dictionary(grouping: records.filter { $0.action == .write }) { $0.item ?? "" }
    for (client, written) in told.written { #expect(changes["item\(client)"]?.count ?? 0 >= written) }
  }
}
