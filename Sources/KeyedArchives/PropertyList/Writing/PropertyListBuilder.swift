/// Puts a property list together from its leaves up; each call returns the node it made, for its container.
package struct PropertyListBuilder: Sendable {
  private var bytes: [UInt8] = []
  private var nodes: [Node] = []
  private var children: [UInt32] = []
  /// Strings that were added, so that keys and class names stand once.
  private var texts: [KeyTable.Key: UInt32] = [:]

  package init() {}

  /// A text; equal ones are one node.
  package mutating func add(text: String) -> UInt32 {
    let key = KeyTable.Key(text: text)
    if let node = texts[key] { return node }
    let start = bytes.count
    bytes += text.utf8
    let isASCII = bytes[start...].allSatisfy { $0 < 0x80 }
    let node = add(Node(isASCII ? .ascii : .utf8, count: bytes.count - start, payload: UInt64(start)))
    texts[key] = node
    return node
  }

  package mutating func add(data: some Collection<UInt8>) -> UInt32 {
    let start = bytes.count
    bytes += data
    return add(Node(.data, count: bytes.count - start, payload: UInt64(start)))
  }

  package mutating func add(bool: Bool) -> UInt32 { add(Node(.bool, payload: bool ? 1 : 0)) }
  package mutating func add(integer: Int64) -> UInt32 { add(.integer(integer)) }
  package mutating func add(unsigned: UInt64) -> UInt32 {
    unsigned <= UInt64(Int64.max) ? add(integer: Int64(unsigned)) : add(Node(.unsigned, payload: unsigned))
  }
  package mutating func add(real: Double) -> UInt32 { add(.real(real)) }
  package mutating func add(real: Float) -> UInt32 { add(.real(Double(real), single: true)) }
  /// Seconds since 2001.
  package mutating func add(date: Double) -> UInt32 { add(Node(.date, payload: date.bitPattern)) }
  package mutating func add(uid: Int) -> UInt32 { add(Node(.uid, payload: UInt64(uid))) }

  package mutating func add(array: [UInt32]) -> UInt32 {
    let start = children.count
    children += array
    return add(Node(.array, count: array.count, payload: UInt64(start)))
  }

  /// A dictionary with `values` in the order of `keys`, which are texts, each once.
  package mutating func add(keys: [UInt32], values: [UInt32]) -> UInt32 {
    precondition(keys.count == values.count)
    let start = children.count
    children += keys
    children += values
    return add(Node(.dictionary, count: keys.count, payload: UInt64(start)))
  }

  /// Makes a reference that was added point elsewhere.
  package mutating func point(_ uid: UInt32, to object: Int) { nodes[Int(uid)].payload = UInt64(object) }

  private mutating func add(_ node: Node) -> UInt32 {
    nodes.append(node)
    return UInt32(nodes.count - 1)
  }

  /// The list whose top is `top`.
  package consuming func list(top: UInt32) -> PropertyList {
    PropertyList(bytes: bytes, nodes: nodes, children: children, top: Int(top))
  }
}
