import Foundation
import Sealing
import Testing

@testable import GroupFile

@Suite struct PublishedGroupTests {
  /// A published group with some items, its log, and its first host.
  func published() throws -> (GroupFixture, MemoryLog, TestHost) {
    let group = try GroupFixture(keep: 3)
    try group.grant("com.example.web", .write)
    try group.grant("com.example.api", .read)
    try group.set(Dictionary(uniqueKeysWithValues: (0..<80).map { ("item/\($0)", "value \($0)") }))
    let log = MemoryLog()
    let host = try TestHost(origin: group, log)
    try host.group.changeRoster(publishing(true), by: group.authority())
    return (group, log, host)
  }

  private func publishing(_ isWanted: Bool) -> RosterChange {
    var change = RosterChange()
    change.publishes = isWanted
    return change
  }

  @Test func `one host reads what another one has set, after catching up`() throws {
    let (group, log, first) = try published()
    let second = try TestHost(group, log, application: "com.example.api")
    try second.catchUp()
    #expect(try second.group.value("item/7") == "value 7")
    try first.group.set(["item/7": "new", "fresh": String(repeating: "large", count: 1_000)])
    #expect(try second.group.value("item/7") == "value 7")
    try second.catchUp()
    #expect(try second.group.value("item/7") == "new")
    #expect(try second.group.value("fresh").count == 5_000)
    #expect(try second.group.verify().items == 81)
    #expect(second.witness.record?.link == first.witness.record?.link)
  }

  /// Between the last look at the old file and the exchange, a published group gets its new file into the log.
  @Test(arguments: [false, true]) func `what somebody does to the files before a new key is in place is kept aside`(
    _ isTouched: Bool
  ) throws {
    let (group, _, host) = try published()
    try group.share(.shared(UnixGroup(number: getegid())))
    try host.group.set(["item/1": "in the log"])
    let log = group.folder + "/group.vault-wal"
    host.onFile.withLock { $0 = { if isTouched { unsafe truncate(log, 32) } } }
    let places = DraftPlaces(draft: group.folder + ".draft", kept: group.folder + ".kept")
    let left = places.kept + DraftPlaces.lockedMark
    defer { for path in [places.draft, left] { try? FileManager.default.removeItem(atPath: path) } }
    try host.group.changeRoster(RosterChange(rotates: true), at: places, by: group.authority())
    #expect(FileManager.default.fileExists(atPath: left) == isTouched)
    #expect(try host.group.value("item/1") == "in the log")
  }

  @Test func `every kind of change arrives as it was made`() throws {
    let (group, log, first) = try published()
    let second = try TestHost(group, log)
    try second.catchUp()
    for round in 0..<5 { try first.group.set(["item/1": "round \(round)"]) }
    let transaction = try first.group.beginWriting()
    try transaction.put("item/2", "first of the transaction")
    try transaction.put("item/2", "second of the transaction")
    try transaction.put(transaction.present("item/3").attributes, nil)
    try transaction.destroy("item/4")
    for index in 0..<300 { try transaction.put("bulk/\(index)", "bulk \(index)") }
    try transaction.commit()
    try second.catchUp()
    let (mine, theirs) = (try first.group.beginReading().view.state, try second.group.beginReading().view.state)
    #expect(mine.link == theirs.link && mine.manifest == theirs.manifest)
    #expect(try second.group.verify().items == first.group.verify().items)
    #expect(try second.group.beginReading().history("item/1").count == 3)
    #expect(try second.group.value("item/2") == "second of the transaction")
    #expect(throws: VaultError.notFound(.item)) { try second.group.value("item/3") }
  }

  @Test func `two hosts write in turn, each after what the other one wrote`() throws {
    let (group, log, first) = try published()
    let second = try TestHost(group, log, application: "com.example.web")
    try second.catchUp()
    try second.group.set(["from": "the second"])
    #expect(throws: VaultError.unordered(.overtaken)) { try first.group.set(["from": "the first, too early"]) }
    #expect(throws: VaultError.notFound(.item)) { try first.group.value("from") }
    try first.catchUp()
    try first.group.set(["from": "the first"])
    try second.catchUp()
    #expect(try second.group.value("from") == "the first")
    #expect(try second.group.beginReading().history("from").count == 2)
  }

