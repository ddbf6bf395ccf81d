import Foundation
import Glibc
import Sealing
import Testing

@testable import GroupFile

/// What a read-only member can write into the file and a repair must not sign.
@Suite struct ForgeryRepairTests {
  /// A row that is sealed with the group's key but not signed.
  private func forgedRow(_ fixture: RepairFixture, _ name: String, version: UInt64 = 1) throws -> Row {
    let view = try fixture.group.open().beginReading()
    let secret = try unsafe Array("forged".utf8).withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    let attributes = Attributes(name: name, created: 1, changed: 2, valueKind: 2, valueEpoch: 1)
    return try view.view.state.keys.sealedRow(
      attributes, secret, token: view.view.state.keys.token(of: name), version: version, oldest: version,
      previous: .zero
    ).row
  }

  @Test func `a forged row in place of a proved one is listed and not kept`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "item/5")
    try fixture.group.tamper { try $0.replaceCurrent(row) }
    let group = try #require(try fixture.repair())
    #expect(group.lost == 1 && group.lostNames == ["item/5"])
    #expect(
      group.unproved == [UnprovedItem(name: "item/5", version: 1, changed: Timestamp(milliseconds: 2), isKept: false)])
    #expect(try fixture.missing() == ["item/5"])
  }

  @Test func `nothing signed is given up unless the owner accepts the loss`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "item/5")
    try fixture.group.tamper { try $0.replaceCurrent(row) }
    let before = try fixture.group.files()
    #expect(failure { try fixture.repair(acceptingLoss: false) } == .unproved(items: 1, versions: 0))
    let after = try fixture.group.files()
    #expect(before.main == after.main && before.log == after.log)
  }

  @Test func `a forged row next to proved ones is listed and not kept`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "planted")
    try fixture.group.tamper { try $0.insertCurrent(row) }
    let group = try #require(try fixture.repair())
    #expect(group.lost == 0)
    #expect(group.unproved.map(\.name) == ["planted"])
    #expect(try fixture.missing().isEmpty)
    #expect(try fixture.value("planted") == nil)
  }

  @Test func `forged rows are not kept even with nodes that would prove them`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "item/5", version: 9)
    try fixture.group.tamper { connection in
      try connection.replaceCurrent(row)
      // The tree that an honest writer would build from the rows as they are now.
      var builder = TreeBuilder()
      let rows = try connection.currentRows()
      while try rows.step() {
        let row = try Row(rows)
        try builder.append(TreeEntry(token: row.token, digest: row.digest))
      }
      rows.reset()
      try connection.run("DELETE FROM node")
      _ = try builder.finish { try connection.storeNode($1, at: $0) }
    }
    let group = try #require(try fixture.repair())
    #expect(try fixture.value("item/5") == nil)
    #expect(group.unproved.contains { $0.name == "item/5" && $0.version == 9 && !$0.isKept })
    #expect(try fixture.missing().contains("item/5"))
  }

  @Test func `an unproved item is kept if the owner names it`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "planted")
    try fixture.group.tamper { try $0.insertCurrent(row) }
    let group = try #require(try fixture.repair(keeping: ["planted"]))
    #expect(group.unproved.map(\.isKept) == [true])
    #expect(try fixture.value("planted") == "forged")
    #expect(try fixture.missing().isEmpty)
  }

  @Test(arguments: ["item/5", "nothing"]) func `naming an item that is not unproved is refused`(name: String) throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "planted")
    try fixture.group.tamper { try $0.insertCurrent(row) }
    let before = try fixture.group.files()
    #expect(failure { try fixture.repair(keeping: [name]) } == .notFound(.item))
    let after = try fixture.group.files()
    #expect(before.main == after.main && before.log == after.log)
  }

  @Test func `a file that claims pages without content is not copied, and is repaired without them`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let group = fixture.group
    // 200 GiB.
    try group.claim(pages: 50 << 20)
    let folder = TemporaryFolder()
    var steps = 0
    #expect(failure { try group.open().backUp(to: folder.path) { _ in steps += 1 } }?.isDamage == true)
    #expect(steps == 0 && folder.names().isEmpty)
    let draft = group.folder + ".draft"
    defer { try? FileManager.default.removeItem(atPath: draft) }
    var largest = 0
    let owner = RepairFixture.Owner(key: try SigningKey(seed: group.owner), seeds: [:])
    func measure(_: MaintenanceProgress) {
      var status = stat()
      guard unsafe stat(draft + ".salvage/group.vault", &status) == 0 else { return }
      largest = max(largest, Int(status.st_blocks) * 512)
    }
    let repaired = try group.open().repair(
      at: draft, keeping: fixture.aside, by: owner, isLossAccepted: { _ in false }, progress: measure)
    #expect(repaired?.lost == 0)
    #expect(largest > 0 && largest < 64 << 20)
    #expect(try fixture.missing().isEmpty)
  }

  @Test func `a file whose pages are all free is not copied`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    try fixture.group.claim(pages: 1 << 19, free: true)
    let folder = TemporaryFolder()
    var steps = 0
    let error = failure { try fixture.group.open().backUp(to: folder.path) { _ in steps += 1 } }
    #expect(error == .overLimit("1 GiB of free pages, which compacting the group releases"))
    #expect(steps == 0 && folder.names().isEmpty)
  }

  @Test func `a repair uses the signed state that the file's tables name, and otherwise the newest`() throws {
    for keepsTables in [true, false] {
      let fixture = try RepairFixture()
      defer { fixture.end() }
      let forge = try fixture.group.forge()
      let sealed = try (1...3).map { index in
        var manifest = forge.state.manifest
        manifest.epoch += UInt64(index)
        return try SignedManifest.seal(manifest, by: fixture.group.seed.signingKey(), with: forge.keys)
      }
      fixture.group.witness.reading = .absent
      try fixture.group.appendJunkPage(claimed: true, records: [sealed[1], sealed[2], sealed[0]])
      if !keepsTables { try fixture.group.tamper { try $0.run("DELETE FROM state WHERE part=3") } }
      let group = try #require(try fixture.repair())
      #expect(group.epoch == forge.state.manifest.epoch + (keepsTables ? 1 : 4))
      #expect(try fixture.missing().isEmpty)
    }
  }

  @Test func `a repair finds the signed state among thousands of junk records`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let keys = try fixture.group.forge().keys
    let header = try fixture.group.peek { try $0.part(.header) }
    for part in 0..<400 {
      let records = (0..<10).map { _ in
        part % 2 == 0 ? Randomness.bytes(336) : keys.sealMeta(Randomness.bytes(296), Label("vault1.meta.man"))
      }
      try fixture.group.appendJunkPage(claimed: false, records: records)
    }
    try fixture.group.appendJunkPage(claimed: true, records: [header])
    #expect(try fixture.repair()?.lost == 0)
    #expect(try fixture.missing().isEmpty)
  }

  @Test func `neither a backup nor a rotation takes a forged row along`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    let row = try forgedRow(fixture, "item/5")
    try fixture.group.tamper { try $0.replaceCurrent(row) }
    let folder = TemporaryFolder()
    #expect(failure { try fixture.group.open().backUp(to: folder.path) }?.isDamage == true)
    #expect(folder.names().isEmpty)
    let group = fixture.group
    let owner = RepairFixture.Owner(key: try SigningKey(seed: group.owner), seeds: [:])
    #expect(failure { try group.open().changeRoster(RosterChange(rotates: true), by: owner) }?.isDamage == true)
  }
}
