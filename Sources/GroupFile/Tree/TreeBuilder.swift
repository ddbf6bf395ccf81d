import Sealing

/// Builds the canonical tree of all rows from the bottom up, and gives each node to the caller.
///
/// Entries come in rising order. What a full pass proves or writes anew goes through here: verify, compact, rotate, backup.
struct TreeBuilder {
  private var entries: [TreeEntry] = []

  init(reservingCapacity count: Int = 0) { entries.reserveCapacity(min(count, 1 << 20)) }

  /// Adds the next entry.
  ///
  /// - Throws: `damaged(.tree, …)` if it does not rise.
  mutating func append(_ entry: TreeEntry) throws(GroupFileError) {
    guard entries.last.map({ $0.token < entry.token }) ?? true else { throw .damaged(.tree, "order of rows") }
    entries.append(entry)
  }

  /// The digest of the root, or of the subtree at `place`; `visit` gets every node with its place and stored body.
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
