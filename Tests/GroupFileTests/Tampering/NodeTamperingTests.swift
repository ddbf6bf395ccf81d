import Sealing
import Testing

@testable import GroupFile

/// The tree's nodes are a cache that anyone with access to the storage can write. Only the signed root is trusted.
@Suite struct NodeTamperingTests {
  /// Inserts `row` and updates every node from its leaf up as an honest writer would, except the signed root.
  private func forge(_ row: Row, in group: TamperedGroup) throws {
    try group.fixture.tamper { connection in
      try connection.replaceCurrent(row)
      var editor = TreeEditor(root: try group.fixture.forge().state.manifest.root)
      try editor.put(TreeEntry(token: row.token, digest: row.digest)) { (_, place) throws(VaultError) in
        try TreeNode(parsing: try connection.nodeBody(at: place) ?? [], at: place)
      }
      _ = try editor.finish { (place, body, _, _) throws(VaultError) in try connection.storeNode(body, at: place) }
    }
  }

  @Test func `a row forged together with all its nodes is refused`() throws {
    let group = try TamperedGroup()
    let older = try group.fixture.peek { [token = try group.token("item/1")] in
      try #require(try $0.olderRow(token, version: 1))
    }
    try forge(older, in: group)
    // The root's node no longer matches, so no item can be proved.
    try group.expectRefused("item/1")
    try group.expectRefused("item/5")
  }

  @Test func `a leaf taken from an older copy is refused`() throws {
    let group = try TamperedGroup()
    let (place, entries) = try group.leaf(of: "item/5")
    try group.fixture.set(["item/5": "newer"])
    try group.fixture.tamper { try $0.storeNode(TreeNode.leaf(entries).body(), at: place) }
    try group.expectRefused("item/5")
  }

  @Test func `an item removed from its leaf is not reported as absent`() throws {
    let group = try TamperedGroup()
    let (place, entries) = try group.leaf(of: "item/5")
    let token = try group.token("item/5")
    try group.fixture.tamper { connection in
      try connection.storeNode(TreeNode.leaf(entries.filter { $0.token != token }).body(), at: place)
      try connection.run("DELETE FROM item WHERE token=?", token.bytes)
    }
    try group.expectRefused("item/5")
  }

  @Test func `items of a branch removed from the root are not reported as absent`() throws {
    let group = try TamperedGroup()
    let token = try group.token("item/5")
    try group.fixture.tamper { connection in
      let root = try TreeNode(parsing: try #require(try connection.nodeBody(at: .root)), at: .root)
      guard case .branch(var bitmap, var children) = root else { throw VaultError.damaged(.tree, "no branch") }
      let nibble = token.nibble(at: 0)
      let bit = UInt16(1) << UInt16(nibble)
      children.remove(at: (bitmap & (bit - 1)).nonzeroBitCount)
      bitmap &= ~bit
      try connection.storeNode(TreeNode.branch(bitmap: bitmap, children: children).body(), at: .root)
    }
    try group.expectRefused("item/5")
  }

  @Test func `a missing node is damage, at the root and below`() throws {
    for depth in 0...1 {
      let group = try TamperedGroup()
      let place = depth == 0 ? TreePlace.root : try group.leaf(of: "item/5").place
      try group.fixture.tamper { try $0.run("DELETE FROM node WHERE prefix=?", place.key) }
      try group.expectRefused("item/5")
    }
  }

  @Test func `two nodes swapped are refused`() throws {
    let group = try TamperedGroup()
    let here = try group.leaf(of: "item/5")
    let there = try group.leaf(of: group.stranger(to: "item/5"))
    try group.fixture.tamper {
      try $0.storeNode(TreeNode.leaf(there.entries).body(), at: here.place)
      try $0.storeNode(TreeNode.leaf(here.entries).body(), at: there.place)
    }
    try group.expectRefused("item/5")
  }

  @Test func `an extra node changes no answer, and verifying finds it`() throws {
    let group = try TamperedGroup()
    let (place, entries) = try group.leaf(of: "item/5")
    try group.fixture.tamper { try $0.storeNode(TreeNode.leaf(entries).body(), at: place.child(3)) }
    #expect(try group.fixture.value("item/5") == "value of item/5")
    try group.expectUnverifiable()
  }

  @Test(arguments: [0, 1, 33, 47, 49, 34, 66, 1_536, 1_584, 100_000])
  func `a node of an odd size is refused`(_ count: Int) throws {
    let group = try TamperedGroup()
    let place = try group.leaf(of: "item/5").place
    try group.fixture.tamper { try $0.storeNode([UInt8](repeating: 1, count: count), at: place) }
    try group.expectRefused("item/5")
  }

  /// A walk over many items finds their nodes by scans of the table instead of a search for each.
  @Test func `a scan of the nodes finds what a search finds`() throws {
    let group = try GroupFixture()
    try group.set(Dictionary(uniqueKeysWithValues: (0..<2_000).map { ("item/\($0)", "value") }))
    func list() throws -> Int {
      let walk = try RowWalk(group.open().beginReading())
      var count = 0
      while try walk.next() != nil { count += 1 }
      return count
    }
    let files = try group.files()
    for junk in [
      "INSERT INTO node SELECT CAST(x'02' || randomblob(16) AS BLOB), randomblob(66) FROM node",
      "INSERT INTO node SELECT CAST(x'02' || randomblob(3) AS BLOB), randomblob(66) FROM node",
      "INSERT INTO node SELECT CAST(x'02' || randomblob(16) AS BLOB), randomblob(9000) FROM node",
    ] as [StaticString] {
      try group.tamper { try $0.run(junk) }
      #expect(try list() == 2_000)
      _ = try group.open().changeRoster(RosterChange(rotates: true), by: group.authority())
      #expect(try list() == 2_000)
      try group.replace(with: files)
      group.witness.reading = .absent
    }
    for damage in [
      "DELETE FROM node WHERE prefix = (SELECT prefix FROM node WHERE hex(prefix) LIKE '02%' LIMIT 1 OFFSET 200)",
      "UPDATE node SET body = zeroblob(length(body)) WHERE prefix = (SELECT max(prefix) FROM node)",
      "UPDATE node SET body = zeroblob(9000) WHERE prefix = (SELECT max(prefix) FROM node)",
    ] as [StaticString] {
      try group.tamper { try $0.run(damage) }
      #expect(failure { try list() }?.isDamage == true)
      try group.replace(with: files)
    }
  }
}
