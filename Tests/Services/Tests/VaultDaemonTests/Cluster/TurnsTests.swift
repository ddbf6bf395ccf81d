import Foundation
import Testing
import VaultFoundation

@testable import VaultDaemon

@Suite struct TurnsTests {
  @Test func `callers that arrive during a run share the next run`() async throws {
    let (turns, counter) = (Turns(), Counter())
    async let first: Void = turns.take { await counter.countAndWait() }
    while await counter.count == 0 { try? await Task.sleep(for: .milliseconds(5)) }
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for _ in 0..<5 { tasks.addTask { try await turns.take { await counter.countAndWait() } } }
      while await turns.joinedCount < 4 { try? await Task.sleep(for: .milliseconds(5)) }
      await counter.open()
      try await tasks.waitForAll()
    }
    try await first
    #expect(await counter.count == 2)
    try await turns.take { await counter.countAndWait() }
    #expect(await counter.count == 3)
  }

  @Test func `an error reaches everyone who waited for that run, and nobody later`() async throws {
    let (turns, counter) = (Turns(), Counter())
    async let first: Void = turns.take { await counter.countAndWait() }
    while await counter.count == 0 { try? await Task.sleep(for: .milliseconds(5)) }
    await withTaskGroup(of: Void.self) { tasks in
      for _ in 0..<3 {
        tasks.addTask {
          await #expect(throws: LogError.unavailable) { try await turns.take { throw LogError.unavailable } }
        }
      }
      while await turns.joinedCount < 2 { try? await Task.sleep(for: .milliseconds(5)) }
      await counter.open()
      await tasks.waitForAll()
    }
    try await first
    try await turns.take {}
  }

  @Test func `a caller whose time is over, or who is cancelled, stops waiting, and the run goes on`() async throws {
    let (turns, counter) = (Turns(), Counter())
    await #expect(throws: Turns.Late.self) {
      try await turns.take(within: .milliseconds(50)) { await counter.countAndWait() }
    }
    let waiting = Task { try await turns.take { await counter.countAndWait() } }
    while await turns.callCount < 2 { try? await Task.sleep(for: .milliseconds(5)) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(await counter.count == 1)
    await counter.open()
    try await turns.take { await counter.countAndWait() }
    #expect(await counter.count > 1)
  }

  @Test func `a full disk is distinguished from other failures while a file is fetched`() throws {
    let descriptor = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    let file = NewFile(descriptor: descriptor)
    #expect(throws: LogError.stopped) { try file.append([1, 2, 3]) }
    #expect(file.isFull)
    let other = NewFile(descriptor: -1)
    #expect(throws: LogError.stopped) { try other.append([1, 2, 3]) }
    #expect(!other.isFull)
  }

  private actor Counter {
    private(set) var count = 0
    private var isOpen = false

    func open() { isOpen = true }

    func countAndWait() async {
      count += 1
      while !isOpen { try? await Task.sleep(for: .milliseconds(5)) }
    }
  }
}
