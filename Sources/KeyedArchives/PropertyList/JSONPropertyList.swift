internal import Ground

/// Parses the JSON that ``ArchiveInspection/rawJSON()`` writes into a table of values.
///
/// Recursion is safe: the nesting limit bounds it.
struct JSONPropertyList {
  private(set) var texts: [UInt8] = []
  private(set) var nodes: [Node] = []
  private(set) var children: [UInt32] = []
  private(set) var wideIntegers: [Int128] = []
  /// For each node, the offset at which its text ends.
  private(set) var offsets: [UInt32] = []
  private(set) var top = 0

  private var scanner: JSONScanner
  private let limits: ArchiveLimits
  /// The node of each container, in the order in which they begin; nil while the container is open.
  private var containers: [UInt32?] = []
  private var depth = 0

  init(_ bytes: [UInt8], limits: ArchiveLimits) {
    scanner = JSONScanner(bytes)
    self.limits = limits
  }

  /// Reads the one value of the text. Throws if the text is invalid.
  mutating func read() throws(ArchiveError) {
    top = Int(try value())
    guard scanner.peek() == nil else { throw broken(.trailing) }
  }

  private mutating func value() throws(ArchiveError) -> UInt32 {
    switch scanner.peek() {
    case nil: throw broken(.truncated)
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return try append(try string())
    case UInt8(ascii: "t"): return try flag("true", 1)
    case UInt8(ascii: "f"): return try flag("false", 0)
    case UInt8(ascii: "n"): throw broken(.element)
    default: return try number()
    }
  }

  private mutating func append(_ node: Node) throws(ArchiveError) -> UInt32 {
    guard nodes.count < limits.values else { throw .overLimit(.values, allowed: limits.values, at: ArchivePath()) }
    nodes.append(node)
    offsets.append(UInt32(clamping: scanner.position))
    return UInt32(nodes.count - 1)
  }

  private func broken(_ defect: PropertyListDefect) -> ArchiveError {
    .brokenPropertyList(defect, offset: scanner.position)
  }

  private func broken(_ fault: JSONFault) -> ArchiveError {
    let defect: PropertyListDefect =
      switch fault.kind {
      case .syntax: .json
      case .number: .number
      case .text: .text
      case .truncated: .truncated
      }
    return .brokenPropertyList(defect, offset: fault.offset)
  }

  private mutating func expect(_ byte: UInt8) throws(ArchiveError) {
    guard scanner.take(byte) else { throw broken(.json) }
  }

  // MARK: Containers

