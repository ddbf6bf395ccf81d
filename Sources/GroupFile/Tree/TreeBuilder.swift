import Sealing

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

  /// Adds the next entry; throws `damaged(.tree, …)` if its token is not above the previous one.
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
    let root = copy.leave(for: nil)
    for node in copy.nodes { try visit(node.place, node.body) }
    return root
  }

  /// Completes the nodes that do not contain `token`, and begins the one that does; completes all nodes for `nil`.
  /// Returns the digest of the last completed node.
  @discardableResult
  private mutating func leave(for token: Token?) -> Digest {
    var (digest, closed) = (add(.leaf(entries), at: place), place)
    entries.removeAll(keepingCapacity: true)
    while var branch = branches.popLast() {
      branch.append(digest, at: closed)
      if let token, branch.place.contains(token) {
        place = branch.place.child(token.nibble(at: branch.place.depth))
        branches.append(branch)
        break
      }
      (digest, closed) = (
        add(.branch(bitmap: branch.bitmap, children: branch.children), at: branch.place), branch.place
      )
    }
    return digest
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

  /// Records a complete node, and returns its digest. The empty tree has no stored node.
  private mutating func add(_ node: TreeNode, at place: TreePlace) -> Digest {
    let body = node.body()
    if !body.isEmpty { nodes.append((place, body)) }
    return TreeNode.digest(ofBody: body, at: place)
  }
}
