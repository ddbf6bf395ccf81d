import Foundation
import Glibc
import Sealing
import Testing

@testable import GroupFile

/// The owner can always remove a member again, whatever that member or others write into the file. A change of the roster needs only
/// the owner's keys and what the last signed root proves.
@Suite struct RevocationTests {
  static let thief = "com.example.web"

  /// Items of every kind, a writer who is about to be revoked, and a reader.
  static func group() throws -> GroupFixture {
    let group = try GroupFixture(keep: 3)
    try group.grant("com.example.api", .read)
    try group.grant(thief, .write)
    try group.set(Dictionary(uniqueKeysWithValues: (0..<50).map { ("item/\($0)", "value \($0)") }))
    for value in ["a", "b", String(repeating: "large", count: 400), "d"] { try group.set(["history": value]) }
    try group.set(["large": String(repeating: "x", count: 5_000)])
    return group
  }

  /// The other members can read and write while the thief is a member.
  private func expectOthersGoOn(_ group: GroupFixture) throws {
    #expect(try group.open("com.example.api").value("item/1") == "value 1")
    try group.open(RevocationTests.thief).set(["by the thief": "1"])
  }

  /// Revokes the thief and checks that they are out and that everything else is unchanged.
  private func expectRevoked(
    _ group: GroupFixture, droppingUnproved: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> (state: VerifiedState, left: GroupRepair) {
    let outcome = try group.forceRevocation(of: RevocationTests.thief, droppingUnproved: droppingUnproved)
    #expect(
      failure { try group.open(RevocationTests.thief).value("item/1") } == .denied(.notAMember),
      sourceLocation: sourceLocation)
    #expect(try group.open("com.example.api").value("item/1") == "value 1", sourceLocation: sourceLocation)
    #expect(try group.open().beginReading().history("history").count == 3, sourceLocation: sourceLocation)
    #expect(try group.value("large").utf8.count == 5_000, sourceLocation: sourceLocation)
    _ = try group.open().verify()
    try group.set(["item/1": "new"])
    return outcome
  }

  @Test(
    arguments: ["group.vault-wal", "group.vault-shm", "lock"],
    [S_IFIFO, S_IFDIR, S_IFLNK])
  func `what is no file in the place of log, index or lock does not block a revocation`(
    _ name: String, _ kind: mode_t
  ) throws {
    let group = try RevocationTests.group()
    try group.checkpoint()
    _ = try group.files()
    let path = group.folder + "/" + name
    unsafe unlink(path)
    switch kind {
    case S_IFIFO: #expect(unsafe mkfifo(path, 0o600) == 0)
    case S_IFDIR: #expect(unsafe mkdir(path, 0o700) == 0)
    default: #expect(unsafe symlink("/dev/null", path) == 0)
    }
    _ = try expectRevoked(group)
  }

  @Test func `an unsigned row with an unknown tag does not block a revocation`() throws {
    let group = try RevocationTests.group()
    let row = try group.forge().row("planted", attributes: { $0 + [11, 1, 1] })
    try group.tamper { try $0.insertCurrent(row) }
    try expectOthersGoOn(group)
    let outcome = try expectRevoked(group)
    #expect(outcome.left.unsigned == 1 && outcome.left.lost == 0)
  }

  @Test func `a signed row with an unknown tag does not block a revocation if the owner drops it`() throws {
    let group = try RevocationTests.group()
    let seed = try group.seed(RevocationTests.thief)
    try group.storeRow("item/7", version: 2, oldest: 2, by: seed, attributes: { $0 + [11, 1, 1] })
    try expectOthersGoOn(group)
    let error = failure { try group.forceRevocation(of: RevocationTests.thief) }
    #expect(error == .unproved(items: 1, versions: 0))
    let outcome = try expectRevoked(group, droppingUnproved: true)
    #expect(outcome.left.lost == 1)
    #expect(failure { try group.value("item/7") } == .notFound(.item))
  }

  @Test(arguments: [(1, 2), (2, 2), (0, 0), (255, 255)] as [(UInt16, UInt16)])
  func `format versions in a writer's manifest do not block a revocation`(_ versions: (UInt16, UInt16)) throws {
    let group = try RevocationTests.group()
    let seed = try group.seed(RevocationTests.thief)
    for clear in ["0x00010001", "0x00010002", "0x00020002"] {
      try group.forge().storeManifest(by: seed) {
        $0.version = FormatVersion(read: versions.0, write: versions.1)
      }
      try group.say(version: clear)
      #expect(failure { try group.value("item/1") }?.isDamage == true)
      #expect(failure { try group.open().verify() }?.isDamage == true)
      let outcome = try expectRevoked(group)
      #expect(outcome.left == GroupRepair(), "\(outcome.left)")
      try group.grant(RevocationTests.thief, .write)
      try group.set(["item/1": "value 1"])
    }
  }

