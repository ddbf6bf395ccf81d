import Sealing

/// The digest tree of a damaged file, read from its signed root downwards. A lost node is rebuilt from its children or
/// rows, and counts if it has the digest that its proved parent names (format article, "Repairing").
struct SalvagedTree {
  /// The items that the signed root proves, in rising order.
  private(set) var entries: [TreeEntry] = []
  /// Whether the tree is complete: then `entries` are all items that were signed.
  private(set) var isWhole = true
  /// Rebuilt nodes, by digest.
  private var made: [Digest: TreeNode] = [:]

  init(root: Digest, in index: borrowing SalvageIndex) { prove(root, at: .root, index) }

  private mutating func prove(_ digest: Digest, at place: TreePlace, _ index: borrowing SalvageIndex) {
    if digest == TreeNode.emptyRoot, place.depth == 0 { return }
    switch made[digest] ?? index.node(digest, at: place) ?? madeNode(digest, at: place, index) {
    case .leaf(let found)?: entries += found
    case .branch(let bitmap, let children)?:
      for nibble in 0..<16 {
        guard let child = TreeNode.child(nibble, bitmap: bitmap, children: children) else { continue }
        prove(child, at: place.child(nibble), index)
      }
    // Items below this node are not proved.
    case nil: isWhole = false
    }
  }

  private mutating func madeNode(_ digest: Digest, at place: TreePlace, _ index: borrowing SalvageIndex) -> TreeNode? {
    // For a child there may be both a node and rows, and after damage either may be wrong.
    for prefersNodes in [true, false] {
      let candidates = [leaf(at: place, index), branch(at: place, index, prefersNodes: prefersNodes)]
      for case let node? in candidates where node.digest(at: place) == digest { return node }
    }
    return nil
  }

  /// The leaf built from the rows below `place`, if they are few enough for one.
  private func leaf(at place: TreePlace, _ index: borrowing SalvageIndex) -> TreeNode? {
    var found: [TreeEntry] = []
    for record in index.rows(below: place) {
      let entry = TreeEntry(token: record.token, digest: record.digest)
      // Versions come in rising order, so the last one is the current one.
      if found.last?.token == record.token { found[found.count - 1] = entry } else { found.append(entry) }
      guard found.count <= TreeNode.leafCapacity else { return nil }
    }
    return found.isEmpty ? nil : .leaf(found)
  }

  /// The branch built from the nodes that are stored below `place`, or from the rows there.
  private mutating func branch(at place: TreePlace, _ index: borrowing SalvageIndex, prefersNodes: Bool) -> TreeNode? {
    guard place.depth < 32 else { return nil }
    return TreeNode.branch { candidate(at: place.child($0), index, prefersNodes: prefersNodes) }
  }

  private mutating func candidate(at place: TreePlace, _ index: borrowing SalvageIndex, prefersNodes: Bool) -> Digest? {
    let stored = index.nodesByPlace[place]
    if prefersNodes, let stored { return stored }
    let node =
      leaf(at: place, index)
      ?? (index.rows(below: place).isEmpty ? nil : branch(at: place, index, prefersNodes: prefersNodes))
    guard let node else { return stored }
    let digest = node.digest(at: place)
    made[digest] = node
    return digest
  }
}
