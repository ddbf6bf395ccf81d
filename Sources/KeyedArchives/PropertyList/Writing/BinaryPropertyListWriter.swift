/// Writes a property list in the binary format, `bplist00`.
///
/// The same list always gives the same bytes. Objects are written in the order in which their containers name them,
/// keys before values. Equal strings, numbers and references are written once, each in its shortest form.
struct BinaryPropertyListWriter {
  private let list: PropertyList
  private var output = BinaryPropertyList.magic
  private var offsets: [Int] = []
  /// The object number of each node, if assigned; nodes with equal scalars share one.
  private var numbers: [UInt32?]
  private var scalars: [Scalar: UInt32] = [:]
  /// The nodes to write, in the order of their object numbers.
  private var order: [Int] = []

  /// Scalars with equal keys are written as one object.
  private struct Scalar: Hashable {
    let kind: Node.Kind
    let count: UInt32
    let payload: UInt64
    var bytes: ArraySlice<UInt8> = []
    /// The value of a number that needs 128 bits.
    var wide: Int128 = 0
  }

  static func bytes(of list: PropertyList) -> [UInt8] {
    var writer = BinaryPropertyListWriter(list)
    writer.number()
    writer.writeObjects()
    writer.writeTrailer()
    return writer.output
  }

  private init(_ list: PropertyList) {
    self.list = list
    numbers = Array(repeating: nil, count: list.nodes.count)
  }

  // MARK: Order

  private mutating func number() {
    var stack: [(node: Int, next: Int)] = []
    if enter(list.top) { stack.append((list.top, 0)) }
    while let (node, next) = stack.last {
      let container = list.nodes[node]
      guard next < (container.kind == .dictionary ? 2 * container.size : container.size) else {
        stack.removeLast()
        continue
      }
      stack[stack.count - 1].next += 1
      let child = Int(list.children[container.start + next])
      if enter(child) { stack.append((child, 0)) }
    }
  }

  /// Assigns `node` a number unless it, or an equal scalar, already has one.
  ///
  /// - Returns: whether it is a container seen for the first time.
  private mutating func enter(_ node: Int) -> Bool {
    guard numbers[node] == nil else { return false }
    let value = list.nodes[node]
    let next = UInt32(order.count)
    if value.isContainer {
      numbers[node] = next
    } else {
      let number = scalars[scalar(value), default: next]
      numbers[node] = number
      guard number == next else { return false }
      scalars[scalar(value)] = next
    }
    order.append(node)
    return value.isContainer
  }

  private func scalar(_ node: Node) -> Scalar {
    switch node.kind {
    case .utf16 where isASCII(node):
      // The same text may also be stored as ASCII, and must then be the same object.
      Scalar(kind: .ascii, count: node.count, payload: 0, bytes: asciiBytes(node)[...])
    case .ascii, .utf8, .utf16, .data:
      Scalar(kind: node.kind, count: node.count, payload: 0, bytes: list.rawBytes(node))
    case .wide: Scalar(kind: .wide, count: 0, payload: 0, wide: list.wideIntegers[node.start])
    default: Scalar(kind: node.kind, count: node.count, payload: node.payload)
    }
  }

  /// Whether a UTF-16 string is pure ASCII, which has a shorter form.
  private func isASCII(_ node: Node) -> Bool { list.codeUnits(node).allSatisfy { $0 < 0x80 } }
  private func asciiBytes(_ node: Node) -> [UInt8] { list.codeUnits(node).map { UInt8(truncatingIfNeeded: $0) } }

  // MARK: Objects

