import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct TreeEditorTests {
  /// Inserts rows one by one in several transactions, and compares with the tree that the format defines for the whole set.
  private func check(
    _ rows: [Token: Digest], seed: UInt64, _ sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var generator = SeededGenerator(seed: seed)
    let shelf = NodeShelf()
    var editor = TreeEditor(root: TreeNode.emptyRoot)
    var present: [Token: Digest] = [:]
    for (token, digest) in rows.sorted(by: { $0.key < $1.key }).shuffled(using: &generator) {
      // First half of the rows are inserted in another version.
      if Bool.random(using: &generator) {
        let earlier = TreeRows.digest(using: &generator)
        try editor.put(TreeEntry(token: token, digest: earlier), load: shelf.load)
        present[token] = earlier
      }
      if Int.random(in: 0..<40, using: &generator) == 0 {
        try end(&editor, shelf, expecting: TreeModel.root(of: present), sourceLocation)
      }
      try editor.put(TreeEntry(token: token, digest: digest), load: shelf.load)
      present[token] = digest
      #expect(try editor.digest(of: token, load: shelf.load) == digest)
    }
    try end(&editor, shelf, expecting: TreeModel.root(of: rows), sourceLocation)
    for (token, digest) in rows { #expect(try editor.digest(of: token, load: shelf.load) == digest) }
    for _ in 0..<20 {
      let absent = TreeRows.token(using: &generator)
      #expect(try editor.digest(of: absent, load: shelf.load) == rows[absent])
    }
  }

  private func end(
    _ editor: inout TreeEditor, _ shelf: NodeShelf, expecting root: Digest, _ sourceLocation: SourceLocation
  ) throws {
    let found = try editor.finish { (place, body, digest, node) throws(VaultError) in
      #expect(TreeNode.digest(ofBody: body, at: place) == digest)
      #expect(node.body() == body)
      shelf.bodies[place] = body
    }
    #expect(found == root, sourceLocation: sourceLocation)
    editor = TreeEditor(root: found)
  }

  @Test(arguments: [0, 1, 2, 31, 32, 33, 34, 100, 300])
  func `changes in any order give the tree that the format defines`(_ count: Int) throws {
    for round in 0..<(RunLength.isFull ? 30 : 2) {
      var generator = SeededGenerator(seed: UInt64(count * 1_000 + round))
      try check(TreeRows.random(count, using: &generator), seed: UInt64(round))
    }
  }

  @Test(arguments: [1, 2, 7, 15, 16, 17, 29, 30])
  func `tokens with long common prefixes give the tree that the format defines`(_ depth: Int) throws {
    var generator = SeededGenerator(seed: UInt64(depth))
    let rows = TreeRows.crowded(40, sharing: depth, using: &generator)
    try check(rows, seed: 7)
    try check(rows.merging(TreeRows.random(60, using: &generator)) { $1 }, seed: 8)
  }

  @Test func `a leaf holds 32 entries, and one more turns it into a branch`() throws {
    var generator = SeededGenerator(seed: 3)
    let rows = TreeRows.random(33, using: &generator).sorted { $0.key < $1.key }
    let shelf = NodeShelf()
    var editor = TreeEditor(root: TreeNode.emptyRoot)
    for (token, digest) in rows.prefix(32) { try editor.put(TreeEntry(token: token, digest: digest), load: shelf.load) }
    _ = try editor.finish { (place, body, _, _) throws(VaultError) in shelf.bodies[place] = body }
    #expect(shelf.bodies.keys.map(\.depth) == [0])
    try editor.put(TreeEntry(token: rows[32].key, digest: rows[32].value), load: shelf.load)
    _ = try editor.finish { (place, body, _, _) throws(VaultError) in shelf.bodies[place] = body }
    #expect(shelf.bodies.keys.contains { $0.depth == 1 })
  }

  @Test func `only nodes on the path to a change are stored anew`() throws {
    var generator = SeededGenerator(seed: 4)
    let rows = TreeRows.random(2_000, using: &generator)
    let shelf = NodeShelf()
    var builder = TreeBuilder()
    for (token, digest) in rows.sorted(by: { $0.key < $1.key }) {
      try builder.append(TreeEntry(token: token, digest: digest))
    }
    let root = builder.finish { place, body in shelf.bodies[place] = body }
    let token = try #require(rows.keys.first)
    var editor = TreeEditor(root: root)
    try editor.put(TreeEntry(token: token, digest: .zero), load: shelf.load)
    var stored: [TreePlace] = []
    let new = try editor.finish { (place, _, _, _) throws(VaultError) in stored.append(place) }
    #expect(stored.count <= 4)
    #expect(stored.allSatisfy { $0.contains(token) })
    #expect(new == TreeModel.root(of: rows.merging([token: .zero]) { $1 }))
  }

  @Test func `a change below a node that does not match its parent is refused`() throws {
    var generator = SeededGenerator(seed: 5)
    let rows = TreeRows.random(100, using: &generator)
    let shelf = NodeShelf()
    var builder = TreeBuilder()
    for (token, digest) in rows.sorted(by: { $0.key < $1.key }) {
      try builder.append(TreeEntry(token: token, digest: digest))
    }
    let root = builder.finish { place, body in shelf.bodies[place] = body }
    for place in shelf.bodies.keys {
      let kept = shelf.bodies[place]
      shelf.bodies[place]![5] ^= 1
      let token = try #require(rows.keys.first { place.contains($0) })
      var editor = TreeEditor(root: root)
      #expect(throws: VaultError.damaged(.tree, "a node does not match its parent")) {
        try editor.put(TreeEntry(token: token, digest: .zero), load: shelf.load)
      }
      shelf.bodies[place] = kept
    }
  }
}

extension TreeEditor {
  /// Searches the stored nodes one after the other, as a snapshot with an empty cache does.
  fileprivate func digest(of token: Token, load: Load) throws(VaultError) -> Digest? {
    try digest(of: token) { (digest, place) throws(VaultError) in
      var step = TreeStep.child(digest, place)
      while case .child(let digest, let place) = step { step = try load(digest, place).step(toward: token, at: place) }
      guard case .end(let found) = step else { return nil }
      return found
    }
  }
}
