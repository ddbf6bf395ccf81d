internal import Ground

/// The text of an archive's JSON, up to a limit of bytes.
struct LimitedText: JSONSink {
  private(set) var bytes: [UInt8] = []
  private let limit: OutputLimit

  init(within limit: OutputLimit) { self.limit = limit }

  mutating func write(_ text: UnsafeRawBufferPointer) throws(ArchiveError) {
    unsafe bytes.append(contentsOf: text)
    try limit.check(bytes.count)
  }

  mutating func write(_ byte: UInt8) throws(ArchiveError) {
    bytes.append(byte)
    try limit.check(bytes.count)
  }
}

typealias JSONWriter = Ground.JSONWriter<LimitedText>

extension JSONWriter {
  init(within limit: OutputLimit) { self.init(LimitedText(within: limit)) }

  var bytes: [UInt8] { sink.bytes }

  mutating func null() throws(ArchiveError) { try word("null") }
  mutating func bool(_ value: Bool) throws(ArchiveError) { try word(value ? "true" : "false") }
  mutating func integer(_ value: Int128) throws(ArchiveError) { try word(String(value)) }

  /// Writes the shortest digits that read back to the same bits, with a point or an exponent. A number that is not
  /// finite is `{"$real": "nan"}`, `"inf"`, `"-inf"` or, for a NaN other than the default one, its bits in hexadecimal.
  mutating func real(_ value: Double) throws(ArchiveError) {
    guard !value.isFinite else { return try word(value.description) }
    try tagged("$real") { writer throws(ArchiveError) in try writer.number(value) }
  }

  /// As ``real(_:)``, for use after a tag that already says that it is a number.
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
    try close("}")
  }

  /// Writes `{"$data": base64}`.
  mutating func data(_ data: ArraySlice<UInt8>) throws(ArchiveError) {
    try tagged("$data") { writer throws(ArchiveError) in
      try unsafe data.span.withUnsafeBytes { (data) throws(ArchiveError) in try unsafe writer.base64(data) }
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
}
