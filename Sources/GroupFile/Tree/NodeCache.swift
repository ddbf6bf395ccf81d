import Sealing

/// Nodes that were proved once, by their own digest.
///
/// A digest names one content for ever, so a node stays true whatever other processes commit; nothing is ever dropped for
/// being out of date. Two halves: when the younger is full it becomes the older, and the older is let go.
final class NodeCache: Sendable {
  private struct Halves {
    var young: [Digest: TreeNode] = [:]
    var old: [Digest: TreeNode] = [:]
    var youngByteCount = 0
  }

  private let halves = Locked(Halves())
  private let halfByteCount: Int

  /// Makes a cache of at most about `byteCount` bytes.
  init(byteCount: Int = 32 << 20) { halfByteCount = byteCount / 2 }

  subscript(_ digest: Digest) -> TreeNode? {
    halves.withLock { halves in
      if let node = halves.young[digest] { return node }
      guard let node = halves.old[digest] else { return nil }
      keep(node, digest, in: &halves)
      return node
    }
  }

  /// Keeps a node whose digest was computed from its bytes.
  func keep(_ node: TreeNode, _ digest: Digest) {
    halves.withLock { keep(node, digest, in: &$0) }
  }

  private func keep(_ node: TreeNode, _ digest: Digest, in halves: inout Halves) {
    halves.young[digest] = node
    halves.youngByteCount += 160 + node.byteCount
    if halves.youngByteCount > halfByteCount {
      halves.old = halves.young
      halves.young = [:]
      halves.youngByteCount = 0
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
