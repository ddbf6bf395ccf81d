/// Writes JSON, within a number of bytes.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  private let limit: Int
  private let factor: Int
  /// For each open container: whether it has something already.
  private var hasElements: [Bool] = []
  private var followsKey = false

  /// A writer of at most `factor` bytes for each of `inputBytes`, and a mebibyte.
  init(inputBytes: Int, factor: Int = 128) {
    self.factor = factor
    limit = inputBytes.saturatingProduct(factor).saturatingSum(1 << 20)
  }

  mutating func open(_ bracket: Character) {
    separate()
    append(String(bracket))
    hasElements.append(false)
  }

  mutating func close(_ bracket: Character) {
    hasElements.removeLast()
    append(String(bracket))
  }

  mutating func key(_ text: String) throws(ArchiveError) {
    separate()
    try quote(text.utf16)
    append(":")
    followsKey = true
  }

  mutating func null() throws(ArchiveError) { try word("null") }
  mutating func bool(_ value: Bool) throws(ArchiveError) { try word(value ? "true" : "false") }
  mutating func integer(_ value: Int128) throws(ArchiveError) { try word(String(value)) }

  /// The shortest digits that read back to the same bits; text for what is not finite.
  mutating func real(_ value: Double) throws(ArchiveError) {
    value.isFinite ? try word(value.description) : try string(value.isNaN ? "nan" : value > 0 ? "inf" : "-inf")
  }

  mutating func string(_ text: String) throws(ArchiveError) {
    separate()
    try quote(text.utf16)
  }

  /// Text as code units; half of a surrogate pair stays what it is, as an escape.
  mutating func string(codeUnits: some Sequence<UInt16>) throws(ArchiveError) {
    separate()
    try quote(codeUnits)
  }

  /// `{"$data": base64}`.
  mutating func data(_ data: ArraySlice<UInt8>) throws(ArchiveError) {
    open("{")
    try key("$data")
    separate()
    append("\"")
    Base64.append(encoding: data, to: &bytes)
    append("\"")
    close("}")
    try check()
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

  /// Text of ours between values.
  mutating func text(_ text: String) { append(text) }

  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private func check() throws(ArchiveError) {
    guard bytes.count <= limit else { throw .overLimit(.expansion, allowed: factor, at: ArchivePath()) }
  }

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

  /// Control characters, C1 among them, and marks that reorder or break lines. JSON asks only for the first 32; the rest
  /// is escaped because the text may be shown on a terminal.
  private static func steersTerminals(_ unit: UInt16) -> Bool {
    switch unit {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }

  private mutating func escape(_ unit: UInt16) {
    append("\\u" + String(0x10000 + UInt32(unit), radix: 16).dropFirst())
  }

  private mutating func appendUTF8(_ scalar: UInt32) {
    if scalar < 0x80 {
      bytes.append(UInt8(scalar))
    } else if let scalar = Unicode.Scalar(scalar) {
      bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
  }
}
