import InMemoryLogging
import Logging
import Metrics
import MetricsTestKit
import Testing
import VaultFoundation
import VaultServices

/// What logs and metrics hear of a store's calls.
@Suite struct CallTests {
  private let store: SecretStore
  private let keeper: ServiceStore

  init() throws {
    keeper = try ServiceStore()
    store = try keeper.open()
  }

  @Test func `failed calls are logged with their kind and status, and never with a name or a value`() async throws {
    let log = InMemoryLogHandler()
    var logger = Logger(label: "test") { _ in log }
    logger.logLevel = .trace
    store.log(to: logger)
    let group = try store.group("default")
    try await group.set("db/password", to: "hunter2")
    #expect(log.entries.isEmpty)
    await #expect(throws: VaultError.notFound(.item)) { _ = try await group.get("db/user") }
    await #expect(throws: VaultError.self) { try await group.set("db/password", to: "hunter3", ifVersion: 7) }
    await #expect(throws: VaultError.self) { _ = try await store.group("nowhere").get("db/user") }
    #expect(log.entries.map(\.level) == [.debug, .debug, .error])
    #expect(log.entries.map { $0.metadata["status"] } == ["not-found", "conflict", "not-found"])
    #expect(log.entries.map { $0.metadata["call"] } == ["read", "write", "read"])
    #expect(!"\(log.entries)".contains("hunter") && !"\(log.entries)".contains("db/"))
  }

  @Test func `calls are counted and timed by group, kind and outcome`() async throws {
    let metrics = TestMetrics()
    store.recordMetrics(in: metrics)
    let group = try store.group("default")
    try await group.set("a", to: "1")
    for _ in 0..<3 { _ = try await group.get("a") }
    await #expect(throws: VaultError.notFound(.item)) { _ = try await group.get("b") }
    try await group.transaction { edit in
      edit.set("c", to: "1")
      edit.set("d", to: "1")
    }
    func count(_ call: String, _ outcome: String) throws -> Int {
      let dimensions = [("group", "default"), ("call", call), ("outcome", outcome)]
      let timer = try metrics.expectTimer("vault.call.duration", dimensions)
      let counter = try metrics.expectCounter("vault.calls", dimensions)
      #expect(Int(counter.totalValue) == timer.values.count)
      return Int(counter.totalValue)
    }
    #expect(try count("read", "success") == 3)
    #expect(try count("read", "not-found") == 1)
    #expect(try count("write", "success") == 2)
  }

  @Test func `an error thrown in a transaction's closure is counted as unexpected`() async throws {
    let metrics = TestMetrics()
    store.recordMetrics(in: metrics)
    let group = try store.group("default")
    struct Refusal: Error {}
    await #expect(throws: Refusal.self) { try await group.transaction { _ in throw Refusal() } }
    #expect(
      try metrics.expectCounter(
        "vault.calls", [("group", "default"), ("call", "write"), ("outcome", "unexpected")]
      ).totalValue == 1)
  }

  @Test func `several observers receive a call, and the reads of a watch are not calls`() async throws {
    let metrics = [TestMetrics(), TestMetrics()]
    for factory in metrics { store.recordMetrics(in: factory) }
    let group = try store.group("default")
    let changes = try await group.changes()
    try await keeper.group().set("a", to: "1")
    for try await _ in changes { break }
    #expect(metrics.allSatisfy { $0.counterTotal(label: "vault.calls") == 0 })
    _ = try await group.get("a")
    #expect(metrics.allSatisfy { $0.counterTotal(label: "vault.calls") == 1 })
  }
}
