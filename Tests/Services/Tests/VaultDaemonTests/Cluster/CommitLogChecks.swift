import Foundation
import Synchronization
import Testing

@testable import VaultDaemon

/// What every log of commits must do. A log passes if each check passes with a log of a group that was never published.
struct CommitLogCheck: Sendable, CustomTestStringConvertible {
  let testDescription: String
  private let body: @Sendable (any CommitLog) async throws -> Void

  private init(_ name: String, _ body: @escaping @Sendable (any CommitLog) async throws -> Void) {
    (testDescription, self.body) = (name, body)
  }

  func run(on log: any CommitLog) async throws { try await body(log) }

  static let all: [CommitLogCheck] = [
    CommitLogCheck("a group that was never published has nothing") { log in
      let (head, base) = (try await log.head(), try await log.base())
      #expect(head == nil)
      #expect(base == nil)
      await #expect(throws: LogError.baseNeeded) { try await log.commits(after: 0, limit: 8) }
    },
    CommitLogCheck("publishing makes base and head, once") { log in
      let head = try await log.publish(1, Data("base".utf8))
      #expect(try await log.head() == head)
      let base = try #require(try await log.base())
      #expect(base.epoch == 1 && base.link == head.link && base.byteCount == 4)
      #expect(try await log.bytes(of: base) == Data("base".utf8))
      await #expect(throws: LogError.conflict(head)) { try await log.publish(2, Data()) }
      #expect(try await log.bytes(of: base) == Data("base".utf8))
    },
    CommitLogCheck("an empty base is a base") { log in
      try await log.publish(1, Data())
      let base = try #require(try await log.base())
      #expect(try await log.bytes(of: base).isEmpty)
    },
    CommitLogCheck("commits are read in order, as many as wanted") { log in
      var head = try await log.publish(1)
      for epoch in 2...6 {
        head = try await log.append(.test(UInt64(epoch)), after: head, over: nil)
        #expect(head.epoch == UInt64(epoch) && head.link == .test(UInt64(epoch)))
        #expect(try await log.head() == head)
      }
      #expect(try await log.commits(after: 1, limit: 100).map(\.commit) == (2...6).map { .test($0) })
      #expect(try await log.commits(after: 3, limit: 2).map(\.commit) == [.test(4), .test(5)])
      #expect(try await log.commits(after: 6, limit: 2).isEmpty)
      #expect(try await log.commits(after: 60, limit: 2).isEmpty)
      #expect(try await log.commits(after: .max, limit: 2).isEmpty)
      #expect(try await log.commits(after: 5, limit: 1).first?.revision == head.revision)
    },
    CommitLogCheck("a commit after another head is refused with the head, and not stored") { log in
      let first = try await log.publish(1)
      let second = try await log.append(.test(2), after: first, over: nil)
      await #expect(throws: LogError.conflict(second)) {
        try await log.append(.test(2, "other"), after: first, over: nil)
      }
      #expect(try await log.commits(after: 1, limit: 9).map(\.commit) == [.test(2)])
    },
    CommitLogCheck("a commit that is there already counts as stored") { log in
      let first = try await log.publish(1)
      let second = try await log.append(.test(2), after: first, over: nil)
      #expect(try await log.append(.test(2), after: first, over: nil) == second)
      let third = try await log.append(.test(3), after: second, over: nil)
      #expect(try await log.append(.test(2), after: first, over: nil) == second)
      #expect(try await log.head() == third)
    },
    CommitLogCheck("a commit that the head does not count is replaced only by its revision") { log in
      let first = try await log.publish(1)
      let head = try await log.replaceHead(
        at: log.append(.test(2, "stray"), after: first, over: nil).revision, with: 1, link: .test(1))
      let stray = try #require(try await log.stray(2, after: head))
      #expect(try await log.commits(after: 1, limit: 9).isEmpty)
      await #expect(throws: LogError.occupied(stray)) { try await log.append(.test(2), after: head, over: nil) }
      let next = try await log.append(.test(2), after: head, over: stray.revision)
      #expect(try await log.commits(after: 1, limit: 9).map(\.commit) == [.test(2)])
      #expect(try await log.head() == next)
    },
    CommitLogCheck("a head is replaced only by its revision") { log in
      let first = try await log.publish(1)
      let second = try await log.replaceHead(at: first.revision, with: 7, link: .test(7))
      #expect(try await log.head() == second)
      #expect(second.epoch == 7 && second.link == .test(7))
      await #expect(throws: LogError.conflict(second)) {
        try await log.replaceHead(at: first.revision, with: 8, link: .test(8))
      }
      await #expect(throws: LogError.conflict(second)) { try await log.replaceHead(at: nil, with: 8, link: .test(8)) }
      await #expect(throws: LogError.conflict(second)) { try await log.append(.test(2), after: first, over: nil) }
    },
    CommitLogCheck("a lost commit is a gap") { log in
      let first = try await log.publish(1)
      let third = try await log.append(.test(3), after: first, over: nil)
      await #expect(throws: LogError.baseNeeded) { try await log.commits(after: 1, limit: 9) }
      #expect(try await log.commits(after: 2, limit: 9).map(\.commit) == [.test(3)])
      #expect(try await !log.isWhole(from: 1, to: third))
      #expect(try await log.isWhole(from: 2, to: third))
    },
    CommitLogCheck("a log is whole until a commit in it is written a second time") { log in
      let first = try await log.publish(1)
      #expect(try await log.isWhole(from: 1, to: first))
      var head = first
      for epoch in UInt64(2)...70 { head = try await log.append(.test(epoch), after: head, over: nil) }
      #expect(try await log.isWhole(from: 1, to: head))
      let back = try await log.replaceHead(at: head.revision, with: 1, link: .test(1))
      let stored = try #require(try await log.stray(2, after: back))
      head = try await log.append(.test(2, "other"), after: back, over: stored.revision)
      head = try await log.replaceHead(at: head.revision, with: 70, link: .test(70))
      #expect(try await !log.isWhole(from: 1, to: head))
      #expect(try await log.isWhole(from: 2, to: head))
    },
    CommitLogCheck("a watch tells that the base was replaced, and which commits are gone") { log in
      var head = try await log.publish(1)
      for epoch in UInt64(2)...4 { head = try await log.append(.test(epoch), after: head, over: nil) }
      var events = log.watch(after: head).makeAsyncIterator()
      _ = try await log.putBase(3, Data(), replacing: try await log.base(), keeping: 0)
      #expect(try await events.next() == .baseChanged)
      #expect(try await events.next() == .commitRemoved(epoch: 2))
      #expect(try await events.next() == .commitRemoved(epoch: 3))
    },
    CommitLogCheck("a commit of several parts comes back whole") { log in
      let head = try await log.publish(1)
      for (epoch, count) in [(UInt64(2), LogLimits.part), (3, LogLimits.part + 1), (4, 3 * LogLimits.part)] {
        let commit = LoggedCommit(epoch: epoch, link: .test(epoch), bytes: Data.test(count, seed: epoch).bytes)
        let head = try #require(try await log.head())
        _ = try await log.append(commit, after: head, over: nil)
        #expect(try await log.commits(after: epoch - 1, limit: 9).map(\.commit) == [commit])
      }
      #expect(head.epoch == 1)
      #expect(try await log.commits(after: 1, limit: 9).map(\.commit.epoch) == [2, 3, 4])
    },
    CommitLogCheck("a commit above the limit is refused") { log in
      let head = try await log.publish(1)
      let large = LoggedCommit(epoch: 2, link: .test(2), bytes: Array(repeating: 1, count: LogLimits.commit + 1))
      await #expect(throws: LogError.tooLarge(limit: LogLimits.commit)) {
        try await log.append(large, after: head, over: nil)
      }
      #expect(try await log.head() == head)
    },
    CommitLogCheck("a new base takes the place of old commits") { log in
      var head = try await log.publish(1)
      for epoch in UInt64(2)...6 { head = try await log.append(.test(epoch), after: head, over: nil) }
      let old = try #require(try await log.base())
      let data = Data.test(2 * LogLimits.part + 5, seed: 1)
      let base = try await log.putBase(5, data, replacing: old, keeping: 2)
      #expect(try await log.base() == base)
      #expect(base.epoch == 5 && base.link == .test(5) && base.byteCount == UInt64(data.count))
      #expect(try await log.bytes(of: base) == data)
      #expect(try await log.head() == head)
      await #expect(throws: LogError.baseNeeded) { try await log.commits(after: 2, limit: 9) }
      #expect(try await log.commits(after: 3, limit: 9).map(\.commit.epoch) == [4, 5, 6])
      await #expect(throws: LogError.baseReplaced) { try await log.readBase(old) { _ in } }
      await #expect(throws: LogError.baseReplaced) { try await log.putBase(6, Data(), replacing: old, keeping: 0) }
      #expect(try await log.bytes(of: base) == data)
    },
    CommitLogCheck("the caller can stop reading and writing a base") { log in
      try await log.publish(1, Data.test(LogLimits.part + 1, seed: 2))
      let base = try #require(try await log.base())
      await #expect(throws: LogError.stopped) {
        try await log.readBase(base) { _ throws(LogError) in throw .stopped }
      }
      await #expect(throws: LogError.stopped) {
        try await log.putBase(epoch: 2, link: .test(2), replacing: base, keeping: 0) {
          index throws(LogError) -> [UInt8]? in
          guard index == 0 else { throw .stopped }
          return Array(repeating: 0, count: LogLimits.part)
        }
      }
      #expect(try await log.base() == base)
    },
    CommitLogCheck("a watch tells each commit, then its head") { log in
      let first = try await log.publish(1)
      var events = log.watch(after: first).makeAsyncIterator()
      let second = try await log.append(.test(2), after: first, over: nil)
      #expect(try await events.next() == .commit(StoredCommit(commit: .test(2), revision: second.revision)))
      #expect(try await events.next() == .head(second))
      let third = try await log.append(.test(3), after: second, over: nil)
      #expect(try await events.next() == .commit(StoredCommit(commit: .test(3), revision: third.revision)))
      #expect(try await events.next() == .head(third))
    },
    CommitLogCheck("a watch begins behind the head that it is given, or with the present one") { log in
      let first = try await log.publish(1)
      let second = try await log.append(.test(2), after: first, over: nil)
      let third = try await log.append(.test(3), after: second, over: nil)
      var late = log.watch(after: second).makeAsyncIterator()
      #expect(try await late.next() == .commit(StoredCommit(commit: .test(3), revision: third.revision)))
      #expect(try await late.next() == .head(third))
      var present = log.watch(after: nil).makeAsyncIterator()
      #expect(try await present.next() == .head(third))
    },
    CommitLogCheck("a watch that waits ends with its task") { log in
      let head = try await log.publish(1)
      let waiting = Task {
        var events = log.watch(after: head).makeAsyncIterator()
        return try await events.next()
      }
      waiting.cancel()
      #expect(try await waiting.value == nil)
    },
    CommitLogCheck("of many writers at once each commit is stored once") { log in
      try await log.publish(0)
      await withTaskGroup(of: Void.self) { writers in
        for writer in 0..<4 {
          writers.addTask {
            for number in 0..<8 { await write("writer \(writer) commit \(number)", to: log) }
          }
        }
      }
      let commits = try await log.commits(after: 0, limit: 100)
      #expect(commits.map(\.commit.epoch) == Array(1...32))
      let texts = Set(commits.map { String(decoding: $0.commit.bytes, as: UTF8.self) })
      #expect(texts == Set((0..<4).flatMap { writer in (0..<8).map { "writer \(writer) commit \($0)" } }))
    },
  ]

  private static func write(_ text: String, to log: any CommitLog) async {
    while true {
      do {
        guard let head = try await log.head() else { return }
        _ = try await log.append(.test(head.epoch + 1, text), after: head, over: nil)
        return
      } catch LogError.conflict {
        continue
      } catch {
        Issue.record(error)
        return
      }
    }
  }
}

