/// Where the bytes of a JSON text go.
package protocol JSONSink {
  associatedtype Failure: Error

  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(Failure)

  /// Writes one byte, as most of JSON's punctuation is written.
  mutating func write(_ byte: UInt8) throws(Failure)
}

/// Writes JSON (RFC 8259) piece by piece into a sink, without white space, and with keys in the given order.
///
/// The compiler does not specialize functions that throw a generic error, so each write is a call through the protocol.
package struct JSONWriter<Sink: JSONSink> {
  package var sink: Sink
  /// Whether each element of the outermost container begins a line, unless it has a key of ours, and the text ends with
  /// a newline.
  package let hasLines: Bool
  @usableFromInline var depth = 0
  @usableFromInline var needsComma = false

  @inlinable
  package init(_ sink: Sink, hasLines: Bool = false) {
    self.sink = sink
    self.hasLines = hasLines
  }

  @inlinable
  package mutating func open(_ bracket: Unicode.Scalar) throws(Sink.Failure) {
    try beginValue()
    try write(UInt8(ascii: bracket))
    needsComma = false
    depth += 1
  }

  @inlinable
  package mutating func close(_ bracket: Unicode.Scalar) throws(Sink.Failure) {
    try write(UInt8(ascii: bracket))
    depth -= 1
    if depth == 0, hasLines { try write(UInt8(ascii: "\n")) }
    needsComma = depth > 0
  }

  @inlinable
  package mutating func key(_ text: String) throws(Sink.Failure) {
    try beginValue()
    needsComma = false
    try quote(text)
    try write(UInt8(ascii: ":"))
  }

  /// Writes a key of ours, which needs no escapes.
  @inlinable
  package mutating func key(_ text: StaticString) throws(Sink.Failure) {
    if needsComma { try write(UInt8(ascii: ",")) }
    needsComma = false
    try write(UInt8(ascii: "\""))
    try unsafe sink.write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    try write(UInt8(ascii: "\""))
    try write(UInt8(ascii: ":"))
  }

  /// Writes a key of UTF-16; a lone surrogate is kept as an escape.
  @inlinable
  package mutating func key(codeUnits: some Sequence<UInt16>) throws(Sink.Failure) {
    try beginValue()
    needsComma = false
    try quote(codeUnits: codeUnits)
    try write(UInt8(ascii: ":"))
  }

  /// Writes what separates a value from the one before.
  @inlinable
  package mutating func beginValue() throws(Sink.Failure) {
    if needsComma {
      try write(UInt8(ascii: ","))
      if depth == 1, hasLines { try write(UInt8(ascii: "\n")) }
    }
    needsComma = depth > 0
  }

  @inlinable
  package mutating func word(_ text: String) throws(Sink.Failure) {
    try beginValue()
    try write(text)
  }

  @inlinable
  package mutating func string(_ text: String) throws(Sink.Failure) {
    try beginValue()
    try quote(text)
  }

  /// Writes a string from bytes that are known to be UTF-8.
  @inlinable
  package mutating func string(_ text: UnsafeRawBufferPointer) throws(Sink.Failure) {
    try beginValue()
    try unsafe quote(text)
  }

  /// Writes a string of UTF-16; a lone surrogate is kept as an escape.
  @inlinable
  package mutating func string(codeUnits: some Sequence<UInt16>) throws(Sink.Failure) {
    try beginValue()
    try quote(codeUnits: codeUnits)
  }

  @inlinable
  package mutating func base64(_ bytes: UnsafeRawBufferPointer) throws(Sink.Failure) {
    try beginValue()
    try write(UInt8(ascii: "\""))
    try unsafe Base64.encode(bytes) { (group) throws(Sink.Failure) in try unsafe sink.write(group) }
    try write(UInt8(ascii: "\""))
  }

  /// Writes JSON made elsewhere. Characters that control a terminal can occur only in its strings, where escaping them
  /// keeps the meaning.
  @inlinable
  package mutating func verbatim(_ json: UnsafeRawBufferPointer) throws(Sink.Failure) {
    try beginValue()
    try unsafe JSONText.escape(json, .terminalControls) { (bytes) throws(Sink.Failure) in try unsafe sink.write(bytes) }
  }

  @usableFromInline
  mutating func quote(_ text: String) throws(Sink.Failure) {
    try unsafe text.utf8Span.span.withUnsafeBytes { (text) throws(Sink.Failure) in try unsafe quote(text) }
  }

  @usableFromInline
  mutating func quote(_ text: UnsafeRawBufferPointer) throws(Sink.Failure) {
    try write(UInt8(ascii: "\""))
    try unsafe JSONText.escape(text, .all) { (bytes) throws(Sink.Failure) in try unsafe sink.write(bytes) }
    try write(UInt8(ascii: "\""))
  }

  @usableFromInline
  mutating func quote(codeUnits: some Sequence<UInt16>) throws(Sink.Failure) {
    try write(UInt8(ascii: "\""))
    var run: [UInt16] = []
    var rest = codeUnits.makeIterator()
    var next = rest.next()
    while let unit = next {
      next = rest.next()
      if UTF16.isLeadSurrogate(unit), let trail = next, UTF16.isTrailSurrogate(trail) {
        run += [unit, trail]
        next = rest.next()
      } else if UTF16.isLeadSurrogate(unit) || UTF16.isTrailSurrogate(unit) {
        try escape(String(decoding: run, as: UTF16.self))
        run.removeAll()
        try write("\\u\(String(unit, radix: 16))")
      } else {
        run.append(unit)
      }
    }
    try escape(String(decoding: run, as: UTF16.self))
    try write(UInt8(ascii: "\""))
  }

  @usableFromInline
  mutating func escape(_ text: String) throws(Sink.Failure) {
    try unsafe text.utf8Span.span.withUnsafeBytes { (bytes) throws(Sink.Failure) in
      try unsafe JSONText.escape(bytes, .all) { (bytes) throws(Sink.Failure) in try unsafe sink.write(bytes) }
    }
  }

  @inlinable
  package mutating func write(_ byte: UInt8) throws(Sink.Failure) { try sink.write(byte) }

  @inlinable
  package mutating func write(_ text: String) throws(Sink.Failure) {
    try unsafe text.utf8Span.span.withUnsafeBytes { (bytes) throws(Sink.Failure) in try unsafe sink.write(bytes) }
  }
}

