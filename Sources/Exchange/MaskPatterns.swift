/// The patterns that a ``Masker`` searches for: values, and other forms in which programs write the same values.
///
/// All are in one automaton (Aho and Corasick, 1975), so the search time does not depend on the number of values.
public struct MaskPatterns: Sendable {
  /// Shorter values, in bytes, are not searched for, because they occur everywhere.
  public static let shortestValue = 4

  private var bytes: [UInt8] = [0]
  private var firstChild: [Int32] = [0]
  private var sibling: [Int32] = [0]
  private var fallback: [Int32] = [0]
  private var depths: [Int32] = [0]
  /// The length of the longest pattern that ends at each node; 0 if none does.
  private var matches: [Int32] = [0]
  /// The length of the shortest pattern that passes through each node.
  private var shortest: [Int32] = [.max]
  private var children = [Int32](repeating: 0, count: 256)

  /// - Parameter patterns: the patterns to search for, without other forms. Empty ones are ignored.
  init(exactly patterns: some Sequence<[UInt8]>) {
    for pattern in patterns where !pattern.isEmpty { insert(pattern) }
    link()
  }

  private mutating func insert(_ pattern: [UInt8]) {
    var node: Int32 = 0
    for byte in pattern {
      node = child(of: node, byte) ?? add(byte, below: node)
      shortest[Int(node)] = min(shortest[Int(node)], Int32(pattern.count))
    }
    matches[Int(node)] = Int32(pattern.count)
  }

  private mutating func add(_ byte: UInt8, below parent: Int32) -> Int32 {
    let node = Int32(bytes.count)
    bytes.append(byte)
    firstChild.append(0)
    sibling.append(firstChild[Int(parent)])
    firstChild[Int(parent)] = node
    fallback.append(0)
    depths.append(depths[Int(parent)] + 1)
    matches.append(0)
    shortest.append(.max)
    if parent == 0 { children[Int(byte)] = node }
    return node
  }

  /// Finds the fallback of each node, level by level: the node of its longest proper suffix that is also a prefix of a
  /// pattern.
  private mutating func link() {
    var queue: [Int32] = [0]
    var next = 0
    while next < queue.count {
      let parent = queue[next]
      next += 1
      var node = firstChild[Int(parent)]
      while node != 0 {
        if parent != 0 { fallback[Int(node)] = step(from: fallback[Int(parent)], bytes[Int(node)]) }
        matches[Int(node)] = max(matches[Int(node)], matches[Int(fallback[Int(node)])])
        queue.append(node)
        node = sibling[Int(node)]
      }
    }
  }

  private func child(of node: Int32, _ byte: UInt8) -> Int32? {
    var next = node == 0 ? children[Int(byte)] : firstChild[Int(node)]
    while next != 0, bytes[Int(next)] != byte { next = sibling[Int(next)] }
    return next == 0 ? nil : next
  }

  // MARK: Walking

  /// The state after `byte`. The initial state is 0.
  func step(from state: Int32, _ byte: UInt8) -> Int32 {
    var state = state
    while true {
      if let child = child(of: state, byte) { return child }
      if state == 0 { return 0 }
      state = fallback[Int(state)]
    }
  }

  /// Whether a pattern begins with `byte`.
  func isFirst(_ byte: UInt8) -> Bool { children[Int(byte)] != 0 }

  /// How many of the last bytes may be the beginning of a pattern.
  func depth(_ state: Int32) -> Int { Int(depths[Int(state)]) }

  /// The length of the longest pattern that ends with the last byte; 0 if none does.
  func match(_ state: Int32) -> Int { Int(matches[Int(state)]) }

  /// Whether the last bytes reveal little of each pattern that they may begin: at most four bytes and at most a quarter
  /// of the pattern.
  func tellsLittle(_ state: Int32) -> Bool {
    var state = state
    while state != 0 {
      guard depth(state) <= min(4, Int(shortest[Int(state)]) / 4) else { return false }
      state = fallback[Int(state)]
    }
    return true
  }
}
