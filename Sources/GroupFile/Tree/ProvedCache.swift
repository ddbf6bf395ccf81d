import Sealing

/// Proved nodes and sealed rows by their digests.
///
/// A digest never names another content, so cached content stays valid whatever other processes commit. Whether it
/// belongs to the current state is decided by the signed root, from which each search begins.
final class ProvedCache: Sendable {
  private struct Contents {
    var nodes: Halves<TreeNode>
    var rows: Halves<Row>
  }

  private let contents: Locked<Contents>

  /// Creates a cache of at most about `nodeByteCount` bytes of nodes, the tree of a million items, and `rowByteCount`
  /// bytes of sealed rows.
  init(nodeByteCount: Int = 128 << 20, rowByteCount: Int = 64 << 20) {
    contents = Locked(Contents(nodes: Halves(byteCount: nodeByteCount), rows: Halves(byteCount: rowByteCount)))
  }

  func node(_ digest: Digest) -> TreeNode? { contents.withLock { $0.nodes[digest] } }

  /// Adds a node whose digest was computed from its bytes.
  func keep(_ node: TreeNode, _ digest: Digest) {
    contents.withLock { $0.nodes.keep(node, digest, byteCount: node.byteCount) }
  }

  func row(_ digest: Digest) -> Row? { contents.withLock { $0.rows[digest] } }

  /// Adds a row whose digest was computed from its bytes.
  func keep(_ row: Row, _ digest: Digest) {
    contents.withLock { $0.rows.keep(row, digest, byteCount: row.encoded.count) }
  }

  /// Follows the path of `token` through cached nodes.
  ///
  /// - Returns: the end of the search, or the first node on the path that is not cached.
  func follow(_ token: Token, from digest: Digest, at place: TreePlace) -> TreeStep {
    contents.withLock { contents in
      var step = TreeStep.child(digest, place)
      while case .child(let digest, let place) = step, let node = contents.nodes[digest] {
        step = node.step(toward: token, at: place)
      }
      return step
    }
  }
}

extension TreeNode {
  fileprivate var byteCount: Int {
    switch self {
    case .leaf(let entries): entries.count * 48
    case .branch(_, let children): children.count * 32
    }
  }
}

/// When the newer half is full it becomes the older one, whose content is dropped.
private struct Halves<Content: Sendable>: Sendable {
  private var young = DigestTable<Content>()
  private var old = DigestTable<Content>()
  private let halfByteCount: Int

  init(byteCount: Int) { halfByteCount = byteCount / 2 }

  subscript(_ digest: Digest) -> Content? {
    mutating get {
      if let content = young[digest] { return content }
      guard let content = old[digest] else { return nil }
      keep(content, digest, byteCount: max(old.averageByteCount - DigestTable<Content>.overhead, 0))
      return content
    }
  }

  mutating func keep(_ content: Content, _ digest: Digest, byteCount: Int) {
    young.insert(content, digest, byteCount: byteCount)
    if young.byteCount > halfByteCount {
      old = young
      young = DigestTable()
    }
  }
}

/// A hash table from digests to content. A `Dictionary` would hash the digests again, and would spend 50 µs on setting
/// up its types in a process that reads one item.
private struct DigestTable<Content: Sendable>: Sendable {
  // A digest of zeros marks a free slot; no content has it. The digests stand apart so that a search touches few cache
  // lines.
  private var digests = [Digest](repeating: .zero, count: 16)
  private var contents = [Content?](repeating: nil, count: 16)
  private var count = 0
  // Random for each table, so that a hostile writer cannot choose digests that collide.
  private let multiplier = UInt64.random(in: .min ... .max) | 1
  /// What the table and the allocator add to each content, approximately.
  static var overhead: Int { 160 }
  /// The approximate size of the content in bytes.
  private(set) var byteCount = 0

  var averageByteCount: Int { byteCount / max(count, 1) }

  subscript(_ digest: Digest) -> Content? { contents[index(of: digest)] }

  mutating func insert(_ content: Content, _ digest: Digest, byteCount: Int) {
    let index = index(of: digest)
    guard digests[index] == .zero, digest != .zero else { return }
    digests[index] = digest
    contents[index] = content
    count += 1
    self.byteCount += Self.overhead + byteCount
    if count * 4 > digests.count * 3 { grow() }
  }

  /// The index of `digest`, or the index at which it would be inserted.
  private func index(of digest: Digest) -> Int {
    let mask = digests.count - 1
    var index = Int(truncatingIfNeeded: (digest.word &* multiplier) >> 32) & mask
    while digests[index] != digest, digests[index] != .zero { index = (index + 1) & mask }
    return index
  }

  private mutating func grow() {
    let (full, content) = (digests, contents)
    digests = [Digest](repeating: .zero, count: full.count * 2)
    contents = [Content?](repeating: nil, count: full.count * 2)
    for (old, digest) in full.enumerated() where digest != .zero {
      let new = index(of: digest)
      digests[new] = digest
      contents[new] = content[old]
    }
  }
}