package enum JSONText {
  package enum Escaped {
    /// What JSON requires, and DEL.
    case required
    /// Also what could control a terminal or reorder a line, because the text may be shown on one later.
    case all
    /// Only the latter, outside of ASCII's control characters, in text that is JSON already.
    case terminalControls
  }

  /// Passes UTF-8 to `write` in pieces, with characters escaped.
  @inlinable
  package static func escape<Failure>(
    _ text: UnsafeRawBufferPointer, _ escaped: Escaped, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    var run = 0
    var position = 0
    while position < text.count {
      guard unsafe isSpecial(text[position]), let (form, byteCount) = unsafe form(text, at: position, escaped) else {
        position += 1
        continue
      }
      if run < position { try unsafe write(UnsafeRawBufferPointer(rebasing: text[run..<position])) }
      try unsafe form.utf8Span.span.withUnsafeBytes { (form) throws(Failure) in try unsafe write(form) }
      position += byteCount
      run = position
    }
    if run < text.count { try unsafe write(UnsafeRawBufferPointer(rebasing: text[run...])) }
  }

  @inlinable
  static func isSpecial(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  /// The escape of the special character at `position`, and how many bytes it replaces; `nil` if the byte stays.
  @usableFromInline
  static func form(
    _ text: UnsafeRawBufferPointer, at position: Int, _ escaped: Escaped
  ) -> (form: String, byteCount: Int)? {
    let byte = unsafe text[position]
    if byte >= 0x80 {
      guard escaped != .required, let found = unsafe UTF8Text.steering(text, at: position) else { return nil }
      return (numbered(found.scalar), found.byteCount)
    }
    guard escaped != .terminalControls || byte == 0x7F else { return nil }
    return (ascii[Int(byte)], 1)
  }

  /// The escapes of ASCII, made once: a value can have a million of them.
  private static let ascii = (0..<0x80).map { byte in
    let short = ["\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"]
    return short[String(UnicodeScalar(UInt8(byte)))] ?? numbered(UInt32(byte))
  }

  @usableFromInline
  static func numbered(_ scalar: UInt32) -> String { "\\u\(String(0x1_0000 + scalar, radix: 16).dropFirst())" }

  /// Appends the string for `text`, which is UTF-8, with the escapes that JSON requires.
  package static func append(quoting text: some Sequence<UInt8>, to json: inout [UInt8]) {
    // Not from a copy, because the text may be secret.
    let isDone: Void? = text.withContiguousStorageIfAvailable { text in
      json.append(UInt8(ascii: "\""))
      unsafe escape(UnsafeRawBufferPointer(text), .required) { unsafe json.append(contentsOf: $0) }
      json.append(UInt8(ascii: "\""))
    }
    if isDone == nil { append(quoting: Array(text), to: &json) }
  }
}