extension CommitLink {
  /// 32 bytes that differ for each epoch.
  static func test(_ epoch: UInt64) -> CommitLink {
    CommitLink(withUnsafeBytes(of: epoch.bigEndian) { Array($0) } + Array(repeating: 0xAB, count: 24))!
  }
}

extension LoggedCommit {
  static func test(_ epoch: UInt64, _ text: String? = nil) -> LoggedCommit {
    LoggedCommit(epoch: epoch, link: .test(epoch), bytes: Array((text ?? "commit \(epoch)").utf8))
  }
}

extension Data {
  /// Bytes in which no two parts are equal.
  static func test(_ count: Int, seed: UInt64) -> Data {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var words = [UInt64](repeating: 0, count: (count + 7) / 8)
    for index in words.indices {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      words[index] = state
    }
    return words.withUnsafeBytes { Data($0.prefix(count)) }
  }

  var bytes: [UInt8] { Array(self) }

  var pieces: BasePieces {
    let bytes = Array(self)
    return { index in
      let start = index * LogLimits.part
      guard start < bytes.count else { return nil }
      return Array(bytes[start..<Swift.min(start + LogLimits.part, bytes.count)])
    }
  }
}

extension CommitLog {
  @discardableResult
  func publish(
    _ epoch: UInt64, _ data: Data = Data("base".utf8), after head: LogHead? = nil
  ) async throws -> LogHead {
    try await publish(epoch: epoch, link: .test(epoch), after: head, pieces: data.pieces)
  }

  func putBase(
    _ epoch: UInt64, _ data: Data, replacing base: LogBase?, keeping margin: UInt64
  ) async throws -> LogBase {
    try await putBase(epoch: epoch, link: .test(epoch), replacing: base, keeping: margin, pieces: data.pieces)
  }

  /// A commit that the head does not count.
  func stray(_ epoch: UInt64, after head: LogHead) async throws -> StoredCommit? {
    do { _ = try await append(.test(epoch, "in its place"), after: head, over: nil) } catch LogError.occupied(let found)
    {
      return found
    }
    return nil
  }

  func bytes(of base: LogBase) async throws -> Data {
    let collected = Mutex(Data())
    try await readBase(base) { piece in collected.withLock { $0.append(contentsOf: piece) } }
    return collected.withLock { $0 }
  }
}
