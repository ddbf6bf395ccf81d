import Sealing

/// Walks over all current rows in order of their tokens, each proved by its leaf.
///
/// The scan and the signed tree must tell the same: a row that the tree does not name, or one that is missing, ends the walk
/// with an error, and never one row later than that.
package final class RowWalk {
  // Kept as a whole: the connection must not be lent to another thread while the scan stands on it.
  private let transaction: ReadTransaction
  private let rows: Statement
  private var tree: TreeWalk
  private var finished = false

  package init(_ transaction: ReadTransaction) throws(GroupFileError) {
    self.transaction = transaction
    rows = try transaction.view.connection.currentRows()
    tree = TreeWalk(transaction.view, from: transaction.view.state.manifest.root)
  }

  deinit { rows.reset() }

  /// The next row; `nil` after the last.
  package func next() throws(GroupFileError) -> Row? {
    guard !finished else { return nil }
    guard let entry = try tree.next() else {
      finished = true
      guard try !rows.step() else { throw .damaged(.row, "a row that the tree does not name") }
      return nil
    }
    guard try rows.step() else { throw .damaged(.row, "a row is missing") }
    let row = try Row(rows)
    guard row.token == entry.token, row.digest == entry.digest else {
      throw .damaged(.row, "a row does not match the tree")
    }
    return row
  }
}

/// Walks over the items that a signed root names, in order of their tokens; each node is proved by its parent.
struct TreeWalk {
  private let view: Snapshot
  private var pending: [(digest: Digest, place: TreePlace)]
  private var leaf: ArraySlice<TreeEntry> = []
  /// How many stored nodes the walk went over.
  private(set) var nodeCount: UInt64 = 0

  init(_ view: Snapshot, from root: Digest) {
    self.view = view
    pending = [(root, .root)]
  }

  /// The next item; `nil` after the last.
  mutating func next() throws(GroupFileError) -> TreeEntry? {
    while leaf.isEmpty {
      guard let (digest, place) = pending.popLast() else { return nil }
      if digest != TreeNode.emptyRoot { nodeCount += 1 }
      switch try view.load(digest, place) {
      case .leaf(let entries): leaf = entries[...]
      case .branch(let bitmap, let children):
        for nibble in (0..<16).reversed() {
          guard let child = TreeNode.child(nibble, bitmap: bitmap, children: children) else { continue }
          pending.append((child, place.child(nibble)))
        }
      }
    }
    return leaf.popFirst()
  }
}
