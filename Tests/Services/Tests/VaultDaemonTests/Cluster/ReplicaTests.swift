import Foundation
import Logging
import Synchronization
import Testing
import VaultFoundation

@testable import Ground
@testable import GroupFile
@testable import Sealing
@testable import Vault
@testable import VaultDaemon

/// Hosts that share a published group through a log in memory, with real stores.
@Suite(.timeLimit(.minutes(5))) struct ReplicaTests {
  /// A store with its own copy of the group, and its way to the log.
  final class Host: Sendable {
    let store: SecretStore
    let log: MemoryLog
    let replica: Replica

    init(_ store: SecretStore, _ server: MemoryLogServer, _ id: GroupID) {
      self.store = store
      log = MemoryLog(server)
      replica = Replica(of: "team", id, in: store, log, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      store.publish { [replica] _ in ReplicaPublisher { replica } }
    }

    func set(_ value: String) async throws {
      _ = try await Blocking.write { [store] in try store.group("team").set("name", to: value) }
    }

    func value() async throws -> String {
      try await Blocking.read { [store] in try store.group("team").get("name").exportInsecurelyAsString() ?? "" }
    }
  }

  let daemon: RunningDaemon
  let server = MemoryLogServer()
  let id: GroupID
  let owner: Host
  let other: Host

  /// The owner's host, and one that has joined as an application that may write.
  init() async throws {
    daemon = try RunningDaemon(binds: false, serves: false)
    let store = try daemon.owner()
    try store.createGroup("team")
    try await store.group("team").set("name", to: "first")
    _ = try store.applications.issue("web", to: daemon.folder + "/web")
    try store.grant(.write, in: "team", to: "web")
    let location = try ReplicaTests.place("other", in: daemon)
    id = try store.group("team").verifiedState().manifest.groupID
    owner = Host(store, server, id)
    other = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/web"), server, id)
    let remote = try Remote("test", at: "etcd://127.0.0.1:1")
    try store.addRemote(remote)
    try await Blocking.write { try store.publishGroup("team", at: "test") }
    try await other.replica.catchUp()
  }

  /// A store without an owner, as `vault join` makes it.
  static func place(_ name: String, in daemon: RunningDaemon) throws -> StoreLocation {
    let home = daemon.folder + "/" + name
    for path in [home, home + "/groups"] {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    return try StoreLocation(home: home, state: home + ".state")
  }

  @Test func `each host reads what the other one set`() async throws {
    #expect(try await other.value() == "first")
    try await owner.set("from the owner")
    try await other.replica.catchUp()
    #expect(try await other.value() == "from the owner")
    try await other.set("from the other")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "from the other")
  }

  @Test func `a host that has just been let in waits for the complete file that names it`() async throws {
    _ = try owner.store.applications.issue("shop", to: daemon.folder + "/shop")
    try await Blocking.write { [owner] in _ = try owner.store.grant(.read, in: "team", to: "shop") }
    let location = try ReplicaTests.place("third", in: daemon)
    let host = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/shop"), server, id)
    async let arrival: Void = host.replica.catchUp()
    try await Task.sleep(for: .milliseconds(300))
    await owner.replica.renewBaseIfDue()
    try await arrival
    #expect(try await host.value() == "first")
  }

  @Test func `a host joins although the complete file is replaced while it is fetched`() async throws {
    let location = try ReplicaTests.place("third", in: daemon)
    let host = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/web"), server, id)
    host.log.lateReadings.withLock { $0 = 3 }
    try await host.replica.catchUp()
    #expect(try await host.value() == "first")
  }

  @Test func `complete files that come slowly do not keep the changes of other groups from being taken`() async throws {
    let delay = Task { while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) } }
    var hosts: [Host] = []
    for number in 1...4 {
      let location = try ReplicaTests.place("slow\(number)", in: daemon)
      hosts.append(Host(try await SecretStore.open(at: location, credential: daemon.folder + "/web"), server, id))
      hosts.last?.log.uponReading.withLock { $0 = { await delay.value } }
    }
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      defer { delay.cancel() }
      for host in hosts { tasks.addTask { try await host.replica.catchUp() } }
      while hosts.contains(where: { $0.log.readings.withLock { $0 } == 0 }) {
        try await Task.sleep(for: .milliseconds(5))
      }
      try await owner.set("second")
      try await other.replica.catchUp()
      #expect(try await other.value() == "second")
      delay.cancel()
      try await tasks.waitForAll()
    }
  }

  @Test func `an application whose credential names no remote reads a published group beside its owner`() async throws {
    let location = try StoreLocation(home: daemon.folder + "/home", state: daemon.folder + "/state")
    let application = try await SecretStore.open(at: location, credential: daemon.folder + "/web")
    #expect(try await application.group("team").get("name").exportInsecurelyAsString() == "first")
  }

  @Test func `a host that another one overtook makes its change again`() async throws {
    try await owner.set("first")
    // The other host has not heard of it.
    try await other.set("second")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "second")
    #expect(try await owner.store.group("team").history("name").count == 3)
  }

  @Test func `without the cluster, reading works and a failed set leaves no trace`() async throws {
    other.log.isAway = true
    await #expect(throws: VaultError.unordered(group: "team", .unreachable("no server answers"))) {
      try await other.set("lost")
    }
    #expect(try await other.value() == "first")
    other.log.isAway = false
    try await other.set("back")
    #expect(try await other.value() == "back")
  }

  @Test(arguments: [MemoryLog.Fault.unknownAfterDoing, .unknownBeforeDoing])
  func `a change whose answer was lost is made once`(_ fault: MemoryLog.Fault) async throws {
    other.log.fail(fault)
    try await other.set("made")
    #expect(try await other.value() == "made")
    #expect(try await other.store.group("team").history("name").count == 2)
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "made")
  }

  @Test func `a change that was made although the servers answer that it was not is made once`() async throws {
    other.log.fail(.errorAfterDoing(.conflict(nil)))
    try await other.set("made")
    #expect(try await other.store.group("team").history("name").count == 2)
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "made")
  }

  @Test func `a change that takes the last room of the servers counts as made, although they say that it is not`()
    async throws
  {
    let (store, log) = (owner.store, owner.log)
    log.fail(.errorAfterDoing(.full))
    try await owner.set("the last")
    #expect(try await owner.value() == "the last")
    log.fail(.errorAfterDoing(.full))
    try await Blocking.write { try store.revoke("web", from: "team") }
    #expect(try store.registry().hasRemoved("web", 1, from: "team"))
    #expect(try await log.head()?.epoch == store.copy(of: "team")?.state.epoch)
    try await Blocking.write { try store.unpublishGroup("team") }
    log.fail(.errorAfterDoing(.full))
    try await Blocking.write { try store.publishGroup("team", at: "test") }
    #expect(try store.publishedGroups() == ["team": "test"])
    let refusal = VaultError.unordered(group: "team", .unreachable("the cluster's disk quota is used up"))
    log.fail(.error(.full))
    await #expect(throws: refusal) { try await owner.set("too much") }
    log.fail(.error(.full))
    await #expect(throws: refusal) { try await Blocking.write { _ = try store.rotateGroup("team") } }
    #expect(try await owner.value() == "the last")
    // Nobody can tell what became of the change.
    log.fail(.errorAfterDoing(.full))
    log.isSilent = true
    await #expect(throws: VaultError.unordered(group: "team", .outcomeUnknown(nil))) {
      try await Blocking.write { _ = try store.rotateGroup("team") }
    }
    log.isSilent = false
    #expect(try await log.head()?.epoch == (store.copy(of: "team")?.state.epoch ?? 0) + 1)
  }

  @Test func `a set of unknown outcome is repeated on another host, and made once`() async throws {
    for (round, isMade) in [true, false].enumerated() {
      let value = "round \(round)"
      other.log.fail(isMade ? .unknownAfterDoing : .unknownBeforeDoing)
      other.log.isSilent = true
      let request = try await unanswered { try await other.set(value) }
      #expect(try await owner.value() == (round == 0 ? "first" : "round 0"))
      for host in [owner, other, owner] {
        try await host.replica.catchUp()
        let version = try await Blocking.write {
          try host.store.group("team").answering(request).set("name", to: value)
        }
        #expect(version == UInt64(2 + round))
      }
      #expect(try await other.store.group("team").history("name").count == 2 + round)
    }
  }

  @Test func `a transaction that is repeated with its request changes nothing again`() async throws {
    other.log.fail(.unknownAfterDoing)
    other.log.isSilent = true
    @Sendable func change(_ group: AccessGroup) throws {
      try group.transaction { edit in
        edit.set("name", to: "one")
        edit.set("name", to: "two")
        edit.set("fresh", to: "three")
      }
    }
    let request = try await unanswered {
      try await Blocking.write { [other] in try change(other.store.group("team")) }
    }
    try await Blocking.write { [owner] in try change(owner.store.group("team").answering(request)) }
    #expect(try await owner.value() == "two")
    #expect(try await owner.store.group("team").history("name").count == 3)
    #expect(try await owner.store.group("team").history("fresh").count == 1)
  }

  /// The request of a change whose outcome is unknown.
  private func unanswered(_ change: () async throws -> Void) async throws -> ChangeID {
    defer { other.log.isSilent = false }
    let found: VaultError?
    do {
      try await change()
      found = nil
    } catch { found = error as? VaultError }
    guard case .unordered("team", .outcomeUnknown(let request?)) = found else { throw CancellationError() }
    return request
  }

  @Test func `many items of unknown outcome are set again on another host, and made once`() async throws {
    @Sendable func change(_ group: AccessGroup) throws {
      try group.set(contentsOf: [(name: "one", value: "1"), (name: "two", value: "2")])
    }
    other.log.fail(.unknownAfterDoing)
    other.log.isSilent = true
    let request = try await unanswered { [other] in
      try await Blocking.write { try change(other.store.group("team")) }
    }
    for host in [owner, other] {
      try await host.replica.catchUp()
      try await Blocking.write { try change(host.store.group("team").answering(request)) }
      #expect(try await host.store.group("team").history("two").count == 1)
    }
  }

  @Test func `a commit that does not prove is passed over by the next writer`() async throws {
    let head = try #require(try await owner.log.head())
    let forged = LoggedCommit(
      epoch: head.epoch + 1, link: try #require(CommitLink([UInt8](repeating: 7, count: 32))), bytes: [1, 2, 3])
    _ = try await owner.log.append(forged, after: head, over: nil)
    try await other.set("past the forgery")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "past the forgery")
  }

  @Test func `a reader does not set a head back`() async throws {
    _ = try daemon.owner().applications.issue("api", to: daemon.folder + "/api")
    try await Blocking.write { [owner] in try owner.store.grant(.read, in: "team", to: "api") }
    // Its host puts a file into the log that the new member can begin with.
    try await owner.replica.catchUp()
    let location = try ReplicaTests.place("reader", in: daemon)
    let reader = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/api"), server, id)
    try await reader.replica.catchUp()
    let head = try #require(try await owner.log.head())
    let forged = LoggedCommit(
      epoch: head.epoch + 1, link: try #require(CommitLink([UInt8](repeating: 7, count: 32))), bytes: [1])
    let at = try await owner.log.append(forged, after: head, over: nil)
    await #expect(throws: VaultError.self) { try await reader.replica.catchUp() }
    #expect(try await owner.log.head() == at)
  }

  @Test func `a host sends again what the cluster has lost`() async throws {
    for value in ["second", "third"] { try await owner.set(value) }
    try await other.replica.catchUp()
    let epoch = try #require(try await owner.log.head()).epoch
    server.roll(back: epoch - 1)
    try await owner.replica.catchUp()
    #expect(try await owner.log.head()?.epoch == epoch)
    try await other.set("fourth")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "fourth")
  }

  /// Has the log lose a change of the owner that the other host does not have.
  ///
  /// - Returns: the change's epoch.
  func loseSecondChange() async throws -> UInt64 {
    try await owner.set("first of both")
    try await other.replica.catchUp()
    try await owner.set("second")
    let epoch = try #require(try await owner.log.head()).epoch
    server.roll(back: epoch - 1)
    return epoch
  }

  @Test func `two hosts that continued from the same state after a loss get an error`() async throws {
    let epoch = try await loseSecondChange()
    try await other.set("another second")
    await #expect(throws: VaultError.rolledBack(group: "team", found: epoch, known: epoch, reason: .fork)) {
      try await owner.replica.catchUp()
    }
    #expect(try await owner.value() == "second")
    // The message says more than that there is no cluster.
    await #expect(throws: VaultError.rolledBack(group: "team", found: epoch, known: epoch, reason: .fork)) {
      try await owner.set("third")
    }
  }

  @Test func `a host that is behind signs no empty change after a loss, so the others can put their states back`()
    async throws
  {
    _ = try await loseSecondChange()
    try owner.log.removeHead()
    try await other.replica.catchUp()
    let beating = Task { [other] in await other.replica.beat(every: 1) }
    defer { beating.cancel() }
    try await Task.sleep(for: .seconds(3))
    try await owner.replica.catchUp()
    try await other.replica.catchUp()
    #expect(try await other.value() == "second")
  }

  @Test func `a member that gives up its branch gets the copy of the others`() async throws {
    try await owner.set("first of both")
    _ = try owner.store.applications.issue("web", to: daemon.folder + "/again", .again)
    let store = try await SecretStore.open(at: other.store.location, credential: daemon.folder + "/again")
    let other = Host(store, server, id)
    try await other.replica.catchUp()
    try await other.set("second")
    let epoch = try #require(try await other.log.head()).epoch
    server.roll(back: epoch - 1)
    try await owner.set("another second")
    await #expect(throws: VaultError.self) { try await other.replica.catchUp() }
    try FileManager.default.removeItem(atPath: daemon.folder + "/other/groups/team")
    await #expect(throws: VaultError.rolledBack(group: "team", found: epoch, known: epoch, reason: .fork)) {
      try await other.replica.catchUp()
    }
    let accepted = try await Blocking.write { try other.store.acceptGroup("team") }
    #expect(accepted == .removal)
    try await other.replica.catchUp()
    #expect(try await other.value() == "another second")
    try await other.set("third")
  }

  // MARK: Another group of the same name

  /// Removes the group, and publishes another one of its name.
  ///
  /// - Returns: its log and its id.
  private func makeAgain() async throws -> (server: MemoryLogServer, id: GroupID) {
    let (store, server) = (owner.store, MemoryLogServer())
    try await Blocking.write {
      try store.removeGroup("team")
      try store.createGroup("team")
      try store.grant(.write, in: "team", to: "web")
    }
    let id = try store.group("team").verifiedState().manifest.groupID
    let host = Host(store, server, id)
    try await Blocking.write { try store.publishGroup("team", at: "test") }
    try await host.set("of the new group")
    return (server, id)
  }

  @Test func `a host with the copy of a removed group writes nothing to the log of another group of that name`()
    async throws
  {
    let (old, oldHead) = (try #require(try await owner.log.base()), try await owner.log.head())
    let file = try await owner.log.bytes(of: old)
    let (server, id) = try await makeAgain()
    let log = MemoryLog(server)
    let (head, base) = (try #require(try await log.head()), try await log.base())
    _ = try owner.store.applications.issue("web", to: daemon.folder + "/again", .again)
    let store = try await SecretStore.open(at: other.store.location, credential: daemon.folder + "/again")
    let host = Host(store, server, id)
    let refusal = VaultError.anotherGroup("team")
    await #expect(throws: refusal) { try await host.replica.catchUp() }
    await #expect(throws: VaultError.self) { try await host.set("to the new log") }
    await host.replica.renewBaseIfDue()
    #expect(try await log.head() == head)
    #expect(try await log.base() == base)
    // The owner's daemon writes nothing to the log of the removed group.
    await #expect(throws: refusal) { try await owner.replica.catchUp() }
    let link = try #require(try owner.store.copy(of: "team")).state
    await #expect(throws: refusal) {
      try await owner.replica.publish(fileAt: "/nowhere", holding: link, after: link)
    }
    #expect(try await owner.log.head() == oldHead)
    // The old group's file is no file of the new one.
    _ = try await log.putBase(epoch: head.epoch, link: .test(9), replacing: base, keeping: 0, pieces: file.pieces)
    let location = try ReplicaTests.place("third", in: daemon)
    let third = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/again"), server, id)
    await #expect(throws: VaultError.damaged(group: "team", level: .commit, detail: "the complete file in its log")) {
      try await third.replica.catchUp()
    }
    let again = Host(owner.store, server, id)
    again.replica.renewal.withLock { $0.isSuspected = true }
    await again.replica.renewBaseIfDue()
    // Whoever gives up the copy of the removed group gets the new one.
    try FileManager.default.removeItem(atPath: daemon.folder + "/other/groups/team")
    await #expect(throws: refusal) { try await host.replica.catchUp() }
    #expect(try await Blocking.write { try store.acceptGroup("team") } == .removal)
    try await host.replica.catchUp()
    #expect(try await host.value() == "of the new group")
  }

  @Test func `the file of a group that was made again is ordered in its own log`() async throws {
    let (store, remote) = (owner.store, try Remote("test", at: "etcd://127.0.0.1:1"))
    let ids = Mutex([id])
    let replication = Replication(
      { ids.withLock { $0.map { ReplicaSource(group: "team", id: $0, store: store, remote: remote) } } },
      Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, log: { [server] _, _ in MemoryLog(server) })
    defer { replication.endAll() }
    #expect(await replication.replica(of: "team")?.id == id)
    let new = try #require(GroupID([UInt8](repeating: 1, count: 32)))
    ids.withLock { $0 = [new] }
    #expect(await replication.replica(of: "team", ordersFile: true)?.id == new)
    #expect(await replication.replica(of: "team")?.id == new)
  }

  @Test func `what keeps a copy from being up to date is logged as a warning once`() async throws {
    let warnings = Atomic(0)
    struct Counter: LogHandler {
      let count: @Sendable () -> Void
      var metadata: Logger.Metadata = [:]
      var logLevel = Logger.Level.debug
      subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
      }
      func log(
        level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
        function: String, line: UInt
      ) {
        if level >= .warning { count() }
      }
    }
    let log = MemoryLog(server)
    let asked = Mutex(0)
    log.uponHead.withLock { $0 = { asked.withLock { $0 += 1 } } }
    log.isAway = true
    let replica = Replica(
      of: "team", id, in: other.store, log,
      Logger(label: "test") { _ in Counter(count: { warnings.add(1, ordering: .relaxed) }) })
    let following = Task { await replica.follow() }
    while asked.withLock({ $0 }) < 3 { try await Task.sleep(for: .milliseconds(20)) }
    following.cancel()
    #expect(warnings.load(ordering: .relaxed) == 1)
  }

  // MARK: Writers that never stop

  /// Lets another host make a change just before each complete file of this one.
  private final class Slower: CommitPublishing {
    let replica: Replica
    let other: Host
    /// How often the other host was faster.
    let count = Mutex(0)
    /// Whether the cluster is away as soon as the other host may not write any more.
    let isCutOff = Mutex(false)
    /// Whether the answers to commits of this host are lost.
    let isDeaf = Mutex(false)
    /// What happens before this host asks for the newest state as soon as the other one may not write any more.
    let uponHalt = Mutex<(@Sendable () throws -> Void)?>(nil)

    init(_ replica: Replica, _ other: Host) { (self.replica, self.other) = (replica, other) }

    func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) {
      try ReplicaPublisher { [replica] in replica }.publish(commit, isRepeated: isRepeated)
      if isDeaf.withLock({ $0 }) { throw .unordered(.outcomeUnknown(nil)) }
    }

    func publish(fileAt path: String, holding state: PublishedState, after previous: PublishedState) throws(VaultError)
    {
      do {
        try Blocking.wait { [other] in try await other.replica.catchUp() }
        _ = try other.store.group("team").set("name", to: "faster")
        count.withLock { $0 += 1 }
      } catch {
        if isCutOff.withLock({ $0 }) { throw .unordered(.unreachable("no server answers")) }
        // Somebody else was faster.
        if uponHalt.withLock({ $0 }) != nil { throw .unordered(.overtaken) }
      }
      try ReplicaPublisher { [replica] in replica }.publish(fileAt: path, holding: state, after: previous)
    }

    func catchUp() throws(VaultError) {
      if (try? other.store.copy(of: "team"))??.isWriter == false, let halt = uponHalt.withLock({ $0 }) {
        uponHalt.withLock { $0 = nil }
        do { try halt() } catch { throw error as? VaultError ?? .unexpected("\(error)") }
      }
      try ReplicaPublisher { [replica] in replica }.catchUp()
    }
  }

  private func rights() throws -> MemberRights? {
    try owner.store.group("team").info().members.first { $0.application == "web" }?.rights
  }

  /// What the record says about `web` in the group.
  private func decisions() throws -> [String] {
    let records = try owner.store.auditRecords()
    var found: [String] = []
    while let record = try records.next() {
      guard record.subject == "web", record.group == "team" else { continue }
      found.append("\(record.action.name) \(record.detail ?? "")")
    }
    return found
  }

  @Test func `a member that never stops writing is revoked`() async throws {
    let (store, slower) = (owner.store, Slower(owner.replica, other))
    store.publish { _ in slower }
    let before = try decisions()
    try await Blocking.write { try store.revoke("web", from: "team") }
    #expect(slower.count.withLock { $0 } == 1)
    #expect(try rights() == nil)
    #expect(try decisions().dropFirst(before.count) == ["revoke ", "grant read"])
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.replica.catchUp() }
  }

  @Test func `a revocation that was interrupted while the member may only read is repeated`() async throws {
    let (store, slower) = (owner.store, Slower(owner.replica, other))
    store.publish { _ in slower }
    slower.isCutOff.withLock { $0 = true }
    await #expect(throws: VaultError.unordered(group: "team", .unreachable("no server answers"))) {
      try await Blocking.write { try store.revoke("web", from: "team") }
    }
    #expect(try rights() == .read)
    slower.isCutOff.withLock { $0 = false }
    try await Blocking.write { try store.revoke("web", from: "team") }
    #expect(try rights() == nil)
  }

  @Test func `a credential is replaced although its thief never stops writing, and the new one may write`() async throws
  {
    let (store, slower, path) = (owner.store, Slower(owner.replica, other), daemon.folder + "/new")
    store.publish { _ in slower }
    let before = try decisions()
    let issued = try await Blocking.write { try store.applications.issue("web", to: path, .replacing) }
    #expect(issued.unchanged.isEmpty)
    #expect(slower.count.withLock { $0 } == 1)
    #expect(try rights() == .write)
    #expect(try decisions().dropFirst(before.count) == ["grant read", "grant write"])
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.replica.catchUp() }
  }

  /// Notes in the registry that `web` was removed from the group, as before a backup brought it back.
  private func noteRemoval() throws {
    try owner.store.registry().changeRemovals(of: ["web"], from: "team") { _, _ in 1 }
  }

  @Test func `whose removal is on record does not come back with a next credential by writing all the time`()
    async throws
  {
    let (store, slower, path) = (owner.store, Slower(owner.replica, other), daemon.folder + "/new")
    try noteRemoval()
    store.publish { _ in slower }
    slower.isCutOff.withLock { $0 = true }
    let interrupted = try await Blocking.write { try store.applications.issue("web", to: path, .replacing) }
    #expect(interrupted.unchanged.map(\.name) == ["team"])
    #expect(slower.count.withLock { $0 } == 1)
    #expect(try rights() == .read)
    #expect(try store.registry().hasRemoved("web", 1, from: "team"))
    slower.isCutOff.withLock { $0 = false }
    let issued = try await Blocking.write { try store.applications.issue("web", to: path, .replacing) }
    #expect(issued.unchanged.isEmpty)
    #expect(try rights() == nil)
  }

  @Test func `a member that another command of the owner revokes meanwhile stays out`() async throws {
    let (store, slower, path) = (owner.store, Slower(owner.replica, other), daemon.folder + "/new")
    let second = Host(try daemon.owner(), server, id)
    slower.uponHalt.withLock { $0 = { try second.store.revoke("web", from: "team") } }
    store.publish { _ in slower }
    let issued = try await Blocking.write { try store.applications.issue("web", to: path, .replacing) }
    #expect(issued.unchanged.isEmpty)
    #expect(slower.uponHalt.withLock { $0 } == nil)
    #expect(try rights() == nil)
  }

  @Test func `the next credential may write although nobody answered when the last one lost that right`() async throws {
    let (store, slower, path) = (owner.store, Slower(owner.replica, other), daemon.folder + "/new")
    store.publish { _ in slower }
    slower.isDeaf.withLock { $0 = true }
    let issued = try await Blocking.write { try store.applications.issue("web", to: path, .replacing) }
    #expect(issued.unchanged.isEmpty)
    #expect(slower.count.withLock { $0 } == 1)
    #expect(try rights() == .write)
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.replica.catchUp() }
  }

  @Test func `a new key for members that never stop writing takes nothing from them`() async throws {
    let (store, slower) = (owner.store, Slower(owner.replica, other))
    store.publish { _ in slower }
    await #expect(throws: VaultError.unordered(group: "team", .overtaken)) {
      try await Blocking.write { _ = try store.rotateGroup("team") }
    }
    #expect(try rights() == .write)
  }

  @Test func `a revoked member reads nothing new, and its host says so`() async throws {
    try await Blocking.write { [owner] in try owner.store.revoke("web", from: "team") }
    try await owner.set("secret")
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.replica.catchUp() }
    #expect(try await other.value() == "first")
  }

  /// What follows the group's copy on a machine that applications have joined with these credentials.
  private func following(_ credentials: [String], at location: StoreLocation) async throws -> Replication {
    let id = try #require(try await owner.replica.copy()).state.groupID
    let remote = try Remote("test", at: "etcd://127.0.0.1:1")
    var sources: [ReplicaSource] = []
    for path in credentials {
      let store = try await SecretStore.open(at: location, credential: daemon.folder + path)
      sources.append(ReplicaSource(group: "team", id: id, store: store, remote: remote, isJoined: true))
    }
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    return Replication({ [sources] in sources }, logger, log: { [server] _, _ in MemoryLog(server) })
  }

  @Test func `a host whose application got another identity continues with its new credential`() async throws {
    let (store, folder) = (owner.store, daemon.folder)
    try await Blocking.write {
      let issued = try store.applications.issue("web", to: folder + "/new", .replacing)
      #expect(issued.unchanged.isEmpty)
    }
    try await owner.set("secret")
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.replica.catchUp() }
    let location = other.store.location
    let replication = try await following(["/new"], at: location)
    defer { replication.endAll() }
    let replica = try #require(await replication.replica(of: "team"))
    try await replication.catchUp(replica)
    let new = try await SecretStore.open(at: location, credential: folder + "/new")
    let value = try await Blocking.read { try new.group("team").get("name").exportInsecurelyAsString() }
    #expect(value == "secret")
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.value() }
  }

  @Test(arguments: [["/shop", "/web"], ["/web", "/shop"], ["/shop", "/mail", "/web"]])
  func `a host follows a group as long as one of its applications is a member`(_ credentials: [String]) async throws {
    let (store, folder) = (owner.store, daemon.folder)
    let others = credentials.filter { $0 != "/web" }.map { String($0.dropFirst()) }
    try await Blocking.write {
      for name in others {
        _ = try store.applications.issue(name, to: folder + "/" + name)
        try store.grant(.write, in: "team", to: name)
      }
    }
    await owner.replica.renewBaseIfDue()
    let replication = try await following(credentials, at: other.store.location)
    defer { replication.endAll() }
    try await replication.catchUp(#require(await replication.replica(of: "team")))
    try await Blocking.write { for name in others { try store.revoke(name, from: "team") } }
    try await owner.set("secret")
    try await replication.catchUp(#require(await replication.replica(of: "team")))
    #expect(try await other.value() == "secret")
    #expect(try await replication.join().map(\.name) == ["team"])
    await replication.refresh()
    #expect(await replication.replica(of: "team")?.isExcluded == false)
  }

  @Test func `another application of a host goes on at once when the followed one is revoked`() async throws {
    let (store, folder) = (owner.store, daemon.folder)
    try await Blocking.write {
      _ = try store.applications.issue("shop", to: folder + "/shop")
      try store.grant(.write, in: "team", to: "shop")
    }
    // The copy names both.
    try await other.replica.catchUp()
    let replication = try await following(["/shop", "/web"], at: other.store.location)
    defer { replication.endAll() }
    let followed = try #require(await replication.replica(of: "team"))
    try await replication.catchUp(followed)
    #expect(followed.store.application == "shop" && !followed.isExcluded)
    try await Blocking.write { try store.revoke("shop", from: "team") }
    try await owner.set("secret")
    // Nobody asks, and the next regular look at the credentials never comes here.
    while try await other.value() != "secret" { try await Task.sleep(for: .milliseconds(20)) }
  }

  @Test func `a credential that was joined again is used with what it says of its groups`() async throws {
    let location = try ReplicaTests.place("third", in: daemon)
    let (store, folder, known) = (owner.store, daemon.folder, JoinedStores())
    /// The store for "web" after another credential of the same identity was joined.
    func joined(_ file: String) async throws -> SecretStore {
      try await Blocking.write {
        _ = try store.applications.issue("web", to: folder + file, .again, remote: "test")
        try location.join(ApplicationCredential(at: folder + file))
        return try #require(try location.joinedCopies(known).first).store
      }
    }
    let first = try await joined("/first")
    #expect(try await joined("/same") === first)
    try await owner.set("later")
    #expect(try await joined("/later") !== first)
  }

  /// What the owner's host asks of its daemon, which is a member as `web`.
  private struct OrderingAtOther: CommitPublishing {
    let replica: Replica

    func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) {
      try run { try await $0.order(commit, isRepeated: isRepeated) }
    }

    func publish(fileAt path: String, holding state: PublishedState, after previous: PublishedState) throws(VaultError)
    {
      try run { try await $0.order(PublishedFile(path: path, state: state, previous: previous)) }
    }

    func catchUp() throws(VaultError) { try run { try await $0.catchUp() } }

    private func run(_ body: @escaping @Sendable (Replica) async throws -> Void) throws(VaultError) {
      do { try Blocking.wait { [replica] in try await body(replica) } } catch {
        throw error as? VaultError ?? .unexpected("\(error)")
      }
    }
  }

  @Test(arguments: [false, true])
  func `a daemon orders the change that puts its own member out, and nothing after it`(_ isReplaced: Bool) async throws
  {
    let store = owner.store
    let location = try StoreLocation(home: daemon.folder + "/home", state: daemon.folder + "/state")
    let web = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/web"), server, id)
    store.publish { _ in OrderingAtOther(replica: web.replica) }
    try await owner.set("by its daemon")
    try await Blocking.write { [daemon] in
      if isReplaced {
        let issued = try store.applications.issue("web", to: daemon.folder + "/new", .replacing)
        #expect(issued.unchanged.isEmpty)
      } else {
        try store.revoke("web", from: "team")
      }
    }
    let epoch = try await Blocking.read { try store.group("team").info().epoch }
    #expect(try await owner.log.head()?.epoch == epoch)
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.replica.catchUp() }
    // Another one, with a new member, has to go on.
    let refusal = VaultError.unordered(group: "team", .unreachable("vaultd here does not follow the group"))
    await #expect(throws: refusal) { try await owner.set("later") }
    await #expect(throws: refusal) { try await Blocking.write { _ = try store.rotateGroup("team") } }
    #expect(try await owner.log.head()?.epoch == epoch)
  }

  @Test(arguments: [MemoryLog.Fault.unknownAfterDoing, .unknownBeforeDoing])
  func `a change of members whose answer was lost is made once, also by a daemon that it puts out`(
    _ fault: MemoryLog.Fault
  ) async throws {
    let store = owner.store
    let location = try StoreLocation(home: daemon.folder + "/home", state: daemon.folder + "/state")
    let web = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/web"), server, id)
    store.publish { _ in OrderingAtOther(replica: web.replica) }
    web.log.fail(fault)
    try await Blocking.write { try store.revoke("web", from: "team") }
    let epoch = try await Blocking.read { try store.group("team").info().epoch }
    #expect(try await owner.log.head()?.epoch == epoch)
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.replica.catchUp() }
    #expect(try await owner.value() == "first")
  }

  /// Loses the answer to a file that is published, after another host has followed it.
  private final class Late: CommitPublishing {
    let replica, other: Replica
    let renewsBase: Bool
    let isLost = Mutex(false)

    init(_ replica: Replica, _ other: Replica, renewsBase: Bool) {
      (self.replica, self.other, self.renewsBase) = (replica, other, renewsBase)
    }

    func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) {
      try ReplicaPublisher { [replica] in replica }.publish(commit, isRepeated: isRepeated)
    }

    func publish(fileAt path: String, holding state: PublishedState, after previous: PublishedState) throws(VaultError)
    {
      try ReplicaPublisher { [replica] in replica }.publish(fileAt: path, holding: state, after: previous)
      if isLost.withLock({ isLost in
        defer { isLost = true }
        return isLost
      }) {
        return
      }
      do {
        try Blocking.wait { [other] in try await other.catchUp() }
        _ = try other.store.group("team").set("name", to: "by the other")
        if renewsBase {
          other.renewal.withLock { $0.isSuspected = true }
          try Blocking.wait { [other] in await other.renewBaseIfDue() }
        }
      } catch { throw .unexpected("\(error)") }
      throw .unordered(.outcomeUnknown(nil))
    }

    func catchUp() throws(VaultError) { try ReplicaPublisher { [replica] in replica }.catchUp() }
  }

  @Test(arguments: [false, true])
  func `a new key whose answer was lost is made once, although another host went on from it`(
    _ renewsBase: Bool
  ) async throws {
    let store = owner.store
    let late = Late(owner.replica, other.replica, renewsBase: renewsBase)
    store.publish { _ in late }
    let before = try await Blocking.read { try store.group("team").info().epoch }
    try await Blocking.write { _ = try store.rotateGroup("team") }
    #expect(try await owner.log.head()?.epoch == before + 2)
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "by the other")
  }

  /// Holds a file that is published until the test lets it go.
  private struct Gate: CommitPublishing {
    let replica: Replica
    let begun = DispatchSemaphore(value: 0)
    let go = DispatchSemaphore(value: 0)

    func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) {
      try ReplicaPublisher { replica }.publish(commit, isRepeated: isRepeated)
    }

    func publish(fileAt path: String, holding state: PublishedState, after previous: PublishedState) throws(VaultError)
    {
      begun.signal()
      go.wait()
      try ReplicaPublisher { replica }.publish(fileAt: path, holding: state, after: previous)
    }

    func catchUp() throws(VaultError) { try ReplicaPublisher { replica }.catchUp() }
  }

  @Test func `a complete file that is fetched while this host's member is put out replaces nothing`() async throws {
    let (store, replica) = (owner.store, owner.replica)
    let location = try StoreLocation(home: daemon.folder + "/home", state: daemon.folder + "/state")
    let web = try await SecretStore.open(at: location, credential: daemon.folder + "/web")
    let fetched = Mutex(Data())
    // Which of the two is faster differs from time to time.
    for _ in 0..<20 {
      let (gate, done) = (Gate(replica: replica), DispatchSemaphore(value: 0))
      try await Blocking.write {
        try store.copyFile(of: "team") { (path, _) throws(VaultError) in
          fetched.withLock { $0 = FileManager.default.contents(atPath: path) ?? Data() }
        }
        store.publish { _ in gate }
        _ = try? web.adopt(
          "team",
          { (path) throws(VaultError) in
            do { try fetched.withLock { try $0.write(to: URL(filePath: path)) } } catch {
              throw .unexpected("\(error)")
            }
          },
          following: { _ in
            Thread.detachNewThread {
              _ = try? store.revoke("web", from: "team")
              done.signal()
            }
            gate.begun.wait()
            gate.go.signal()
            return []
          })
        done.wait()
      }
      #expect(try await owner.value() == "first")
      store.publish { _ in ReplicaPublisher { replica } }
      try await Blocking.write { _ = try store.grant(.write, in: "team", to: "web") }
    }
  }

  @Test func `a daemon with a new credential orders the file that lets it in, which failed before`() async throws {
    struct Unreachable: CommitPublishing {
      private func fail() throws(VaultError) { throw .unordered(.unreachable("no server answers")) }
      func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) { try fail() }
      func publish(fileAt path: String, holding state: PublishedState, after previous: PublishedState)
        throws(VaultError)
      {
        try fail()
      }
      func catchUp() throws(VaultError) { try fail() }
    }
    let store = owner.store
    let path = daemon.folder + "/service"
    try await Blocking.write {
      _ = try store.enrollService(to: path, .again, serving: [.init(.write, in: "team")])
      store.publish { _ in Unreachable() }
      let replaced = try store.enrollService(to: path + "2", .replacing)
      #expect(replaced.unchanged.map(\.name) == ["team"])
    }
    let location = try StoreLocation(home: daemon.folder + "/home", state: daemon.folder + "/state")
    let opened = try await OpenedStore(SecretStore.open(at: location, credential: path + "2"))
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let replication = Replication({ try opened.publishedCopies() }, logger, log: { [server] _, _ in MemoryLog(server) })
    #expect(await replication.replica(of: "team") == nil)
    let replica = try #require(await replication.replica(of: "team", ordersFile: true))
    try await Blocking.write {
      store.publish { _ in OrderingAtOther(replica: replica) }
      let repeated = try store.enrollService(to: path + "2", .replacing)
      #expect(repeated.unchanged.isEmpty)
    }
    await replication.refresh()
    #expect(await replication.replica(of: "team") != nil)
    replication.endAll()
  }

  @Test func `a host that is behind does not set back a head that others have proved`() async throws {
    let first = try #require(try await owner.log.head())
    for value in ["second", "third", "fourth"] { try await owner.set(value) }
    let head = try #require(try await owner.log.head())
    let stored = try #require(try await owner.log.commits(after: first.epoch, limit: 1).first)
    let junk = LoggedCommit(epoch: first.epoch + 1, link: stored.commit.link, bytes: [1, 2, 3])
    _ = try await owner.log.replace(junk, at: stored.revision, under: head)
    await #expect(throws: VaultError.self) { try await other.replica.catchUp() }
    await #expect(throws: VaultError.self) { try await other.set("over the others") }
    #expect(try await owner.log.head() == head)
  }

  @Test func `garbage in place of the next commit does not stop writers`() async throws {
    let head = try #require(try await owner.log.head())
    let link = try #require(CommitLink([UInt8](repeating: 9, count: 32)))
    _ = try await owner.log.replace(
      LoggedCommit(epoch: head.epoch + 1, link: link, bytes: [1]), at: nil, under: head)
    try await other.set("in its place")
    #expect(try await other.value() == "in its place")
  }

  @Test func `a group that was changed without the log can be published again`() async throws {
    try await Blocking.write { [owner] in
      try owner.store.unpublishGroup("team")
      try owner.store.group("team").set("name", to: "without the log")
      try owner.store.publishGroup("team", at: "test")
    }
    try await other.replica.catchUp()
    #expect(try await other.value() == "without the log")
    try await other.set("with the log")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "with the log")
  }

  @Test func `a publication whose answer was lost does not end before the cluster is asked`() async throws {
    let (store, log) = (owner.store, owner.log)
    try await Blocking.write { try store.unpublishGroup("team") }
    log.fail(.unknownAfterDoing)
    log.isSilent = true
    await #expect(throws: VaultError.unordered(group: "team", .outcomeUnknown(nil))) {
      try await Blocking.write { try store.publishGroup("team", at: "test") }
    }
    (log.isSilent, log.isAway) = (false, true)
    let refusal = VaultError.unordered(group: "team", .unreachable("no server answers"))
    await #expect(throws: refusal) { try await Blocking.write { try store.unpublishGroup("team") } }
    await #expect(throws: refusal) { try await Blocking.write { _ = try store.synchronize("team") } }
    #expect(try store.publishedGroups() == ["team": "test"])
    log.isAway = false
    let epoch = try #require(try await log.head()).epoch
    try await Blocking.write { try store.unpublishGroup("team") }
    #expect(try store.publishedGroups().isEmpty)
    #expect(try await log.head()?.epoch == epoch + 1)
  }

  /// A publication whose answer was lost, and a set before anybody here knew that the group was published.
  private func changeUnnoticed() async throws {
    let (store, log) = (owner.store, owner.log)
    try await Blocking.write { try store.unpublishGroup("team") }
    try await other.replica.catchUp()
    log.fail(.unknownAfterDoing)
    log.isSilent = true
    await #expect(throws: VaultError.unordered(group: "team", .outcomeUnknown(nil))) {
      try await Blocking.write { try store.publishGroup("team", at: "test") }
    }
    log.isSilent = false
    try await owner.set("unnoticed")
  }

  @Test func `a group that was changed after a publication of unknown outcome is published again`() async throws {
    try await changeUnnoticed()
    let store = owner.store
    await #expect(throws: VaultError.self) { try await owner.replica.catchUp() }
    try await Blocking.write { try store.publishGroup("team", at: "test") }
    try await other.replica.catchUp()
    #expect(try await other.value() == "unnoticed")
    try await other.set("with the log")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "with the log")
  }

  @Test func `an unnoticed publication that the servers number 0 is nobody's`() async throws {
    try await changeUnnoticed()
    let (store, log) = (owner.store, owner.log)
    let (head, base) = (try #require(try await log.head()), try #require(try await log.base()))
    let file = try await log.bytes(of: base)
    let forged = try await log.replaceHead(at: head.revision, with: 0, link: head.link)
    _ = try await log.putBase(epoch: 0, link: base.link, replacing: base, keeping: 64, pieces: file.pieces)
    await #expect(throws: VaultError.self) { try await Blocking.write { try store.publishGroup("team", at: "test") } }
    #expect(try await log.head() == forged)
  }

  @Test func `a log that another host has written to is not replaced by a group that went on without it`() async throws
  {
    try await changeUnnoticed()
    try await other.replica.catchUp()
    try await other.set("with the log")
    let (store, log, others) = (owner.store, other.log, other.store)
    let head = try #require(try await log.head())
    await #expect(throws: VaultError.self) { try await Blocking.write { try store.publishGroup("team", at: "test") } }
    #expect(try await log.head() == head)
    // Nor if the complete file of that host is all that the log has.
    let old = try await log.base()
    try await Blocking.write {
      try others.copyFile(of: "team") { (path, state) throws(VaultError) in
        let pieces = FilePieces(path)
        do {
          _ = try Blocking.wait {
            try await log.putBase(epoch: head.epoch, link: head.link, replacing: old, keeping: 0) {
              (index) throws(LogError) in try pieces.piece(index)
            }
          }
        } catch { throw .unexpected("\(error)") }
      }
    }
    await #expect(throws: VaultError.self) { try await Blocking.write { try store.publishGroup("team", at: "test") } }
    #expect(try await log.head() == head)
    #expect(try await log.base()?.epoch == head.epoch)
    #expect(try await other.value() == "with the log")
    #expect(try await owner.value() == "unnoticed")
  }

  @Test func `the live file of a group is not taken for its next state`() async throws {
    try await owner.set("second")
    let head = try #require(try await owner.log.head())
    let copy = try #require(try await other.replica.copy())
    let path = daemon.folder + "/other/groups/team/group.vault"
    let file = PublishedFile(path: path, state: copy.state, previous: copy.state)
    await #expect(throws: VaultError.self) { try await other.replica.order(file) }
    #expect(try await owner.log.head() == head)
  }

  @Test func `a complete file with a later state's number is replaced and does no harm`() async throws {
    let link = try #require(CommitLink([UInt8](repeating: 9, count: 32)))
    let base = try await owner.log.base()
    _ = try await owner.log.putBase(epoch: .max, link: link, replacing: base, keeping: 0) { $0 == 0 ? [1] : nil }
    _ = try daemon.owner().applications.issue("api", to: daemon.folder + "/api")
    try await Blocking.write { [owner] in try owner.store.grant(.read, in: "team", to: "api") }
    try await owner.replica.catchUp()
    await owner.replica.renewBaseIfDue()
    #expect(try await owner.log.base()?.epoch == owner.log.head()?.epoch)
  }

  @Test func `a host that has lost its copy fetches the complete file and what follows it`() async throws {
    for value in ["second", "third"] { try await owner.set(value) }
    try await other.replica.catchUp()
    try FileManager.default.removeItem(atPath: daemon.folder + "/other/groups/team")
    try await other.replica.catchUp()
    #expect(try await other.value() == "third")
    try await other.set("fourth")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "fourth")
  }

  @Test func `a joined copy whose file a power failure left empty is fetched again`() async throws {
    for value in ["second", "third"] { try await owner.set(value) }
    try await other.replica.catchUp()
    let path = daemon.folder + "/other/groups/team/group.vault"
    // Another file, so that nobody reads on in the one before.
    try FileManager.default.removeItem(atPath: path)
    try #require(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]))
    await #expect(throws: VaultError.self) { try await other.value() }
    await #expect(throws: VaultError.self, "it may be the owner's, who repairs it") {
      try await other.replica.catchUp()
    }
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let joined = Replica(of: "team", id, in: other.store, other.log, logger, isJoined: true)
    try await joined.catchUp()
    #expect(try await other.value() == "third")
  }

  @Test func `a lost copy does not come back from a log that is older than what was seen`() async throws {
    for value in ["first", "second"] { try await owner.set(value) }
    try await other.replica.catchUp()
    let epoch = try #require(try await owner.log.head()).epoch
    server.roll(back: epoch - 1)
    try FileManager.default.removeItem(atPath: daemon.folder + "/other/groups/team")
    await #expect(throws: VaultError.rolledBack(group: "team", found: epoch - 1, known: epoch, reason: .olderState)) {
      try await other.replica.catchUp()
    }
    #expect(!FileManager.default.fileExists(atPath: daemon.folder + "/other/groups/team/group.vault"))
    // The host that has it pushes it again.
    try await owner.replica.catchUp()
    try await other.replica.catchUp()
    #expect(try await other.value() == "second")
  }

  @Test func `a backup that replaces a published group is brought up to date at once`() async throws {
    let backup = daemon.folder + "/backup"
    try await Blocking.write { [owner] in _ = try owner.store.backUp(to: backup) }
    try await owner.set("after the backup")
    let restoration = try await Blocking.write { [owner] in
      try owner.store.restoreBackup(from: backup, groups: ["team"], replacing: true)
    }
    guard case .restored(let restored)? = restoration.groups.first?.outcome else {
      Issue.record("not restored")
      return
    }
    #expect(try await owner.log.head()?.epoch == restored.epoch)
    #expect(try await owner.value() == "after the backup")
    try await owner.set("and on")
    try await other.replica.catchUp()
    #expect(try await other.value() == "and on")
  }

  @Test func `a machine that is recovered from a backup continues from the log`() async throws {
    let (folder, server) = (daemon.folder, server)
    let backup = folder + "/backup"
    try await Blocking.write { [owner] in _ = try owner.store.backUp(to: backup) }
    try await owner.set("after the backup")
    let location = try StoreLocation(home: folder + "/new", state: folder + "/new.state")
    let recovered = try await Blocking.write {
      let recovery = try StoreRecovery(from: backup, at: location) { _ in .keyFile(folder + "/key") }
      return try recovery.makeStore(with: nil)
    }
    for group in recovered.restoration.groups {
      if case .failed(let error) = group.outcome { Issue.record(error) }
    }
    #expect(try recovered.store.publishedGroups() == ["team": "test"])
    let host = Host(recovered.store, server, id)
    try await host.replica.catchUp()
    #expect(try await host.value() == "after the backup")
    try await host.set("from the new machine")
    try await other.replica.catchUp()
    #expect(try await other.value() == "from the new machine")
  }

  @Test func `who was removed does not come back with a backup, although neither machine nor log knows of it`()
    async throws
  {
    let backup = daemon.folder + "/backup"
    try await Blocking.write { [owner] in
      _ = try owner.store.backUp(to: backup)
      try owner.store.revoke("web", from: "team")
    }
    for path in ["/home/groups/team", "/state"] { try FileManager.default.removeItem(atPath: daemon.folder + path) }
    let host = Host(try daemon.owner(), MemoryLogServer(), id)
    let restored = try await Blocking.write {
      try host.store.restoreBackup(from: backup, groups: ["team"]).groups.first
    }
    guard case .restored(let group)? = restored?.outcome else {
      Issue.record("\(String(describing: restored))")
      return
    }
    #expect(group.left.map(\.application) == ["web"])
    let members = try await Blocking.read { try host.store.group("team").verifiedState().roster.members }
    #expect(!members.contains { $0.application == "web" })
  }

  @Test func `on a recovered machine the service's credential is written again, and needs no vaultd for that`()
    async throws
  {
    let (folder, server) = (daemon.folder, server)
    let backup = folder + "/backup"
    try await Blocking.write { [owner] in
      _ = try owner.store.enrollService(to: folder + "/service", .again, serving: [.init(.write, in: "team")])
      _ = try owner.store.backUp(to: backup)
    }
    try await owner.set("after the backup")
    let location = try StoreLocation(home: folder + "/new", state: folder + "/new.state")
    try await Blocking.write {
      let recovery = try StoreRecovery(from: backup, at: location) { _ in .keyFile(folder + "/key") }
      let recovered = try recovery.makeStore(with: nil).store
      // No log can be reached yet.
      let issued = try recovered.enrollService(to: folder + "/again", .again)
      #expect(issued.unchanged.isEmpty)
    }
    let host = Host(try await SecretStore.open(at: location, credential: folder + "/again"), server, id)
    try await host.replica.catchUp()
    try await host.set("from the new machine")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "from the new machine")
  }

  /// Changes the log while the owner's host follows it, and waits until the log begins with another complete file.
  private func waitForBase(after tampering: (LogBase) async throws -> Void) async throws {
    let (before, replica) = (try await owner.log.base(), owner.replica)
    try await owner.set("second")
    let following = Task { await replica.follow() }
    defer { following.cancel() }
    // The host has not seen how this commit came there.
    let base = try await nextBase(after: before)
    for value in ["third", "fourth"] { try await owner.set(value) }
    try await tampering(base)
    _ = try await nextBase(after: base)
    try await other.replica.catchUp()
    #expect(try await other.value() == "fourth")
  }

  func nextBase(after base: LogBase?) async throws -> LogBase {
    while true {
      if let found = try await owner.log.base(), found != base { return found }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Overwrites the first commits after `base`.
  ///
  /// - Returns: the head.
  @discardableResult
  private func overwrite(_ count: Int, after base: LogBase?) async throws -> LogHead {
    let head = try #require(try await owner.log.head())
    for stored in try await owner.log.commits(after: base?.epoch ?? 0, limit: count) {
      let junk = LoggedCommit(epoch: stored.commit.epoch, link: stored.commit.link, bytes: [1, 2, 3])
      _ = try await owner.log.replace(junk, at: stored.revision, under: head)
    }
    return head
  }

  @Test func `a writer puts a complete file where a commit was removed`() async throws {
    try await waitForBase { try owner.log.remove($0.epoch + 1) }
  }

  @Test func `a writer puts a complete file over a commit that was overwritten`() async throws {
    try await waitForBase { try await overwrite(1, after: $0) }
  }

  @Test func `a writer puts a complete file where commits were rewritten together with the head`() async throws {
    try await waitForBase { base in
      let head = try await overwrite(2, after: base)
      _ = try await owner.log.replaceHead(at: head.revision, with: head.epoch, link: head.link)
    }
  }

  @Test func `a complete file with a new key is not replaced by a host that has not heard of it`() async throws {
    try await Blocking.write { [owner] in _ = try owner.store.rotateGroup("team") }
    let base = try #require(try await owner.log.base())
    other.replica.renewal.withLock { $0.isSuspected = true }
    await other.replica.renewBaseIfDue()
    #expect(try await owner.log.base() == base)
    try await owner.set("second")
    try await other.replica.catchUp()
    #expect(try await other.value() == "second")
  }

  @Test func `a host whose changes the log has lost puts no complete file over those of the others`() async throws {
    try await owner.set("first of both")
    try await other.replica.catchUp()
    _ = try daemon.owner().applications.issue("api", to: daemon.folder + "/api")
    try await Blocking.write { [owner] in try owner.store.grant(.read, in: "team", to: "api") }
    let epoch = try #require(try await owner.log.head()).epoch
    server.roll(back: epoch - 1)
    try await other.set("another second")
    await #expect(throws: VaultError.rolledBack(group: "team", found: epoch, known: epoch, reason: .fork)) {
      try await owner.replica.catchUp()
    }
    let base = try await owner.log.base()
    await owner.replica.renewBaseIfDue()
    #expect(try await owner.log.base() == base)
  }

  @Test func `what a host changes after the publication has ended is not put into the log`() async throws {
    _ = try daemon.owner().applications.issue("api", to: daemon.folder + "/api")
    let base = try await owner.log.base()
    try await Blocking.write { [owner] in
      try owner.store.grant(.read, in: "team", to: "api")
      try owner.store.unpublishGroup("team")
      try owner.store.group("team").set("name", to: "without the log")
    }
    await owner.replica.renewBaseIfDue()
    #expect(try await owner.log.base() == base)
  }

  @Test func `a host catches up while it sends a complete file`() async throws {
    // The limit only ends a hang.
    let sending = Task { _ = try? await Task.sleep(for: .seconds(240)) }
    owner.log.uponPutting.withLock { $0 = { await sending.value } }
    let base = try await owner.log.base()
    _ = try daemon.owner().applications.issue("api", to: daemon.folder + "/api")
    try await Blocking.write { [owner] in try owner.store.grant(.read, in: "team", to: "api") }
    for value in ["second", "third", "fourth"] {
      try await other.replica.catchUp()
      try await other.set(value)
      try await owner.replica.catchUp(within: nil)
      #expect(try await owner.value() == value)
    }
    #expect(try await owner.log.base() == base)
    sending.cancel()
    await owner.replica.renewBaseIfDue()
    #expect(try await owner.log.base() != base)
    // However often it catches up meanwhile, one more look follows.
    #expect(await owner.replica.renewals.callCount <= 3)
  }

  @Test func `a member who joins while a complete file is sent is named in the next one`() async throws {
    // The limit only ends a hang.
    let sending = Task { _ = try? await Task.sleep(for: .seconds(240)) }
    let isPutting = Mutex(false)
    owner.log.uponPutting.withLock {
      $0 = {
        isPutting.withLock { $0 = true }
        await sending.value
      }
    }
    for name in ["api", "shop"] {
      _ = try daemon.owner().applications.issue(name, to: daemon.folder + "/" + name)
      try await Blocking.write { [owner] in try owner.store.grant(.read, in: "team", to: name) }
      try await owner.replica.catchUp(within: nil)
      while isPutting.withLock({ !$0 }) { try await Task.sleep(for: .milliseconds(5)) }
    }
    sending.cancel()
    for _ in 0..<2 { await owner.replica.renewBaseIfDue() }
    #expect(try await owner.log.base()?.epoch == owner.log.head()?.epoch)
  }

  @Test func `a host with many changes of its own does not replace the newer complete file of another one`()
    async throws
  {
    try await Blocking.write { [other] in
      let group = try other.store.group("team")
      for number in 0..<513 { try group.set("name", to: "\(number)") }
    }
    try await owner.replica.catchUp()
    try await Blocking.write { [owner] in _ = try owner.store.rotateGroup("team") }
    let base = try await owner.log.base()
    try await other.replica.catchUp()
    await other.replica.renewBaseIfDue()
    #expect(try await owner.log.base() == base)
    #expect(try await other.value() == "512")
  }

  @Test func `a host catches up although another one goes on writing`() async throws {
    let count = Mutex(0)
    other.log.uponHead.withLock {
      $0 = { [owner] in
        let isLast = count.withLock { count in
          count += 1
          return count > 12
        }
        if !isLast { try await owner.set("and on") }
      }
    }
    try await other.replica.catchUp()
    #expect(count.withLock { $0 } == 1)
    #expect(try await other.value() == "and on")
  }

  @Test func `a writer that starts puts a complete file over commits that it has not seen`() async throws {
    let base = try await owner.log.base()
    for value in ["second", "third"] { try await owner.set(value) }
    try await overwrite(2, after: base)
    let replica = owner.replica
    let following = Task { await replica.follow() }
    defer { following.cancel() }
    _ = try await nextBase(after: base)
    try await other.replica.catchUp()
    #expect(try await other.value() == "third")
  }

  @Test func `a published group is no longer followed once it is removed`() async throws {
    try await Blocking.write { [owner] in try owner.store.removeGroup("team") }
    #expect(try owner.store.publishedGroups().isEmpty)
    await #expect(throws: VaultError.self) { try await owner.replica.catchUp() }
    #expect(!FileManager.default.fileExists(atPath: daemon.folder + "/home/groups/team/group.vault"))
  }
}
