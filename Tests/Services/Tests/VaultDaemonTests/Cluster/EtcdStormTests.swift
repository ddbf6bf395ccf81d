import Foundation
import Synchronization
import Testing

@testable import VaultDaemon

/// Writers on several hosts while servers are killed.
@Suite(.enabled(if: EtcdCluster.isInstalled, "\(EtcdCluster.needsEtcd)"))
struct EtcdStormTests {
  private static let writers = 6
  private static let commitsOfEach = 40

  /// What writers know of their commits.
  private final class Record: Sendable {
    let stored = Mutex<[String: UInt64]>([:])
    let open = Mutex<Set<String>>([])
    var count: Int { stored.withLock { $0.count } + open.withLock { $0.count } }
  }

  @Test func `no commit that was acknowledged is lost, and none is stored twice, while servers are killed`()
    async throws
  {
    let cluster = try await EtcdCluster(3)
    let group = EtcdCluster.newGroup()
    var limits = EtcdClient.TimeLimits()
    limits.call = .seconds(6)
    limits.attempt = .seconds(1)
    limits.watchCheck = .seconds(1)
    let watching = EtcdLog(try cluster.client(timeLimits: limits), group: group)
    let events = watching.watch(after: try await Self.patiently { try await watching.publish(0) })
    let watcher = Task {
      var told: [UInt64: LoggedCommit] = [:]
      for try await event in events {
        if event == .lostPlace { Issue.record("the watch lost its place") }
        if case .commit(let stored) = event { told[stored.commit.epoch] = stored.commit }
        if case .commit(let stored) = event, stored.commit.bytes == Array("the end".utf8) { break }
      }
      return told
    }
    let record = Record()
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for writer in 0..<Self.writers {
        let log = EtcdLog(
          try EtcdClient(.init("test", at: cluster.address), timeLimits: limits, first: writer % 3), group: group)
        tasks.addTask {
          for number in 0..<Self.commitsOfEach { await Self.write("\(writer).\(number)", to: log, record) }
        }
      }
      // Each server goes once, the leader of the moment first, as soon as the writers are that far.
      tasks.addTask {
        for (round, part) in [0.1, 0.4, 0.7].enumerated() {
          while record.count < Int(part * Double(Self.writers * Self.commitsOfEach)) {
            try await Task.sleep(for: .milliseconds(20))
          }
          let victim = round == 1 ? 1 : try await cluster.leader() ?? round
          cluster.kill(victim)
          try await Task.sleep(for: .milliseconds(300))
          try cluster.start(victim)
        }
      }
      try await tasks.waitForAll()
    }
    await Self.write("the end", to: watching, record)

    var commits: [LoggedCommit] = []
    let patient = EtcdLog(try cluster.client(), group: group)
    while true {
      let place = UInt64(commits.count)
      let more = try await Self.patiently { try await patient.commits(after: place, limit: 64) }
      guard !more.isEmpty else { break }
      commits += more.map(\.commit)
    }
    #expect(commits.map(\.epoch) == Array(1...UInt64(commits.count)))
    let texts = commits.map { String(decoding: $0.bytes, as: UTF8.self) }
    #expect(Set(texts).count == texts.count)
    let (stored, open) = (record.stored.withLock { $0 }, record.open.withLock { $0 })
    for (text, epoch) in stored { #expect(texts[Int(epoch) - 1] == text) }
    #expect(Set(texts).subtracting(stored.keys).isSubset(of: open))
    #expect(try await watcher.value == Dictionary(uniqueKeysWithValues: commits.map { ($0.epoch, $0) }))
  }

  /// Repeats what a busy machine's servers do not answer in time.
  private static func patiently<Result>(_ body: () async throws -> Result) async throws -> Result {
    for _ in 0..<20 {
      do { return try await body() } catch LogError.unavailable {}
    }
    return try await body()
  }

  /// Writes until it is known that the commit is stored, or until that cannot be known.
  private static func write(_ text: String, to log: EtcdLog, _ record: Record) async {
    while true {
      do {
        guard let head = try await log.head() else { continue }
        let made = try await log.append(.test(head.epoch + 1, text), after: head, over: nil)
        record.stored.withLock { $0[text] = made.epoch }
        return
      } catch LogError.outcomeUnknown {
        record.open.withLock { _ = $0.insert(text) }
        return
      } catch LogError.conflict, LogError.unavailable {
        continue
      } catch {
        Issue.record(error)
        return
      }
    }
  }
}
