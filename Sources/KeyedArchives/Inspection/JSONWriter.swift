/// Writes JSON up to a limit of bytes.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  private let limit: OutputLimit
  /// For each open container, whether it already has an element.
  private var hasElements: [Bool] = []
  private var followsKey = false

  init(within limit: OutputLimit) { self.limit = limit }

  mutating func open(_ bracket: Unicode.Scalar) throws(ArchiveError) {
    separate()
    appendUTF8(bracket.value)
    hasElements.append(false)
    try check()
  }

  mutating func close(_ bracket: Unicode.Scalar) {
    hasElements.removeLast()
    appendUTF8(bracket.value)
  }

  mutating func key(_ text: String) throws(ArchiveError) {
    try key(codeUnits: text.utf16)
  }

  mutating func key(codeUnits: some Sequence<UInt16>) throws(ArchiveError) {
    separate()
    try quote(codeUnits)
    append(":")
    followsKey = true
  }

  mutating func null() throws(ArchiveError) { try word("null") }
  mutating func bool(_ value: Bool) throws(ArchiveError) { try word(value ? "true" : "false") }
  mutating func integer(_ value: Int128) throws(ArchiveError) { try word(String(value)) }

  /// Writes the shortest digits that read back to the same bits, with a point or an exponent. A number that is not
  /// finite is `{"$real": "nan"}`, `"inf"`, `"-inf"` or, for a NaN other than the default one, its bits in hexadecimal.
  mutating func real(_ value: Double) throws(ArchiveError) {
    guard !value.isFinite else { return try word(value.description) }
    try tagged("$real") { writer throws(ArchiveError) in try writer.number(value) }
  }

  /// As ``real(_:)``, for use behind a tag that already says it is a number.
  mutating func number(_ value: Double) throws(ArchiveError) {
    guard !value.isFinite else { return try word(value.description) }
    let isPlain = value.bitPattern == Double.nan.bitPattern || value.isInfinite
    try string(isPlain ? "\(value)" : "0x" + String(value.bitPattern, radix: 16))
  }

  /// Writes `{tag: …}`; `body` writes the value.
  mutating func tagged(
    _ tag: String, _ body: (inout JSONWriter) throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    try open("{")
    try key(tag)
    try body(&self)
    close("}")
  }

  mutating func string(_ text: String) throws(ArchiveError) {
    separate()
    try quote(text.utf16)
  }

  /// Writes text given as code units; a lone surrogate is kept as an escape.
  mutating func string(codeUnits: some Sequence<UInt16>) throws(ArchiveError) {
    separate()
    try quote(codeUnits)
  }

  /// Writes `{"$data": base64}`.
  mutating func data(_ data: ArraySlice<UInt8>) throws(ArchiveError) {
    try tagged("$data") { writer throws(ArchiveError) in
      writer.separate()
      writer.append("\"")
      Base64.append(encoding: data, to: &writer.bytes)
      writer.append("\"")
      try writer.check()
    }
  }

  private mutating func word(_ text: String) throws(ArchiveError) {
    separate()
    append(text)
    try check()
  }

  private mutating func separate() {
    if followsKey {
      followsKey = false
    } else if let last = hasElements.indices.last {
      if hasElements[last] { append(",") }
      hasElements[last] = true
    }
  }

  /// Writes a value that is neither a container nor a reference.
  mutating func scalar(_ node: Node, _ list: PropertyList) throws(ArchiveError) {
    switch node.kind {
    case .bool: try bool(node.payload != 0)
    case .integer, .unsigned, .wide: try integer(list.integer(node) ?? 0)
    case .real, .date: try real(Double(bitPattern: node.payload))
    case .data: try data(list.rawBytes(node))
    case .utf16: try string(codeUnits: list.codeUnits(node))
    default: try string(list.text(node) ?? "")
    }
  }

  /// Writes our own text between values, unquoted.
  mutating func text(_ text: String) { append(text) }

  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private func check() throws(ArchiveError) { try limit.check(bytes.count) }

  private mutating func quote(_ units: some Sequence<UInt16>) throws(ArchiveError) {
    append("\"")
    var high: UInt16?
    for unit in units {
      if let first = high {
        high = nil
        if UTF16.isTrailSurrogate(unit) {
          let scalar = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(unit) - 0xDC00)
          appendUTF8(scalar)
          continue
        }
        escape(first)
      }
      if UTF16.isLeadSurrogate(unit) {
        high = unit
      } else if UTF16.isTrailSurrogate(unit) || Self.steersTerminals(unit) {
        escape(unit)
      } else if unit == 0x22 || unit == 0x5C {
        bytes.append(0x5C)
        bytes.append(UInt8(unit))
      } else {
        appendUTF8(UInt32(unit))
      }
    }
    if let high { escape(high) }
    append("\"")
    try check()
  }

  /// Whether a unit is a control character (C0 or C1) or reorders or breaks lines. JSON requires escapes only for the
  /// first 32; the others are escaped because the text may be shown on a terminal.
  private static func steersTerminals(_ unit: UInt16) -> Bool {
    switch unit {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }

  private mutating func escape(_ unit: UInt16) {
    bytes.append(0x5C)
    bytes.append(UInt8(ascii: "u"))
    for shift in [12, 8, 4, 0] as [UInt16] {
      let digit = UInt8(unit >> shift & 0xF)
      bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }
  }

  private mutating func appendUTF8(_ scalar: UInt32) {
    if scalar < 0x80 {
      bytes.append(UInt8(scalar))
    } else if let scalar = Unicode.Scalar(scalar) {
      bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
  }
}
