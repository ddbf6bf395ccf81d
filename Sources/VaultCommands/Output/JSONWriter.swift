/// Writes JSON (RFC 8259) piece by piece, with keys in the given order and each element of the outermost array on its
/// own line.
///
/// Strings pass only through the wiped buffer of `Output`, because they may be values. Characters that could control a
/// terminal are always escaped, because the text may be shown on one later.
struct JSONWriter {
  private let output: Output
  private var needsComma = false
  private var depth = 0

  init(_ output: Output) { self.output = output }

  mutating func object(_ key: StaticString? = nil, _ members: (inout JSONWriter) throws(Failure) -> Void)
    throws(Failure)
  {
    try enclose(key, "{", "}", members)
  }

  mutating func array(_ key: StaticString? = nil, _ elements: (inout JSONWriter) throws(Failure) -> Void)
    throws(Failure)
  {
    try enclose(key, "[", "]", elements)
  }

  mutating func string(_ key: StaticString? = nil, _ value: String) throws(Failure) {
    try begin(key)
    try quote(value)
  }

  /// A string under a key that the caller does not control.
  mutating func member(_ key: String, _ value: String) throws(Failure) {
    try begin(nil)
    try quote(key)
    try output.write(":")
    try quote(value)
  }

  /// A string, or null.
  mutating func string(_ key: StaticString, orNull value: String?) throws(Failure) {
    guard let value else { return try word(key, "null") }
    try string(key, value)
  }

  /// A string from bytes that are known to be UTF-8.
  mutating func text(_ key: StaticString, _ bytes: UnsafeRawBufferPointer) throws(Failure) {
    try begin(key)
    try output.write(UInt8(ascii: "\""))
    try unsafe escape(bytes, \.isSpecialInString)
    try output.write(UInt8(ascii: "\""))
  }

  /// JSON made elsewhere. Characters that control a terminal can occur only in its strings, where escaping them keeps
  /// the meaning.
  mutating func verbatim(_ key: StaticString, _ json: UnsafeRawBufferPointer) throws(Failure) {
    try begin(key)
    try unsafe escape(json) { $0 == 0x7F }
  }

  /// A string of bytes in base64 (RFC 4648, with padding).
  mutating func base64(_ key: StaticString, _ bytes: UnsafeRawBufferPointer) throws(Failure) {
    try begin(key)
    try output.write(UInt8(ascii: "\""))
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let taken = min(3, bytes.count - start)
      var word: UInt32 = 0
      for position in 0..<taken { word |= UInt32(unsafe bytes[start + position]) << UInt32(16 - 8 * position) }
      for digit in 0..<4 {
        try output.write(digit > taken ? UInt8(ascii: "=") : Self.base64[Int(word >> UInt32(18 - 6 * digit)) & 63])
      }
    }
    try output.write(UInt8(ascii: "\""))
  }

  mutating func number(_ key: StaticString, _ value: some BinaryInteger) throws(Failure) {
    try word(key, String(value))
  }

  mutating func number(_ key: StaticString, orNull value: UInt64?) throws(Failure) {
    try word(key, value.map { String($0) } ?? "null")
  }

  mutating func flag(_ key: StaticString, _ value: Bool) throws(Failure) { try word(key, value ? "true" : "false") }

  mutating func null(_ key: StaticString) throws(Failure) { try word(key, "null") }

  private mutating func word(_ key: StaticString, _ word: String) throws(Failure) {
    try begin(key)
    try output.write(word)
  }

  private mutating func enclose(
    _ key: StaticString?, _ open: Unicode.Scalar, _ close: Unicode.Scalar,
    _ content: (inout JSONWriter) throws(Failure) -> Void
  ) throws(Failure) {
    try begin(key)
    try output.write(UInt8(ascii: open))
    needsComma = false
    depth += 1
    try content(&self)
    depth -= 1
    try output.write(UInt8(ascii: close))
    if depth == 0 { try output.write(UInt8(ascii: "\n")) }
    needsComma = true
  }

  /// Writes the text before a value: a comma, a new line in the outermost array, and the key.
  private mutating func begin(_ key: StaticString?) throws(Failure) {
    if needsComma { try output.write(depth == 1 && key == nil ? ",\n" : ",") }
    needsComma = true
    guard let key else { return }
    try output.write("\"\(key)\":")
  }

  private func quote(_ text: String) throws(Failure) {
    var text = text
    try output.write(UInt8(ascii: "\""))
    var failure: Failure?
    text.withUTF8 { bytes in
      do throws(Failure) {
        try unsafe escape(UnsafeRawBufferPointer(bytes), \.isSpecialInString)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    try output.write(UInt8(ascii: "\""))
  }

  /// Writes UTF-8. Escapes ASCII characters for which `isSpecial` is true and characters that control a terminal.
  private func escape(_ bytes: UnsafeRawBufferPointer, _ isSpecial: (UInt8) -> Bool) throws(Failure) {
    var run = 0
    var position = 0
    while position < bytes.count {
      let byte = unsafe bytes[position]
      let steering = byte < 0x80 ? nil : unsafe UTF8Text.steering(bytes, at: position)
      guard isSpecial(byte) || steering != nil else {
        position += 1
        continue
      }
      try unsafe output.write(UnsafeRawBufferPointer(rebasing: bytes[run..<position]))
      switch byte {
      case UInt8(ascii: "\""): try output.write("\\\"")
      case UInt8(ascii: "\\"): try output.write("\\\\")
      case UInt8(ascii: "\n"): try output.write("\\n")
      case UInt8(ascii: "\r"): try output.write("\\r")
      case UInt8(ascii: "\t"): try output.write("\\t")
      default:
        let scalar = steering?.scalar ?? UInt32(byte)
        try output.write("\\u")
        try output.write(String(0x1_0000 + scalar, radix: 16).dropFirst().description)
      }
      position += steering?.byteCount ?? 1
      run = position
    }
    try unsafe output.write(UnsafeRawBufferPointer(rebasing: bytes[run...]))
  }

  private static let base64 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}

extension UInt8 {
  /// Whether an ASCII character must or should be escaped in a JSON string.
  fileprivate var isSpecialInString: Bool {
    self < 0x20 || self == 0x7F || self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\")
  }
}
