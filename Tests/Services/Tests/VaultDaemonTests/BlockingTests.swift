import Foundation
import Synchronization
import Testing
import VaultFoundation

@testable import Vault
@testable import VaultDaemon

/// The threads that may block are those of the whole process. One test at a time: of two that keep them busy, each could
/// wait for those of the other.
@Suite(.serialized, .timeLimit(.minutes(5))) struct BlockingTests {
  @Test func `a locked group leaves threads for changes of others, however many callers change it`() async throws {
    let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    var waiting: [Task<Void, any Error>] = []
    for number in 0..<64 {
      waiting.append(
        Task {
          try await Blocking.$caller.withValue("application locked-out-\(number % 2)") {
            try await Blocking.write(in: "locked-group") {
              begun.signal()
              go.wait()
            }
          }
        })
    }
    await onThread { for _ in 0..<8 { begun.wait() } }
    // What else may begin of these has begun then.
    try await Task.sleep(for: .milliseconds(200))
    let other = try await Blocking.$caller.withValue("application not-locked-out") {
      try await Blocking.write(in: "other-group") { true }
    }
    #expect(other)
    for _ in waiting { go.signal() }
    for task in waiting { try await task.value }
  }

  @Test func `lists keep only lists waiting, and one whose client has left is not made`() async throws {
    let daemon = try RunningDaemon(binds: false)
    try daemon.bind("lister", user: String(getuid()))
    try daemon.set("a", in: "lister", to: "1")
    let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let running = (0..<2).map { _ in
      Task {
        try await Blocking.$caller.withValue("application lister") {
          try await Blocking.list {
            begun.signal()
            go.wait()
          }
        }
      }
    }
    await onThread { for _ in running { begun.wait() } }
    var client = RawClient(daemon.socket)
    _ = client?.send(Array("GET /v1/lister/metadata?list=true HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
    for _ in 0..<20 { #expect(try await daemon.curl("/v1/lister/data/a").status == 200) }
    client = nil
    for _ in 0..<20 { #expect(try await daemon.curl("/v1/lister/data/a").status == 200) }
    func lists() throws -> [AuditRecord] { try daemon.records().filter { $0.action == .list } }
    #expect(try lists().isEmpty)
    for _ in running { go.signal() }
    while try lists().isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    #expect(try lists().map(\.outcome) == [AuditRecord.Outcome(.interrupted)])
    #expect(try await daemon.curl("/v1/lister/metadata?list=true").status == 200)
  }

  private final class Ended: Sendable { let flag = Atomic(false) }

  /// Keeps all threads for reading busy that a caller can have, until the returned closure is called.
  private func occupy(_ caller: String) async -> () -> Void {
    let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for _ in 0..<8 {
      Task {
        try await Blocking.$caller.withValue(caller) {
          try await Blocking.read {
            begun.signal()
            go.wait()
          }
        }
      }
    }
    await onThread { for _ in 0..<8 { begun.wait() } }
    return { for _ in 0..<8 { go.signal() } }
  }

  @Test
  func `an application that asks for too much waits, but no other one, and its closed connections count meanwhile`()
    async throws
  {
    let daemon = try RunningDaemon(binds: false) { $0.limits.connectionsPerUser = 20 }
    try daemon.bind("crowd", user: String(getuid()))
    try daemon.bind("other", unit: "nowhere.service")
    for application in ["crowd", "other"] { try daemon.set("a", in: application, to: "1") }
    let (token, socket) = (try daemon.token(of: "other"), daemon.socket)
    let ended = Ended()
    let release = await occupy("application crowd")
    defer { release() }
    // What is not a body, or not a call, is read in a turn of its caller's, too.
    let calls = [("/v1/crowd/data/a", []), ("/v1/crowd/data/a", ["-d", "{"]), ("/vault/1/call", ["-d", "x"])]
    let statuses = [200, 400, 400]
    var waiting: [Task<Int, any Error>] = []
    for (path, body) in calls {
      waiting.append(
        Task {
          let status = try await daemon.curl(url: "http://localhost" + path, ["--unix-socket", socket] + body).status
          ended.flag.store(true, ordering: .relaxed)
          return status
        })
    }
    for _ in 0..<10 {
      #expect(try await daemon.curl("/v1/other/data/a", "-H", "X-Vault-Token: \(token)").status == 200)
    }
    let refusals = await onThread {
      // In a row. Those that are closed before their requests begin are not counted, so there are as many as it takes.
      var refusals = 0
      for _ in 0..<20_000 where refusals < 100 {
        let client = refusals == 0 ? RawClient(socket) : nil
        _ = client?.send(Array("GET /v1/crowd/data/a HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
        let status = withExtendedLifetime(client) { RawClient(socket)?.request("GET", "/v1/sys/health")?.status }
        refusals = status == nil ? refusals + 1 : 0
      }
      return refusals
    }
    #expect(refusals == 100)
    let isEarly = ended.flag.load(ordering: .relaxed)
    #expect(!isEarly)
    release()
    for (call, status) in zip(waiting, statuses) { #expect(try await call.value == status) }
    while try await daemon.curl("/v1/sys/health").status != 200 {}
  }

  @Test func `a daemon all of whose writers wait still says that it works`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let writers = (0..<32).map { _ in
      Task {
        try await Blocking.write {
          begun.signal()
          go.wait()
        }
      }
    }
    defer { for _ in writers { go.signal() } }
    await onThread { for _ in 0..<32 { begun.wait() } }
    #expect(await daemon.seal.problem() == nil)
  }

  /// Has a change wait for its turn while its caller loses the right to it.
  @Test(arguments: ["token", "binding"])
  func `a change that waits for its turn is not made once its token or binding has ended`(_ end: String) async throws {
    let daemon = try RunningDaemon(binds: false)
    let name = "waiting-\(end)"
    try daemon.bind(name, user: String(getuid()))
    let token = try daemon.token(of: name)
    let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let turns = 16
    for _ in 0..<turns {
      Task {
        try await Blocking.$caller.withValue("application \(name)") {
          try await Blocking.write {
            begun.signal()
            go.wait()
          }
        }
      }
    }
    await onThread { for _ in 0..<turns { begun.wait() } }
    let header = end == "token" ? ["-H", "X-Vault-Token: \(token)"] : []
    let change = Task {
      try await daemon.curl(
        url: "http://localhost/v1/\(name)/data/a",
        ["--unix-socket", daemon.socket, "-d", #"{"data":{"value":"x"}}"#] + header)
    }
    while try !daemon.records().contains(where: { $0.action == .write && $0.outcome == .allowed }) {
      try await Task.sleep(for: .milliseconds(20))
    }
    if end == "token" { try #require(daemon.seal.current).tokens.revoke(token) } else { try daemon.unbind(name) }
    for _ in 0..<turns { go.signal() }
    #expect(try await change.value.status == 403)
    #expect(try daemon.items(of: name).isEmpty)
    #expect(try daemon.records().last { $0.action == .write }?.outcome == .denied)
  }
}
