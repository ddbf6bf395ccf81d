internal import Ground

/// Reads an XML property list into a table of values, with an explicit stack.
struct XMLPropertyList {
  private(set) var texts: [UInt8] = []
  private(set) var nodes: [Node] = []
  private(set) var children: [UInt32] = []
  private(set) var wideIntegers: [Int128] = []
  private(set) var top = 0
  /// For each node, the offset of its tag; for a container, of its end tag.
  private(set) var offsets: [UInt32] = []

  private var scanner: XMLScanner
  private let limits: ArchiveLimits
  /// The open containers, innermost last.
  private var open: [Container] = []

  private struct Container {
    let tag: XMLScanner.Tag
    var keys: [UInt32] = []
    var values: [UInt32] = []
  }

  /// Whether the first byte after a byte order mark and white space begins markup.
  static func looksLikeXML(_ bytes: [UInt8]) -> Bool {
    bytes[XMLScanner.start(of: bytes)...].first { !$0.isXMLSpace } == UInt8(ascii: "<")
  }

  init(_ bytes: [UInt8], limits: ArchiveLimits) {
    scanner = XMLScanner(bytes)
    self.limits = limits
  }

  /// Reads the one value of the document. Throws if the document is invalid.
  mutating func read() throws(ArchiveError) {
    var token = try scanner.nextTag()
    let isWrapped = token == .start(.plist)
    if isWrapped { token = try scanner.nextTag() }
    var value = try take(token)
    while value == nil { value = try take(try scanner.nextTag()) }
    top = Int(value ?? 0)
    if isWrapped, try scanner.nextTag() != .end(.plist) { throw scanner.broken(.markup) }
    guard try scanner.nextTag() == .finish else { throw scanner.broken(.trailing) }
  }

  /// Consumes one tag. Returns the top value if this tag completes it.
  private mutating func take(_ token: XMLScanner.Token) throws(ArchiveError) -> UInt32? {
    switch token {
    case .start(.dict), .start(.array):
      guard open.count < limits.effectiveNesting else {
        throw .overLimit(.nesting, allowed: limits.effectiveNesting, at: ArchivePath())
      }
      guard case .start(let tag) = token else { return nil }
      open.append(Container(tag: tag))
      return nil
    case .empty(.dict): return try place(Node(.dictionary, payload: UInt64(children.count)))
    case .empty(.array): return try place(Node(.array, payload: UInt64(children.count)))
    case .end(let tag): return try close(tag)
    case .start(.key): return try takeKey(isEmpty: false)
    case .empty(.key): return try takeKey(isEmpty: true)
    case .start(let tag): return try place(try scalar(tag, isEmpty: false))
    case .empty(let tag): return try place(try scalar(tag, isEmpty: true))
    case .finish: throw scanner.broken(.truncated)
    }
  }

  private mutating func takeKey(isEmpty: Bool) throws(ArchiveError) -> UInt32? {
    guard let last = open.indices.last, open[last].tag == .dict, open[last].keys.count == open[last].values.count else {
      throw scanner.broken(.markup)
    }
    open[last].keys.append(try append(try string(.key, isEmpty: isEmpty)))
    return nil
  }

  /// Adds a value to the innermost open container; returns it if it is the top.
  private mutating func place(_ node: Node) throws(ArchiveError) -> UInt32? {
    let number = try append(node)
    guard let last = open.indices.last else { return number }
    if open[last].tag == .dict, open[last].keys.count != open[last].values.count + 1 { throw scanner.broken(.markup) }
    open[last].values.append(number)
    guard open[last].values.count <= limits.elements else {
      throw .overLimit(.elements, allowed: limits.elements, at: ArchivePath())
    }
    return nil
  }

  private mutating func append(_ node: Node) throws(ArchiveError) -> UInt32 {
    guard nodes.count < limits.values else { throw .overLimit(.values, allowed: limits.values, at: ArchivePath()) }
    nodes.append(node)
    offsets.append(UInt32(clamping: scanner.tagStart))
    return UInt32(nodes.count - 1)
  }

  private mutating func close(_ tag: XMLScanner.Tag) throws(ArchiveError) -> UInt32? {
    guard let container = open.popLast(), container.tag == tag else { throw scanner.broken(.mismatch) }
    if tag == .array {
      let start = children.count
      children += container.values
      return try place(Node(.array, count: container.values.count, payload: UInt64(start)))
    }
    guard container.keys.count == container.values.count else { throw scanner.broken(.markup) }
    if let reference = try reference(container) { return try place(reference) }
    let start = children.count
    children += container.keys
    children += container.values
    return try place(Node(.dictionary, count: container.keys.count, payload: UInt64(start)))
  }

  /// XML represents a reference as a dictionary with the single key `CF$UID` and an integer.
  private func reference(_ container: Container) throws(ArchiveError) -> Node? {
    guard container.keys.count == 1 else { return nil }
    let key = nodes[Int(container.keys[0])]
    let value = nodes[Int(container.values[0])]
    guard texts[key.start..<(key.start + key.size)].elementsEqual("CF$UID".utf8) else { return nil }
    switch value.kind {
    case .integer where value.payload <= UInt64(UInt32.max): return Node(.uid, payload: value.payload)
    case .integer, .unsigned, .wide: throw scanner.broken(.reference)
    default: return nil
    }
  }

