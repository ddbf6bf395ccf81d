/// Checks a table of values as a whole: no container contains itself, none is nested too deep, and the number of
/// values, counting each use of a shared one, stays in proportion to the input.
///
/// Containers of a binary list can be shared, so a few bytes may expand to billions of values. No known writer shares
/// them: an honest list expands to at most one value for each byte.
struct PropertyListShape {
  private let list: PropertyList
  /// For each node, the number of values it expands to; 0 while unknown.
  private var unfolded: [UInt32]
  private var height: [UInt32]

  init(_ list: PropertyList) {
    self.list = list
    unfolded = Array(repeating: 0, count: list.nodes.count)
    height = Array(repeating: 0, count: list.nodes.count)
  }

  mutating func check(_ limits: ArchiveLimits, inputBytes: Int) throws(ArchiveError) {
    let allowed = max(0, min(limits.values, 4 * inputBytes, Int(UInt32.max) - 1))
    // Only containers that the top reaches are checked, because no later walk visits the others.
    try measure(limits, allowed: allowed)
    guard Int(unfolded[list.top]) <= allowed else {
      throw .overLimit(.values, allowed: allowed, at: ArchivePath())
    }
  }

  /// Visits children before their containers, with an explicit stack.
  private mutating func measure(_ limits: ArchiveLimits, allowed: Int) throws(ArchiveError) {
    var stack: [(node: Int, next: Int, total: Int, height: Int)] = []
    var open = [Bool](repeating: false, count: list.nodes.count)
    guard list.nodes[list.top].isContainer else {
      unfolded[list.top] = 1
      return
    }
    stack.append((list.top, 0, 1, 0))
    open[list.top] = true
    while let frame = stack.last {
      let node = list.nodes[frame.node]
      let childCount = node.kind == .dictionary ? 2 * node.size : node.size
      if frame.next == childCount {
        stack.removeLast()
        open[frame.node] = false
        unfolded[frame.node] = UInt32(min(frame.total, allowed + 1))
        height[frame.node] = UInt32(frame.height + 1)
        if let parent = stack.indices.last {
          stack[parent].total = min(stack[parent].total + min(frame.total, allowed + 1), allowed + 1)
          stack[parent].height = max(stack[parent].height, frame.height + 1)
        }
        continue
      }
      let top = stack.count - 1
      let child = Int(list.children[node.start + frame.next])
      stack[top].next += 1
      if node.kind == .dictionary, frame.next < node.size, !list.nodes[child].isString {
        throw .brokenPropertyList(.keyNotAString, offset: list.offset(ofNode: child))
      }
      if !list.nodes[child].isContainer {
        stack[top].total = min(stack[top].total + 1, allowed + 1)
      } else if unfolded[child] > 0 {
        stack[top].total = min(stack[top].total + Int(unfolded[child]), allowed + 1)
        stack[top].height = max(stack[top].height, Int(height[child]))
      } else {
        guard !open[child] else { throw .brokenPropertyList(.containsItself, offset: list.offset(ofNode: child)) }
        open[child] = true
        stack.append((child, 0, 1, 0))
      }
      guard stack.count + stack[stack.count - 1].height <= limits.effectiveNesting else {
        throw .overLimit(.nesting, allowed: limits.effectiveNesting, at: ArchivePath())
      }
    }
  }
}
