import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization
import Testing
import VaultFoundation

@testable import Ground
@testable import GroupFile
@testable import Sealing
@testable import Vault
@testable import VaultDaemon

// What somebody does who may write to the servers and knows no key.
extension ReplicaTests {
  /// Puts `bytes` into the place that is `distance` above the head, and moves the head there.
  private func forge(_ bytes: [UInt8], _ distance: UInt64 = 1) async throws {
    let head = try #require(try await owner.log.head())
    let link = try #require(CommitLink([UInt8](repeating: 7, count: 32)))
    _ = try await owner.log.append(
      LoggedCommit(epoch: head.epoch + distance, link: link, bytes: bytes), after: head, over: nil)
  }

  private func newestCommit() async throws -> StoredCommit {
    let head = try #require(try await owner.log.head())
    return try #require(try await owner.log.commits(after: head.epoch - 1, limit: 1).first)
  }

  /// A commit with other bytes at `offset` and a hash that fits.
  private func altered(_ commit: [UInt8], at offset: Int, to bytes: [UInt8]) -> [UInt8] {
    var new = Array(commit.dropLast(Digest.byteCount))
    new.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    return new + GroupCommit.checksum(of: new[...]).bytes
  }

  private func bigEndian(_ epoch: UInt64) -> [UInt8] { withUnsafeBytes(of: epoch.bigEndian) { Array($0) } }