  private mutating func array() throws(ArchiveError) -> UInt32 {
    try expect(UInt8(ascii: "["))
    let number = try begin()
    var values: [UInt32] = []
    if !scanner.take(UInt8(ascii: "]")) {
      repeat {
        values.append(try value())
        try checkCount(values.count)
      } while scanner.take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "]"))
    }
    return try end(number, Node(.array, count: values.count), values)
  }

  /// An object whose first key is a tag represents the kind of value that the tag names.
  private mutating func object() throws(ArchiveError) -> UInt32 {
    try expect(UInt8(ascii: "{"))
    guard !scanner.take(UInt8(ascii: "}")) else { return try end(try begin(), Node(.dictionary), []) }
    let key = try key()
    guard let tag = tag(key) else { return try dictionary(firstKey: key) }
    let value = try tagged(tag)
    try expect(UInt8(ascii: "}"))
    return value
  }

  /// The rest of a dictionary, after its first key.
  private mutating func dictionary(firstKey: Node) throws(ArchiveError) -> UInt32 {
    let number = try begin()
    var keys = [try append(firstKey)]
    var values = [try value()]
    while scanner.take(UInt8(ascii: ",")) {
      keys.append(try append(try key()))
      values.append(try value())
      try checkCount(keys.count)
    }
    try expect(UInt8(ascii: "}"))
    return try end(number, Node(.dictionary, count: keys.count), keys + values)
  }

  private mutating func key() throws(ArchiveError) -> Node {
    guard scanner.peek() == UInt8(ascii: "\"") else { throw broken(.json) }
    let key = try string()
    try expect(UInt8(ascii: ":"))
    return key
  }

  private mutating func begin() throws(ArchiveError) -> Int {
    depth += 1
    guard depth <= limits.effectiveNesting else {
      throw .overLimit(.nesting, allowed: limits.effectiveNesting, at: ArchivePath())
    }
    containers.append(nil)
    return containers.count - 1
  }

  private mutating func end(_ number: Int, _ container: Node, _ members: [UInt32]) throws(ArchiveError) -> UInt32 {
    depth -= 1
    var container = container
    container.payload = UInt64(children.count)
    children += members
    let node = try append(container)
    containers[number] = node
    return node
  }

  private func checkCount(_ count: Int) throws(ArchiveError) {
    guard count <= limits.elements else { throw .overLimit(.elements, allowed: limits.elements, at: ArchivePath()) }
  }

  // MARK: Tagged values

  private func tag(_ key: Node) -> RawTag? {
    guard key.kind == .ascii, key.size <= 16 else { return nil }
    return RawTag(rawValue: String(decoding: texts[key.start..<(key.start + key.size)], as: UTF8.self))
  }

  private mutating func tagged(_ tag: RawTag) throws(ArchiveError) -> UInt32 {
    switch tag {
    case .uid: return try append(Node(.uid, payload: UInt64(try count())))
    case .data: return try data()
    case .date: return try append(Node(.date, payload: try real().bitPattern))
    case .real: return try append(.real(try real()))
    case .single:
      let real = try real()
      let single = Float(real)
      // As any text of a number, it is rounded. But no finite number becomes infinite.
      guard single.isFinite || !real.isFinite else { throw broken(.number) }
      return try append(.real(Double(single), single: true))
    case .dictionary:
      try expect(UInt8(ascii: "{"))
      return try dictionary(firstKey: try key())
    case .same:
      let number = Int(try count())
      guard number < containers.count else { throw broken(.reference) }
      guard let node = containers[number] else { throw broken(.containsItself) }
      return node
    }
  }

  /// An unsigned 32-bit number.
  private mutating func count() throws(ArchiveError) -> UInt32 {
    _ = scanner.peek()
    guard let number = try numeral().integer, let count = UInt32(exactly: number) else {
      throw broken(.reference)
    }
    return count
  }

  /// A number, or a quoted name or bit pattern for one that is not finite.
  private mutating func real() throws(ArchiveError) -> Double {
    guard scanner.peek() == UInt8(ascii: "\"") else {
      guard let number = try numeral().real else { throw broken(.number) }
      return number
    }
    let start = texts.count
    _ = try string()
    let word = String(decoding: texts[start...], as: UTF8.self)
    texts.removeLast(texts.count - start)
    switch word {
    case "nan": return .nan
    case "inf": return .infinity
    case "-inf": return -.infinity
    default:
      guard word.hasPrefix("0x"), let bits = UInt64(word.dropFirst(2), radix: 16),
        Double(bitPattern: bits).isNaN
      else { throw broken(.number) }
      return Double(bitPattern: bits)
    }
  }

  private mutating func data() throws(ArchiveError) -> UInt32 {
    guard scanner.peek() == UInt8(ascii: "\"") else { throw broken(.base64) }
    let start = texts.count
    let text = try string(limit: (.dataBytes, limits.dataBytes.saturatingProduct(2)))
    let encoded = Array(texts[start...])
    texts.removeLast(encoded.count)
    guard text.kind == .ascii, Base64.append(decoding: encoded, to: &texts) else { throw broken(.base64) }
    guard texts.count - start <= limits.dataBytes else {
      throw .overLimit(.dataBytes, allowed: limits.dataBytes, at: ArchivePath())
    }
    return try append(Node(.data, count: texts.count - start, payload: UInt64(start)))
  }

  // MARK: Scalars

  private mutating func flag(_ word: StaticString, _ payload: UInt64) throws(ArchiveError) -> UInt32 {
    guard scanner.take(word) else { throw broken(.json) }
    return try append(Node(.bool, payload: payload))
  }

  private mutating func numeral() throws(ArchiveError) -> (integer: Int128?, real: Double?) {
    do { return try scanner.number() } catch { throw broken(error) }
  }

  private mutating func number() throws(ArchiveError) -> UInt32 {
    let number = try numeral()
    if let integer = number.integer {
      var one: [Node] = []
      one.append(integer: integer, wide: &wideIntegers)
      return try append(one[0])
    }
    guard let real = number.real else { throw broken(.number) }
    return try append(.real(real))
  }

  private mutating func string(limit: (ArchiveError.Limit, Int)? = nil) throws(ArchiveError) -> Node {
    let (limit, allowed) = limit ?? (.stringBytes, limits.stringBytes)
    let start = texts.count
    let encoding: JSONScanner.Encoding
    do { encoding = try scanner.string(into: &texts) } catch { throw broken(error) }
    let size = texts.count - start
    guard size <= allowed else { throw .overLimit(limit, allowed: allowed, at: ArchivePath()) }
    return switch encoding {
    case .ascii: Node(.ascii, count: size, payload: UInt64(start))
    case .utf8: Node(.utf8, count: size, payload: UInt64(start))
    case .utf16: Node(.utf16, count: size / 2, payload: UInt64(start))
    }
  }
}
