import Foundation
import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct RotationTests {
  /// Items of every kind: with history, large, removed, destroyed, and many more than one leaf holds.
  private func group() throws -> GroupFixture {
    let group = try GroupFixture(keep: 3)
    try group.grant("com.example.api", .read)
    try group.grant("com.example.web", .write)
    try group.set(Dictionary(uniqueKeysWithValues: (0..<100).map { ("item/\($0)", "value \($0)") }))
    for value in ["a", "b", String(repeating: "large", count: 400), "d"] { try group.set(["history": value]) }
    try group.set(["large": String(repeating: "x", count: 5_000), "gone": "gone", "destroyed": "destroyed"])
    try group.open("com.example.web").set(["written": "by another"])
    let transaction = try group.open().beginWriting()
    try transaction.put(transaction.present("gone").attributes, nil)
    try transaction.destroy("destroyed")
    try transaction.commit()
    return group
  }

  /// Everything that a rotation must preserve, by name.
  private func content(of file: AccessGroupFile) throws -> [String: [String]] {
    let transaction = try file.beginReading()
    var content: [String: [String]] = [:]
    let rows = try RowWalk(transaction)
    while let row = try rows.next() {
      let name = try transaction.view.attributes(of: row).name
      content[name] = try transaction.history(name).map { item in
        let secret = item.isPresent ? try transaction.view.secret(of: item.row).text : "removed"
        let from = "\(item.attributes.writer) \(item.attributes.created) \(item.attributes.changed)"
        return "\(item.row.version) \(from) \(item.attributes.valueEpoch) \(secret)"
      }
    }
    return content
  }

  @Test func `a new key leaves every item as it was`() throws {
    let group = try group()
    let before = try content(of: group.open())
    #expect(before.count == 105 && before["history"]?.count == 3 && before["destroyed"]?.count == 1)
    let old = try group.open().beginReading().view.state
    let state = try group.change(RosterChange(rotates: true))
    #expect(state.roster.generation == 2 && state.roster.revision == old.roster.revision + 1)
    #expect(state.manifest.epoch == old.manifest.epoch + 1 && state.manifest.previousLink == old.link)
    #expect(try content(of: group.open()) == before)
    #expect(try content(of: group.open("com.example.api")) == before)
    #expect(try group.open().verify().items == 103)
    try group.open("com.example.web").set(["item/5": "new"])
    #expect(try group.value("item/5") == "new")
  }

  @Test func `a new key keeps hundreds of items, which are sealed on two threads, with their histories`() throws {
    let group = try GroupFixture(keep: 3)
    let names = (0..<400).map { "item/\($0)" }
    for round in 0..<2 {
      try group.set(
        Dictionary(uniqueKeysWithValues: names.filter { $0.count % 2 == round }.map { ($0, "first of \($0)") }))
    }
    try group.set(Dictionary(uniqueKeysWithValues: names.map { ($0, "second of \($0)") }))
    try group.set(["item/7": String(repeating: "large", count: 2_000)])
    let before = try content(of: group.open())
    try group.change(RosterChange(rotates: true))
    #expect(try content(of: group.open()) == before)
    #expect(try group.open().verify().versions == 401)
  }

  @Test func `a new key keeps rows that are too many to be sorted at once`() throws {
    let group = try GroupFixture(keep: 2)
    // 40 MiB of rows; the first run has 32 MiB.
    let long = String(repeating: "long ", count: 12_000)
    for value in ["first", "second"] {
      let transaction = try group.open().beginWriting()
      for number in 0..<350 {
        let attributes = Attributes(name: "item/\(number)", label: long, created: 1, changed: 1, valueKind: 2)
        let secret = try unsafe Array(value.utf8).withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
        try transaction.put(attributes, secret)
      }
      try transaction.commit()
    }
    let before = try content(of: group.open())
    try group.change(RosterChange(rotates: true))
    #expect(try content(of: group.open()) == before)
    #expect(try group.open().verify().versions == 350)
  }

  @Test func `a new key keeps histories of different lengths`() throws {
    let group = try GroupFixture(keep: 5)
    for round in 0..<5 {
      let numbers = (0..<300).filter { $0 % 5 >= round }
      try group.set(Dictionary(uniqueKeysWithValues: numbers.map { ("item/\($0)", "value \(round) of \($0)") }))
    }
    let before = try content(of: group.open())
    try group.change(RosterChange(rotates: true))
    #expect(try content(of: group.open()) == before)
    #expect(try group.open().verify().versions == 600)
  }

  @Test(arguments: [(0o700, 0o600, 0o600), (0o2750, 0o640, 0o600), (0o2770, 0o660, 0o660)])
  func `a new key leaves the modes of folder and files as they were`(folder: Int, file: Int, lock: Int) throws {
    let group = try group()
    let paths = ["", "/group.vault", "/group.vault-wal", "/group.vault-shm", "/lock"].map { group.folder + $0 }
    let modes = [folder, file, file, file, lock]
    for (path, mode) in zip(paths, modes) {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
    try group.change(RosterChange(rotates: true))
    #expect(try paths.map { try FileManager.default.attributesOfItem(atPath: $0)[.posixPermissions] as? Int } == modes)
    #expect(try group.open().verify().items == 103)
  }

  @Test func `the replaced files take the draft's place, and a taken path for kept files does not matter`() throws {
    let group = try group()
    let places = DraftPlaces(draft: group.folder + ".draft", kept: group.folder + ".kept")
    defer { for path in [places.draft, places.kept] { try? FileManager.default.removeItem(atPath: path) } }
    try FileManager.default.createDirectory(atPath: places.kept, withIntermediateDirectories: false)
    let old = try FileManager.default.attributesOfItem(atPath: group.folder + "/group.vault")[.systemFileNumber] as? Int
    try group.open().changeRoster(RosterChange(rotates: true), at: places, by: group.authority())
    let dropped = try FileManager.default.attributesOfItem(atPath: places.draft + "/group.vault")[.systemFileNumber]
    #expect(dropped as? Int == old)
    #expect(try FileManager.default.contentsOfDirectory(atPath: places.kept) == [])
    #expect(try group.open().verify().items == 103)
  }

  @Test func `a change that fails leaves no new file behind`() throws {
    let group = try group()
    try group.tamper { try $0.run("DELETE FROM node WHERE prefix = (SELECT max(prefix) FROM node)") }
    let places = DraftPlaces(draft: group.folder + ".draft", kept: group.folder + ".kept")
    defer { try? FileManager.default.removeItem(atPath: places.draft) }
    #expect(
      failure { try group.open().changeRoster(RosterChange(rotates: true), at: places, by: group.authority()) }?
        .isDamage == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: places.draft) == [])
    #expect(!FileManager.default.fileExists(atPath: places.kept))
    #expect(try openFiles(inside: places.draft) == [])
  }

  @Test func `nothing sealed under the new key opens with the old one`() throws {
    let group = try group()
    let old = try group.open().beginReading().view.state.keys
    try group.change(RosterChange(rotates: true))
    try group.peek { connection in
      let rows = try connection.currentRows()
      defer { rows.reset() }
      while try rows.step() {
        let row = try Row(rows)
        #expect(failure { try old.attributes(of: row) }?.isDamage == true)
        #expect((0..<100).allSatisfy { old.token(of: "item/\($0)") != row.token })
      }
      #expect(old.openMeta(try connection.part(.manifest), Label("vault1.meta.man")) == nil)
      #expect(old.openMeta(try connection.part(.roster), Label("vault1.meta.ros")) == nil)
    }
  }

  @Test func `a revoked member can open nothing written later and is noted in the roster`() throws {
    let group = try group()
    let epoch = try group.open().beginReading().view.state.manifest.epoch
    let state = try group.revoke("com.example.web")
    #expect(failure { try group.open("com.example.web").value("item/1") } == .denied(.notAMember))
    #expect(try group.open("com.example.api").value("item/1") == "value 1")
    #expect(
      state.roster.removed == [
        RemovedMember(issue: 1, application: "com.example.web", lastGeneration: 1, epoch: epoch + 1)
      ])
    #expect(try group.peek { try $0.wrapSlots() } == 2)
  }

  @Test func `a replaced credential is out, and the new one has its rights`() throws {
    let group = try group()
    let state = try group.grant("com.example.web", .write, issue: 2)
    #expect(state.roster.generation == 2 && state.roster.removed.map(\.issue) == [1])
    #expect(failure { try group.open("com.example.web").value("item/1") } == .denied(.notAMember))
    try group.open("com.example.web", issue: 2).set(["item/1": "new"])
    #expect(try group.value("item/1") == "new")
  }

  @Test func `items that are not proved are not sealed again`() throws {
    for damage: @Sendable (Connection) throws -> Void in [
      { try $0.run("UPDATE item SET nonce = randomblob(24) WHERE token = (SELECT max(token) FROM item)") },
      { try $0.run("UPDATE version SET previous = randomblob(32) WHERE version = 2") },
      { try $0.run("UPDATE blob SET bytes = zeroblob(length(bytes))") },
      { try $0.run("DELETE FROM blob WHERE token = (SELECT min(token) FROM blob)") },
      { try $0.run("DELETE FROM node WHERE prefix = (SELECT max(prefix) FROM node)") },
    ] {
      let group = try group()
      try group.tamper(damage)
      let before = try group.files()
      #expect(failure { try group.change(RosterChange(rotates: true)) }?.isDamage == true)
      #expect(failure { try group.revoke("com.example.web") }?.isDamage == true)
      #expect(try group.files().main == before.main)
    }
  }

  @Test func `a row that a reader forged is not signed by a rotation`() throws {
    let group = try TamperedGroup()
    let name = "item/5"
    let row = try group.row(name)
    let keys = try group.fixture.forge().keys
    let secret = try unsafe Array("forged".utf8).withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    let (forged, _) = try keys.sealedRow(
      Attributes(name: name, created: 1, changed: 1, valueKind: 2), secret, token: row.token, version: row.version,
      oldest: row.oldest, previous: row.previous)
    try group.fixture.tamper { try $0.replaceCurrent(forged) }
    #expect(failure { try group.fixture.value(name) }?.isDamage == true)
    try group.expectNothingSigned("rotate") { try group.fixture.change(RosterChange(rotates: true)) }
    try group.expectNothingSigned("set beside") { try group.fixture.set([group.sibling(of: name): "new"]) }
  }

  @Test func `a revoked writer's fork is refused however high its epoch`() throws {
    let group = try group()
    let copy = try group.files()
    let state = try group.open().beginReading().view.state
    try group.revoke("com.example.web")
    let after = group.witness.reading
    try group.replace(with: copy)
    // The revoked writer still has their own key, the group's old key and the old file.
    let seed = try group.seed("com.example.web")
    try GroupForge(group, from: state).storeManifest(by: seed) { $0.epoch = 1 << 40 }
    group.witness.reading = after
    let error = failure { try group.value("item/1") }
    guard case .rolledBack(_, _, _, .olderRoster) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(failure { try group.open("com.example.api", witness: MemoryWitness(after)).value("item/1") } == error)
    // A machine that has seen nothing relies on its credential's floor.
    var floor = try #require(group.witness.record)
    floor.rosterDigest = .zero
    #expect(failure { try group.open("com.example.api", floor: floor).value("item/1") } == error)
  }

  @Test func `a writer who uses up a roster's epochs can be revoked`() throws {
    let group = try group()
    let seed = try group.seed("com.example.web")
    let first = try group.open().beginReading().view.state.roster.firstEpoch
    let copy = try group.files()
    for (epoch, isTaken) in [(first + 1 << 40, true), (first + 1 << 40 + 1, false), (1 << 53 - 1, false)] {
      group.witness.reading = .absent
      try group.replace(with: copy)
      try group.forge().storeManifest(by: seed) { $0.epoch = epoch }
      #expect((failure { try group.value("item/1") } == nil) == isTaken, "\(epoch)")
    }
    try group.replace(with: copy)
    try group.forge().storeManifest(by: seed) { $0.epoch = first + 1 << 40 }
    group.witness.reading = .absent
    #expect(failure { try group.open("com.example.web").set(["item/1": "more"]) } == .tooManyStates)
    #expect(failure { _ = try group.open("com.example.web").compact() } == .tooManyStates)
    try group.revoke("com.example.web")
    try group.set(["item/1": "owner's"])
    #expect(try group.value("item/1") == "owner's")
  }

  @Test func `whoever unlocks the items cannot use up a roster's epochs, so the owner can still change members`() throws
  {
    let group = try group()
    let first = try group.open().beginReading().view.state.roster.firstEpoch
    let copy = try group.files()
    for epoch: UInt64 in [first + 1 << 40 + 1, 1 << 53 - 1] {
      try group.forge().storeManifest { $0.epoch = epoch }
      #expect(failure { try group.value("item/1") }?.isDamage == true, "\(epoch)")
      try group.replace(with: copy)
    }
    try group.forge().storeManifest { $0.epoch = first + 1 << 40 }
    group.witness.reading = .absent
    #expect(failure { try group.set(["item/1": "more"]) } == .tooManyStates)
    try group.revoke("com.example.web")
    try group.set(["item/1": "owner's"])
    #expect(try group.value("item/1") == "owner's")
  }

  @Test func `a value that claims a later epoch is still listed as exposed`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.web", .write)
    try group.set(["a": "a"])
    let keys = try group.forge().keys
    let row = try group.open().beginReading().storedRow("a")!
    let (forged, _) = try keys.sealedRow(
      Attributes(name: "a", created: 1, changed: 1, valueKind: 2, valueEpoch: 1 << 50),
      try group.open().beginReading().view.secret(of: row), token: row.token, version: row.version, oldest: row.oldest,
      previous: row.previous)
    var tree = TreeBuilder()
    try tree.append(TreeEntry(token: forged.token, digest: forged.digest))
    var root = Digest.zero
    try group.tamper { connection in
      try connection.replaceCurrent(forged)
      root = try tree.finish { (place, body) throws(VaultError) in try connection.storeNode(body, at: place) }
    }
    try group.forge().storeManifest(by: group.seed("com.example.web")) { $0.root = root }
    try group.revoke("com.example.web")
    #expect(try group.open().exposures().map(\.item.attributes.name) == ["a"])
  }

  @Test func `a change that is no longer wanted when its turn comes is not made`() throws {
    let group = try group()
    var change = RosterChange(rotates: true)
    change.isStillWanted = { false }
    #expect(failure { try group.change(change) } == .contradiction(.superseded))
    #expect(try group.open().beginReading().view.state.roster.generation == 1)
  }

  @Test func `a new roster's numbers are above the requested ones`() throws {
    let group = try group()
    let above = RosterChange.Numbers(revision: 1_000, generation: 2_000, epoch: 3_000)
    let state = try group.change(RosterChange(rotates: true, above: above))
    #expect(state.roster.revision == 1_001 && state.roster.generation == 2_001 && state.manifest.epoch == 3_001)
    #expect(try group.open().verify().epoch == 3_001)
    #expect(try group.value("item/1") == "value 1")
  }

  @Test func `a rotation reports its progress`() throws {
    let group = try GroupFixture()
    try group.set(Dictionary(uniqueKeysWithValues: (0..<2_100).map { ("item/\($0)", "") }))
    var steps: [String] = []
    try group.open().changeRoster(RosterChange(rotates: true), by: group.authority()) { steps.append("\($0)") }
    #expect(steps == ["sealed(1024)", "sealed(2048)", "written(1024)", "written(2048)"])
  }
}

extension Connection {
  /// The number of wraps.
  fileprivate func wrapSlots() throws -> Int {
    let statement = try statement("SELECT slot FROM wrap")
    defer { statement.reset() }
    var count = 0
    while try statement.step() { count += 1 }
    return count
  }
}
