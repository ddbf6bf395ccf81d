import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// A member with write access signs things that no honest program would. They may lose items of the group, but never crash a reader.
@Suite struct HostileWriterTests {
  private func group() throws -> GroupFixture {
    let group = try GroupFixture()
    try group.set(["name": "first", "other": "other"])
    try group.set(["name": "second"])
    return group
  }

  private func damage(_ body: () throws -> Void) -> Bool { failure(body)?.isDamage == true }

  // MARK: Sizes

  @Test func `attributes longer than the format allows are damage, even if the padding has room for them`() throws {
    let group = try group()
    var fields = FieldWriter()
    fields.write(2, [UInt8](repeating: 0x61, count: 60_000))
    var pair = ByteWriter()
    pair.writeCounted16(Array("key".utf8))
    pair.writeCounted16([UInt8](repeating: 0x61, count: 5_600))
    fields.write(3, pair.bytes)
    // Behind the name, which is the first field.
    try group.storeRow("name", attributes: { $0.prefix(6) + fields.bytes + $0.dropFirst(6) })
    #expect(damage { _ = try group.value("name") })
    #expect(damage { _ = try group.open().verify() })
    try group.set(["other": "new"])
  }

  @Test func `a value longer than 1 MiB is damage, even if the padding has room for it`() throws {
    let group = try group()
    let forge = try group.forge()
    let attributes = try Attributes(name: "name", created: 1, changed: 1, valueKind: 2).encoded()
    for (count, isTaken) in [(1 << 20, true), (1 << 20 + 1, false)] {
      let padded = Padding.padUnguarded([UInt8](repeating: 7, count: count))
      let (row, blob) = unsafe padded.withUnsafeBytes { padded in
        unsafe forge.keys.sealedRow(
          encoded: attributes[...], padded: padded, token: forge.keys.token(of: "name"), version: 3, oldest: 3,
          previous: .zero, nonce: Nonce())
      }
      let before = try group.files()
      try group.store(row, blob, under: forge)
      #expect(damage { _ = try group.open().beginReading().opened("name") } != isTaken)
      group.witness.reading = .absent
      try group.replace(with: before)
    }
  }

  // MARK: Counts

  @Test func `a signed number of older versions that is too small is damage`() throws {
    let group = try group()
    try group.forge().storeManifest { $0.versionRowCount = 0 }
    #expect(try group.value("name") == "second")
    #expect(damage { try group.set(["name": "third"]) })
    #expect(damage { try group.destroy("name") })
    #expect(damage { _ = try group.open().verify() })
    try group.set(["other": "new"])
  }