  @Test func `a change that the log does not take leaves the file as it was`() throws {
    let (group, log, first) = try published()
    log.fail(with: .unreachable)
    #expect(throws: VaultError.unordered(.unreachable("a test"))) { try first.group.set(["item/1": "lost"]) }
    #expect(try first.group.value("item/1") == "value 1")
    for fault in [MemoryLog.Fault.lostAnswer, .lostRequest] {
      log.fail(with: fault)
      try first.group.set(["item/1": "made, as it turns out"])
      #expect(try first.group.value("item/1") == "made, as it turns out")
    }
    #expect(try first.group.beginReading().history("item/1").count == 3)
    #expect(log.content.withLock { $0.commits.count } == 2)
    _ = group
  }

  @Test func `a published group cannot be written without a publisher`() throws {
    let (group, _, _) = try published()
    #expect(throws: VaultError.unordered(.notHere)) { try group.set(["item/1": "past the log"]) }
    #expect(throws: VaultError.contradiction(.notByLog)) { try group.open().compact() }
    #expect(throws: VaultError.unordered(.notHere)) { try group.change(RosterChange(rotates: true)) }
    #expect(try group.value("item/1") == "value 1")
  }

  @Test func `members are added and removed on all hosts, and a removed one reads nothing new`() throws {
    let (group, log, first) = try published()
    let second = try TestHost(group, log, application: "com.example.web")
    let third = try TestHost(group, log, application: "com.example.other")
    try second.catchUp()
    #expect(throws: VaultError.denied(.notAMember)) { try third.catchUp() }
    let grant = RosterChange(grants: [.init(application: "com.example.other", issue: 1, rights: .read)])
    try first.group.changeRoster(grant, by: group.authority())
    try first.group.set(["item/1": "for three"])
    try second.catchUp()
    // The base names no such member, so a new one takes part from the next file on.
    try first.group.changeRoster(RosterChange { $0.application == "com.example.web" }, by: group.authority())
    try third.catchUp()
    #expect(try third.group.value("item/1") == "for three")
    #expect(throws: VaultError.denied(.notAMember)) { try second.catchUp() }
    try first.group.set(["item/1": "for two"])
    try third.catchUp()
    #expect(try third.group.value("item/1") == "for two")
    #expect(try second.group.value("item/1") == "for three")
  }

