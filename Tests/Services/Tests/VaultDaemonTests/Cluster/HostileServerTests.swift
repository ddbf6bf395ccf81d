import Foundation
import Testing
import VaultFoundation

@testable import VaultDaemon

/// A server that lies is not believed more than it must be, and never holds a client up for longer than its time limit.
@Suite(.enabled(if: EtcdCluster.isInstalled, "\(EtcdCluster.needsEtcd)"))
struct HostileServerTests {
  /// A group with the commits 1 to 5, and a way to it over a proxy.
  private struct Scene {
    let proxy: GatewayProxy
    let log: EtcdLog
    /// Over the proxy, too, with time for a busy machine.
    let patient: EtcdLog
    /// The same, but what gets no answer is soon tried again.
    let retrying: EtcdLog
    let direct: EtcdLog
    let first: LogHead
    let head: LogHead

    /// - Parameter isHurried: whether the time limits of `log` are short, for a server that does not answer.
    init(isHurried: Bool = false) async throws {
      let cluster = try await EtcdCluster.shared()
      proxy = try await GatewayProxy(to: cluster.ports[0])
      var limits = EtcdClient.TimeLimits()
      limits.call = isHurried ? .seconds(1) : .seconds(60)
      limits.attempt = isHurried ? .milliseconds(500) : .seconds(30)
      limits.watchCheck = .milliseconds(300)
      let group = EtcdCluster.newGroup()
      direct = EtcdLog(try cluster.client(), group: group)
      log = EtcdLog(try cluster.client([proxy.port], timeLimits: limits), group: group)
      limits.call = .seconds(60)
      retrying = EtcdLog(try cluster.client([proxy.port], timeLimits: limits), group: group)
      limits.attempt = .seconds(30)
      patient = EtcdLog(try cluster.client([proxy.port], timeLimits: limits), group: group)
      first = try await direct.publish(1, Data.test(LogLimits.part + 1, seed: 4))
      var head = first
      for epoch in UInt64(2)...5 { head = try await direct.append(.test(epoch), after: head, over: nil) }
      self.head = head
    }

    /// Everything is read as it is stored.
    func expectHonesty() async throws {
      proxy.mode = .honest
      #expect(try await patient.head() == direct.head())
      #expect(try await patient.commits(after: 1, limit: 9) == direct.commits(after: 1, limit: 9))
      let base = try #require(try await patient.base())
      #expect(try await patient.bytes(of: base) == Data.test(LogLimits.part + 1, seed: 4))
    }
  }

