/// The graph of references between objects: its depth, its cycles, and its size with shared references expanded.
/// Computed without recursion.
package struct ReferenceGraph: Sendable {
  /// For each object, the index of its first reference in `edges`; a final entry marks the end.
  private let starts: [UInt32]
  private let edges: [UInt32]
  /// Objects that `$top` refers to directly.
  let roots: [UInt32]

  /// How deep objects refer to each other, from `$top`. References that close a cycle are not followed.
  package let depth: Int
  /// For each object, the number of objects it expands to, including itself; 0 if `$top` does not reach it.
  package let unfolded: [UInt64]
  /// References that close a cycle: each leads back to an object on its own path from `$top`.
  package var backReferences: some BidirectionalCollection<(from: Int, to: Int)> {
    packedBackReferences.lazy.map { (Int($0 >> 32), Int($0 & 0xFFFF_FFFF)) }
  }
  /// The same references, both object numbers packed into one integer.
  private let packedBackReferences: [UInt64]

  /// Whether an object refers to itself, directly or through others.
  package var hasCycles: Bool { !packedBackReferences.isEmpty }
  /// The number of objects when every use of a shared object counts; saturates.
  package var unfoldedTotal: UInt64 { roots.reduce(0) { Self.sum($0, unfolded[Int($1)]) } }

  /// Collects the references of each object and walks them from `$top`.
  init(
    _ list: PropertyList, keys: KeyTable, objects: ArraySlice<UInt32>, records: [ArchiveTable.Record], top: Int
  ) throws(ArchiveError) {
    let classKey = keys.number(of: "$class")
    var starts: [UInt32] = []
    var edges: [UInt32] = []
    starts.reserveCapacity(objects.count + 1)
    for (number, node) in objects.enumerated() {
      starts.append(UInt32(edges.count))
      guard case .instance = records[number] else { continue }
      let skipped = classKey.flatMap { keys.value($0, at: Int(node), in: list) }
      Self.collect(list, from: Int(node), skipping: skipped, into: &edges)
    }
    starts.append(UInt32(edges.count))
    var roots: [UInt32] = []
    Self.collect(list, from: top, skipping: nil, into: &roots)
    self.starts = starts
    self.edges = edges
    self.roots = roots
    var walk = Walk(starts: starts, edges: edges)
    for root in roots { walk.visit(Int(root)) }
    depth = walk.deepest
    unfolded = walk.unfolded
    packedBackReferences = walk.backReferences
    for (number, total) in unfolded.enumerated() where total > 0 {
      if case .classDescription = records[number] {
        throw .brokenArchive(.referenceToClass, at: ArchivePath([.object(number)]))
      }
    }
  }

  /// The objects that `object` refers to, in the order of its fields.
  package func references(of object: Int) -> ArraySlice<UInt32> { edges[Int(starts[object])..<Int(starts[object + 1])] }

  package func isReachable(_ object: Int) -> Bool { unfolded[object] > 0 }

  /// Appends the references within one object. The whole list expands to a bounded number of values, so one object does
  /// too.
  private static func collect(_ list: PropertyList, from node: Int, skipping: Int?, into edges: inout [UInt32]) {
    var stack = [node]
    while let next = stack.popLast() {
      let value = list.nodes[next]
      switch value.kind {
      case .uid where value.payload != 0: edges.append(UInt32(value.payload))
      case .array: stack += list.elements(value).reversed().map { Int($0) }
      case .dictionary: stack += list.values(value).reversed().map { Int($0) }.filter { $0 != skipping }
      default: break
      }
    }
  }

  static func sum(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let (sum, overflows) = one.addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}

/// A depth-first walk over references with an explicit stack.
private struct Walk {
  let starts: [UInt32]
  let edges: [UInt32]
  private(set) var deepest = 0
  private(set) var unfolded: [UInt64]
  private(set) var backReferences: [UInt64] = []
  private var heights: [UInt32]
  private var isOpen: [Bool]

  init(starts: [UInt32], edges: [UInt32]) {
    self.starts = starts
    self.edges = edges
    unfolded = Array(repeating: 0, count: starts.count - 1)
    heights = Array(repeating: 0, count: starts.count - 1)
    isOpen = Array(repeating: false, count: starts.count - 1)
  }

  mutating func visit(_ root: Int) {
    guard unfolded[root] == 0 else { return }
    var stack = [(object: root, next: Int(starts[root]), total: UInt64(1), height: UInt32(0))]
    isOpen[root] = true
    while let frame = stack.last {
      let top = stack.count - 1
      if frame.next == Int(starts[frame.object + 1]) {
        stack.removeLast()
        isOpen[frame.object] = false
        unfolded[frame.object] = frame.total
        heights[frame.object] = frame.height + 1
        deepest = max(deepest, Int(frame.height) + 1)
        if top > 0 { add(frame.total, frame.height + 1, to: &stack[top - 1]) }
        continue
      }
      let child = Int(edges[frame.next])
      stack[top].next += 1
      if unfolded[child] > 0 {
        add(unfolded[child], heights[child], to: &stack[top])
      } else if isOpen[child] {
        backReferences.append(UInt64(frame.object) << 32 | UInt64(child))
        add(1, 0, to: &stack[top])
      } else {
        isOpen[child] = true
        stack.append((child, Int(starts[child]), 1, 0))
      }
    }
  }

  private func add(
    _ total: UInt64, _ height: UInt32, to frame: inout (object: Int, next: Int, total: UInt64, height: UInt32)
  ) {
    frame.total = ReferenceGraph.sum(frame.total, total)
    frame.height = max(frame.height, height)
  }
}
