internal import Ground

/// A property list, parsed within limits into an immutable table of values.
///
/// Shared values stay shared, so the table is never larger than a fixed multiple of the input. No container contains
/// itself. The outermost value is at `top`.
package struct PropertyList: Sendable {
  package let format: ArchiveFormat
  /// The buffer that strings and data are ranges of: the input itself, or the decoded strings of an XML list.
  package let bytes: [UInt8]
  package let nodes: [Node]
  /// The children of all containers, as positions in `nodes`.
  package let children: [UInt32]
  /// Integers that need 128 bits.
  package let wideIntegers: [Int128]
  package let top: Int
  /// For each node, its offset in the input. Empty for a binary list, which has an offset table of its own.
  private let offsets: [UInt32]

  /// Reads a binary or XML property list.
  ///
  /// Throws if it is invalid or exceeds a limit: bytes, values, nesting, elements, strings or data.
  package init(_ input: [UInt8], limits: ArchiveLimits) throws(ArchiveError) {
    guard input.count <= limits.inputBytes else {
      throw .overLimit(.inputBytes, allowed: limits.inputBytes, at: ArchivePath())
    }
    if input.starts(with: BinaryPropertyList.magic) {
      var reader = BinaryPropertyList(input, limits: limits)
      try reader.read()
      self.init(.binary, reader.bytes, reader.nodes, reader.children, reader.wideIntegers, top: reader.top)
    } else if XMLPropertyList.looksLikeXML(input) {
      var reader = XMLPropertyList(input, limits: limits)
      try reader.read()
      self.init(
        .xml, reader.texts, reader.nodes, reader.children, reader.wideIntegers, reader.offsets, top: reader.top)
    } else {
      throw .notAPropertyList
    }
    var shape = PropertyListShape(self)
    try shape.check(limits, inputBytes: input.count)
  }

  /// Reads a property list as ``ArchiveInspection/rawJSON()`` writes it.
  ///
  /// Throws if it is invalid or exceeds a limit: bytes, values, nesting, elements, strings or data.
  package init(json input: [UInt8], limits: ArchiveLimits) throws(ArchiveError) {
    guard input.count <= limits.inputBytes else {
      throw .overLimit(.inputBytes, allowed: limits.inputBytes, at: ArchivePath())
    }
    var reader = JSONPropertyList(input, limits: limits)
    try reader.read()
    self.init(
      .binary, reader.texts, reader.nodes, reader.children, reader.wideIntegers, reader.offsets, top: reader.top)
    var shape = PropertyListShape(self)
    try shape.check(limits, inputBytes: input.count)
  }

  /// A list whose nodes are known to be consistent.
  init(
    _ format: ArchiveFormat, _ bytes: [UInt8], _ nodes: [Node], _ children: [UInt32], _ wideIntegers: [Int128] = [],
    _ offsets: [UInt32] = [], top: Int
  ) {
    self.format = format
    self.bytes = bytes
    self.nodes = nodes
    self.children = children
    self.wideIntegers = wideIntegers
    self.offsets = offsets
    self.top = top
  }

  /// The offset in the input at which a node begins, for an error.
  func offset(ofNode node: Int) -> Int {
    if offsets.indices.contains(node) { return Int(offsets[node]) }
    guard bytes.starts(with: BinaryPropertyList.magic), let trailer = try? BinaryTrailer(bytes),
      node < trailer.objectCount
    else { return 0 }
    let start = trailer.offsetTable + node * trailer.offsetSize
    return bytes[start..<(start + trailer.offsetSize)].reduce(0) { $0 << 8 | Int($1) }
  }
}

extension PropertyList {
  /// The elements of an array.
  package func elements(_ node: Node) -> ArraySlice<UInt32> { children[node.start..<(node.start + node.size)] }
  /// The keys of a dictionary, in their order.
  package func keys(_ node: Node) -> ArraySlice<UInt32> { children[node.start..<(node.start + node.size)] }
  /// The values of a dictionary, in the order of their keys.
  package func values(_ node: Node) -> ArraySlice<UInt32> {
    children[(node.start + node.size)..<(node.start + 2 * node.size)]
  }

  /// The bytes of data, or of a string in its stored encoding.
  package func rawBytes(_ node: Node) -> ArraySlice<UInt8> {
    bytes[node.start..<(node.start + (node.kind == .utf16 ? 2 * node.size : node.size))]
  }

