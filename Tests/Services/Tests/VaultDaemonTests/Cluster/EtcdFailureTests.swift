import Foundation
import Synchronization
import Testing
import VaultFoundation

@testable import VaultDaemon

@Suite(.serialized, .enabled(if: EtcdCluster.isInstalled, "\(EtcdCluster.needsEtcd)"))
struct EtcdFailureTests {
  /// Appends the commits up to `last`; one whose outcome is open is sent again.
  private func append(upTo last: UInt64, to log: EtcdLog, from head: LogHead) async throws -> LogHead {
    var head = head
    while head.epoch < last {
      do {
        head = try await log.append(.test(head.epoch + 1), after: head, over: nil)
      } catch LogError.outcomeUnknown, LogError.unavailable {
        continue
      }
    }
    return head
  }

  /// The commits that `events` tells until the head has the epoch `last`.
  private func commits(
    of events: AsyncThrowingStream<LogEvent, any Error>, upTo last: UInt64
  ) async throws -> [LoggedCommit] {
    var commits: [LoggedCommit] = []
    for try await event in events {
      if case .commit(let stored) = event, commits.last != stored.commit { commits.append(stored.commit) }
      if case .head(let head) = event, head.epoch == last { break }
      if event == .lostPlace { Issue.record("the watch lost its place") }
    }
    return commits
  }

  @Test func `commits go on when the leader is killed, and a watch misses none`() async throws {
    let cluster = try await EtcdCluster(3)
    let log = try cluster.log()
    var head = try await log.publish(1)
    let watch = log.watch(after: head)
    async let watched = commits(of: watch, upTo: 30)
    for last in [UInt64(10), 20, 30] {
      head = try await append(upTo: last, to: log, from: head)
      guard last < 30, let leader = try await cluster.leader() else { continue }
      cluster.kill(leader)
      head = try await append(upTo: last + 3, to: log, from: head)
      try cluster.start(leader)
    }
    #expect(try await watched == (2...30).map { .test($0) })
    #expect(try await log.commits(after: 1, limit: 100).map(\.commit) == (2...30).map { .test($0) })
  }

  @Test func `a server that has stopped answering is replaced by another one`() async throws {
    let cluster = try await EtcdCluster(3)
    var limits = EtcdClient.TimeLimits()
    limits.attempt = .seconds(1)
    limits.watchCheck = .seconds(1)
    let log = try cluster.log(timeLimits: limits)
    var head = try await log.publish(1)
    // The client has answers of the first server, so the calls and the watch are with it.
    let watch = log.watch(after: head)
    async let watched = commits(of: watch, upTo: 4)
    head = try await append(upTo: 2, to: log, from: head)
    cluster.freeze(0)
    head = try await append(upTo: 4, to: log, from: head)
    #expect(try await watched == (2...4).map { .test($0) })
    cluster.thaw(0)
    #expect(try await log.head() == head)
  }

  @Test func `without a majority calls end in time, and with one they work again`() async throws {
    let cluster = try await EtcdCluster(3)
    var limits = EtcdClient.TimeLimits()
    limits.call = .seconds(2)
    limits.attempt = .seconds(1)
    let group = EtcdCluster.newGroup()
    let log = EtcdLog(try cluster.client(timeLimits: limits), group: group)
    let patient = EtcdLog(try cluster.client(), group: group)
    let head = try await patient.publish(1)
    cluster.kill(1)
    cluster.kill(2)
    // The leader may be the one that is left, and the proposal may be in its log.
    let outcome = await failure { _ = try await log.append(.test(2), after: head, over: nil) }
    #expect(outcome == .outcomeUnknown || outcome == .unavailable)
    #expect(await failure { _ = try await log.head() } == .unavailable)
    cluster.kill(0)
    #expect(await failure { _ = try await log.head() } == .unavailable)
    #expect(await failure { _ = try await log.append(.test(2), after: head, over: nil) } == .unavailable)
    for node in 0..<3 { try cluster.start(node) }
    let next = try await append(upTo: 2, to: log, from: head)
    #expect(try await patient.head() == next)
    #expect(try await patient.commits(after: 1, limit: 9).map(\.commit) == [.test(2)])
  }

  @Test func `a server that lets nobody in was sent nothing`() async throws {
    let crowded = try #require(FullServer())
    var limits = EtcdClient.TimeLimits()
    limits.call = .seconds(1)
    limits.attempt = .milliseconds(500)
    let remote = try Remote("test", at: "etcd://127.0.0.1:\(crowded.port)")
    let log = EtcdLog(try EtcdClient(remote, timeLimits: limits), group: EtcdCluster.newGroup())
    let head = LogHead(epoch: 1, link: .test(1), revision: LogRevision(number: 1))
    #expect(await failure { _ = try await log.append(.test(2), after: head, over: nil) } == .unavailable)
  }

