import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Testing
import VaultFoundation

@testable import Ground
@testable import GroupFile
@testable import Sealing
@testable import Vault
@testable import VaultDaemon

/// A published group with one host, whose log is in memory.
@Suite(.timeLimit(.minutes(5))) struct SharedCommitTests {
  private let daemon: RunningDaemon
  private let log: MemoryLog
  private let store: SecretStore
  private let replica: Replica

  init() async throws {
    daemon = try RunningDaemon(binds: false, serves: false)
    let store = try daemon.owner()
    self.store = store
    try store.createGroup("team")
    log = MemoryLog(MemoryLogServer())
    let id = try store.group("team").verifiedState().manifest.groupID
    let replica = Replica(of: "team", id, in: store, log, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    self.replica = replica
    store.publish { _ in ReplicaPublisher { replica } }
    try store.addRemote(Remote("test", at: "etcd://127.0.0.1:1"))
    try await Blocking.write { try store.publishGroup("team", at: "test") }
    try await set("item 0", to: "before")
  }

  @discardableResult
  private func set(_ name: String, to value: String, ifVersion version: UInt64? = nil) async throws -> UInt64 {
    try await Blocking.write { [store] in try store.group("team").set(name, to: value, ifVersion: version) }
  }

  private func value(_ name: String) throws -> String {
    try store.group("team").get(name).exportInsecurelyAsString() ?? ""
  }

  /// Makes changes while the one before them is on its way.
  private func whileHeld(_ count: Int, _ changes: @escaping @Sendable (Int) async throws -> Void) async throws {
    log.isHeld = true
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await set("item 0", to: "first") }
      try await log.waitForHeldCommit()
      for number in 1...count { tasks.addTask { try await changes(number) } }
      let sharing = try store.group("team").sharing
      while sharing.testOnlyWaitingCount < count { try await Task.sleep(for: .milliseconds(5)) }
      log.isHeld = false
      try await tasks.waitForAll()
    }
  }

  @Test func `sets that wait for the same commit share the next one`() async throws {
    let before = try #require(try await log.head()).epoch
    try await whileHeld(6) { try await set("item \($0)", to: "value \($0)") }
    #expect(try await log.head()?.epoch == before + 2)
    for number in 1...6 { #expect(try value("item \(number)") == "value \(number)") }
    #expect(try value("item 0") == "first")
  }

  @Test func `changes that wait for a cluster keep no changes of other groups waiting`() async throws {
    try daemon.bind("web", user: String(getuid()))
    try await Blocking.write { [store, daemon] in
      _ = try store.enrollService(to: daemon.folder + "/again", .again, serving: [.init(.write, in: "team")])
      try store.grant(.write, in: "team", to: "web")
    }
    let visit = Visit(
      opened: try #require(daemon.seal.current), connection: Connection(peer: Peer()), application: "web")
    let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let changes = (0..<40).map { _ in
      Task {
        try await visit.perform(
          VaultDaemon.Operation(action: .write, group: "team", needed: .write) { _ in
            begun.signal()
            go.wait()
            return .nothing
          })
      }
    }
    await onThread { for _ in 0..<32 { begun.wait() } }
    let answered = DispatchSemaphore(value: 0)
    let other = Task {
      defer { answered.signal() }
      return try await visit.perform(
        VaultDaemon.Operation(action: .write, group: "web", needed: .write) { _ in .nothing })
    }
    // The limit only ends a hang.
    let isAnswered = await onThread { answered.wait(timeout: .now() + 60) == .success }
    #expect(isAnswered)
    for _ in changes { go.signal() }
    for change in changes + [other] { #expect(try await change.value.status == .noContent) }
  }

  @Test func `sets of one item that share a commit are versions of it`() async throws {
    try await whileHeld(5) { try await set("one", to: "value \($0)") }
    let history = try await store.group("team").history("one")
    #expect(history.map(\.version) == [5, 4, 3, 2, 1])
    let values = try history.map { try store.group("team").get("one", version: $0.version).exportInsecurelyAsString() }
    #expect(Set(values) == Set((1...5).map { "value \($0)" }))
  }

  @Test func `versions of a path that share a commit have their own values, and a destroyed one is gone`() async throws
  {
    let before = try #require(try await log.head()).epoch
    let written = Locked<[Int: String]>([:])
    try await whileHeld(6) { number in
      // Two of them write the same value.
      let value = "value \(max(number, 2))"
      let metadata = try await Blocking.write { [store] in
        try KVMount(store.group("team")).write(KVPath("path")) { _ in ["value": .string(value)] }
      }
      let version = try #require(metadata["version"]?.whole)
      written.withLock { $0[version] = value }
    }
    #expect(try await log.head()?.epoch == before + 2)
    let mount = KVMount(try store.group("team"))
    func values() throws -> [Int: String] {
      var values: [Int: String] = [:]
      for number in 1...6 {
        guard case .value(let data) = try mount.read(KVPath("path"), version: number) else { continue }
        values[number] = data["data"]?["value"]?.text
      }
      return values
    }
    var expected = written.withLock { $0 }
    #expect(expected.count == 6)
    #expect(try values() == expected)
    for number in [6, 3] {
      try await Blocking.write { try mount.destroy(KVPath("path"), [number]) }
      expected[number] = nil
      #expect(try values() == expected)
    }
  }

  @Test func `a set that fails does not affect the others in its commit`() async throws {
    try await whileHeld(4) { number in
      guard number == 2 else {
        try await set("item \(number)", to: "value")
        return
      }
      await #expect(throws: VaultError.conflict(expected: 7, present: 0)) {
        try await set("item 2", to: "value", ifVersion: 7)
      }
    }
    #expect(try await store.group("team").items().map(\.name.description) == ["item 0", "item 1", "item 3", "item 4"])
  }

  @Test func `a change that fails half done undoes itself alone`() async throws {
    struct Stopped: Error {}
    try await whileHeld(4) { number in
      guard number == 2 else {
        try await set("item \(number)", to: "value")
        return
      }
      await #expect(throws: Stopped.self) {
        try await Blocking.write { [store] in
          try store.group("team").transaction { edit in
            edit.set("half", to: "done")
            throw Stopped()
          }
        }
      }
    }
    #expect(try await store.group("team").items().map(\.name.description) == ["item 0", "item 1", "item 3", "item 4"])
  }

  @Test func `if a shared commit fails, none of its sets is reported as made`() async throws {
    log.isHeld = true
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { _ = try? await set("item 0", to: "first") }
      do {
        try await log.waitForHeldCommit()
        for number in 1...3 {
          tasks.addTask {
            await #expect(throws: VaultError.self) { try await set("item \(number)", to: "value") }
          }
        }
        let sharing = try store.group("team").sharing
        while sharing.testOnlyWaitingCount < 3 { try await Task.sleep(for: .milliseconds(5)) }
      } catch {
        Issue.record(error)
      }
      log.isAway = true
      log.isHeld = false
      await tasks.waitForAll()
    }
    log.isAway = false
    try await replica.catchUp()
    #expect(try await store.group("team").items().map(\.name.description) == ["item 0"])
  }

  // MARK: Repeating

  @Test func `a request that is repeated after a lost answer is applied once`() async throws {
    @Sendable func write(_ value: String, _ request: String?) async throws -> JSONValue {
      try await Blocking.write { [store] in
        try KVMount(store.group("team")).write(KVPath("path"), for: request) { _ in ["value": .string(value)] }
      }
    }
    log.fail(.unknownAfterDoing)
    log.isSilent = true
    await #expect(throws: VaultError.self) { try await write("one", "first") }
    log.isSilent = false
    #expect(try await write("one", "first")["version"]?.whole == 1)
    // A request that was not made is made when it is repeated.
    log.fail(.unknownBeforeDoing)
    log.isSilent = true
    await #expect(throws: VaultError.self) { try await write("two", "second") }
    log.isSilent = false
    #expect(try await write("two", "second")["version"]?.whole == 2)
    #expect(try await write("two", "second")["version"]?.whole == 2)
    #expect(try await write("one", "first")["version"]?.whole == 1)
    #expect(try await write("two", nil)["version"]?.whole == 3)
    #expect(try await store.group("team").history("path").count == 3)
  }

  @Test func `the header of a request says which one it is`() async throws {
    let daemon = try RunningDaemon()
    let body = #"{"data":{"value":"x"}}"#
    for _ in 0..<2 {
      let answer = try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Request-Id: 7", "--data", body)
      #expect(answer.status == 200 && answer.body.contains(#""version":1"#))
    }
    let other = try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Request-Id: 8", "--data", body)
    #expect(other.status == 200 && other.body.contains(#""version":2"#))
    for wrong in ["a b", String(repeating: "x", count: 65)] {
      #expect(
        try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Request-Id: \(wrong)", "--data", body).status == 400)
    }
    // Nothing else in version 2 could be repeated safely.
    for (path, arguments) in [("data", ["-X", "DELETE"]), ("delete", ["--data", #"{"versions":[1]}"#])] {
      let answer = try await daemon.curl(
        url: "http://localhost/v1/web/\(path)/a",
        ["--unix-socket", daemon.socket, "-H", "X-Vault-Request-Id: 9"] + arguments)
      #expect(answer.status == 400)
    }
  }

  @Test func `with version 1 of the interface each request that names itself is made once in any group`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("settings/kv-version/web", in: "vault.service", to: "1")
    func send(_ id: String, _ arguments: String...) async throws -> Int {
      try await daemon.curl(
        url: "http://localhost/v1/web/a",
        ["--unix-socket", daemon.socket, "-H", "X-Vault-Request-Id: \(id)"] + arguments
      ).status
    }
    for _ in 0..<2 { #expect(try await send("7", "--data", #"{"value":"first"}"#) == 204) }
    for _ in 0..<2 { #expect(try await send("8", "-X", "DELETE") == 204) }
    let group = try daemon.owner().group("web")
    #expect(try await group.history("a").count == 2)
    // `vault set --request-id` means the same requests.
    let request = try #require(ChangeID("7"))
    #expect(try await Blocking.write { try group.answering(request).set("a", to: "again") } == 1)
    #expect(try await group.history("a").count == 2)
  }

  // MARK: Age

  @Test func `a state that is older than the remote permits is not read, and its group is shown`() async throws {
    try store.addRemote(Remote("test", at: "etcd://127.0.0.1:1", maxAge: 60), replacing: true)
    let time = try #require(try await replica.copy()).time
    let reader = try daemon.owner()
    reader.testOnlyNow.withLock { $0 = time + 60_999 }
    #expect(try await reader.group("team").items().count == 1)
    reader.testOnlyNow.withLock { $0 = time + 61_000 }
    let error = VaultError.unordered(group: "team", .tooOld(seconds: 61, limit: 60))
    #expect(error.status == 12)
    #expect(throws: error) { try reader.group("team").get("item 0") }
    #expect(throws: error) { try reader.group("team").item("item 0") }
    #expect(throws: error) { try reader.group("team").history("item 0") }
    #expect(throws: error) { try reader.group("team").list() }
    #expect(throws: error) { try reader.group("team").items() }
    #expect(throws: error) { try reader.group("team").state() }
    // Also if only the group is left of what was opened.
    let group = try { (reader: SecretStore) in
      reader.testOnlyNow.withLock { $0 = time + 61_000 }
      return try reader.group("team")
    }(daemon.owner())
    #expect(throws: error) { try group.get("item 0") }
    #expect(try reader.group("team").info().isPublished)
    #expect(try await reader.group("default").items().isEmpty)
    // A clock may be behind the writer's, but not by more than that.
    reader.testOnlyNow.withLock { $0 = time - 60_999 }
    #expect(try await reader.group("team").items().count == 1)
    reader.testOnlyNow.withLock { $0 = time - 61_000 }
    let early = VaultError.unordered(group: "team", .tooEarly(seconds: 61, limit: 60, signer: .owner))
    #expect(early.status == 12)
    #expect(throws: early) { try reader.group("team").get("item 0") }
  }

  @Test func `an empty change is signed only when there was none for long enough`() async throws {
    let before = try #require(try await replica.copy())
    try await Blocking.write { [store] in
      try store.renew("team", olderThan: 60, at: before.time + 59_999)
      try store.renew("team", olderThan: 60, at: before.time - 60_000)
    }
    #expect(try await replica.copy()?.state == before.state)
    try await Blocking.write { [store] in
      try store.renew("team", olderThan: 60, at: before.time + 60_000)
    }
    let after = try #require(try await replica.copy())
    #expect(after.state.epoch == before.state.epoch + 1)
    #expect(try await log.head()?.epoch == after.state.epoch)
    #expect(try await store.group("team").history("item 0").count == 1)
    // Another host proves it like every other commit.
    try FileManager.default.removeItem(atPath: daemon.folder + "/home/groups/team")
    try await replica.catchUp()
    #expect(try await replica.copy()?.state == after.state)
    // The clock that signed the last one was ahead.
    try await Blocking.write { [store] in try store.renew("team", olderThan: 60, at: after.time - 60_001) }
    #expect(try await replica.copy()?.state.epoch == after.state.epoch + 1)
  }

  @Test func `a host that may write shows by itself that it is alive`() async throws {
    let before = try #require(try await log.head()).epoch
    let beating = Task { await replica.beat(every: 1) }
    defer { beating.cancel() }
    while try await log.head()?.epoch == before { try await Task.sleep(for: .milliseconds(20)) }
  }

  @Test func `a log that seems to lose states again and again does not stop the empty changes`() async {
    await replica.keepQuiet()
    let end = replica.quietEnd.withLock { $0 }
    #expect(end > .now)
    await replica.keepQuiet()
    #expect(replica.quietEnd.withLock { $0 } == end)
    replica.quietEnd.withLock { $0 = .now - .seconds(150) }
    await replica.keepQuiet()
    #expect(replica.quietEnd.withLock { $0 } > .now)
  }

  @Test func `a host whose clock is ahead of all servers signs no empty changes, and says so`() async throws {
    try store.addRemote(Remote("test", at: "etcd://127.0.0.1:1", maxAge: 300, heartbeat: 1), replacing: true)
    func setServers(behind seconds: Int64) {
      log.serverTime.withLock { $0 = UInt64(Int64(Date().timeIntervalSince1970) - seconds) * 1_000 }
    }
    setServers(behind: 400)
    let before = try #require(try await log.head()).epoch
    // A store that has not read the old times.
    let store = try daemon.owner()
    let replica = Replica(of: "team", replica.id, in: store, log, RunningDaemon.logger)
    store.publish { _ in ReplicaPublisher { replica } }
    let beating = Task { await replica.beat(every: 1) }
    defer { beating.cancel() }
    while replica.lastProblem == nil { try await Task.sleep(for: .milliseconds(20)) }
    guard case .unordered("team", .shut(let why))? = replica.lastProblem else {
      Issue.record("\(String(describing: replica.lastProblem))")
      return
    }
    #expect(why.contains("ahead of those of all servers"))
    #expect(try await log.head()?.epoch == before)
    // Half of the maximum age does no harm.
    setServers(behind: 100)
    while try await log.head()?.epoch == before { try await Task.sleep(for: .milliseconds(20)) }
    #expect(replica.lastProblem == nil)
  }

  // MARK: Monitoring

  @Test func `servers that fall silent while nothing changes are noticed, and so is their return`() async throws {
    let probing = Task { await replica.probe(every: .milliseconds(20)) }
    defer { probing.cancel() }
    #expect(replica.lastFailure == nil)
    log.isAway = true
    while replica.lastProblem == nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(replica.lastProblem == .unordered(group: "team", .unreachable("no server answers")))
    log.isAway = false
    while replica.lastProblem != nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(replica.lastFailure != nil)
  }

  /// Collects the body of an answer.
  private final class Body: ResponseBodyWriter, Sendable {
    let text = Locked("")
    func write(_ buffer: ByteBuffer) async throws { text.withLock { $0 += String(buffer: buffer) } }
    func finish(_ trailing: HTTPFields?) async throws {}
  }

  @Test func `metrics and the answer about health say which copies are behind, without the names of their groups`()
    async throws
  {
    let source = ReplicaSource(
      group: "team", id: replica.id, store: store, remote: try Remote("test", at: "etcd://127.0.0.1:1"))
    let replication = Replication({ [source] }, RunningDaemon.logger, log: { [log] _, _ in log })
    defer { replication.endAll() }
    let followed = try #require(await replication.replica(of: "team"))
    try await replication.catchUp(followed)
    let interface = daemon.interface(replication: replication)
    func ask(_ path: String) async throws -> String {
      let head = HTTPRequest(method: .get, scheme: "http", authority: "vaultd", path: path)
      let answer = await interface.answer(
        Request(head: head, body: .init(buffer: ByteBuffer())), over: Connection(peer: Peer()))
      #expect(answer.status == .ok)
      let body = Body()
      try await answer.body.write(body)
      return body.text.withLock { $0 }
    }
    let id = replica.id.hexadecimal
    func isBehind() async throws -> Bool {
      let metrics = try await ask("/metrics")
      #expect(metrics.contains(try Regex("vaultd_published_age_seconds\\{group=\"\(id)\"\\} [0-9]+\n")))
      #expect(!metrics.contains("team"))
      return metrics.contains("vaultd_published_behind{group=\"\(id)\"} 1\n")
    }
    #expect(try await !isBehind())
    #expect(try await ask("/v1/sys/health").contains(#""published_groups_behind":0"#))
    log.isAway = true
    await #expect(throws: VaultError.self) { try await replication.catchUp(followed) }
    while try await !isBehind() { try await Task.sleep(for: .milliseconds(50)) }
    #expect(try await ask("/v1/sys/health").contains(#""published_groups_behind":1"#))
    #expect(try await ask("/metrics").contains("vaultd_published_last_failure_seconds{group=\"\(id)\"} "))
    // The reason is gone, and then no state comes for two heartbeats.
    log.isAway = false
    try await replication.catchUp(followed)
    while try await isBehind() { try await Task.sleep(for: .milliseconds(50)) }
    try store.addRemote(
      Remote("test", at: "etcd://127.0.0.1:1", maxAge: 300, heartbeat: 1), replacing: true)
    let other = Replication(
      { [source, daemon] in
        [ReplicaSource(group: "team", id: source.id, store: try daemon.owner(), remote: source.remote)]
      }, RunningDaemon.logger, log: { [log] _, _ in log })
    defer { other.endAll() }
    _ = await other.replica(of: "team")
    while await other.conditions().first?.isBehind != true { try await Task.sleep(for: .milliseconds(50)) }
    #expect(await other.conditions().first?.limit == 300)
  }

  @Test func `a copy that nothing follows, because nobody here is a member, is behind`() async throws {
    let source = ReplicaSource(
      group: "team", id: replica.id, store: store, remote: try Remote("test", at: "etcd://127.0.0.1:1"), follows: false)
    let replication = Replication({ [source] in [source] }, RunningDaemon.logger, log: { [log] _, _ in log })
    defer { replication.endAll() }
    _ = await replication.replica(of: "team")
    let conditions = await replication.conditions()
    #expect(conditions.map(\.id) == [replica.id.hexadecimal] && conditions.allSatisfy(\.isBehind))
  }
}
