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

  typealias Load = (Digest, TreePlace) throws(GroupFileError) -> TreeNode

  private var top: Child

  /// Starts from the proved `root`.
  init(root: Digest) { top = .stored(root) }

  /// The digest of the row at `token`, changes of this transaction included; `nil` is a proof of absence.
  ///
  /// - Parameter search: continues below the proved digest of a stored node.
  func digest(
    of token: Token, search: (Digest, TreePlace) throws(GroupFileError) -> Digest?
  ) throws(GroupFileError) -> Digest? {
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
  mutating func put(_ entry: TreeEntry, load: Load) throws(GroupFileError) {
    let root = try TreeEditor.opened(top, at: .root, load)
    top = .changed(root)
    var node = root
    while true {
      switch node.content {
      case .leaf(var entries):
        node.content = .leaf([])  // One owner, so that the array is changed in place.
        let (index, found) = entries.position(of: entry.token)
        if found { entries[index] = entry } else { entries.insert(entry, at: index) }
        node.content = TreeEditor.content(of: entries, at: node.place)
        return
      case .branch(var children):
        let nibble = entry.token.nibble(at: node.place.depth)
        let place = node.place.child(nibble)
        let child = try children[nibble].map { (child) throws(GroupFileError) in
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
  func finish(store: (TreePlace, [UInt8], Digest, TreeNode) throws(GroupFileError) -> Void) throws(GroupFileError)
    -> Digest
  {
    try TreeEditor.finish(top, store)
  }

  private static func finish(
    _ child: Child, _ store: (TreePlace, [UInt8], Digest, TreeNode) throws(GroupFileError) -> Void
  ) throws(GroupFileError) -> Digest {
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

  private static func opened(_ child: Child, at place: TreePlace, _ load: Load) throws(GroupFileError) -> Node {
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
/// backup.
struct TreeBuilder {
  private var entries: [TreeEntry] = []

  init(reservingCapacity count: Int = 0) { entries.reserveCapacity(min(count, 1 << 20)) }

  /// Adds the next entry.
  ///
  /// - Throws: `damaged(.tree, …)` if its token is not above the previous one.
  mutating func append(_ entry: TreeEntry) throws(GroupFileError) {
    guard entries.last.map({ $0.token < entry.token }) ?? true else { throw .damaged(.tree, "order of rows") }
    entries.append(entry)
  }

  /// The digest of the root, or of the subtree at `place`; `visit` receives every node with its place and stored body.
  func finish<Failure: Error>(
    at place: TreePlace = .root, visit: (TreePlace, [UInt8]) throws(Failure) -> Void
  ) throws(Failure) -> Digest {
    try subtree(at: place, entries[...], visit: visit)
  }

  private func subtree<Failure: Error>(
    at place: TreePlace, _ slice: ArraySlice<TreeEntry>, visit: (TreePlace, [UInt8]) throws(Failure) -> Void
  ) throws(Failure) -> Digest {
    let node: TreeNode
    if slice.count <= TreeNode.leafCapacity {
      node = .leaf(Array(slice))
    } else {
      var bitmap: UInt16 = 0
      var children: [Digest] = []
      var start = slice.startIndex
      while start < slice.endIndex {
        let nibble = slice[start].token.nibble(at: place.depth)
        let end = TreeBuilder.end(of: nibble, in: slice[start...], depth: place.depth)
        bitmap |= 1 << UInt16(nibble)
        children.append(try subtree(at: place.child(nibble), slice[start..<end], visit: visit))
        start = end
      }
      node = .branch(bitmap: bitmap, children: children)
    }
    let body = node.body()
    if !slice.isEmpty { try visit(place, body) }
    return TreeNode.digest(ofBody: body, at: place)
  }

  private static func end(of nibble: Int, in slice: ArraySlice<TreeEntry>, depth: Int) -> Int {
    var low = slice.startIndex
    var high = slice.endIndex
    while low < high {
      let middle = (low + high) / 2
      if slice[middle].token.nibble(at: depth) == nibble { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