  @Test func `after a restart everything is still there, and the watch continues`() async throws {
    let cluster = try await EtcdCluster(1)
    let log = try cluster.log()
    var head = try await log.publish(1)
    let watch = log.watch(after: head)
    async let watched = commits(of: watch, upTo: 5)
    head = try await append(upTo: 3, to: log, from: head)
    cluster.kill(0)
    try cluster.start(0)
    head = try await append(upTo: 5, to: log, from: head)
    #expect(try await watched == (2...5).map { .test($0) })
  }

  @Test func `a watch tells that somebody removed the base`() async throws {
    let log = try await EtcdCluster.shared().log()
    var events = log.watch(after: try await log.publish(1)).makeAsyncIterator()
    _ = try await log.change(EtcdTransaction(success: [.delete(log.keys.base)]))
    #expect(try await events.next() == .baseChanged)
  }

  @Test func `a watch that is behind a compaction reports it and continues`() async throws {
    let cluster = try await EtcdCluster(1)
    let log = try cluster.log()
    let first = try await log.publish(1)
    let fourth = try await append(upTo: 4, to: log, from: first)
    try await cluster.compact(fourth.revision.number)
    var events = log.watch(after: first).makeAsyncIterator()
    #expect(try await events.next() == .lostPlace)
    #expect(try await events.next() == .head(fourth))
    let fifth = try await log.append(.test(5), after: fourth, over: nil)
    #expect(try await events.next() == .commit(StoredCommit(commit: .test(5), revision: fifth.revision)))
    #expect(try await events.next() == .head(fifth))
    // Commits are keys of their own: compaction takes none of them.
    #expect(try await log.commits(after: 1, limit: 9).map(\.commit.epoch) == [2, 3, 4, 5])
  }

  @Test func `a watch keeps its place over a compaction although nothing happened to the group for long`() async throws
  {
    let cluster = try await EtcdCluster(
      1, arguments: ["--experimental-watch-progress-notify-interval", "100ms"])
    let proxy = try await GatewayProxy(to: cluster.ports[0])
    let group = EtcdCluster.newGroup()
    let direct = EtcdLog(try cluster.client(), group: group)
    let log = EtcdLog(try cluster.client([proxy.port]), group: group)
    let first = try await direct.publish(1)
    var events = log.watch(after: first).makeAsyncIterator()
    let second = try await direct.append(.test(2), after: first, over: nil)
    #expect(try await events.next() == .commit(StoredCommit(commit: .test(2), revision: second.revision)))
    #expect(try await events.next() == .head(second))
    // Others write to the same servers, and the watch is told how far they are. The limit only ends a hang.
    let other = try #require(try await direct.change(EtcdTransaction(success: [.put(Data("others".utf8), [0])])).made)
    let end = ContinuousClock.now + .seconds(60)
    while proxy.progress < other.number, .now < end { try await Task.sleep(for: .milliseconds(20)) }
    try await cluster.compact(other.number)
    proxy.closeWatches()
    let third = try await direct.append(.test(3), after: second, over: nil)
    #expect(try await events.next() == .commit(StoredCommit(commit: .test(3), revision: third.revision)))
    #expect(try await events.next() == .head(third))
  }

  @Test func `a watch reports that the servers were set back`() async throws {
    let cluster = try await EtcdCluster(1)
    var limits = EtcdClient.TimeLimits()
    limits.watchCheck = .milliseconds(200)
    let log = try cluster.log(timeLimits: limits)
    let head = try await log.publish(1)
    let far = LogHead(epoch: 9, link: .test(9), revision: LogRevision(number: head.revision.number + 1_000))
    var events = log.watch(after: far).makeAsyncIterator()
    #expect(try await events.next() == .lostPlace)
    #expect(try await events.next() == .head(head))
  }