  private mutating func writeObjects() {
    let referenceSize = Self.byteCount(order.count)
    offsets.reserveCapacity(order.count)
    for position in order {
      offsets.append(output.count)
      let node = list.nodes[position]
      switch node.kind {
      case .bool: output.append(node.payload == 0 ? 0x08 : 0x09)
      case .integer: write(integer: Int128(Int64(bitPattern: node.payload)))
      case .unsigned: write(integer: Int128(node.payload))
      case .wide: write(integer: list.wideIntegers[node.start])
      case .real where node.count == 4:
        output.append(0x22)
        write(UInt64(Float(Double(bitPattern: node.payload)).bitPattern), size: 4)
      case .real:
        output.append(0x23)
        write(node.payload, size: 8)
      case .date:
        output.append(0x33)
        write(node.payload, size: 8)
      case .data:
        write(marker: 0x40, count: node.size)
        output += list.rawBytes(node)
      case .ascii:
        write(marker: 0x50, count: node.size)
        output += list.rawBytes(node)
      case .utf8:
        let units = Array(String(decoding: list.rawBytes(node), as: UTF8.self).utf16)
        write(marker: 0x60, count: units.count)
        for unit in units { write(UInt64(unit), size: 2) }
      case .utf16 where isASCII(node):
        write(marker: 0x50, count: node.size)
        output += asciiBytes(node)
      case .utf16:
        write(marker: 0x60, count: node.size)
        output += list.rawBytes(node)
      case .uid:
        let size = Self.byteCount(Int(node.payload))
        output.append(0x80 | UInt8(size - 1))
        write(node.payload, size: size)
      case .array: write(marker: 0xA0, count: node.size, list.elements(node), referenceSize)
      case .dictionary:
        write(marker: 0xD0, count: node.size, list.keys(node), referenceSize)
        for value in list.values(node) { write(UInt64(numbers[Int(value)] ?? 0), size: referenceSize) }
      }
    }
  }

  private mutating func write(marker: UInt8, count: Int, _ members: ArraySlice<UInt32>, _ referenceSize: Int) {
    write(marker: marker, count: count)
    for member in members { write(UInt64(numbers[Int(member)] ?? 0), size: referenceSize) }
  }

  private mutating func write(marker: UInt8, count: Int) {
    guard count >= 15 else { return output.append(marker | UInt8(count)) }
    output.append(marker | 15)
    write(integer: Int128(count))
  }

  /// Integers of 1, 2 and 4 bytes are unsigned, those of 8 bytes are signed, and larger values take 16 bytes.
  private mutating func write(integer: Int128) {
    switch integer {
    case 0...0xFF: write(0x10, UInt64(integer), size: 1)
    case 0...0xFFFF: write(0x11, UInt64(integer), size: 2)
    case 0...0xFFFF_FFFF: write(0x12, UInt64(integer), size: 4)
    case Int128(Int64.min)...Int128(Int64.max): write(0x13, UInt64(bitPattern: Int64(integer)), size: 8)
    default:
      output.append(0x14)
      let bits = UInt128(bitPattern: integer)
      write(UInt64(bits >> 64), size: 8)
      write(UInt64(truncatingIfNeeded: bits), size: 8)
    }
  }

  private mutating func write(_ marker: UInt8, _ bits: UInt64, size: Int) {
    output.append(marker)
    write(bits, size: size)
  }

  private mutating func write(_ bits: UInt64, size: Int) {
    for shift in (0..<size).reversed() { output.append(UInt8(truncatingIfNeeded: bits >> UInt64(8 * shift))) }
  }

  // MARK: Trailer

  private mutating func writeTrailer() {
    let table = output.count
    let offsetSize = Self.byteCount(table)
    for offset in offsets { write(UInt64(offset), size: offsetSize) }
    output += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(Self.byteCount(order.count))]
    write(UInt64(order.count), size: 8)
    write(UInt64(numbers[list.top] ?? 0), size: 8)
    write(UInt64(table), size: 8)
  }

  /// The number of bytes that a number takes: 1, 2, 4 or 8.
  private static func byteCount(_ number: Int) -> Int {
    switch number {
    case ...0xFF: 1
    case ...0xFFFF: 2
    case ...0xFFFF_FFFF: 4
    default: 8
    }
  }
}

extension PropertyList {
  /// The bytes of the list in a format. The same list always gives the same bytes.
  ///
  /// - Throws: `notInXML`.
  package func bytes(_ format: ArchiveFormat) throws(ArchiveError) -> [UInt8] { try bytes(format, within: .none) }

  /// - Throws: `notInXML`, and `overLimit` if XML would be longer than `limit`. (The binary format keeps values shared,
  ///   so it never exceeds the limit.)
  func bytes(_ format: ArchiveFormat, within limit: OutputLimit) throws(ArchiveError) -> [UInt8] {
    switch format {
    case .binary: BinaryPropertyListWriter.bytes(of: self)
    case .xml: try XMLPropertyListWriter.bytes(of: self, within: limit)
    }
  }
}

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
    PropertyList(.binary, bytes, nodes, children, top: Int(top))
  }
}
