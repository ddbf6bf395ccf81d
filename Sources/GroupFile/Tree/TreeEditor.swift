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
    /// The entries of a leaf; empty in a branch.
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

  /// Starts from the proved `root`.
  init(root: Digest) { self.root = root }

  /// The digest of the row at `token`, changes of this transaction included; `nil` is a proof of absence.
  ///
  /// - Parameter search: continues below the proved digest of a stored node.
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

  /// Puts `entry` into the tree, replacing an entry with the same token.
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
    var finished = TreeNode.leaf(node.entries)
    if node.isBranch {
      var bitmap: UInt16 = 0
      var digests: [Digest] = []
      digests.reserveCapacity(16)
      for nibble in 0..<16 {
        let digest =
          if let child = node.changed[nibble] {
            try finish(child, store)
          } else {
            TreeNode.child(nibble, bitmap: node.bitmap, children: node.children)
          }
        guard let digest else { continue }
        bitmap |= 1 << UInt16(nibble)
        digests.append(digest)
      }
      finished = .branch(bitmap: bitmap, children: digests)
    }
    let body = finished.body()
    let digest = TreeNode.digest(ofBody: body, at: node.place)
    try store(node.place, body, digest, finished)
    return digest
  }
}

/// Builds the canonical tree of all rows from the bottom up, and passes each node to the caller.
///
/// Entries must come in rising order. Everything that proves or rewrites all rows uses it: verify, compact, rotate,
/// backup. It holds the entries of one leaf, the branches above it, and the nodes that nobody has taken yet.
struct TreeBuilder {
  private struct Branch {
    let place: TreePlace
    var bitmap: UInt16 = 0
    var children: [Digest] = []

    mutating func append(_ digest: Digest, at place: TreePlace) {
      bitmap |= 1 << UInt16(place.prefix.nibble(at: self.place.depth))
      children.append(digest)
    }
  }

  /// The branches that contain the last entry, from the root on. Each has more than 32 entries.
  private var branches: [Branch] = []
  /// The entries below `place`, which the tree has no node for yet.
  private var entries: [TreeEntry] = []
  private var place = TreePlace.root
  private var last: Token?
  private var nodes: [(place: TreePlace, body: [UInt8])] = []

  /// Adds the next entry.
  ///
  /// - Throws: `damaged(.tree, …)` if its token is not above the previous one.
  mutating func append(_ entry: TreeEntry) throws(VaultError) {
    guard last.map({ $0 < entry.token }) ?? true else { throw .damaged(.tree, "order of rows") }
    last = entry.token
    if !place.contains(entry.token) { leave(for: entry.token) }
    entries.append(entry)
    while entries.count > TreeNode.leafCapacity { split() }
  }

  /// Returns the nodes that are complete so far and were not taken yet, children before their parents.
  mutating func takeNodes() -> [(place: TreePlace, body: [UInt8])] {
    defer { nodes.removeAll(keepingCapacity: true) }
    return nodes
  }

  /// The digest of the root; `visit` receives the nodes that were not taken, with their places and stored bodies.
  func finish<Failure: Error>(visit: (TreePlace, [UInt8]) throws(Failure) -> Void) throws(Failure) -> Digest {
    var copy = self
    let root = copy.close()
    for node in copy.nodes { try visit(node.place, node.body) }
    return root
  }

  /// Completes the nodes that do not contain `token`, and begins the one that does.
  private mutating func leave(for token: Token) {
    var (digest, closed) = (add(.leaf(entries), at: place), place)
    entries.removeAll(keepingCapacity: true)
    while var branch = branches.popLast() {
      branch.append(digest, at: closed)
      if branch.place.contains(token) {
        place = branch.place.child(token.nibble(at: branch.place.depth))
        branches.append(branch)
        return
      }
      (digest, closed) = (
        add(.branch(bitmap: branch.bitmap, children: branch.children), at: branch.place), branch.place
      )
    }
  }

  /// Makes the place of the entries a branch: all but the last of its children are complete.
  private mutating func split() {
    var branch = Branch(place: place)
    var rest = entries[...]
    let depth = place.depth
    let nibble = entries[entries.count - 1].token.nibble(at: depth)
    while let first = rest.first?.token.nibble(at: depth), first != nibble {
      let child = rest.prefix { $0.token.nibble(at: depth) == first }
      rest = rest.dropFirst(child.count)
      branch.append(add(.leaf(Array(child)), at: place.child(first)), at: place.child(first))
    }
    branches.append(branch)
    place = place.child(nibble)
    entries = Array(rest)
  }

  private mutating func close() -> Digest {
    var (digest, closed) = (add(.leaf(entries), at: place), place)
    while var branch = branches.popLast() {
      branch.append(digest, at: closed)
      (digest, closed) = (
        add(.branch(bitmap: branch.bitmap, children: branch.children), at: branch.place), branch.place
      )
    }
    return digest
  }

  /// Records a complete node, and returns its digest. The empty tree has no stored node.
  private mutating func add(_ node: TreeNode, at place: TreePlace) -> Digest {
    let body = node.body()
    if !body.isEmpty { nodes.append((place, body)) }
    return TreeNode.digest(ofBody: body, at: place)
  }
}
