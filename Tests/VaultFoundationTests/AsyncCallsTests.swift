import Foundation
import Synchronization
import Testing

@testable import VaultFoundation

/// Calls with `await`: on threads that may wait, with the results and errors of the calls that wait.
@Suite struct AsyncCallsTests {
  private let store = TypedStore()

  @Test func `values that are set with await are read with await`() async throws {
    let group = try store.group()
    #expect(try await group.set("text", to: "a") == 1)
    #expect(try await group.set("text", to: "b", ifVersion: 1) == 2)
    try await group.set("limits", to: Limits(count: 3), named: "limits")
    try await group.set("secret", to: Secret([1, 2, 3]), kind: .bytes)
    #expect(try await group.get("text", as: String.self) == "b")
    #expect(try await group.get("text", as: String.self, version: 1) == "a")
    #expect(try await group.get("limits", as: Limits.self, named: "limits") == Limits(count: 3))
    let secret = try await group.get("secret")
    #expect(secret.withBytes { $0.count } == 3)
    let opened = try await group.open("text")
    #expect(opened.item.version == 2 && opened.secret.exportInsecurelyAsString() == "b")
    #expect(try await group.items().map(\.name.description) == ["limits", "secret", "text"])
    #expect(try await group.history("text").map(\.version) == [2, 1])
  }

  @Test func `details, removal and restoring work with await`() async throws {
    let group = try store.group()
    try await group.set("a", to: "1")
    try await group.change("a", Details(label: .to("one")))
    #expect(try await group.item("a").label == "one")
    try await group.remove("a")
    await #expect(throws: VaultError.notFound(.item)) { try await group.item("a") }
    try await group.restore("a")
    #expect(try await group.get("a", as: String.self) == "1")
    try await group.destroy("a")
    #expect(try await group.history("a").map(\.isRemoved) == [true])
  }

  @Test func `the error of an awaited call has its type`() async throws {
    let group = try store.group()
    do throws(VaultError) {
      _ = try await group.get("absent")
      Issue.record("an item that nobody set")
    } catch {
      #expect(error == .notFound(.item))
    }
  }