  @Test(arguments: [false, true])
  func `a watch reports servers that were set back and have counted on since`(losesHead: Bool) async throws {
    let cluster = try await EtcdCluster(1)
    var limits = EtcdClient.TimeLimits()
    limits.watchCheck = .milliseconds(200)
    let log = try cluster.log(timeLimits: limits)
    let head = try await log.publish(1)
    if losesHead { _ = try await log.change(EtcdTransaction(success: [.delete(log.keys.head)])) }
    let far = LogHead(epoch: 9, link: .test(9), revision: LogRevision(number: head.revision.number + 5))
    for number in UInt8(0)..<10 {
      _ = try await log.change(EtcdTransaction(success: [.put(Data("others".utf8), [number])]))
    }
    var events = log.watch(after: far).makeAsyncIterator()
    #expect(try await events.next() == .lostPlace)
    if losesHead {
      let again = try await log.publish(1)
      while let event = try await events.next(), event != .head(again) { #expect(event == .baseChanged) }
    } else {
      #expect(try await events.next() == .head(head))
    }
  }

  @Test func `a base of 20 MB comes back whole`() async throws {
    let log = try await EtcdCluster.shared().log()
    let data = Data.test(20_000_003, seed: 5)
    let head = try await log.publish(1, data)
    let base = try #require(try await log.base())
    #expect(try await log.bytes(of: base) == data)
    #expect(try await log.head() == head)
  }

  @Test func `a new complete file leaves only its own parts, and those of commits and of the file before`() async throws
  {
    let log = try await EtcdCluster.shared().log()
    try await log.publish(1, Data.test(LogLimits.part + 1, seed: 1))
    let large = LoggedCommit(epoch: 2, link: .test(2), bytes: Data.test(LogLimits.part + 2, seed: 2).bytes)
    let head = try #require(try await log.head())
    _ = try await log.append(large, after: head, over: nil)
    // What an upload left that was given up.
    let stray = try await log.putPart([1, 2, 3])
    _ = try await replaceBase(2, log)
    // Hosts may still be reading the first one.
    #expect(try await parts(of: log).count == 2 + 2 + 1)
    #expect(try await !parts(of: log).contains(log.keys.part(stray)))
    let base = try await replaceBase(3, log)
    #expect(try await parts(of: log).count == 2 + 1 + 1)
    #expect(try await log.commits(after: 1, limit: 1).map(\.commit) == [large])
    #expect(try await log.bytes(of: base) == Data("base 3".utf8))
  }

  @Test func `a large commit whose parts another host removes before it is made is made all the same`() async throws {
    let cluster = try await EtcdCluster.shared()
    let group = EtcdCluster.newGroup()
    let (log, other) = (EtcdLog(try cluster.client(), group: group), EtcdLog(try cluster.client(), group: group))
    let head = try await log.publish(1, Data.test(1, seed: 1))
    let large = LoggedCommit(epoch: 2, link: .test(2), bytes: Data.test(24 * LogLimits.part, seed: 2).bytes)
    async let appended = log.append(large, after: head, over: nil)
    while try await parts(of: other).count < 8 { try await Task.sleep(for: .milliseconds(1)) }
    _ = try await replaceBase(1, other)
    #expect(try await appended.epoch == 2)
    #expect(try await other.commits(after: 1, limit: 1).map(\.commit) == [large])
  }

  @Test func `a new key leaves no part of the file that it replaces, and keeps those of a commit`() async throws {
    let log = try await EtcdCluster.shared().log()
    var head = try await log.publish(1, Data.test(3 * LogLimits.part, seed: 1))
    for epoch in UInt64(2)...4 {
      head = try await log.publish(
        epoch: epoch, link: .test(epoch), after: head,
        pieces: Data.test(3 * LogLimits.part, seed: epoch).pieces)
      #expect(try await parts(of: log).count == 3)
    }
    let large = LoggedCommit(epoch: 5, link: .test(5), bytes: Data.test(LogLimits.part + 2, seed: 2).bytes)
    _ = try await log.append(large, after: head, over: nil)
    #expect(try await parts(of: log).count == 3 + 2)
    #expect(try await log.bytes(of: #require(try await log.base())) == Data.test(3 * LogLimits.part, seed: 4))
  }

  private func replaceBase(_ epoch: UInt64, _ log: EtcdLog) async throws -> LogBase {
    try await log.putBase(epoch, Data("base \(epoch)".utf8), replacing: try await log.base(), keeping: 10)
  }

  private func parts(of log: EtcdLog) async throws -> Set<Data> {
    let range = EtcdRange(key: log.keys.parts.start, rangeEnd: log.keys.parts.end, keysOnly: true)
    let answer: EtcdRangeAnswer = try await log.read("kv/range", range)
    return Set((answer.kvs ?? []).map(\.key))
  }

  private func failure(_ body: () async throws -> Void) async -> LogError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? LogError
    }
  }
}

/// A port whose queue is full: the kernel answers no further connection.
private final class FullServer {
  let port: Int
  private let listener: Int32
  private var guests: [RawClient] = []

  init?() {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.listener = listener
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Without an address the kernel takes a free port.
    guard listen(listener, 0) == 0 else { return nil }
    let isNamed = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) == 0 }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    guard isNamed, let guest = RawClient(port: UInt16(port)) else { return nil }
    guests = [guest]
  }

  deinit { close(listener) }
}