  private func failure(_ body: () async throws -> Void) async -> LogError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? LogError
    }
  }

  @Test func `a proxy that changes nothing causes no error`() async throws {
    let scene = try await Scene()
    try await scene.expectHonesty()
    let next = try await scene.log.append(.test(6), after: scene.head, over: nil)
    #expect(try await scene.direct.head() == next)
  }

  @Test func `values under other keys are damage`() async throws {
    let scene = try await Scene()
    scene.proxy.mode = .reorder
    #expect(await failure { _ = try await scene.log.commits(after: 1, limit: 9) } == .baseNeeded)
    scene.proxy.mode = .swap
    let second = try #require(try await scene.direct.commits(after: 1, limit: 1).first)
    #expect(
      await failure { _ = try await scene.log.commits(after: 1, limit: 9) }
        == .damaged(LogDamage(place: .commit(epoch: 2), revision: second.revision)))
    scene.proxy.mode = .truncate
    #expect(
      await failure { _ = try await scene.log.head() }
        == .damaged(LogDamage(place: .head, revision: scene.head.revision)))
    #expect(await failure { _ = try await scene.log.base() } != nil)
    try await scene.expectHonesty()
  }

  @Test(arguments: [UInt64.max, 1, 3]) func `keys in the wrong order or outside the range are no answer`(
    _ epoch: UInt64
  ) async throws {
    let scene = try await Scene()
    #expect(try await scene.log.isWhole(from: 1, to: scene.head))
    scene.proxy.mode = .insert(key: scene.log.keys.commit(epoch))
    #expect(await failure { _ = try await scene.log.isWhole(from: 1, to: scene.head) } == .malformed)
    try await scene.expectHonesty()
  }

  @Test func `keys without end are no answer, and end after a time`() async throws {
    let scene = try await Scene()
    let start = scene.log.keys.commit(2)
    scene.proxy.mode = .pages(start, size: 64)
    #expect(await failure { _ = try await scene.log.isWhole(from: 1, to: scene.head) } == .malformed)
    #expect(scene.proxy.pageCount == EtcdLog.keyLimit / 64)
    // More at once than were asked for.
    scene.proxy.mode = .pages(start, size: 65)
    #expect(await failure { _ = try await scene.log.isWhole(from: 1, to: scene.head) } == .malformed)
    #expect(scene.proxy.pageCount == 1)
    // One in 200 milliseconds: for 5 seconds, and not for 4 minutes.
    var limits = EtcdClient.TimeLimits()
    limits.call = .milliseconds(500)
    let hurried = try await EtcdCluster.shared().client([scene.proxy.port], timeLimits: limits)
    let log = EtcdLog(hurried, group: EtcdCluster.newGroup())
    scene.proxy.mode = .pages(log.keys.commit(2), size: 1, pause: 200)
    #expect(await failure { _ = try await log.isWhole(from: 1, to: scene.head) } == .unavailable)
    #expect(scene.proxy.pageCount < 100)
    try await scene.expectHonesty()
  }

  @Test func `names of parts without end do not fill the memory`() async throws {
    let scene = try await Scene()
    scene.proxy.mode = .pages(scene.log.keys.large(0).dropLast(16), size: 64)
    let head = try await scene.log.publish(6, Data("base".utf8), after: scene.head)
    #expect(try await scene.direct.head() == head)
    // Each names 4,096; once before the file is sent, and once afterwards.
    #expect(scene.proxy.pageCount == 2 * EtcdLog.keyLimit / 4_096)
  }

  @Test func `a part whose bytes do not match its name is damage`() async throws {
    let scene = try await Scene()
    let base = try #require(try await scene.direct.base())
    let parts = PartList(of: Data.test(LogLimits.part + 1, seed: 4).bytes)
    let key = scene.log.keys.part(parts.digests[1])
    let _: EtcdDone = try await scene.direct.client.call("kv/put", EtcdPut(key: key, value: Data([0])))
    #expect(
      await failure { _ = try await scene.log.bytes(of: base) }
        == .damaged(LogDamage(place: .base, revision: base.revision)))
  }

  @Test(arguments: [
    GatewayProxy.Mode.cut, .loseRequest, .loseAnswer, .closeAfterwards, .endless(1_000), .slow(50),
    .answer(status: 200, ""), .answer(status: 200, "{}"), .answer(status: 200, "[]"),
    .answer(status: 200, #"{"header":{"revision":7}}"#), .answer(status: 200, #"{"header":{"revision":"-7"}}"#),
    .answer(status: 200, #"{"header":{"revision":"99999999999999999999"}}"#),
    .answer(status: 200, String(repeating: "[", count: 60_000)),
    .answer(status: 200, #"{"header":{"revision":"7"},"kvs":[{"key":"AA==","mod_revision":"7","value":"!"}]}"#),
    .answer(status: 200, #"{"header":{"revision":"7"},"kvs":[{"key":"AA==","mod_revision":"7"}]}"#),
    .answer(status: 404, "Not Found"), .answer(status: 500, #"{"error":"x","code":"7"}"#),
    .answer(status: 301, "elsewhere"),
  ])
  func `an invalid answer is an error, and later correct answers are accepted`(_ mode: GatewayProxy.Mode) async throws {
    let scene = try await Scene(isHurried: true)
    scene.proxy.mode = mode
    let errors = [LogError.unavailable, .malformed]
    #expect(errors.contains(await failure { _ = try await scene.log.head() } ?? .stopped))
    #expect(errors.contains(await failure { _ = try await scene.log.commits(after: 1, limit: 9) } ?? .stopped))
    #expect(errors.contains(await failure { _ = try await scene.log.base() } ?? .stopped))
    var outcome = LogError?.some(.unavailable)
    // On a busy machine the time may be over before anything is sent.
    while outcome == .unavailable {
      outcome = await failure { _ = try await scene.log.append(.test(6), after: scene.head, over: nil) }
    }
    #expect(outcome == .outcomeUnknown)
    scene.proxy.mode = .honest
    // Sent again it is stored, once.
    let next = try await scene.patient.append(.test(6), after: scene.head, over: nil)
    #expect(try await scene.direct.head() == next)
    try await scene.expectHonesty()
  }

  @Test func `a commit whose answers were lost is found by its bytes`() async throws {
    let scene = try await Scene(isHurried: true)
    scene.proxy.mode = .closeAfterwards
    async let appended = scene.retrying.append(.test(6), after: scene.head, over: nil)
    while try await scene.direct.head() == scene.head { try await Task.sleep(for: .milliseconds(10)) }
    // Another host follows before ours hears of its own.
    let sixth = try #require(try await scene.direct.head())
    let seventh = try await scene.direct.append(.test(7), after: sixth, over: nil)
    scene.proxy.mode = .honest
    #expect(try await appended == sixth)
    #expect(try await scene.direct.head() == seventh)
    #expect(try await scene.direct.commits(after: 5, limit: 9).map(\.commit) == [.test(6), .test(7)])
  }

  @Test func `a complete file whose answers were lost is found by its bytes`() async throws {
    let scene = try await Scene(isHurried: true)
    async let published = scene.retrying.publish(epoch: 6, link: .test(6), after: scene.head) { index in
      if index == 0 { return [1] }
      // Its only part is there, and what follows names it.
      scene.proxy.mode = .closeAfterwards
      return nil
    }
    while try await scene.direct.head() == scene.head { try await Task.sleep(for: .milliseconds(10)) }
    let sixth = try #require(try await scene.direct.head())
    let seventh = try await scene.direct.append(.test(7), after: sixth, over: nil)
    scene.proxy.mode = .honest
    #expect(try await published == sixth)
    #expect(try await scene.direct.head() == seventh)
  }

  @Test func `whether a complete file was replaced while its answers were lost is unknown`() async throws {
    let scene = try await Scene(isHurried: true)
    async let outcome = failure {
      _ = try await scene.retrying.publish(epoch: 6, link: .test(6), after: scene.head) { index in
        if index == 0 { return [1] }
        scene.proxy.mode = .closeAfterwards
        return nil
      }
    }
    while try await scene.direct.head() == scene.head { try await Task.sleep(for: .milliseconds(10)) }
    let sixth = try #require(try await scene.direct.head())
    _ = try await scene.direct.append(.test(7), after: sixth, over: nil)
    _ = try await scene.direct.putBase(7, Data("base 7".utf8), replacing: try await scene.direct.base(), keeping: 10)
    scene.proxy.mode = .honest
    #expect(await outcome == .outcomeUnknown)
  }

  @Test func `a commit whose request was lost is sent again`() async throws {
    let scene = try await Scene(isHurried: true)
    scene.proxy.mode = .loseRequest
    async let appended = scene.retrying.append(.test(6), after: scene.head, over: nil)
    try await Task.sleep(for: .milliseconds(700))
    scene.proxy.mode = .honest
    #expect(try await appended == scene.direct.head())
    #expect(try await scene.direct.commits(after: 5, limit: 9).map(\.commit) == [.test(6)])
  }

  @Test func `a commit that another host overtook while its answer was lost is a conflict`() async throws {
    let scene = try await Scene(isHurried: true)
    scene.proxy.mode = .loseRequest
    async let outcome = failure { _ = try await scene.retrying.append(.test(6), after: scene.head, over: nil) }
    let other = try await scene.direct.append(.test(6, "other"), after: scene.head, over: nil)
    scene.proxy.mode = .honest
    #expect(await outcome == .conflict(other))
  }

  @Test func `a forged head is passed on to be proved, and orders nothing`() async throws {
    let scene = try await Scene()
    scene.proxy.mode = .forgeHead(Data(HeadValue.bytes(epoch: 9, link: .test(9))))
    let forged = try #require(try await scene.log.head())
    #expect(forged.epoch == 9)
    // etcd itself compares the value.
    #expect(await failure { _ = try await scene.log.append(.test(10), after: forged, over: nil) } != nil)
    try await scene.expectHonesty()
    #expect(try await scene.direct.head() == scene.head)
  }

  @Test func `the latest time that a server tells counts, and a server need not tell one`() async throws {
    let scene = try await Scene()
    let isRight = { (time: UInt64?) in
      time.map { abs(Date().timeIntervalSince1970 - Double($0) / 1_000) < 600 }
    }
    #expect(isRight(await scene.direct.time()) == true)
    // The proxy adds no date.
    #expect(await scene.log.time() == nil)
    let cluster = try await EtcdCluster.shared()
    scene.proxy.mode = .dated("Thu, 01 Jan 1970 00:01:00 GMT")
    #expect(await scene.log.time() == 60_000)
    #expect(isRight(try await cluster.client([scene.proxy.port, cluster.ports[0]]).time()) == true)
    for date in ["", "yesterday", "Thu, 01 Jan 1969 00:00:00 GMT"] {
      scene.proxy.mode = .dated(date)
      #expect(await scene.log.time() == nil)
    }
  }

  @Test func `a watch without events asks by itself, and continues when events arrive`() async throws {
    let scene = try await Scene()
    scene.proxy.mode = .silentWatch
    var events = scene.patient.watch(after: scene.head).makeAsyncIterator()
    let sixth = try await scene.direct.append(.test(6), after: scene.head, over: nil)
    try await Task.sleep(for: .milliseconds(500))
    scene.proxy.mode = .honest
    #expect(try await events.next() == .commit(StoredCommit(commit: .test(6), revision: sixth.revision)))
    #expect(try await events.next() == .head(sixth))
  }

  @Test(arguments: [
    GatewayProxy.Mode.endless(65_536), .cut, .closeAfterwards, .answer(status: 200, "{}\n"),
    .answer(status: 200, #"{"result":{"header":{},"events":[{"kv":{"key":"AA==","mod_revision":"99999"}}]}}"# + "\n"),
    .answer(status: 500, "x"), .reorder, .truncate, .swap,
  ])
  func `a watch continues after false answers`(_ mode: GatewayProxy.Mode) async throws {
    let scene = try await Scene()
    scene.proxy.mode = mode
    let events = scene.patient.watch(after: scene.first)
    let reader = Task {
      // What is told twice, or damaged, is the prover's to judge; here it counts that all is told in the end.
      var told: Set<UInt64> = []
      for try await event in events {
        if case .commit(let stored) = event, stored.commit == .test(stored.commit.epoch) {
          told.insert(stored.commit.epoch)
        }
        if case .head(let head) = event, head.epoch == 6 { break }
      }
      return told
    }
    try await Task.sleep(for: .milliseconds(400))
    scene.proxy.mode = .honest
    _ = try await scene.direct.append(.test(6), after: scene.head, over: nil)
    let told = try await reader.value
    #expect(told.contains(6))
  }

  @Test func `no error contains anything that was sent or stored`() async throws {
    let scene = try await Scene(isHurried: true)
    scene.proxy.mode = .answer(status: 400, #"{"error":"hunter2 is wrong","message":"hunter2","code":3}"#)
    let client = try EtcdClient(
      Remote("test", at: "etcd://127.0.0.1:\(scene.proxy.port)", user: "web", password: try Secret("hunter2")))
    do {
      _ = try await EtcdLog(client, group: [1]).head()
      Issue.record("no error")
    } catch {
      #expect(!"\(error)".contains("hunter2"))
      #expect(!String(reflecting: error).contains("hunter2"))
    }
  }
}
