import Sealing

/// Changes the tree within one transaction: loads and proves the nodes on the path, and computes the new root from
/// them.
///
/// Every digest in the new root was computed here from a row that this process sealed, or was proved against the old
/// signed root (format article, "Writing"). `load` proves the bodies that it returns.
struct TreeEditor {
  private final class Node {
    let place: TreePlace
    var content: Content

    init(_ place: TreePlace, _ content: Content) {
      self.place = place
      self.content = content
    }
  }

  private enum Content {
    case leaf([TreeEntry])
    case branch([Child?])
  }

  private enum Child {
    case stored(Digest)
    case changed(Node)
  }

  typealias Load = (Digest, TreePlace) throws(VaultError) -> TreeNode

  private var top: Child
  // The node that the last entry was put into. In a bulk load, the next one mostly belongs there, too.
  private var last: Node?

  /// Starts from the proved `root`.
  init(root: Digest) { top = .stored(root) }

  /// The digest of the row at `token`, changes of this transaction included; `nil` is a proof of absence.
  ///
  /// - Parameter search: continues below the proved digest of a stored node.
  func digest(
    of token: Token, search: (Digest, TreePlace) throws(VaultError) -> Digest?
  ) throws(VaultError) -> Digest? {
    var child = top
    var place = TreePlace.root
    while true {
      let next: Child?
      switch child {
      case .stored(let digest):
        return try search(digest, place)
      case .changed(let node):
        switch node.content {
        case .leaf(let entries):
          let (index, found) = entries.position(of: token)
          return found ? entries[index].digest : nil
        case .branch(let children): next = children[token.nibble(at: place.depth)]
        }
      }
      guard let next else { return nil }
      place = place.child(token.nibble(at: place.depth))
      child = next
    }
  }

  /// Puts `entry` into the tree, replacing an entry with the same token.
  mutating func put(_ entry: TreeEntry, load: Load) throws(VaultError) {
    var node: Node
    if let last, last.place.contains(entry.token) {
      node = last
    } else {
      node = try TreeEditor.opened(top, at: .root, load)
      top = .changed(node)
    }
    while true {
      switch node.content {
      case .leaf(var entries):
        last = node
        node.content = .leaf([])  // One owner, so that the array is changed in place.
        let (index, found) = entries.position(of: entry.token)
        if found { entries[index] = entry } else { entries.insert(entry, at: index) }
        node.content = TreeEditor.content(of: entries, at: node.place)
        return
      case .branch(var children):
        let nibble = entry.token.nibble(at: node.place.depth)
        let place = node.place.child(nibble)
        let child = try children[nibble].map { (child) throws(VaultError) in
          try TreeEditor.opened(child, at: place, load)
        }
        let next = child ?? Node(place, .leaf([]))
        if case .changed(let same) = children[nibble], same === next {
          node = next
          continue
        }
        node.content = .leaf([])
        children[nibble] = .changed(next)
        node.content = .branch(children)
        node = next
      }
    }
  }

  /// Computes the new root; `store` receives each changed node's place and body.
  func finish(store: (TreePlace, [UInt8], Digest, TreeNode) throws(VaultError) -> Void) throws(VaultError)
    -> Digest
  {
    try TreeEditor.finish(top, store)
  }

  private static func finish(
    _ child: Child, _ store: (TreePlace, [UInt8], Digest, TreeNode) throws(VaultError) -> Void
  ) throws(VaultError) -> Digest {
    guard case .changed(let node) = child else {
      if case .stored(let digest) = child { return digest }
      preconditionFailure("a child is stored or changed")
    }
    let finished: TreeNode
    switch node.content {
    case .leaf(let entries): finished = .leaf(entries)
    case .branch(let children):
      var bitmap: UInt16 = 0
      var digests: [Digest] = []
      for (nibble, child) in children.enumerated() {
        guard let child else { continue }
        bitmap |= 1 << UInt16(nibble)
        digests.append(try finish(child, store))
      }
      finished = .branch(bitmap: bitmap, children: digests)
    }
    let body = finished.body()
    let digest = TreeNode.digest(ofBody: body, at: node.place)
    try store(node.place, body, digest, finished)
    return digest
  }

  private static func opened(_ child: Child, at place: TreePlace, _ load: Load) throws(VaultError) -> Node {
    switch child {
    case .changed(let node): return node
    case .stored(let digest):
      switch try load(digest, place) {
      case .leaf(let entries): return Node(place, .leaf(entries))
      case .branch(let bitmap, let digests):
        return Node(
          place,
          .branch((0..<16).map { TreeNode.child($0, bitmap: bitmap, children: digests).map(Child.stored) }))
      }
    }
  }

  /// A leaf, or a branch if there are more than 32 entries.
  private static func content(of entries: [TreeEntry], at place: TreePlace) -> Content {
    guard entries.count > TreeNode.leafCapacity else { return .leaf(entries) }
    var parts = [[TreeEntry]](repeating: [], count: 16)
    for entry in entries { parts[entry.token.nibble(at: place.depth)].append(entry) }
    return .branch(
      parts.enumerated().map { nibble, part in
        part.isEmpty ? nil : .changed(Node(place.child(nibble), content(of: part, at: place.child(nibble))))
      })
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
