import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct TreeBuilderTests {
  private func root(_ rows: [Token: Digest]) throws -> (digest: Digest, bodies: [TreePlace: [UInt8]]) {
    var builder = TreeBuilder()
    for (token, digest) in rows.sorted(by: { $0.key < $1.key }) {
      try builder.append(TreeEntry(token: token, digest: digest))
    }
    var bodies: [TreePlace: [UInt8]] = [:]
    let digest = builder.finish { place, body in bodies[place] = body }
    return (digest, bodies)
  }

  @Test(arguments: [0, 1, 32, 33, 200, 1_000])
  func `the tree is the one that the format defines`(_ count: Int) throws {
    var generator = SeededGenerator(seed: UInt64(count))
    let rows = TreeRows.random(count, using: &generator)
    #expect(try root(rows).digest == TreeModel.root(of: rows))
  }

  @Test(arguments: [1, 8, 16, 30])
  func `the tree of tokens with long common prefixes is the one that the format defines`(_ depth: Int) throws {
    var generator = SeededGenerator(seed: UInt64(depth))
    let rows = TreeRows.crowded(60, sharing: depth, using: &generator)
    let tree = try root(rows)
    #expect(tree.digest == TreeModel.root(of: rows))
    #expect(tree.bodies.keys.map(\.depth).max() ?? 0 > depth)
  }

  @Test func `each stored node has the digest that its parent states`() throws {
    var generator = SeededGenerator(seed: 1)
    let tree = try root(TreeRows.random(500, using: &generator))
    var found = 0
    var pending = [(tree.digest, TreePlace.root)]
    while let (digest, place) = pending.popLast() {
      let body = try #require(tree.bodies[place])
      #expect(TreeNode.digest(ofBody: body, at: place) == digest)
      found += 1
      guard case .branch(let bitmap, let children) = try TreeNode(parsing: body, at: place) else { continue }
      for nibble in 0..<16 {
        if let child = TreeNode.child(nibble, bitmap: bitmap, children: children) {
          pending.append((child, place.child(nibble)))
        }
      }
    }
    #expect(found == tree.bodies.count)
  }

  @Test func `rows that are not in ascending order are refused`() throws {
    var builder = TreeBuilder()
    try builder.append(TreeEntry(token: Token(high: 1, low: 2), digest: .zero))
    for token in [Token(high: 1, low: 2), Token(high: 1, low: 1), Token(high: 0, low: 9)] {
      #expect(throws: VaultError.damaged(.tree, "order of rows")) {
        try builder.append(TreeEntry(token: token, digest: .zero))
      }
    }
  }

  @Test func `the empty tree is a leaf without entries, and no node is stored`() throws {
    let tree = try root([:])
    #expect(tree.bodies.isEmpty)
    #expect(tree.digest == TreeNode.emptyRoot)
    #expect(tree.digest == Hash.digest(Label("vault1.leaf"), [UInt8](repeating: 0, count: 18)))
  }
}
