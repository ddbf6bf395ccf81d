import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// `tree.json`: trees of invented tokens and row digests.
struct TreeVectors: Codable, Equatable {
  struct Entry: Codable, Equatable {
    var token: String
    var digest: String
  }

  struct Node: Codable, Equatable {
    /// `u8 depth ‖ prefix 16`, the key in table `node`.
    var key: String
    var body: String
    var digest: String
  }

  struct Tree: Codable, Equatable {
    var name: String
    var entries: [Entry]
    var nodes: [Node]
    var root: String
  }

  struct Malformed: Codable, Equatable {
    var name: String
    var key: String
    var body: String
    var refusal: Refusal
  }

  var about = """
    Trees over entries (token, row digest) that are given in order. An entry is made of its number i: \
    H("test.vector", ASCII "tree i"), the first 16 bytes the token; the digest is H("test.vector", ASCII "row i"). \
    Malformed bodies are refused although their digest is right.
    """
  var trees: [Tree]
  var malformed: [Malformed]

  static func generate() throws -> TreeVectors {
    TreeVectors(
      trees: try [0, 1, 32, 33, 100].map { try tree("\($0) entries", entries($0)) } + [
        // 33 tokens that differ only in their last byte, so that there are branches down to depth 30.
        try tree(
          "33 entries that share 30 nibbles",
          (0..<33).map { TreeEntry(token: Token(high: 1, low: UInt64($0)), digest: VectorSeeds.bytes("row \($0)")) })
      ],
      malformed: try malformed())
  }

  static func entries(_ count: Int) -> [TreeEntry] {
    (0..<count).map {
      TreeEntry(token: Token(prefixOf: VectorSeeds.bytes("tree \($0)")), digest: VectorSeeds.bytes("row \($0)"))
    }.sorted { $0.token < $1.token }
  }

  private static func tree(_ name: String, _ entries: [TreeEntry]) throws -> Tree {
    var builder = TreeBuilder()
    for entry in entries { try builder.append(entry) }
    var nodes: [Node] = []
    let root = builder.finish { place, body in
      nodes.append(
        Node(key: place.key.hex, body: body.hex, digest: TreeNode.digest(ofBody: body, at: place).bytes.hex))
    }
    return Tree(
      name: name, entries: entries.map { Entry(token: $0.token.bytes.hex, digest: $0.digest.bytes.hex) },
      nodes: nodes.sorted { $0.key < $1.key }, root: root.bytes.hex)
  }

  private static func malformed() throws -> [Malformed] {
    let sorted = TreeNode.leaf(entries(2)).body()
    let digest = VectorSeeds.bytes("child").bytes
    let foreign = TreeEntry(token: Token(high: 1 << 60, low: 0), digest: .zero)
    func at(_ place: TreePlace, _ body: [UInt8], _ name: String) -> Malformed {
      Malformed(name: name, key: place.key.hex, body: body.hex, refusal: .damaged(56, "tree"))
    }
    let deep = TreePlace(depth: 32, prefix: Token(high: 0, low: 0))
    return [
      at(.root, Array(sorted[48...] + sorted[..<48]), "a leaf out of order"),
      at(.root, sorted + sorted[48...], "a leaf with a token twice"),
      at(.root, Array(sorted.dropLast()), "a leaf cut short"),
      at(.root, TreeNode.leaf(entries(33)).body(), "a leaf of 33"),
      at(TreePlace.root.child(2), TreeNode.leaf([foreign]).body(), "a token outside of the node's prefix"),
      at(TreePlace.root.child(2), [], "a leaf of none below the root"),
      at(.root, [0, 0], "a branch without children"),
      at(.root, [0, 0] + digest, "a branch without bits, and with a child"),
      at(.root, [0, 3] + digest, "a branch with two bits and one child"),
      at(.root, [0, 1] + digest + digest, "a branch with one bit and two children"),
      at(deep, [0, 1] + digest, "a branch below the last nibble"),
    ]
  }
}

@Suite struct TreeVectorTests {
  private let file = VectorFile<TreeVectors>("tree")

  @Test func `the vectors of the tree match their generator`() throws {
    #expect(try file.holds(TreeVectors.generate()))
  }

  @Test func `an editor that inserts entries one by one makes the same nodes`() throws {
    let vectors = try file.load()
    try #require(vectors.trees.count >= 6)
    for tree in vectors.trees {
      var editor = TreeEditor(root: TreeNode.emptyRoot)
      let load: TreeEditor.Load = { (_, _) throws(VaultError) in .leaf([]) }
      for entry in tree.entries.shuffled() {
        let token = Token(prefixOf: Bytes32([UInt8](hex: entry.token) + [UInt8](repeating: 0, count: 16))!)
        try editor.put(TreeEntry(token: token, digest: Digest([UInt8](hex: entry.digest))!), load: load)
      }
      var nodes: [String: String] = [:]
      let root = try editor.finish { place, body, _, _ in nodes[place.key.hex] = body.hex }
      #expect(root.bytes.hex == tree.root, "\(tree.name)")
      #expect(nodes == Dictionary(uniqueKeysWithValues: tree.nodes.map { ($0.key, $0.body) }), "\(tree.name)")
    }
  }

  @Test func `malformed nodes are refused`() throws {
    let vectors = try file.load()
    try #require(!vectors.malformed.isEmpty)
    for vector in vectors.malformed {
      let key = [UInt8](hex: vector.key)
      let place = TreePlace(
        depth: Int(key[0]), prefix: Token(prefixOf: Bytes32(key[1...] + [UInt8](repeating: 0, count: 16))!))
      let error = failure { try TreeNode(parsing: [UInt8](hex: vector.body), at: place) }
      #expect(vector.refusal.matches(error.flatMap(Refusal.init)), "\(vector.name): \(String(describing: error))")
    }
  }
}

extension Refusal {
  /// The level of a refusal that an error of a group's file stands for, or `nil` if the error is not a refusal.
  init?(_ error: VaultError) {
    switch error {
    case .damaged(_, let level, _): self = .damaged(0, level.rawValue)
    case .anotherGroup, .witnessUnavailable: self = .damaged(0, "witness")
    case .rolledBack: self.init(0, "rolled-back")
    case .newerFormat: self.init(0, "newer-format")
    case .denied(.notAMember): self.init(0, "not-a-member")
    case .otherDevice: self.init(0, "locked")
    default: return nil
    }
  }
}
