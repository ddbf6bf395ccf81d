/// Builds a property list from its leaves up. Each call returns the new node, for use in its container.
package struct PropertyListBuilder: Sendable {
  private var bytes: [UInt8] = []
  private var nodes: [Node] = []
  private var children: [UInt32] = []
  /// The strings added so far, so that keys and class names are stored once.
  private var texts: [KeyTable.Key: UInt32] = [:]

  package init() {}

  /// Adds a string. Equal strings are one node.
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

  /// Adds a dictionary with `values` in the order of `keys`, which are distinct strings.
  package mutating func add(keys: [UInt32], values: [UInt32]) -> UInt32 {
    precondition(keys.count == values.count)
    let start = children.count
    children += keys
    children += values
    return add(Node(.dictionary, count: keys.count, payload: UInt64(start)))
  }

  /// Changes the object that an added reference points to.
  package mutating func point(_ uid: UInt32, to object: Int) { nodes[Int(uid)].payload = UInt64(object) }

  private mutating func add(_ node: Node) -> UInt32 {
    nodes.append(node)
    return UInt32(nodes.count - 1)
  }

  /// The finished list, with `top` as its outermost value.
  package consuming func list(top: UInt32) -> PropertyList {
    PropertyList(bytes: bytes, nodes: nodes, children: children, top: Int(top))
  }
}
