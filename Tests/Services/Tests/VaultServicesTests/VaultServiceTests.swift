import InMemoryLogging
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing
import VaultFoundation
import VaultServices

/// A service that keeps an access group open.
@Suite(.timeLimit(.minutes(5))) struct VaultServiceTests {
  private let store: ServiceStore
  private let log = InMemoryLogHandler()
  private var logger: Logger {
    var logger = Logger(label: "test") { _ in log }
    logger.logLevel = .trace
    return logger
  }

  init() throws { store = try ServiceStore() }

  @Test func `changes are reported until a graceful shutdown, and then the group is released`() async throws {
    let (changes, continuation) = AsyncStream<String>.makeStream()
    let opened = WeakGroup()
    let service = VaultService(logger: logger) { [store] in
      try store.open()
    } onChange: { change, group in
      continuation.yield("\(group.name): \(change.name) \(change.version.map(String.init) ?? "removed")")
    }
    try await testGracefulShutdown { trigger in
      let other = try store.group()
      // No change since the opening is missed, although nothing runs yet.
      opened.value = try await service.group()
      try await other.set("early", to: "1")
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await service.run() }
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == "default: early 1")
        try await other.set("db/password", to: "hunter2")
        #expect(await iterator.next() == "default: db/password 1")
        trigger.triggerGracefulShutdown()
        try await tasks.waitForAll()
      }
    }
    await #expect(throws: CancellationError.self) { try await service.group() }
    // The thread that watches lets go of it a moment later.
    while opened.value != nil { try await Task.sleep(for: .milliseconds(2)) }
    #expect(!"\(log.entries)".contains("password") && !"\(log.entries)".contains("hunter2"))
  }

  @Test func `a store that does not open ends the service with its error, which is logged`() async throws {
    let service = VaultService(logger: logger, opening: { throw VaultError.denied(.ownerOnly) })
    await #expect(throws: VaultError.denied(.ownerOnly)) { try await service.run() }
    #expect(log.entries.contains { $0.level == .error })
  }

  @Test func `a state folder that cannot be used is logged as a warning`() async throws {
    let service = VaultService(logger: logger, opening: { [store] in try store.openWithoutState() })
    _ = try await service.group()
    let warnings = log.entries.filter { $0.level == .warning }.map { "\($0.metadata)" }
    #expect(warnings.count == 1 && warnings.first?.contains("an older copy of the store would not be noticed") == true)
  }

  @Test func `an error of the handler ends the service, and its words are not logged`() async throws {
    struct Refusal: Error { let text = "hunter2" }
    let service = VaultService(
      logger: logger, opening: { [store] in try store.open() }, onChange: { _, _ in throw Refusal() })
    let running = Task { try await service.run() }
    try await log.waits(for: "an access group is open")
    try await store.group().set("a", to: "1")
    await #expect(throws: Refusal.self) { try await running.value }
    #expect(!"\(log.entries)".contains("hunter2"))
  }

  @Test func `a call of a store that several services share is logged once`() async throws {
    let shared = try store.open()
    let services = [nil, "nowhere", "default"].map { VaultService(group: $0, logger: logger, opening: { shared }) }
    await #expect(throws: VaultError.self) { try await services[1].group() }
    #expect(try await services[0].group().name == services[2].group().name)
    await #expect(throws: VaultError.notFound(.item)) { _ = try await services[2].group().get("absent") }
    #expect(log.entries.filter { $0.metadata["status"] == "not-found" && $0.level == .debug }.count == 1)
  }

  @Test func `services that ask for the group at the same time share one open store`() async throws {
    let count = Counter()
    let service = VaultService(logger: logger) { [store] in
      await count.add()
      return try store.open()
    }
    async let first = service.group()
    async let second = service.group()
    #expect(try await first === second)
    #expect(await count.value == 1)
  }
}

private actor Counter {
  private(set) var value = 0
  func add() { value += 1 }
}

private final class WeakGroup { weak var value: AccessGroup? }

extension InMemoryLogHandler {
  /// Waits until `message` was logged.
  fileprivate func waits(for message: String) async throws {
    while !entries.contains(where: { $0.message.description == message }) {
      try await Task.sleep(for: .milliseconds(2))
    }
  }
}