  @Test func `rows added without any key do not block a revocation and are left behind`() throws {
    for sql: StaticString in [
      "INSERT INTO wrap VALUES(randomblob(16), randomblob(73))",
      "INSERT INTO wrap VALUES(randomblob(3), randomblob(2000))",
      "INSERT INTO blob SELECT randomblob(16), 1, bytes FROM blob LIMIT 1",
      "INSERT INTO blob VALUES(randomblob(3), -1, x'00')",
      "INSERT INTO node VALUES(randomblob(17), randomblob(34))",
      "INSERT INTO node VALUES(x'', x'')",
      "INSERT INTO item SELECT randomblob(16), version, state, oldest, previous, nonce, attributes, place, secret FROM item LIMIT 1",
      "INSERT INTO item SELECT zeroblob(15), 7, 7, 7, x'', x'', x'', 7, x'' FROM item LIMIT 1",
      "INSERT INTO version SELECT token, 900, state, oldest, previous, nonce, attributes, place, secret FROM item LIMIT 1",
      "INSERT INTO version SELECT x'', -1, 7, 7, x'', x'', x'', 7, x'' FROM item LIMIT 1",
      "INSERT INTO chain VALUES(-5, randomblob(32))",
      "INSERT INTO chain SELECT max(epoch) + 1, randomblob(32) FROM chain",
    ] {
      let group = try RevocationTests.group()
      try group.tamper { try $0.run(sql) }
      let outcome = try expectRevoked(group)
      #expect(outcome.left.unsigned == 1, "\(sql)")
      #expect(outcome.left.lost == 0)
    }
  }

  @Test func `damaged nodes, chain links and unknown parts do not block a revocation`() throws {
    for change in [
      { try $0.run("DELETE FROM node WHERE prefix = (SELECT max(prefix) FROM node)") },
      { try $0.run("UPDATE node SET body = zeroblob(48)") }, { try $0.run("DELETE FROM chain WHERE epoch = 3") },
      { try $0.run("DELETE FROM chain") }, { try $0.run("INSERT INTO state VALUES(9, x'00')") },
    ] as [(Connection) throws -> Void] {
      let group = try RevocationTests.group()
      try group.tamper(change)
      let outcome = try expectRevoked(group)
      #expect(outcome.left.lost == 0)
    }
  }

  @Test func `unsigned format versions do not block a revocation, and everybody else refuses them as damage`() throws {
    for version in ["0x00020002", "0x00010002", "0x00000000", "0xffffffff"] {
      let group = try RevocationTests.group()
      let known = try group.open()
      #expect(try known.value("item/1") == "value 1")
      try group.say(version: version)
      for file in [known, try group.open()] {
        #expect(failure { try file.value("item/1") }?.isDamage == true, "\(version)")
        #expect(failure { try file.beginWriting() }?.isDamage == true, "\(version)")
      }
      _ = try expectRevoked(group)
    }
  }

