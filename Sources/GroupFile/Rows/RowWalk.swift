internal import Glibc
import Sealing

/// Walks over all current rows in order of their tokens, and proves each by its leaf.
///
/// The scan and the signed tree must agree: at the first row that is in only one of them, the walk ends with an error.
package final class RowWalk {
  // Keeps the transaction, because its connection must not be lent to another thread during the scan.
  private let transaction: Snapshot
  private let rows: Statement
  private var tree: TreeWalk
  private var finished = false

  package init(_ transaction: Snapshot) throws(VaultError) {
    self.transaction = transaction
    try transaction.connection.prepareReuse(asScan: true)
    rows = try transaction.connection.currentRows()
    tree = TreeWalk(transaction, from: transaction.state.manifest.root)
  }

  deinit {
    rows.reset()
    tree.end()
  }

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

  /// Compares the row with the digest; throws `damaged(.row, …)` if they do not match.
  package func prove() throws(VaultError) { guard row.digest == digest else { throw UnprovedRow.mismatch } }

  fileprivate static let mismatch = VaultError.damaged(.row, "a row does not match the tree")
}

/// Walks over the items that a signed root names, in order of their tokens, and proves each node by its parent.
struct TreeWalk {
  private let view: Snapshot
  private let nodes: NodeScan
  private var pending: [(digest: Digest, place: TreePlace)]
  private var leaf: ArraySlice<TreeEntry> = []
  private(set) var nodeCount: UInt64 = 0

  init(_ view: Snapshot, from root: Digest) {
    self.view = view
    nodes = NodeScan(view.connection)
    pending = [(root, .root)]
  }

  mutating func next() throws(VaultError) -> TreeEntry? {
    while leaf.isEmpty {
      guard let (digest, place) = pending.popLast() else { return nil }
      if digest != TreeNode.emptyRoot { nodeCount += 1 }
      switch try view.load(digest, place, in: nodes) {
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

  /// Ends the reading of nodes, before the connection can be lent to another thread.
  func end() { nodes.end() }
}

/// A part of a group's tree that a reader has seen. What still has the same digest need not be read again.
package final class SeenTree: Sendable {
  fileprivate enum Content {
    case leaf([Token])
    /// By nibbles.
    case branch([SeenTree?])
  }

  fileprivate let digest: Digest
  fileprivate let content: Content

  fileprivate init(_ digest: Digest, _ content: Content) { (self.digest, self.content) = (digest, content) }

  fileprivate func forEachToken(_ body: (Token) -> Void) {
    switch content {
    case .leaf(let tokens): tokens.forEach(body)
    case .branch(let children): for child in children { child?.forEachToken(body) }
    }
  }
}

extension Snapshot {
  /// Calls `row` with the proved current rows of all leaves that are not in `seen`, a state under the same key, and
  /// `former` with the tokens of the leaves that only `seen` has.
  ///
  /// - Returns: the tree of this state.
  package func compare(
    with seen: SeenTree?, former: (Token) -> Void, row: (Row) throws(VaultError) -> Void
  ) throws(VaultError) -> SeenTree {
    let scan = seen == nil ? NodeScan(connection) : nil
    defer { scan?.end() }
    func walk(_ digest: Digest, _ place: TreePlace, _ seen: SeenTree?) throws(VaultError) -> SeenTree {
      if let seen, seen.digest == digest { return seen }
      switch (try load(digest, place, in: scan), seen?.content) {
      case (.leaf(let entries), _):
        seen?.forEachToken(former)
        for entry in entries { try row(self.row(entry.token, digest: entry.digest)) }
        return SeenTree(digest, .leaf(entries.map(\.token)))
      case (.branch(let bitmap, let children), let content):
        var known = [SeenTree?](repeating: nil, count: 16)
        if case .branch(let children)? = content { known = children } else { seen?.forEachToken(former) }
        let seen = try known.enumerated().map { (nibble, known) throws(VaultError) -> SeenTree? in
          if let child = TreeNode.child(nibble, bitmap: bitmap, children: children) {
            return try walk(child, place.child(nibble), known)
          }
          known?.forEachToken(former)
          return nil
        }
        return SeenTree(digest, .branch(seen))
      }
    }
    return try walk(state.manifest.root, .root, seen)
  }
}

/// Finds the nodes of a walk, which come in rising order at each depth: one scan for each depth takes a third of the time
/// of a search for each node.
///
/// What a scan does not find as expected is searched for, so that a damaged table leads to the same error.
final class NodeScan {
  private struct Level {
    var visits = 0
    var scan: Statement?
  }

  private let connection: Connection
  private var levels: [Level] = []

  // Preparing a statement takes as long as some ten searches.
  private static let firstVisit = 24

  init(_ connection: Connection) { self.connection = connection }

  func end() { levels = [] }

  /// As `Connection.withNodeBody`.
  func withBody<Result>(
    at place: TreePlace, _ body: (UnsafeRawBufferPointer) throws(VaultError) -> Result
  ) throws(VaultError) -> Result? {
    while levels.count <= place.depth { levels.append(Level()) }
    levels[place.depth].visits += 1
    if levels[place.depth].visits == NodeScan.firstVisit {
      levels[place.depth].scan = try? connection.nodes(from: place)
    }
    if let scan = levels[place.depth].scan {
      if let stored = unsafe try? move(scan, to: place) { return try unsafe body(stored) }
      levels[place.depth].scan = nil
    }
    return try unsafe connection.withNodeBody(at: place, body)
  }

  /// Moves `scan` to `place`, which is after where it is; `nil` if it has no such place.
  private func move(_ scan: Statement, to place: TreePlace) throws(VaultError) -> UnsafeRawBufferPointer? {
    try unsafe place.withKey { (key) throws(VaultError) in
      // The pages of a hostile table can name one large value many times.
      while try connection.limitingValues(to: 4 << 10, { () throws(VaultError) in try scan.step() }) {
        let order = unsafe memcmp(try scan.blob(0, count: key.count).baseAddress!, key.baseAddress!, key.count)
        guard order < 0 else { return order == 0 ? unsafe try scan.blob(1, count: Connection.nodeByteCount) : nil }
      }
      return nil
    }
  }
}