  @Test func `an awaited transaction is made completely or not at all`() async throws {
    let group = try store.group()
    let sum = try await group.transaction { edit in
      edit.set("a", to: 1)
      edit.set("b", to: 2)
      return 3
    }
    #expect(try await sum == group.get("a", as: Int.self) + group.get("b", as: Int.self))
    await #expect(throws: Refusal.self) {
      try await group.transaction { edit in
        edit.remove("a")
        throw Refusal()
      }
    }
    #expect(try await group.get("a", as: Int.self) == 1)
  }

  @Test func `a store is opened with await, and maintained in a thread of its own`() async throws {
    _ = try store.group()
    let location = try store.open().location
    let opened = try await SecretStore.open(at: location, unlocking: .keyFile(store.keyFile))
    let generation = try await opened.inThread { store throws(VaultError) in
      _ = try store.rotateGroup("default")
      return try store.group("default").info().generation
    }
    #expect(generation == 2)
    await #expect(throws: VaultError.self) { try await SecretStore.open(at: location, credential: "/nowhere") }
  }

  @Test func `an object that is not Sendable goes through a thread of its own`() async throws {
    let group = try store.group()
    #expect(try await numberAfterOnePage(in: group) == 8)
    do throws(VaultError) {
      _ = try await group.inThread { group throws(VaultError) in try group.get("absent", as: Page.self) }
      Issue.record("an item that nobody set")
    } catch {
      #expect(error == .notFound(.item))
    }
  }

  @Test func `a cancelled task makes the calls of its closure completely`() async throws {
    let group = try store.group()
    let holder = try LockHolder(store.open().group("default"))
    let writer = Task {
      try await group.inThread { group throws(VaultError) in
        try group.set("a", to: "1")
        return try group.set("a", to: "2")
      }
    }
    writer.cancel()
    holder.release()
    #expect(try await writer.value == 2)
  }

  @Test func `writers that wait for a lock keep neither readers nor other tasks waiting`() async throws {
    let group = try store.group()
    try await group.set("a", to: "1")
    let holder = try LockHolder(store.open().group("default"))
    // As many as would occupy all of Swift's threads, if they waited there.
    let writers = try (0..<(2 * ProcessInfo.processInfo.processorCount + 2)).map { number in
      let group = try store.open().group("default")
      return Task {
        for _ in 0..<17 {
          // On a busy machine they may wait more than ten seconds for the lock.
          do { return try await group.set("writer/\(number)", to: number) } catch VaultError.busy {}
        }
        return try await group.set("writer/\(number)", to: number)
      }
    }
    for _ in 0..<3 {
      #expect(try await group.get("a", as: String.self) == "1")
      #expect(await Task.detached { 1 }.value == 1)
    }
    holder.release()
    for writer in writers { #expect(try await writer.value == 1) }
  }

  @Test func `many lists at the same time are made by eight threads, because each holds descriptors`() async throws {
    let open = try store.open()
    let group = try open.group("default")
    let threadCount = Mutex(0)
    open.observe { _ in
      guard Thread.current.threadDictionary["seen"] == nil else { return }
      Thread.current.threadDictionary["seen"] = true
      threadCount.withLock { $0 += 1 }
    }
    try await withThrowingTaskGroup(of: Int.self) { lists in
      for _ in 0..<100 { lists.addTask { try await group.items().count } }
      for try await count in lists { #expect(count == 0) }
    }
    #expect((1...8).contains(threadCount.withLock { $0 }))
  }

  @Test(.timeLimit(.minutes(5))) func `a call waits for a slow one only if no thread is idle`() async {
    let queues = CallQueues(2)
    let (begun, end) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
    async let slow = queues.next.run {
      begun.continuation.finish()
      end.wait()
      return Thread.current
    }
    for await _ in begun.stream {}
    var threads: Set<Thread> = []
    for _ in 0..<4 { threads.insert(await queues.next.run { Thread.current }) }
    end.signal()
    let other = await slow
    #expect(threads.count == 1 && !threads.contains(other))
  }

  @Test func `the calls of one task are made in its order`() async throws {
    let group = try store.group()
    for number in 1...20 {
      #expect(try await group.set("a", to: number) == UInt64(number))
      #expect(try await group.get("a", as: Int.self) == number)
    }
  }

  @Test func `a call whose thread cannot be started is made on the caller's thread`() async {
    // In a process of its own, because a queue that is used after its end crashes it.
    await #expect(processExitsWith: .success) {
      for number in 0..<1_000 {
        let found = await CallQueue(startingWith: { _ in false }).run { number }
        precondition(found == number)
      }
    }
  }

  @Test func `calls with threads of their own leave none behind`() async {
    // In a process of its own, which has no threads of other tests.
    await #expect(processExitsWith: .success) {
      let store = TypedStore()
      let group = try store.group()
      for _ in 0..<100 {
        _ = try await group.items()
        _ = try await group.inThread { group throws(VaultError) in try group.items().count }
        // A store for this call alone, whose group has a thread for its reads.
        _ = try? await store.open().group("default").item("a")
      }
      func threadCount() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count }
      // Threads that have done their work end at once, and not only after ten seconds.
      for _ in 0..<500 where try threadCount() > 100 { try await Task.sleep(for: .milliseconds(10)) }
      let count = try threadCount()
      precondition(count <= 100)
    }
  }

  @Test func `a cancelled task makes its calls completely`() async throws {
    let group = try store.group()
    let holder = try LockHolder(store.open().group("default"))
    let writer = Task { try await group.set("a", to: "written") }
    writer.cancel()
    holder.release()
    #expect(try await writer.value == 1)
    #expect(try await group.get("a", as: String.self) == "written")
  }
}

final class Page: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  var number: Int
  init(number: Int) { self.number = number }
  required init?(coder: NSCoder) { number = coder.decodeInteger(forKey: "number") }
  func encode(with coder: NSCoder) { coder.encode(number, forKey: "number") }
}

/// On the main actor, whose isolation the closures must not inherit.
@MainActor
private func numberAfterOnePage(in group: AccessGroup) async throws -> Int {
  let page = Page(number: 7)
  let version = try await group.inThread { group throws(VaultError) in
    #expect(!Thread.isMainThread)
    return try group.set("page", to: page)
  }
  let read = try await group.inThread { group throws(VaultError) in try group.get("page", as: Page.self) }
  read.number += Int(version)
  return read.number
}

private struct Limits: Codable, Equatable { var count: Int }

private struct Refusal: Error {}

/// Holds the lock of a group's writers in a thread of its own.
private final class LockHolder: Sendable {
  private let end = DispatchSemaphore(value: 0)

  init(_ group: AccessGroup) throws {
    let begun = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [end] in
      try? group.transaction { edit in
        edit.set("held", to: true)
        begun.signal()
        end.wait()
      }
      // If there was no transaction, nobody waits for it forever.
      begun.signal()
    }
    begun.wait()
  }

  func release() { end.signal() }
}