  @Test func `items lost to damage are dropped from the signed state only if the owner says so`() throws {
    for (sql, items, versions) in [
      ("DELETE FROM item WHERE token = (SELECT min(token) FROM item WHERE version = 1 AND place = 1)", 1, 0),
      (
        "UPDATE item SET nonce = randomblob(24) WHERE token = (SELECT min(token) FROM item WHERE version = 1 AND place = 1)",
        1, 0
      ),
      ("DELETE FROM version WHERE version = 2", 0, 1),
      ("UPDATE blob SET bytes = zeroblob(700) WHERE version = 1", 1, 0),
    ] as [(StaticString, UInt64, UInt64)] {
      let group = try RevocationTests.group()
      try group.tamper { try $0.run(sql) }
      let before = try group.files()
      #expect(
        failure { try group.forceRevocation(of: RevocationTests.thief) } == .unproved(items: items, versions: versions))
      #expect(try group.files().main == before.main)
      let outcome = try group.forceRevocation(of: RevocationTests.thief, droppingUnproved: true)
      #expect(outcome.left.lost == items && outcome.left.lostVersions == versions)
      #expect(failure { try group.open(RevocationTests.thief).value("item/1") } == .denied(.notAMember))
      #expect(try group.open().verify().items == 52 - items)
    }
  }

  @Test func `junk records and pages do not block a revocation`() throws {
    for claimed in [false, true] {
      let group = try RevocationTests.group()
      try group.tamper { try $0.run("INSERT INTO wrap VALUES(randomblob(16), randomblob(73))") }
      try group.appendJunkPage(claimed: claimed)
      try expectOthersGoOn(group)
      let outcome = try expectRevoked(group)
      #expect(outcome.left.lost == 0)
    }
  }

  @Test func `junk records do not block a repair`() throws {
    for claimed in [false, true] {
      let group = try RevocationTests.group()
      try group.tamper { try $0.run("INSERT INTO wrap VALUES(randomblob(16), randomblob(73))") }
      try group.appendJunkPage(claimed: claimed)
      let repaired = try #require(try group.repair())
      #expect(repaired.lost == 0)
      _ = try group.open().verify()
      _ = try expectRevoked(group)
    }
  }

  @Test func `removing the owner's wrap does not block a revocation`() throws {
    for sql in ["DELETE FROM wrap WHERE slot=?", "UPDATE wrap SET sealed=randomblob(73) WHERE slot=?"] as [StaticString]
    {
      for repairs in [false, true] {
        let group = try RevocationTests.group()
        let slot = group.seed.slotID(group: group.groupID, generation: try group.forge().keys.generation)
        try group.tamper { try $0.run(sql, slot) }
        try expectOthersGoOn(group)
        #expect(failure { try group.value("item/1") }?.isDamage == true)
        if repairs { #expect(try group.repair()?.lost == 0) }
        let outcome = try expectRevoked(group)
        #expect(outcome.left.lost == 0)
      }
    }
  }

  @Test func `a key that a member made up is not mistaken for the group's`() throws {
    let group = try RevocationTests.group()
    let state = try group.forge().state
    let thief = try group.seed(RevocationTests.thief)
    let owner = group.seed.slotID(group: group.groupID, generation: state.keys.generation)
    let slot = thief.slotID(group: group.groupID, generation: state.keys.generation)
    let wrap = try Wrap.seal(Key.random(), for: thief, groupID: group.groupID, generation: state.keys.generation)
    let files = try group.files()
    try group.tamper { connection in
      try connection.run("DELETE FROM wrap WHERE slot=?", owner)
      try connection.run("UPDATE wrap SET sealed=? WHERE slot=?", wrap, slot)
    }
    // The reader's wrap holds the key that was signed.
    _ = try expectRevoked(group)
    try group.replace(with: files)
    group.witness.reading = .valid(state.witnessRecord())
    try group.tamper { connection in
      try connection.run("DELETE FROM wrap")
      try connection.run("INSERT INTO wrap VALUES(?, ?)", slot, wrap)
    }
    #expect(failure { try group.forceRevocation(of: RevocationTests.thief) }?.isDamage == true)
  }

  /// Tried with each other, so many keys and rosters would take hours.
  @Test func `thousands of keys that a member made up, and as many rosters, do not block a revocation`() throws {
    let group = try RevocationTests.group()
    let state = try group.forge().state
    let thief = try group.seed(RevocationTests.thief)
    let owner = group.seed.slotID(group: group.groupID, generation: state.keys.generation)
    let slot = thief.slotID(group: group.groupID, generation: state.keys.generation)
    try group.tamper { try $0.run("DELETE FROM wrap WHERE slot=?", owner) }
    let wraps = try (0..<40_000).map { _ in
      try slot + Wrap.seal(Key.random(), for: thief, groupID: group.groupID, generation: state.keys.generation)
    }
    // Records of a slot and a wrap, and of nothing and a roster.
    try group.appendPages(.leaf, wraps.map { [4, 44, 0x81, 0x1E] + $0 }, claimed: true)
    try group.appendPages(
      .tableLeaf, (0..<40_000).map { _ in [4, 0, 0x81, 0x04] + Randomness.bytes(60) }, rowID: 2, claimed: true)
    _ = try expectRevoked(group)
  }

  @Test func `a state of a later epoch that a writer planted does not replace the one that everybody reads`()
    throws
  {
    let group = try RevocationTests.group()
    let seed = try group.seed(RevocationTests.thief)
    let forge = try group.forge()
    var manifest = forge.state.successor(time: 5)
    manifest.root = Digest(Randomness.bytes(32))!
    (manifest.itemCount, manifest.versionRowCount) = (1, 0)
    manifest.writerKey = try seed.signingPublicKey
    let sealed = try SignedManifest.seal(manifest, by: seed.signingKey(), with: forge.keys)
    try group.appendJunkPage(claimed: true, records: [sealed, sealed])
    let outcome = try expectRevoked(group)
    #expect(outcome.left.lost == 0)
  }
}

extension GroupFixture {
  /// Extends the file by a hole, and marks the pages as part of the file.
  ///
  /// - Parameter free: whether the pages are also listed as free.
  func claim(pages count: UInt32, free: Bool = false) throws {
    try checkpoint()
    let files = try files()
    let path = folder + "/group.vault"
    let first = UInt32(files.main.count / 4_096) + 1
    guard let file = FileHandle(forUpdatingAtPath: path) else { return }
    defer { try? file.close() }
    func put(_ words: [UInt32], at offset: Int) throws {
      try file.seek(toOffset: UInt64(offset))
      try file.write(
        contentsOf: Data(words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }))
    }
    try file.truncate(atOffset: UInt64(count) * 4_096)
    try put([count], at: 28)
    guard free else { return }
    // Each trunk of the list names as many leaves as SQLite would write there. The page of SQLite's locks is left out.
    let numbers = (first...count).filter { $0 != 1 << 18 + 1 }
    for start in stride(from: 0, to: numbers.count, by: 1_017) {
      let leaves = numbers[(start + 1)..<min(start + 1_017, numbers.count)]
      let next = start + 1_017 < numbers.count ? numbers[start + 1_017] : 0
      try put([next, UInt32(leaves.count)] + leaves, at: Int(numbers[start] - 1) * 4_096)
    }
    try put([first, UInt32(numbers.count)], at: 32)
  }
}
