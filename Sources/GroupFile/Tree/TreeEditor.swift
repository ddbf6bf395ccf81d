import Sealing

/// Changes the tree within one transaction: loads and proves the nodes on the path, and computes the new root from
/// them.
///
/// Every digest in the new root was computed here from a row that this process sealed, or was proved against the old
/// signed root (format article, "Writing"). `load` proves the bodies that it returns.
struct TreeEditor {
  /// A changed node. It is changed in place, because each copy of its arrays would cost as much as the change.
  private final class Node {
    let place: TreePlace
    var entries: [TreeEntry] = []
    /// The children of a branch as they were proved; zero in a leaf.
    var bitmap: UInt16 = 0
    var children: [Digest] = []
    /// The changed children of a branch by their nibbles; empty in a leaf.
    var changed: [Node?] = []

    init(_ place: TreePlace) { self.place = place }

    init(_ place: TreePlace, _ node: TreeNode) {
      self.place = place
      switch node {
      case .leaf(let entries): self.entries = entries
      case .branch(let bitmap, let children):
        (self.bitmap, self.children) = (bitmap, children)
        changed = [Node?](repeating: nil, count: 16)
      }
    }

    var isBranch: Bool { !changed.isEmpty }

    /// Makes a leaf of more than 32 entries a branch.
    func splitIfFull() {
      guard entries.count > TreeNode.leafCapacity else { return }
      changed = [Node?](repeating: nil, count: 16)
      for entry in entries {
        let nibble = entry.token.nibble(at: place.depth)
        let child = changed[nibble] ?? Node(place.child(nibble))
        changed[nibble] = child
        child.entries.append(entry)
      }
      entries = []
      for child in changed { child?.splitIfFull() }
    }
  }

  typealias Load = (Digest, TreePlace) throws(VaultError) -> TreeNode

  private let root: Digest
  private var top: Node?
  // The node that the last entry was put into. In a bulk load, the next one mostly belongs there, too.
  private var last: Node?

  /// - Parameter root: proved.
  init(root: Digest) { self.root = root }

  /// The digest of the row at `token`, changes of this transaction included; `nil` is a proof of absence.
  func digest(
    of token: Token, search: (Digest, TreePlace) throws(VaultError) -> Digest?
  ) throws(VaultError) -> Digest? {
    guard var node = top else { return try search(root, .root) }
    while node.isBranch {
      let nibble = token.nibble(at: node.place.depth)
      if let child = node.changed[nibble] {
        node = child
        continue
      }
      let stored = TreeNode.child(nibble, bitmap: node.bitmap, children: node.children)
      return if let stored { try search(stored, node.place.child(nibble)) } else { nil }
    }
    let (index, found) = node.entries.position(of: token)
    return found ? node.entries[index].digest : nil
  }

  mutating func put(_ entry: TreeEntry, load: Load) throws(VaultError) {
    var node: Node
    if let last, last.place.contains(entry.token) {
      node = last
    } else if let top {
      node = top
    } else {
      node = Node(.root, try load(root, .root))
      top = node
    }
    while node.isBranch {
      let nibble = entry.token.nibble(at: node.place.depth)
      if let child = node.changed[nibble] {
        node = child
        continue
      }
      let place = node.place.child(nibble)
      let child =
        if let stored = TreeNode.child(nibble, bitmap: node.bitmap, children: node.children) {
          Node(place, try load(stored, place))
        } else {
          Node(place)
        }
      node.changed[nibble] = child
      node = child
    }
    last = node
    let (index, found) = node.entries.position(of: entry.token)
    if found { node.entries[index] = entry } else { node.entries.insert(entry, at: index) }
    node.splitIfFull()
  }

  /// Computes the new root; `store` receives each changed node's place and body.
  func finish(store: (TreePlace, [UInt8], Digest, TreeNode) throws(VaultError) -> Void) throws(VaultError)
    -> Digest
  {
    if let top { try TreeEditor.finish(top, store) } else { root }
  }

  private static func finish(
    _ node: Node, _ store: (TreePlace, [UInt8], Digest, TreeNode) throws(VaultError) -> Void
  ) throws(VaultError) -> Digest {
    let branch =
      node.isBranch
      ? try TreeNode.branch { (nibble) throws(VaultError) in
        if let child = node.changed[nibble] { return try finish(child, store) }
        return TreeNode.child(nibble, bitmap: node.bitmap, children: node.children)
      } : nil
    let finished = branch ?? .leaf(node.entries)
    let body = finished.body()
    let digest = TreeNode.digest(ofBody: body, at: node.place)
    try store(node.place, body, digest, finished)
    return digest
  }
}