  @Test func `after its last commit a group can be written without the log again`() throws {
    let (group, log, first) = try published()
    let second = try TestHost(group, log)
    try second.catchUp()
    try first.group.changeRoster(publishing(false), by: group.authority())
    try group.set(["item/1": "without the log"])
    #expect(throws: VaultError.unordered(.notHere)) {
      try AccessGroupFile(
        folder: second.folder, context: second.group.context, witness: second.witness, now: { 1 }
      ).set(["item/1": "too early"])
    }
    try second.catchUp()
    #expect(try second.group.beginReading().view.state.isPublished == false)
  }

  @Test func `commits that do not follow are refused, and change nothing`() throws {
    let (group, log, first) = try published()
    let second = try TestHost(group, log)
    try second.catchUp()
    try first.group.set(["item/1": "one"])
    try first.group.set(["item/1": "two"])
    let commits = try log.content.withLock { $0.commits }.map { try GroupCommit(parsing: $0) }
    #expect(throws: VaultError.unordered(.overtaken)) { try second.group.apply(commits[1]) }
    #expect(try second.group.apply(commits[0]) && second.group.apply(commits[1]))
    #expect(try !second.group.apply(commits[0]) && !second.group.apply(commits[1]))
    #expect(try second.group.value("item/1") == "two")
  }

  @Test func `an older file of the log does not replace a newer one`() throws {
    let (group, log, first) = try published()
    let base = log.content.withLock { $0.base!.bytes }
    try first.group.set(["item/1": "newer"])
    #expect(try !first.adopt(base))
    #expect(try first.group.value("item/1") == "newer")
    let stranger = try GroupFixture(owner: group.owner.copy(), seed: group.seed)
    let another = FileManager.default.contents(atPath: stranger.folder + "/group.vault")!
    #expect(throws: VaultError.anotherGroup("")) { try first.adopt(another) }
    #expect(try first.group.value("item/1") == "newer")
  }

  @Test func `no altered bit of a commit is accepted`() throws {
    let (group, log, first) = try published()
    let second = try TestHost(group, log)
    try second.catchUp()
    try first.group.set(["item/1": "one", "large": String(repeating: "x", count: 700)])
    let bytes = log.content.withLock { $0.commits[0] }
    let before = try second.group.beginReading().view.state.link
    for place in stride(from: 0, to: bytes.count, by: 5) {
      var altered = bytes
      altered[place] ^= 1 << UInt8(place % 8)
      #expect(throws: VaultError.self) { try second.group.apply(GroupCommit(parsing: altered)) }
      // As a forger would do it, who can make the last hash again.
      altered.replaceSubrange((bytes.count - 32)..., with: GroupCommit.checksum(of: altered.dropLast(32)).bytes)
      guard place < bytes.count - 32 else { continue }
      #expect(throws: VaultError.self) { try second.group.apply(GroupCommit(parsing: altered)) }
    }
    for count in stride(from: 0, to: bytes.count, by: 7) {
      #expect(throws: VaultError.self) { try GroupCommit(parsing: Array(bytes.prefix(count))) }
    }
    #expect(try second.group.beginReading().view.state.link == before)
    #expect(try second.group.apply(GroupCommit(parsing: bytes)))
  }

  @Test func `a log shows no name and no value`() throws {
    let (group, log, first) = try published()
    try first.group.set(["fresh name": "short value", "another": String(repeating: "large value", count: 1_000)])
    let content = log.content.withLock { $0 }
    let base = try #require(content.base)
    for bytes in [Data(base.bytes)] + content.commits.map({ Data($0) }) {
      for text in ["item/7", "value 7", "fresh name", "another", "short value", "large value", "com.example"] {
        #expect(bytes.range(of: Data(text.utf8)) == nil)
      }
    }
    #expect(try group.value("fresh name") == "short value")
  }

  @Test func `a commit without the signature of a writer is not confirmed for the log`() throws {
    let (group, log, first) = try published()
    let second = try TestHost(group, log)
    try second.catchUp()
    try first.group.set(["item/1": "one"])
    try first.group.set(["item/1": "two"])
    let commits = log.content.withLock { $0.commits }
    var altered = commits[0]
    altered[220] ^= 1
    altered.replaceSubrange((altered.count - 32)..., with: GroupCommit.checksum(of: altered.dropLast(32)).bytes)
    #expect(throws: VaultError.self) { try second.group.confirm(GroupCommit(parsing: altered)) }
    #expect(throws: VaultError.unordered(.overtaken)) { try second.group.confirm(GroupCommit(parsing: commits[1])) }
    try second.group.confirm(GroupCommit(parsing: commits[0]))
    #expect(try second.group.value("item/1") == "value 1")
  }

  @Test func `a commit of more than 64 MiB, or with more wraps than a group has members, is refused`() throws {
    func parsed(_ roster: GroupCommit.RosterPart? = nil, _ rows: [GroupCommit.SealedRow] = []) throws -> GroupCommit {
      try GroupCommit(
        parsing: GroupCommit(
          groupID: .zero, epoch: 2, previousLink: .zero, link: .zero, manifest: [], roster: roster, rows: rows
        ).serialized())
    }
    let blob = [UInt8](repeating: 7, count: 1 << 20)
    let refused = VaultError.damaged(.commit, "layout")
    let row = GroupCommit.SealedRow(row: [1], blob: blob)
    let count = try parsed(nil, Array(repeating: row, count: 63)).rows.count
    #expect(count == 63)
    #expect(throws: refused) { _ = try parsed(nil, Array(repeating: row, count: 64)) }
    func roster(_ count: Int) -> GroupCommit.RosterPart {
      GroupCommit.RosterPart(header: [], roster: [], wraps: Array(repeating: [], count: count))
    }
    _ = try parsed(roster(GroupLimits.memberCount))
    #expect(throws: refused) { _ = try parsed(roster(GroupLimits.memberCount + 1)) }
    // A writer ends before that, so that the roster has room, too.
    var draft = GroupCommit.Draft()
    let sealed = try GroupFixture().forge().row("name")
    for _ in 0..<61 { try draft.add(sealed, blob) }
    #expect(throws: VaultError.overLimit("64 MiB in one change of a published group")) { try draft.add(sealed, blob) }
  }
}