  private mutating func scalar(_ tag: XMLScanner.Tag, isEmpty: Bool) throws(ArchiveError) -> Node {
    switch tag {
    case .string: return try string(.string, isEmpty: isEmpty)
    case .true, .false:
      if !isEmpty, try scanner.nextTag() != .end(tag) { throw scanner.broken(.mismatch) }
      return Node(.bool, payload: tag == .true ? 1 : 0)
    case .data:
      let text = try content(.data, isEmpty: isEmpty, limit: (.dataBytes, limits.dataBytes.saturatingProduct(2)))
      let start = texts.count
      guard Base64.append(decoding: text, to: &texts) else { throw scanner.broken(.base64) }
      guard texts.count - start <= limits.dataBytes else {
        throw .overLimit(.dataBytes, allowed: limits.dataBytes, at: ArchivePath())
      }
      return Node(.data, count: texts.count - start, payload: UInt64(start))
    case .integer:
      guard let value = XMLScalars.integer(try content(tag, isEmpty: isEmpty)) else { throw scanner.broken(.number) }
      var one: [Node] = []
      one.append(integer: value, wide: &wideIntegers)
      return one[0]
    case .real:
      guard let value = XMLScalars.real(try content(tag, isEmpty: isEmpty)) else { throw scanner.broken(.number) }
      return .real(value)
    case .date:
      guard let value = XMLScalars.date(try content(tag, isEmpty: isEmpty)) else { throw scanner.broken(.date) }
      return Node(.date, payload: value.bitPattern)
    case .plist, .dict, .array, .key: throw scanner.broken(.markup)
    }
  }

  private mutating func string(_ tag: XMLScanner.Tag, isEmpty: Bool) throws(ArchiveError) -> Node {
    let start = texts.count
    if !isEmpty { try scanner.text(of: tag, limit: (.stringBytes, limits.stringBytes), into: &texts) }
    let text = texts[start...]
    if text.allSatisfy({ $0 < 0x80 }) { return Node(.ascii, count: text.count, payload: UInt64(start)) }
    guard String(validating: text, as: UTF8.self) != nil else { throw scanner.broken(.text) }
    return Node(.utf8, count: text.count, payload: UInt64(start))
  }

  /// The text of a number, date or data; it is not kept in `texts`. Numbers have at most 512 bytes.
  private mutating func content(
    _ tag: XMLScanner.Tag, isEmpty: Bool, limit: (ArchiveError.Limit, Int) = (.stringBytes, 512)
  ) throws(ArchiveError) -> [UInt8] {
    guard !isEmpty else { return [] }
    var text: [UInt8] = []
    try scanner.text(of: tag, limit: limit, into: &text)
    return text
  }
}

/// The numbers, dates and data of XML property lists.
enum XMLScalars {
  /// A decimal or `0x` hexadecimal integer of up to 128 bits, with an optional sign and white space around it.
  static func integer(_ text: [UInt8]) -> Int128? {
    var digits = trimmed(text)
    var isNegative = false
    if let sign = digits.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      digits = digits.dropFirst()
    }
    let isHexadecimal = digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8)
    if isHexadecimal { digits = digits.dropFirst(2) }
    guard let first = digits.first, Character(Unicode.Scalar(first)).isHexDigit else { return nil }
    // Parse the sign together with the digits, because the most negative number has no positive counterpart.
    return Int128((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10)
  }

  /// A decimal real number, or one of the words that property lists use for infinities and NaN.
  static func real(_ text: [UInt8]) -> Double? {
    let word = String(decoding: trimmed(text), as: UTF8.self)
    switch word.lowercased() {
    case "nan": return .nan
    case "inf", "+inf", "infinity", "+infinity": return .infinity
    case "-inf", "-infinity": return -.infinity
    default:
      guard word.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else { return nil }
      return Double(word)
    }
  }

  /// `YYYY-MM-DDThh:mm:ssZ` as seconds since the beginning of 2001.
  static func date(_ text: [UInt8]) -> Double? {
    let parts = Array(trimmed(text))
    guard parts.count == 20 else { return nil }
    let shape = Array("0000-00-00T00:00:00Z".utf8)
    for (byte, form) in zip(parts, shape) {
      let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
      guard form == UInt8(ascii: "0") ? isDigit : byte == form else { return nil }
    }
    func number(_ start: Int, _ count: Int) -> Int {
      parts[start..<(start + count)].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
    let (month, day) = (number(5, 2), number(8, 2))
    let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
    guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61 else { return nil }
    let days = UTCDate.days(Int64(number(0, 4)), Int64(month), Int64(day)) - UTCDate.daysTo2001
    return Double(Int(days) * 86_400 + hour * 3_600 + minute * 60 + second)
  }

  private static func trimmed(_ text: [UInt8]) -> ArraySlice<UInt8> {
    guard let first = text.firstIndex(where: { !$0.isXMLSpace }), let last = text.lastIndex(where: { !$0.isXMLSpace })
    else { return [] }
    return text[first...last]
  }
}
