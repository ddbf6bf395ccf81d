import Sealing

/// Table `node`: the tree's nodes by their places. It is a cache that `repair` can rebuild; each body is proved by its
/// digest at every use.
extension Connection {
  /// Lends the stored body at `place`, unproved; `nil` if there is none.
  func withNodeBody<Result>(
    at place: TreePlace, _ body: (UnsafeRawBufferPointer) throws(GroupFileError) -> Result
  ) throws(GroupFileError) -> Result? {
    let statement = try statement("SELECT body FROM node WHERE prefix = ?")
    defer { statement.reset() }
    try unsafe place.withKey { (key) throws(GroupFileError) in _ = try unsafe statement.bind(1, key) }
    guard try statement.step() else { return nil }
    return try unsafe body(statement.blob(0, count: 34...TreeNode.leafCapacity * 48))
  }

  /// The stored body at `place`, unproved.
  func nodeBody(at place: TreePlace) throws(GroupFileError) -> [UInt8]? {
    unsafe try withNodeBody(at: place) { (body) throws(GroupFileError) in unsafe Array(body) }
  }

  /// Writes the body at `place`.
  func storeNode(_ body: [UInt8], at place: TreePlace) throws(GroupFileError) {
    let statement = try statement(
      "INSERT INTO node(prefix, body) VALUES(?, ?) ON CONFLICT(prefix) DO UPDATE SET body = excluded.body")
    defer { statement.reset() }
    try unsafe place.withKey { (key) throws(GroupFileError) in _ = try unsafe statement.bind(1, key) }
    try statement.bind(2, body)
    _ = try statement.step()
  }

  /// All bodies in rising order of their keys, unproved.
  func nodes() throws(GroupFileError) -> Statement { try statement("SELECT prefix, body FROM node ORDER BY prefix") }
}

/// Proved nodes by their digests.
///
/// A digest never names another content, so a cached node stays valid whatever other processes commit. The cache has
/// two halves: when the newer half is full it becomes the older one, whose nodes are dropped.
final class NodeCache: Sendable {
  private struct Halves {
    var young = NodeTable()
    var old = NodeTable()
  }

  private let halves = Locked(Halves())
  private let halfByteCount: Int

  /// Creates a cache of at most about `byteCount` bytes: the tree of a million items.
  init(byteCount: Int = 128 << 20) { halfByteCount = byteCount / 2 }

  subscript(_ digest: Digest) -> TreeNode? {
    halves.withLock { halves in
      if let node = halves.young[digest] { return node }
      guard let node = halves.old[digest] else { return nil }
      keep(node, digest, in: &halves)
      return node
    }
  }

  /// Adds a node whose digest was computed from its bytes.
  func keep(_ node: TreeNode, _ digest: Digest) {
    halves.withLock { keep(node, digest, in: &$0) }
  }

  private func keep(_ node: TreeNode, _ digest: Digest, in halves: inout Halves) {
    halves.young.insert(node, digest)
    if halves.young.byteCount > halfByteCount {
      halves.old = halves.young
      halves.young = NodeTable()
    }
  }
}

/// A hash table from digests to nodes. A `Dictionary` would hash the digests again, and would spend 50 µs on setting up
/// its types in a process that reads one item.
private struct NodeTable {
  private struct Slot {
    var digest = Digest.zero
    var node: TreeNode?
  }

  private var slots = [Slot](repeating: Slot(), count: 16)
  private var count = 0
  // Random for each table, so that a hostile writer cannot choose digests that collide.
  private let multiplier = UInt64.random(in: .min ... .max) | 1
  /// The approximate size of the nodes in bytes.
  private(set) var byteCount = 0

  subscript(_ digest: Digest) -> TreeNode? { slots[index(of: digest)].node }

  mutating func insert(_ node: TreeNode, _ digest: Digest) {
    let index = index(of: digest)
    guard slots[index].node == nil else { return }
    slots[index] = Slot(digest: digest, node: node)
    count += 1
    byteCount += 160 + node.byteCount
    if count * 4 > slots.count * 3 { grow() }
  }

  /// The index of `digest`, or the index at which it would be inserted.
  private func index(of digest: Digest) -> Int {
    let mask = slots.count - 1
    var index = Int(truncatingIfNeeded: (digest.word &* multiplier) >> 32) & mask
    while slots[index].node != nil, slots[index].digest != digest { index = (index + 1) & mask }
    return index
  }

  private mutating func grow() {
    let full = slots
    slots = [Slot](repeating: Slot(), count: full.count * 2)
    for slot in full where slot.node != nil { slots[index(of: slot.digest)] = slot }
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
