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
      self.init(reader)
    } else if XMLPropertyList.looksLikeXML(input) {
      var reader = XMLPropertyList(input, limits: limits)
      try reader.read()
      self.init(reader)
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
    self.init(reader)
    var shape = PropertyListShape(self)
    try shape.check(limits, inputBytes: input.count)
  }

  /// A list that this module built, so its nodes are known to be consistent.
  init(bytes: [UInt8], nodes: [Node], children: [UInt32], top: Int) {
    format = .binary
    self.bytes = bytes
    self.nodes = nodes
    self.children = children
    wideIntegers = []
    offsets = []
    self.top = top
  }

  private init(_ reader: BinaryPropertyList) {
    format = .binary
    bytes = reader.bytes
    nodes = reader.nodes
    children = reader.children
    wideIntegers = reader.wideIntegers
    offsets = []
    top = reader.top
  }

  private init(_ reader: XMLPropertyList) {
    format = .xml
    bytes = reader.texts
    nodes = reader.nodes
    children = reader.children
    wideIntegers = reader.wideIntegers
    offsets = reader.offsets
    top = reader.top
  }

  private init(_ reader: JSONPropertyList) {
    format = .binary
    bytes = reader.texts
    nodes = reader.nodes
    children = reader.children
    wideIntegers = reader.wideIntegers
    offsets = reader.offsets
    top = reader.top
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
    return unsafe [UInt16](unsafeUninitializedCapacity: node.size) { buffer, count in
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