  @Test func `counters stop below 2^53`() throws {
    let changes: [@Sendable (inout Manifest) -> Void] = [
      { $0.itemCount = 1 << 53 - 1 }, { $0.versionRowCount = 1 << 53 - 1 },
    ]
    for change in changes {
      let group = try group()
      try group.forge().storeManifest(change)
      // Nothing leads from the state that was seen to that epoch.
      group.witness.reading = .absent
      #expect(try group.value("name") == "second")
      guard case .overLimit = failure({ try group.set(["new": "new", "other": "newer"]) }) else {
        Issue.record("counted on")
        continue
      }
      #expect(try group.value("name") == "second")
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `an item's version number stops where no other can follow`(before: UInt64) throws {
    let group = try group()
    let last = UInt64(1 << 53) - before
    try group.storeRow("name", version: last, oldest: last)
    #expect(throws: VaultError.overLimit("2^53 versions")) { try group.set(["name": "third"]) }
    #expect(try group.value("name") == "forged")
    // The last removal makes a row that a list shows, so that the owner can leave it behind.
    if before == 3 { return try group.destroy("name") }
    #expect(throws: VaultError.overLimit("2^53 versions")) { try group.destroy("name") }
  }

  @Test func `an oldest version above the version itself is damage`() throws {
    let group = try group()
    try group.storeRow("name", version: 3, oldest: 4)
    #expect(damage { _ = try group.value("name") })
    #expect(damage { try group.set(["name": "third"]) })
    #expect(damage { try group.destroy("name") })
    #expect(damage { _ = try group.open().verify() })
  }

  @Test func `an oldest version that was never kept is damage and does not hang the reader`() throws {
    let group = try group()
    try group.storeRow("name", version: 1 << 52, oldest: 1)
    let view = try group.open().beginReading()
    #expect(damage { _ = try view.history("name") })
    #expect(damage { _ = try view.present("name", version: 1) })
    #expect(damage { _ = try group.open().verify() })
    #expect(damage { try group.set(["name": "third"]) })
  }

  // MARK: Rows

  @Test func `a row with another item's name is damage`() throws {
    let group = try group()
    try group.storeRow("name", named: "other", version: 3, oldest: 3)
    #expect(damage { _ = try group.value("name") })
    #expect(damage { _ = try group.open().verify() })
    #expect(try group.value("other") == "other")
  }

  @Test func `a row under another item's name is refused by a listing, a proof and a rotation`() throws {
    let group = try group()
    try group.storeRow("other", named: "third", version: 2, oldest: 2)
    let view = try group.open().beginReading()
    let walk = try RowWalk(view)
    #expect(damage { while let row = try walk.next() { _ = try view.view.attributes(of: row) } })
    #expect(damage { _ = try group.open().verify() })
    #expect(damage { _ = try group.open().changeRoster(RosterChange(rotates: true), by: group.authority()) })
    #expect(throws: VaultError.notFound(.item)) { try group.value("third") }
  }

  @Test func `attributes outside this format are damage of their row`() throws {
    let group = try group()
    try group.storeRow("name", attributes: { $0 + [99, 1, 1] })
    #expect(failure { try group.value("name") } == .damaged(.row, "an unknown attribute"))
    #expect(try group.value("other") == "other")
  }

  @Test func `padding that is not zero or has another size is damage`() throws {
    for pad: ([UInt8]) -> [UInt8] in [
      { Array($0.dropLast()) + [1] }, { $0 + [UInt8](repeating: 0, count: 16) }, { Array($0.dropLast(16)) },
      { [0xFF] + $0.dropFirst() }, { [0, 0, 0, 0] + $0.dropFirst(4) },
    ] {
      let group = try group()
      try group.storeRow("name", padded: pad)
      #expect(damage { _ = try group.value("name") })
      #expect(damage { _ = try group.open().verify() })
    }
  }

  // MARK: Trees

  @Test func `a tree that is not canonical answers correctly or is refused, and never verifies`() throws {
    let group = try group()
    let forge = try group.forge()
    let leaf = try group.peek { try TreeNode(parsing: try #require(try $0.nodeBody(at: .root)), at: .root) }
    guard case .leaf(let entries) = leaf else { throw VaultError.notFound(.item) }
    // Two items below a chain of branches as deep as a token is long.
    var nodes: [(place: TreePlace, body: [UInt8])] = []
    for entry in entries {
      var place = TreePlace(depth: 32, prefix: entry.token)
      var node = TreeNode.leaf([entry])
      while place.depth > 1 {
        nodes.append((place, node.body()))
        let digest = node.digest(at: place)
        place = TreePlace(depth: place.depth - 1, prefix: entry.token.prefix(place.depth - 1))
        node = .branch(bitmap: 1 << UInt16(entry.token.nibble(at: place.depth)), children: [digest])
      }
      nodes.append((place, node.body()))
    }
    let tops = nodes.filter { $0.place.depth == 1 }.sorted { $0.place.prefix < $1.place.prefix }
    guard Set(tops.map(\.place)).count == 2 else { return }
    let root = TreeNode.branch(
      bitmap: tops.reduce(0) { $0 | 1 << UInt16($1.place.prefix.nibble(at: 0)) },
      children: tops.map { TreeNode.digest(ofBody: $0.body, at: $0.place) })
    try group.tamper { connection in
      for node in nodes { try connection.storeNode(node.body, at: node.place) }
      try connection.storeNode(root.body(), at: .root)
    }
    try forge.storeManifest { $0.root = root.digest(at: .root) }
    #expect(try group.value("name") == "second")
    #expect(throws: VaultError.notFound(.item)) { try group.value("absent") }
    #expect(damage { _ = try group.open().verify() })
    try group.set(["name": "third", "more": "more"])
    #expect(try group.value("name") == "third")
  }

  @Test func `a signed root that is empty or nonsense is damage and not an empty group`() throws {
    let group = try group()
    try group.forge().storeManifest { $0.root = Digest(Randomness.bytes(32))! }
    #expect(damage { _ = try group.value("name") })
    #expect(damage { _ = try group.value("absent") })
    #expect(damage { try group.set(["absent": "new"]) })
    let emptied = try self.group()
    try emptied.forge().storeManifest { $0.root = TreeNode.emptyRoot }
    #expect(damage { _ = try emptied.open().verify() })
    #expect(damage { try emptied.set(["name": "new"]) })
  }
}

extension GroupFixture {
  fileprivate func destroy(_ name: String) throws {
    let transaction = try open().beginWriting()
    try transaction.destroy(name)
    try transaction.commit()
  }
}