  /// The code units of a UTF-16 string.
  package func codeUnits(_ node: Node) -> [UInt16] {
    let raw = rawBytes(node)
    return unsafe [UInt16](unsafeUninitializedCapacity: max(node.size, 1)) { buffer, count in
      var position = raw.startIndex
      for index in 0..<node.size {
        unsafe buffer[index] = UInt16(raw[position]) << 8 | UInt16(raw[position + 1])
        position += 2
      }
      count = node.size
    }
  }

  /// The text of a string; nil if the node is not a string or holds a lone surrogate.
  package func text(_ node: Node) -> String? {
    switch node.kind {
    case .ascii, .utf8: String(decoding: rawBytes(node), as: UTF8.self)
    case .utf16: String(validating: codeUnits(node), as: UTF16.self)
    default: nil
    }
  }

  /// The beginning of a string, at least as long as ``Printable/name(_:)`` shows.
  func beginning(_ node: Node) -> String {
    var part = node
    // No character has more than four bytes, or two code units.
    part.count = UInt32(min(node.size, (Printable.shown + 2) * (node.kind == .utf16 ? 2 : 4)))
    return name(part) ?? ""
  }

  /// The text of a string with lone surrogates replaced, for display; nil if the node is not a string.
  package func name(_ node: Node) -> String? {
    node.kind == .utf16 ? String(decoding: codeUnits(node), as: UTF16.self) : text(node)
  }

  /// An integer of any width.
  package func integer(_ node: Node) -> Int128? {
    switch node.kind {
    case .integer: Int128(Int64(bitPattern: node.payload))
    case .unsigned: Int128(node.payload)
    case .wide: wideIntegers[node.start]
    default: nil
    }
  }

  /// The value under `key` in a dictionary, by linear search. Only for the few fixed keys of the envelope.
  package func value(_ key: StaticString, in node: Node) -> Int? {
    guard node.kind == .dictionary else { return nil }
    for (candidate, value) in zip(keys(node), values(node)) where isText(nodes[Int(candidate)], key) {
      return Int(value)
    }
    return nil
  }

  /// Whether a string is exactly `text`, which is ASCII.
  package func isText(_ node: Node, _ text: StaticString) -> Bool {
    guard node.kind == .ascii || node.kind == .utf8, node.size == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { unsafe $0.elementsEqual(rawBytes(node)) }
  }
}

/// One value of a property list, in 16 bytes: its kind, and where its contents are in the list's tables.
package struct Node: Sendable {
  package enum Kind: UInt8, Sendable {
    case bool
    /// `payload` is the two's complement of a 64-bit number.
    case integer
    /// `payload` is a number above `Int64.max`.
    case unsigned
    /// `payload` is the position, in the list's table of wide integers, of a number that needs 128 bits.
    case wide
    /// `payload` holds the bits of a `Double`; `count` is 4 if the archive holds a single-precision number.
    case real
    /// `payload` holds the bits of a `Double`: seconds since 2001.
    case date
    /// `payload` and `count` are a range of the list's bytes.
    case data
    /// As for data; each byte is below 0x80.
    case ascii
    /// As for data; UTF-8.
    case utf8
    /// As for data; `count` UTF-16 code units in big-endian order, possibly with lone surrogates.
    case utf16
    /// `payload` is the number of an object.
    case uid
    /// `payload` is the index of the first of `count` children.
    case array
    /// `payload` is the index of the first of `count` keys, which are followed by `count` values.
    case dictionary
  }

  package var kind: Kind
  package var count: UInt32
  package var payload: UInt64

  package init(_ kind: Kind, count: Int = 0, payload: UInt64 = 0) {
    self.kind = kind
    self.count = UInt32(truncatingIfNeeded: count)
    self.payload = payload
  }

  package static func integer(_ value: Int64) -> Node { Node(.integer, payload: UInt64(bitPattern: value)) }
  package static func real(_ value: Double, single: Bool = false) -> Node {
    Node(.real, count: single ? 4 : 8, payload: value.bitPattern)
  }

  /// The index of its first byte or child.
  package var start: Int { Int(truncatingIfNeeded: payload) }
  /// The number of its bytes, code units, children or pairs.
  package var size: Int { Int(count) }
  package var isString: Bool { kind == .ascii || kind == .utf8 || kind == .utf16 }
  package var isContainer: Bool { kind == .array || kind == .dictionary }

  /// Its kind in words, for errors.
  package var words: String {
    switch kind {
    case .bool: "a boolean"
    case .integer, .unsigned, .wide: "an integer"
    case .real: "a real number"
    case .date: "a date"
    case .data: "data"
    case .ascii, .utf8, .utf16: "a string"
    case .uid: "a reference"
    case .array: "an array"
    case .dictionary: "a dictionary"
    }
  }
}

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
