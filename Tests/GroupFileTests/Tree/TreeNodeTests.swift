import Sealing
import Testing

@testable import GroupFile

@Suite struct TreeNodeTests {
  private static let place = TreePlace.root.child(0xA).child(0xB)

  private static func token(_ high: UInt64, _ low: UInt64 = 0) -> Token { Token(high: high, low: low) }

  private static func leaf(_ tokens: [Token]) -> [UInt8] {
    TreeNode.leaf(tokens.map { TreeEntry(token: $0, digest: .zero) }).body()
  }

  private func isRefused(_ body: [UInt8], at place: TreePlace = place) -> Bool {
    failure { try TreeNode(parsing: body, at: place) }?.isDamage == true
  }

  @Test func `a node reads back as it was written`() throws {
    let tokens: [UInt64] = [0xAB00_0000_0000_0000, 0xAB00_0000_0000_0001, 0xABFF_FFFF_FFFF_FFFF]
    let leaf = TreeNodeTests.leaf(tokens.map { TreeNodeTests.token($0) })
    #expect(try TreeNode(parsing: leaf, at: TreeNodeTests.place).body() == leaf)
    for count in 1...16 {
      let bitmap = UInt16(truncatingIfNeeded: (1 << count) - 1)
      let digests = (0..<count).map { Digest([UInt8](repeating: UInt8($0), count: 32))! }
      let branch = TreeNode.branch(bitmap: bitmap, children: digests)
      #expect(try TreeNode(parsing: branch.body(), at: TreeNodeTests.place) == branch)
      #expect(TreeNode.child(count - 1, bitmap: bitmap, children: digests) == digests.last)
      if count < 16 { #expect(TreeNode.child(count, bitmap: bitmap, children: digests) == nil) }
    }
  }

  @Test func `a leaf with a token outside its prefix is refused`() {
    for high: UInt64 in [0xAC00_0000_0000_0000, 0xAA00_0000_0000_0000, 0] {
      #expect(isRefused(TreeNodeTests.leaf([TreeNodeTests.token(high)])))
    }
    #expect(!isRefused(TreeNodeTests.leaf([TreeNodeTests.token(0)]), at: .root))
  }

  @Test func `a leaf whose tokens are not in ascending order is refused`() {
    let (first, second) = (TreeNodeTests.token(0xAB01 << 48), TreeNodeTests.token(0xAB02 << 48))
    #expect(isRefused(TreeNodeTests.leaf([second, first])))
    #expect(isRefused(TreeNodeTests.leaf([first, first])))
    #expect(!isRefused(TreeNodeTests.leaf([first, second])))
  }

  @Test func `a leaf of more than 32 entries and an empty leaf below the root are refused`() {
    let tokens = (0..<33).map { TreeNodeTests.token(0xAB << 56 | UInt64($0)) }
    #expect(isRefused(TreeNodeTests.leaf(tokens)))
    #expect(!isRefused(TreeNodeTests.leaf(Array(tokens.dropLast()))))
    #expect(isRefused([]))
    #expect(!isRefused([], at: .root))
  }

  @Test func `a branch whose bitmap does not match its number of digests is refused`() {
    for (bitmap, count) in [(0, 0), (0, 1), (1, 0), (1, 2), (3, 1), (0xFFFF, 15)] as [(UInt16, Int)] {
      let branch = TreeNode.branch(bitmap: bitmap, children: [Digest](repeating: .zero, count: count))
      #expect(isRefused(branch.body()))
    }
  }

  @Test func `a branch at the full depth of a token is refused`() {
    let body = TreeNode.branch(bitmap: 1, children: [.zero]).body()
    let deepest = TreePlace(depth: 32, prefix: TreeNodeTests.token(1, 2))
    #expect(isRefused(body, at: deepest))
    #expect(!isRefused(body, at: TreePlace(depth: 31, prefix: TreeNodeTests.token(1, 0))))
  }

  @Test(arguments: 1..<200)
  func `a body of another size is refused`(_ count: Int) {
    guard count % 48 != 0, !(count > 2 && (count - 2) % 32 == 0) else { return }
    #expect(isRefused([UInt8](repeating: 0xAB, count: count)))
  }

  @Test func `the same content in another place has another digest`() {
    let body = TreeNodeTests.leaf([TreeNodeTests.token(0xAB << 56)])
    let places: [TreePlace] = [.root, .root.child(0xA), TreeNodeTests.place, TreeNodeTests.place.child(0)]
    #expect(Set(places.map { TreeNode.digest(ofBody: body, at: $0) }).count == places.count)
  }
}
