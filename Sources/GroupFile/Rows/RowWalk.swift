import Sealing

/// Walks over all current rows in order of their tokens, and proves each by its leaf.
///
/// The scan and the signed tree must agree: at the first row that is in only one of them, the walk ends with an error.
package final class RowWalk {
  // Keeps the transaction, because its connection must not be lent to another thread during the scan.
  private let transaction: ReadTransaction
  private let rows: Statement
  private var tree: TreeWalk
  private var finished = false

  package init(_ transaction: ReadTransaction) throws(VaultError) {
    self.transaction = transaction
    rows = try transaction.view.connection.currentRows()
    tree = TreeWalk(transaction.view, from: transaction.view.state.manifest.root)
  }

  deinit { rows.reset() }

  package func next() throws(VaultError) -> Row? {
    guard let next = try nextUnproved() else { return nil }
    try next.prove()
    return next.row
  }

  /// The next row with the digest that proves it; `nil` after the last. Hashing takes long enough for another thread.
  package func nextUnproved() throws(VaultError) -> UnprovedRow? {
    guard !finished else { return nil }
    guard let entry = try tree.next() else {
      finished = true
      guard try !rows.step() else { throw .damaged(.row, "a row that the tree does not name") }
      return nil
    }
    guard try rows.step() else { throw .damaged(.row, "a row is missing") }
    let row = try Row(rows)
    guard row.token == entry.token else { throw UnprovedRow.mismatch }
    return UnprovedRow(row: row, digest: entry.digest)
  }
}

/// A row, and the digest that the tree has for its token.
package struct UnprovedRow: Sendable {
  /// Counts only after `prove`.
  package let row: Row
  fileprivate let digest: Digest

  /// Compares the row with the digest.
  ///
  /// - Throws: `damaged(.row, …)`.
  package func prove() throws(VaultError) {
    guard row.digest == digest else { throw UnprovedRow.mismatch }
  }

  fileprivate static let mismatch = VaultError.damaged(.row, "a row does not match the tree")
}

/// Walks over the items that a signed root names, in order of their tokens, and proves each node by its parent.
struct TreeWalk {
  private let view: Snapshot
  private var pending: [(digest: Digest, place: TreePlace)]
  private var leaf: ArraySlice<TreeEntry> = []
  /// How many stored nodes the walk has visited.
  private(set) var nodeCount: UInt64 = 0

  init(_ view: Snapshot, from root: Digest) {
    self.view = view
    pending = [(root, .root)]
  }

  /// The next item; `nil` after the last.
  mutating func next() throws(VaultError) -> TreeEntry? {
    while leaf.isEmpty {
      guard let (digest, place) = pending.popLast() else { return nil }
      if digest != TreeNode.emptyRoot { nodeCount += 1 }
      // A walk visits each leaf once, and there are ten times as many of them as branches.
      switch try view.load(digest, place, keepsLeaf: false) {
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
