import Foundation
import Testing
import VaultFoundation

/// Watching a group: every change arrives, whoever makes it.
@Suite struct GroupChangesTests {
  /// Collects changes until the item `last` arrives, which sorts behind the others.
  private func changes(_ stream: AsyncThrowingStream<ItemChange, any Error>, until last: String) async throws
    -> [ItemChange]
  {
    var found: [ItemChange] = []
    for try await change in stream {
      found.append(change)
      if change.name.description == last { break }
    }
    return found
  }

  @Test func `a set, a new version and a removal arrive with their names and versions`() async throws {
    let store = TypedStore()
    let group = try store.group()
    try await group.set("old", to: "1")
    let stream = try await group.changes()
    try await group.set("new", to: "1")
    try await group.set("old", to: "2")
    try await group.set("gone", to: "1")
    try await group.remove("gone")
    try await group.set("zzz", to: "1")
    let found = try await changes(stream, until: "zzz")
    #expect(found.last { $0.name.description == "old" }?.version == 2)
    #expect(found.last { $0.name.description == "new" }?.version == 1)
    // The item that was made and removed between two looks may not appear at all.
    #expect(found.last { $0.name.description == "gone" }?.version == nil)
  }

  @Test func `no change is missed while many are made one after the other`() async throws {
    let store = TypedStore()
    let group = try store.group()
    let stream = try await group.changes()
    let writer = Task.detached { for number in 1...60 { try await group.set("item/\(number % 7)", to: "\(number)") } }
    var versions: [String: UInt64] = [:]
    for try await change in stream {
      versions[change.name.description] = change.version
      if versions.values.reduce(0, +) == 60 { break }
    }
    try await writer.value
    #expect(versions.values.reduce(0, +) == 60 && versions.count == 7)
  }

  @Test func `changes that nobody asks for meanwhile arrive as one element for each item`() async throws {
    let store = TypedStore()
    let group = try store.group()
    let stream = try await group.changes()
    try await group.set("first", to: "1")
    var found: [ItemChange] = []
    for try await change in stream {
      found.append(change)
      if found.count == 1 {
        // As long as this element is being handled, nothing is kept of each change.
        for number in 1...40 { try await group.set("item", to: "\(number)") }
        try await group.set("zzz", to: "1")
      }
      if change.name.description == "zzz" { break }
    }
    #expect(found.map(\.name.description) == ["first", "item", "zzz"] && found.map(\.version) == [1, 40, 1])
  }

  @Test func `after its end and after an error a sequence of changes has no more elements`() async throws {
    let store = TypedStore()
    let open = try store.open()
    let group = try open.createGroup("team")
    var iterator = try await group.changes().makeAsyncIterator()
    try await group.set("a", to: "1")
    let first = try await iterator.next()
    #expect(first?.name.description == "a")
    try open.removeGroup("team")
    do {
      _ = try await iterator.next()
      Issue.record("a removed group is no error")
    } catch {
      #expect(error as? VaultError == .notFound(.group))
    }
    let next = try await iterator.next()
    #expect(next == nil)
  }

  @Test func `changes keep arriving after the group's files were replaced`() async throws {
    let store = TypedStore()
    let group = try store.group()
    try await group.set("a", to: "1")
    let stream = try await group.changes()
    _ = try store.open().rotateGroup("default")
    try await group.set("b", to: "1")
    #expect(try await changes(stream, until: "b").map(\.name.description) == ["b"])
  }

  @Test func `the watch ends with its task, and removing the group is an error`() async throws {
    let store = TypedStore()
    let open = try store.open()
    let group = try open.createGroup("team")
    let stream = try await group.changes()
    let task = Task { for try await _ in stream {} }
    task.cancel()
    try await task.value
    let second = try await group.changes()
    try open.removeGroup("team")
    await #expect(throws: VaultError.self) { for try await _ in second {} }
  }
}
