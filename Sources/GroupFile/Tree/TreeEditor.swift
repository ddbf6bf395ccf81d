import Sealing

/// Changes the tree within one transaction: loads and proves the nodes on the way, and computes the new root from them.
///
/// Every digest that enters the new root was computed here from a row this process sealed, or was proved against the old
/// signed root (format article, "Writing"). Bodies come from `load`, which proves them.
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
  func digest(of token: Token, load: Load) throws(GroupFileError) -> Digest? {
    var child = top
    var place = TreePlace.root
    while true {
      let next: Child?
      switch child {
      case .stored(let digest):
        return try TreeSearch.digest(of: token, below: digest, at: place, load: load)
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

  /// Puts `entry` into the tree, in place of the one with its token if there is one.
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

  /// Computes the new root; `store` gets each changed node's place and body.
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

  /// A leaf, or the branch that it becomes beyond 32 entries.
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