  /// Writers go on, and a member can be removed.
  private func expectNoBlock() async throws {
    try await other.set("after the forgery")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "after the forgery")
    try await Blocking.write { [owner] in try owner.store.revoke("web", from: "team") }
    try await owner.set("without the other")
    await #expect(throws: VaultError.denied(.notAMember)) { try await other.replica.catchUp() }
  }

  @Test(arguments: [UInt64(1), 2])
  func `an old commit in a later place blocks no writer`(_ distance: UInt64) async throws {
    for value in ["second", "third"] { try await owner.set(value) }
    try await other.replica.catchUp()
    try await forge(newestCommit().commit.bytes, distance)
    try await owner.replica.catchUp()
    try await expectNoBlock()
  }

  enum Alteration: CaseIterable { case group, previousLink, manifest }

  private func forge(_ alteration: Alteration) async throws {
    try await owner.set("second")
    try await other.replica.catchUp()
    let newest = try await newestCommit()
    var bytes = altered(newest.commit.bytes, at: 48, to: bigEndian(newest.commit.epoch + 1))
    switch alteration {
    case .group: bytes = altered(bytes, at: 16, to: [UInt8](repeating: 5, count: 32))
    case .previousLink: break
    case .manifest: bytes = altered(bytes, at: 56, to: newest.commit.link.bytes)
    }
    try await forge(bytes)
  }

  @Test(arguments: Alteration.allCases)
  func `an old commit with another number on it blocks no writer`(_ alteration: Alteration) async throws {
    try await forge(alteration)
    try await expectNoBlock()
  }

  @Test(arguments: Alteration.allCases)
  func `a forged commit that a writer passes over counts as a failure`(_ alteration: Alteration) async throws {
    #expect(other.replica.lastFailure == nil)
    try await forge(alteration)
    try await other.replica.catchUp()
    #expect(other.replica.lastProblem == nil && other.replica.lastFailure != nil)
  }

  @Test(arguments: [0, 1], [false, true])
  func `a head with a number that was there and a link that never was blocks no writer`(
    _ distance: UInt64, _ hasForgedBase: Bool
  ) async throws {
    let first = try #require(try await owner.log.base())
    let file = try await owner.log.bytes(of: first)
    for value in ["second", "third"] { try await owner.set(value) }
    try await other.replica.catchUp()
    let head = try #require(try await owner.log.head())
    let forged = try await owner.log.replaceHead(at: head.revision, with: head.epoch - distance, link: .test(9))
    if hasForgedBase {
      _ = try await owner.log.putBase(
        epoch: forged.epoch, link: .test(9), replacing: first, keeping: 64, pieces: file.pieces)
    }
    try await owner.replica.catchUp()
    #expect(try await owner.log.head()?.link == head.link)
    try await expectNoBlock()
  }

  @Test(arguments: [false, true])
  func `a head with the newest link and another number blocks no writer`(_ isLater: Bool) async throws {
    try await owner.set("second")
    try await other.replica.catchUp()
    let head = try #require(try await owner.log.head())
    _ = try await owner.log.replaceHead(
      at: head.revision, with: isLater ? head.epoch + 1_000 : head.epoch - 1, link: head.link)
    try await owner.replica.catchUp()
    #expect(try await owner.log.head()?.epoch == head.epoch)
    try await expectNoBlock()
  }

  @Test func `a branch whose head was forged, too, is still reported`() async throws {
    let epoch = try await loseSecondChange()
    try await other.set("another second")
    let head = try #require(try await owner.log.head())
    let forged = try await owner.log.replaceHead(at: head.revision, with: epoch, link: .test(9))
    let fork = VaultError.rolledBack(group: "team", found: epoch, known: epoch, reason: .fork)
    await #expect(throws: fork) { try await owner.replica.catchUp() }
    #expect(try await owner.log.head() == forged)
    // The host whose branch it is sets the head right.
    try await other.replica.catchUp()
    await #expect(throws: fork) { try await owner.replica.catchUp() }
    #expect(try await owner.value() == "second")
  }

  /// The next commit of the owner, with a signed root that no rows make.
  private func rootless(by signer: MemberSeed? = nil, after link: Digest? = nil) throws -> GroupCommit {
    let group = try owner.store.group("team")
    let (state, seed) = (try group.verifiedState(), try group.file.context.seed)
    var manifest = state.successor(time: state.manifest.time + 1)
    manifest.root = Hash.digest(.logPart, [1])
    if let link { manifest.previousLink = link }
    let sealed = SignedManifest.seal(manifest, by: try (signer ?? seed).signingKey(), with: state.keys)
    return GroupCommit(
      groupID: manifest.groupID, epoch: manifest.epoch, previousLink: state.link, link: manifest.link(),
      manifest: sealed, roster: nil, rows: [])
  }

  @Test(arguments: [false, true])
  func `a request with a commit that follows another state counts as refused unless a writer has signed it`(
    isSigned: Bool
  ) async throws {
    let made = try rootless(by: isSigned ? nil : MemberSeed(Key.random()))
    let commit = GroupCommit(
      groupID: made.groupID, epoch: made.epoch, previousLink: .zero, link: made.link,
      manifest: made.manifest, roster: nil, rows: [])
    let source = ReplicaSource(
      group: "team", id: made.groupID, store: other.store, remote: try Remote("test", at: "etcd://127.0.0.1:1"))
    let replication = Replication({ [source] }, RunningDaemon.logger, log: { [server] _, _ in MemoryLog(server) })
    let failures = Failures(.allowing(failures: 3))
    let answers = ClusterAnswers(
      seal: Seal { () throws(VaultError) in throw .locked(.credential(.missing)) }, replication: replication,
      limits: Limits(), bodies: BodyBudget(limit: 1 << 20), failures: failures)
    var stranger = Peer()
    stranger.user = geteuid() + 12_345
    // Once, a new minute may begin meanwhile.
    for _ in 0..<6 where !failures.isBlocked(stranger.key) {
      let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/vault/1/commit/team")
      let request = Request(head: head, body: .init(buffer: ByteBuffer(bytes: commit.serialized())))
      let answer = try await answers.answer(to: request, Target(request), Connection(peer: stranger))
      #expect(answer?.status == .ok)
    }
    #expect(failures.isBlocked(stranger.key) == !isSigned)
  }

  @Test func `a signed commit whose rows do not make its state is not ordered`() async throws {
    let (commit, head) = (try rootless(), try #require(try await owner.log.head()))
    let refusal = VaultError.damaged(
      group: "team", level: .commit, detail: "its rows do not make the state that it signs")
    for isRepeated in [false, true] {
      await #expect(throws: refusal) { try await other.replica.order(commit, isRepeated: isRepeated) }
    }
    #expect(try await owner.log.head() == head)
    #expect(try await owner.log.commits(after: head.epoch, limit: 1).isEmpty)
    try await expectNoBlock()
  }

  @Test(arguments: [nil, Digest([UInt8](repeating: 3, count: 32))])
  func `a commit that no writer signed blocks nobody, although the group's key sealed it`(_ link: Digest?) async throws
  {
    // Who may only read has that key.
    let (commit, head) = (
      try rootless(by: MemberSeed(Key.random()), after: link), try #require(try await owner.log.head())
    )
    _ = try await owner.log.append(
      LoggedCommit(
        epoch: commit.epoch, link: #require(CommitLink(commit.link.bytes)), bytes: commit.serialized()), after: head,
      over: nil)
    try await owner.replica.catchUp()
    try await expectNoBlock()
  }

  @Test func `the owner's new key goes over a signed commit that nobody can prove`() async throws {
    let (commit, head) = (try rootless(), try #require(try await owner.log.head()))
    let link = try #require(CommitLink(commit.link.bytes))
    var last = try await owner.log.append(
      LoggedCommit(epoch: commit.epoch, link: link, bytes: commit.serialized()), after: head, over: nil)
    last = try await owner.log.append(.test(last.epoch + 1), after: last, over: nil)
    for host in [owner, other] {
      await #expect(throws: VaultError.self) { try await host.replica.catchUp() }
    }
    try await Blocking.write { [owner] in try owner.store.rotateGroup("team") }
    try await owner.set("after the new key")
    try await other.replica.catchUp()
    #expect(try await other.value() == "after the new key")
    try await expectNoBlock()
  }

  // MARK: Complete files

  enum BadBase: CaseIterable { case garbage, junk, empty, truncated, altered, old }

  @Test(arguments: BadBase.allCases)
  func `a complete file that does not prove, under a forged head, blocks no writer`(_ kind: BadBase) async throws {
    let first = try #require(try await owner.log.base())
    var file = [UInt8](try await owner.log.bytes(of: first))
    try await owner.set("second")
    try await other.replica.catchUp()
    try await forge([1, 2, 3], 5)
    let head = try #require(try await owner.log.head())
    switch kind {
    case .garbage, .old: break
    case .junk: file = Data.test(40_960, seed: 3).bytes
    case .empty: file = []
    case .truncated: file.removeLast(file.count / 2)
    case .altered: for index in stride(from: 4_096, to: file.count, by: 512) { file[index] ^= 1 }
    }
    let bad = try await owner.log.putBase(
      epoch: head.epoch - 1, link: .test(9), replacing: first, keeping: 64, pieces: Data(file).pieces)
    if kind == .garbage { try owner.log.spoilBase() }
    try await owner.replica.catchUp()
    // A host that follows the log puts a new one there at once.
    while try await Replica.result({ () async throws(LogError) in try await self.owner.log.base() }).isBad(bad) {
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(try await owner.log.base()?.epoch == bad.epoch - 4)
    try await expectNoBlock()
  }

  @Test func `a reader says that the log's complete file is damaged, and does not fetch it again at once`() async throws
  {
    _ = try daemon.owner().applications.issue("api", to: daemon.folder + "/api")
    try await Blocking.write { [owner] in try owner.store.grant(.read, in: "team", to: "api") }
    try await owner.replica.catchUp()
    let location = try ReplicaTests.place("reader", in: daemon)
    let reader = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/api"), server, id)
    try await reader.replica.catchUp()
    try await forge([1], 5)
    let old = try #require(try await owner.log.base())
    let junk = try await owner.log.putBase(
      epoch: old.epoch + 4, link: .test(9), replacing: old, keeping: 64, pieces: Data.test(40_960, seed: 3).pieces)
    let before = reader.log.readings.withLock { $0 }
    for _ in 0..<3 {
      let error = VaultError.damaged(
        group: "team", level: .commit, detail: "its log lacks commits, and has no complete file that follows them")
      await #expect(throws: error) { try await reader.replica.catchUp() }
    }
    #expect(reader.log.readings.withLock { $0 } == before + 1)
    #expect(try await owner.log.base() == junk)
    // The host's file is not to blame where there is none.
    let another = Host(
      try await SecretStore.open(at: ReplicaTests.place("another", in: daemon), credential: daemon.folder + "/api"),
      server, id)
    await #expect(
      throws: VaultError.damaged(group: "team", level: .commit, detail: "the complete file in its log")
    ) { try await another.replica.catchUp() }
  }

  @Test func `a complete file that does not name a host is not fetched again at once, and ends with the head`()
    async throws
  {
    let first = try #require(try await owner.log.base())
    let file = try await owner.log.bytes(of: first)
    // A member whom that file does not name.
    _ = try daemon.owner().applications.issue("shop", to: daemon.folder + "/shop")
    try await Blocking.write { [owner] in try owner.store.grant(.write, in: "team", to: "shop") }
    let replica = owner.replica
    await replica.renewBaseIfDue()
    let location = try ReplicaTests.place("shop's", in: daemon)
    let shop = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/shop"), server, id)
    try await shop.replica.catchUp()
    try await forge([1], 5)
    let named = try #require(try await owner.log.base())
    let nameless = try await owner.log.putBase(
      epoch: named.epoch + 4, link: .test(9), replacing: named, keeping: 64, pieces: file.pieces)
    let before = shop.log.readings.withLock { $0 }
    for _ in 0..<3 { await #expect(throws: VaultError.denied(.notAMember)) { try await shop.replica.catchUp() } }
    #expect(shop.log.readings.withLock { $0 } == before + 1)
    // A member who was removed must not undo that, so the host changes nothing. It reads what it has.
    #expect(try await owner.log.base() == nameless)
    #expect(try await shop.value() == "first")
    try owner.log.removeHead()
    try await shop.replica.catchUp()
    try await shop.set("after the forgery")
    try await owner.replica.catchUp()
    #expect(try await owner.value() == "after the forgery")
  }

  @Test func `a writer puts a complete file where it was removed`() async throws {
    try await expectNewBase { _ in try owner.log.removeBase() }
  }

  @Test func `a writer puts a complete file in the place of a state that never was`()
    async throws
  {
    try await expectNewBase { base in
      _ = try await owner.log.putBase(base.epoch, Data("junk".utf8), replacing: base, keeping: 64)
    }
  }

  private func expectNewBase(after tampering: (LogBase) async throws -> Void) async throws {
    let (before, replica) = (try await owner.log.base(), owner.replica)
    try await owner.set("second")
    let following = Task { await replica.follow() }
    defer { following.cancel() }
    let base = try await nextBase(after: before)
    // What the host suspected when it started is settled.
    try await Task.sleep(for: .seconds(1))
    try await tampering(base)
    var new = try await nextBase(after: base)
    while new.link == .test(base.epoch) { new = try await nextBase(after: new) }
    let location = try ReplicaTests.place("third", in: daemon)
    let host = Host(try await SecretStore.open(at: location, credential: daemon.folder + "/web"), server, id)
    try await host.replica.catchUp()
    #expect(try await host.value() == "second")
  }

  // MARK: Hosts that are behind

  enum Overwriting: CaseIterable { case later, earlier, renumbered, unlinked }

  @Test(arguments: Overwriting.allCases)
  func `a host that is behind goes on from the complete file over an overwritten commit`(
    _ kind: Overwriting
  ) async throws {
    try await owner.set("zero")
    try await other.replica.catchUp()
    let first = try await newestCommit()
    for value in ["second", "third", "fourth"] { try await owner.set(value) }
    let head = try #require(try await owner.log.head())
    let commits = try await owner.log.commits(after: first.commit.epoch, limit: 9)
    let bytes =
      switch kind {
      case .later: commits[1].commit.bytes
      case .earlier: first.commit.bytes
      case .renumbered: altered(commits[1].commit.bytes, at: 48, to: bigEndian(commits[0].commit.epoch))
      case .unlinked: altered(commits[0].commit.bytes, at: 56, to: [UInt8](repeating: 3, count: 32))
      }
    _ = try await owner.log.replace(
      LoggedCommit(epoch: commits[0].commit.epoch, link: commits[0].commit.link, bytes: bytes),
      at: commits[0].revision, under: head)
    let found = await #expect(throws: VaultError.self) { try await other.replica.catchUp() }
    guard case .damaged("team", .commit, _) = found else {
      Issue.record("not the log's damage: \(found?.message ?? "")")
      return
    }
    #expect(try await owner.log.head() == head)
    // As soon as a host that has the head's state notices.
    owner.replica.suspect()
    _ = try await nextBase(after: owner.log.base())
    try await other.replica.catchUp()
    #expect(try await other.value() == "fourth")
  }

  @Test func `a host whose branch is the shorter one reports the fork`() async throws {
    let epoch = try await loseSecondChange()
    for value in ["another second", "another third"] { try await other.set(value) }
    let head = try #require(try await owner.log.head())
    for _ in 0..<2 {
      await #expect(throws: VaultError.rolledBack(group: "team", found: epoch + 1, known: epoch, reason: .fork)) {
        try await owner.replica.catchUp()
      }
      // Neither the other branch nor a complete file of it takes its place.
      other.replica.suspect()
      await other.replica.renewBaseIfDue()
    }
    #expect(try await owner.value() == "second")
    #expect(try await owner.log.head() == head)
  }

  // MARK: Logs that never come to an end

  /// Another way of a host to the log, and how long its callers wait.
  private func replica(of store: SecretStore, _ log: MemoryLog, patience: Duration) -> Replica {
    Replica(of: "team", id, in: store, log, RunningDaemon.logger, patience: patience)
  }

  @Test func `a head that is forged again and again ends a change with an error`() async throws {
    let (log, forger) = (MemoryLog(server), MemoryLog(server))
    // The limits of this and the next tests only end a hang.
    let end = ContinuousClock.now + .seconds(60)
    log.uponHead.withLock {
      $0 = {
        guard .now < end, let head = try await forger.head(), head.link != .test(9) else { return }
        _ = try? await forger.replaceHead(at: head.revision, with: head.epoch + 1, link: .test(9))
      }
    }
    let replica = replica(of: owner.store, log, patience: .seconds(6))
    owner.store.publish { _ in ReplicaPublisher { replica } }
    let found = await #expect(throws: VaultError.self) { try await owner.set("second") }
    guard case .unordered("team", .unreachable) = found else {
      Issue.record("another error: \(found?.message ?? "none")")
      return
    }
    #expect(try await owner.value() == "first")
    log.uponHead.withLock { $0 = nil }
    try await owner.set("after the forgeries")
    try await other.replica.catchUp()
    #expect(try await other.value() == "after the forgeries")
  }

  @Test func `nobody waits without end for a complete file that comes slowly`() async throws {
    let location = try ReplicaTests.place("third", in: daemon)
    let store = try await SecretStore.open(at: location, credential: daemon.folder + "/web")
    let delay = Task { try? await Task.sleep(for: .seconds(60)) }
    let log = MemoryLog(server)
    log.uponReading.withLock { $0 = { await delay.value } }
    let replica = replica(of: store, log, patience: .milliseconds(500))
    let error = VaultError.unordered(group: "team", .unreachable("the copy is still being brought up to date"))
    let first = Task { try await replica.catchUp(within: nil) }
    while log.readings.withLock({ $0 }) == 0 { try await Task.sleep(for: .milliseconds(5)) }
    for _ in 0..<2 { await #expect(throws: error) { try await replica.catchUp() } }
    delay.cancel()
    try await first.value
    #expect(try await Blocking.read { try store.copy(of: "team")?.state } == owner.replica.copy()?.state)
  }

  @Test func `nobody waits without end while the log gets a new complete file`() async throws {
    let delay = Task { try? await Task.sleep(for: .seconds(60)) }
    let log = MemoryLog(server)
    let replica = replica(of: owner.store, log, patience: .seconds(2))
    replica.renewal.withLock { $0.isSuspected = true }
    let isOver = Mutex(false)
    log.uponHead.withLock {
      $0 = { [weak replica] in
        guard replica?.renewal.withLock({ $0.isSuspected }) == false else { return }
        await delay.value
        isOver.withLock { $0 = true }
      }
    }
    // On a busy machine the time may be over before the copy is read.
    while replica.renewal.withLock({ $0.isSuspected }) { try? await replica.catchUp() }
    #expect(!isOver.withLock { $0 })
    delay.cancel()
  }

  // MARK: Sealing

  private func replication(of store: SecretStore, _ log: MemoryLog) throws -> Replication {
    let remote = try Remote("test", at: "etcd://127.0.0.1:1")
    let source = ReplicaSource(group: "team", id: id, store: store, remote: remote)
    return Replication({ [source] }, RunningDaemon.logger, log: { _, _ in log })
  }

  private var wasSealed: VaultError { .unordered(group: "team", .unreachable("vaultd was sealed")) }

  @Test func `a complete file that is fetched while the daemon is sealed is not taken`() async throws {
    let location = try ReplicaTests.place("third", in: daemon)
    let store = try await SecretStore.open(at: location, credential: daemon.folder + "/web")
    let log = MemoryLog(server)
    let replication = try replication(of: store, log)
    let isAsked = Mutex(false)
    log.uponReading.withLock {
      $0 = {
        while !isAsked.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
        replication.endAll()
      }
    }
    let replica = try #require(await replication.replica(of: "team"))
    isAsked.withLock { $0 = true }
    await #expect(throws: wasSealed) { try await replica.catchUp() }
    #expect(try await Blocking.read { try store.copy(of: "team") } == nil)
  }

  enum Begun: CaseIterable { case forgedHead, removedHead, change }

  @Test(arguments: Begun.allCases)
  func `what a daemon had begun when it was sealed changes nothing in the log`(_ begun: Begun) async throws {
    let log = MemoryLog(server)
    let replication = try replication(of: owner.store, log)
    let first = try #require(try await owner.log.head())
    switch begun {
    case .forgedHead: _ = try await owner.log.replaceHead(at: first.revision, with: first.epoch + 1, link: .test(9))
    case .removedHead: try owner.log.removeHead()
    case .change: break
    }
    let (head, base) = (try await owner.log.head(), try await owner.log.base())
    let asked = Mutex(0)
    let isSealed = Mutex(false)
    log.uponHead.withLock {
      $0 = {
        asked.withLock { $0 += 1 }
        while !isSealed.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
        replication.endAll()
      }
    }
    let replica = try #require(await replication.replica(of: "team"))
    let work = Task { [owner] in
      if begun == .change { try await owner.set("second") } else { try await replica.catchUp() }
    }
    // The daemon itself asks, too.
    while asked.withLock({ $0 }) < (begun == .change ? 2 : 1) { try await Task.sleep(for: .milliseconds(5)) }
    isSealed.withLock { $0 = true }
    await #expect(throws: wasSealed) { try await work.value }
    // Nor does what goes on by itself.
    replica.suspect()
    try await Task.sleep(for: .milliseconds(500))
    #expect(try await owner.log.head() == head)
    #expect(try await owner.log.base() == base)
    #expect(try await owner.value() == "first")
  }
}

extension Result<LogBase?, LogError> {
  fileprivate func isBad(_ bad: LogBase) -> Bool {
    guard case .success(let base) = self else { return true }
    return base == bad
  }
}
