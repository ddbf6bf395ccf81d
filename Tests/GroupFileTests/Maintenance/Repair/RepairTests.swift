import Foundation
import Glibc
import Sealing
import Testing

@testable import GroupFile

@Suite struct RepairTests {
  @Test func `repairing an undamaged group changes nothing`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let before = try fixture.group.files()
    #expect(try fixture.repair() == nil)
    let after = try fixture.group.files()
    #expect(before.main == after.main && before.log == after.log)
    #expect(!FileManager.default.fileExists(atPath: fixture.aside))
  }

  @Test func `an item that is dropped is not listed as one that could not be proved`() throws {
    for dropped in 0..<4 {
      let group = try GroupFixture()
      let names = (0..<4).map { "item \($0)" }
      try group.set(Dictionary(uniqueKeysWithValues: names.map { ($0, "value") }))
      let keys = try group.open().beginReading().state.keys
      // In the order of their tokens, of which one is above all others.
      let tokens = names.map(keys.token).sorted()
      let places = DraftPlaces(draft: group.folder + ".draft", kept: group.folder + ".kept")
      defer {
        group.removeDrafts()
        try? FileManager.default.removeItem(atPath: places.kept)
      }
      let changed = try group.open().changeRoster(
        RosterChange(rotates: true, drops: [tokens[dropped]]), salvagingAt: places, by: group.authority())
      #expect(changed.left.unsigned == 0 && changed.left.unsignedNames.isEmpty)
      #expect(try group.open().beginReading().state.manifest.itemCount == 3)
    }
  }

  @Test func `a file with a page of zeros keeps everything that lies on other pages`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let files = try fixture.group.files()
    let witness = fixture.group.witness.reading
    var repaired = 0
    for page in 0..<files.main.count / 4_096 {
      try fixture.group.replace(with: files)
      fixture.group.witness.reading = witness
      let onPage = try fixture.items(on: page, of: files)
      var damaged = files
      damaged.main.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: [UInt8](repeating: 0, count: 4_096))
      try fixture.group.replace(with: damaged)
      do {
        guard let group = try fixture.repair() else {
          // An unused page.
          #expect(try fixture.missing().isEmpty, "page \(page)")
          continue
        }
        repaired += 1
        let missing = try fixture.missing()
        #expect(missing == onPage.subtracting(["item/1"]), "page \(page)")
        #expect(group.kept + group.lost == 63, "page \(page)")
        #expect(group.lost == UInt64(onPage.count), "page \(page)")
        #expect(group.unproved.allSatisfy { onPage.contains($0.name) }, "page \(page)")
        #expect(try GroupFiles(in: fixture.aside).main == damaged.main, "page \(page)")
      } catch let error as VaultError {
        // Only the pages with the signed state and the owner's wrap are indispensable.
        #expect(error.isDamage, "page \(page): \(error)")
        let after = try fixture.group.files()
        #expect(after.main == damaged.main, "page \(page)")
        let parts = try fixture.parts(on: page, of: files)
        #expect(parts, "page \(page): \(error)")
      }
    }
    #expect(repaired > 10)
  }

  @Test(arguments: [nil, 0]) func `a repair says whether the witness could follow`(writes: Int?) throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    try fixture.group.tamper { try $0.run("DELETE FROM node") }
    fixture.group.witness.limit(writes: writes)
    #expect(try #require(try fixture.repair()).isUnwitnessed == (writes == 0))
  }

  @Test func `a truncated file keeps what is left in it`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let files = try fixture.group.files()
    let witness = fixture.group.witness.reading
    let pages = files.main.count / 4_096
    for cut in [pages - 1, pages - 3, pages / 2] {
      var damaged = files
      damaged.main = Array(files.main.prefix(cut * 4_096 + 17))
      try fixture.group.replace(with: damaged)
      fixture.group.witness.reading = witness
      guard let group = try? fixture.repair() else { continue }
      let missing = try fixture.missing()
      #expect(group.kept + group.lost == 63)
      #expect(missing.count <= Int(group.lost), "cut at page \(cut)")
    }
    try fixture.group.replace(with: files)
    fixture.group.witness.reading = witness
    #expect(try fixture.missing().isEmpty)
  }

  @Test func `changes in the log are repaired with the rest`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    try fixture.group.set(["item/2": "newest", "new": "item"])
    var files = try fixture.group.files()
    #expect(files.log.count > 4_096)
    files.main.replaceSubrange(..<4_096, with: [UInt8](repeating: 0, count: 4_096))
    try fixture.group.replace(with: files)
    let group = try #require(try fixture.repair())
    #expect(group.lost == 0)
    #expect(try fixture.value("item/2") == "newest")
    #expect(try fixture.value("new") == "item")
  }

  @Test func `missing nodes are rebuilt, whether one or all are gone`() throws {
    for statement: StaticString in [
      "DELETE FROM node", "DELETE FROM node WHERE length(body) % 16 = 2",
      "DELETE FROM node WHERE length(body) % 16 = 0",
      "UPDATE node SET body=zeroblob(48)",
    ] {
      let fixture = try RepairFixture()
      defer { fixture.end() }
      try fixture.group.tamper { try $0.run(statement) }
      let group = try #require(try fixture.repair())
      #expect(group.lost == 0 && group.unproved.isEmpty && group.lostVersions == 0)
      #expect(try fixture.missing().isEmpty)
    }
  }

  @Test func `a lost item is named if an older version is left, and only counted otherwise`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let keys = try fixture.group.forge().keys
    try fixture.group.tamper { connection in
      for name in ["item/0", "item/7"] {
        try connection.run("DELETE FROM item WHERE token=?", keys.token(of: name).bytes)
      }
    }
    let group = try #require(try fixture.repair())
    #expect(group.kept == 61 && group.lost == 2)
    #expect(group.lostNames == ["item/0"])
    // The version before the lost one opens, but nothing proves that it was the last one.
    #expect(
      group.unproved == [
        UnprovedItem(name: "item/0", version: 2, changed: Timestamp(milliseconds: 1_000), isKept: false)
      ])
    #expect(try fixture.missing() == ["item/0", "item/7"])
  }

  @Test func `an item whose large value is gone is lost and named`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let token = try fixture.group.forge().keys.token(of: "large/1")
    try fixture.group.tamper { try $0.run("DELETE FROM blob WHERE token=?", token.bytes) }
    let group = try #require(try fixture.repair())
    #expect(group.lostNames == ["large/1"])
    #expect(try fixture.missing() == ["large/1"])
  }

  @Test func `a history with a gap keeps the versions above the gap`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let token = try fixture.group.forge().keys.token(of: "item/0")
    try fixture.group.tamper { try $0.run("DELETE FROM version WHERE token=? AND version=1", token.bytes) }
    let group = try #require(try fixture.repair())
    #expect(group.lost == 0 && group.lostVersions == 1)
    #expect(try fixture.missing().isEmpty)
    let versions = try fixture.group.open().beginReading().history("item/0").map(\.row.version)
    #expect(versions == [3, 2])
  }

  @Test func `a lost chain only means that machines that lag behind must accept the state`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let upToDate = MemoryWitness(fixture.group.witness.reading)
    try fixture.group.set(["item/2": "x"])
    let newest = MemoryWitness(fixture.group.witness.reading)
    try fixture.group.tamper { try $0.run("DELETE FROM chain WHERE epoch=2") }
    let group = try #require(try fixture.repair())
    #expect(group.losesChain && group.lost == 0)
    #expect(try fixture.group.open().verify().epoch == group.epoch)
    #expect(try fixture.group.open(newest).value("item/2") == "x")
    let error = failure { try fixture.group.open(upToDate).value("item/2") }
    #expect(error == .rolledBack(found: 7, known: 5, reason: .fork))
  }

  @Test func `a member's damaged wrap is rebuilt and opens the group again`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let member = MemberSeed(try Key.random())
    try fixture.group.forge().addMember(member, .write)
    let slot = member.slotID(group: fixture.group.groupID, generation: 1)
    try fixture.group.tamper { try $0.run("UPDATE wrap SET sealed=zeroblob(73) WHERE slot=?", slot) }
    #expect(failure { try fixture.group.open(as: member).value("item/2") }?.isDamage == true)
    let group = try #require(try fixture.repair(members: ["com.example.notes": member]))
    #expect(group.lost == 0)
    #expect(try fixture.group.open(as: member, witness: MemoryWitness()).value("item/2") == "value of 2")
    #expect(try fixture.group.open().beginReading().view.state.roster.revision == 3)
  }

  @Test(
    arguments: [
      ("UPDATE state SET bytes=zeroblob(length(bytes)) WHERE part=2" as StaticString),
      "UPDATE state SET bytes=zeroblob(length(bytes)) WHERE part=3", "DELETE FROM wrap", "DELETE FROM state",
      "UPDATE wrap SET sealed=zeroblob(73)",
    ].map(RowTamperingTests.Change.init))
  func `a group without a signed state is not changed by a repair`(_ change: RowTamperingTests.Change) throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    try fixture.group.tamper { try $0.run(change.sql) }
    let before = try fixture.group.files()
    #expect(failure { try fixture.repair() }?.isDamage == true)
    let after = try fixture.group.files()
    #expect(before.main == after.main && before.log == after.log)
    #expect(!FileManager.default.fileExists(atPath: fixture.aside))
  }

  @Test(
    arguments: [
      ("DELETE FROM state WHERE part=1" as StaticString), "UPDATE state SET bytes=zeroblob(60) WHERE part=1",
      "UPDATE state SET bytes=x'00' WHERE part=1",
    ].map(RowTamperingTests.Change.init))
  func `a missing header is rebuilt from what this machine has seen`(_ change: RowTamperingTests.Change) throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    try fixture.group.tamper { try $0.run(change.sql) }
    #expect(try fixture.repair()?.lost == 0)
    #expect(try fixture.missing().isEmpty)
  }

  @Test func `a signed number of items that no file can hold does not count as lost items`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let forge = try fixture.group.forge()
    let token = forge.keys.token(of: "item/7")
    try forge.storeManifest {
      $0.itemCount = 1 << 53 - 1
      $0.versionRowCount = 1 << 53 - 1
    }
    try fixture.group.tamper { try $0.run("DELETE FROM item WHERE token=?", token.bytes) }
    let group = try #require(try fixture.repair())
    #expect(group.lost == 1 && group.lostVersions == 0)
    #expect(try fixture.missing() == ["item/7"])
  }

  @Test func `the number of items lost below a missing node comes from the manifest if it is plausible`() throws {
    for (signed, lost) in [(UInt64(63), UInt64(62)), (1 << 53 - 1, 1)] {
      let fixture = try RepairFixture()
      defer { fixture.end() }
      try fixture.group.forge().storeManifest { $0.itemCount = signed }
      try fixture.group.tamper { connection in
        try connection.run("DELETE FROM node")
        try connection.run("DELETE FROM version")
        try connection.run("DELETE FROM item WHERE token<>(SELECT min(token) FROM item)")
      }
      let group = try #require(try fixture.repair())
      #expect(group.lost >= lost && group.lost <= signed && group.lost < 100, "\(group.lost)")
    }
  }

  @Test func `the number of lost versions never exceeds the number that a group keeps`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    try fixture.group.storeRow("item/7", version: 1 << 52, oldest: 1)
    let group = try #require(try fixture.repair())
    #expect(group.lost == 0 && group.lostVersions == 999)
    #expect(try fixture.value("item/7") == "forged")
  }

  @Test func `damage does not make an older state acceptable to a repair`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let older = try fixture.group.files()
    try fixture.group.set(["item/2": "newer"])
    try fixture.group.replace(with: older)
    try fixture.group.tamper { try $0.run("DELETE FROM node") }
    #expect(failure { try fixture.repair() } == .rolledBack(found: 5, known: 6, reason: .olderState))
  }

  @Test func `a file that is not a database has no signed state`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    for bytes in [[], [UInt8](repeating: 0x61, count: 20_000), Array("SQLite format 3\0".utf8)] {
      var files = try fixture.group.files()
      files.main = bytes
      files.log = []
      try fixture.group.replace(with: files)
      #expect(failure { try fixture.repair() }?.isDamage == true)
      #expect(try fixture.group.files().main == bytes)
    }
  }

  /// A user who may write the folder puts the newest state into the file, but not all of its rows.
  @Test(arguments: [false, true]) func `a repair keeps what is in a shared group's log alone`(isLinked: Bool) throws {
    var repaired = 0
    for skipped in 0... {
      let fixture = try RepairFixture()
      defer { fixture.end() }
      let group = fixture.group
      let unixGroup = UnixGroup(number: geteuid() == 0 ? 65_533 : getegid())
      try group.share(.shared(unixGroup))
      let newer = Dictionary(uniqueKeysWithValues: (0..<60).map { ("newer/\($0)", "value of \($0)") })
      try group.set(newer)
      ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
      let pages = try group.pagesInLog()
      guard skipped < pages.count else { break }
      let main = try #require(FileHandle(forUpdatingAtPath: group.folder + "/group.vault"))
      for (number, bytes) in pages where number != pages.keys.sorted()[skipped] {
        try main.seek(toOffset: UInt64(number - 1) * 4_096)
        try main.write(contentsOf: bytes)
      }
      let path = group.folder + "/group.vault-wal"
      let log = try #require(FileHandle(forUpdatingAtPath: path))
      try log.seek(toOffset: 25)
      let byte = try #require(try log.read(upToCount: 1)?.first)
      try log.seek(toOffset: 25)
      try log.write(contentsOf: [byte ^ 1])
      if isLinked { try #require(unsafe link(path, group.folder + "/another") == 0) }
      // Without the page of the state, the file has an older one, which is refused.
      guard let repair = try? fixture.repair() else { continue }
      #expect(repair.lost == 0)
      #expect(try newer.allSatisfy { try fixture.value($0.key) == $0.value }, "page \(skipped) of \(pages.count)")
      repaired += 1
    }
    #expect(repaired > 3)
  }

  @Test func `with an invalid witness nothing is repaired`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    try fixture.group.tamper { try $0.run("DELETE FROM node") }
    let before = try fixture.group.files()
    let error = failure { try fixture.repair(witness: MemoryWitness(.invalid)) }
    #expect(error == .damaged(.witness, "neither record is valid"))
    let after = try fixture.group.files()
    #expect(before.main == after.main && before.log == after.log)
    #expect(!FileManager.default.fileExists(atPath: fixture.aside))
  }
}

extension GroupFixture {
  /// The newest bytes of each page in the log, by its number, which begins with 1.
  fileprivate func pagesInLog() throws -> [Int: Data] {
    let log = try Data(contentsOf: URL(fileURLWithPath: folder + "/group.vault-wal"))
    var pages: [Int: Data] = [:]
    for start in stride(from: 32, to: log.count - 4_119, by: 4_120)
    where log[start + 8..<start + 16] == log[16..<24] {
      pages[log[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }] = log[start + 24..<start + 4_120]
    }
    return pages
  }
}

extension RepairFixture {
  /// Whether the page holds a part of the state or the owner's wrap.
  fileprivate func parts(on page: Int, of files: GroupFiles) throws -> Bool {
    let path = group.folder + ".pages"
    func found(_ bytes: [UInt8]) throws -> Int {
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      defer { try? FileManager.default.removeItem(atPath: path) }
      let index = try SalvageIndex(of: path, StoredParts()) { _, _ in }
      return index.parts.count + index.foundWraps.count
    }
    var damaged = files.main
    damaged.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: [UInt8](repeating: 0, count: 4_096))
    return try found(damaged) < found(files.main)
  }
}
