/// Writes JSON (RFC 8259) piece by piece, keys in the order they are given, one line to each element of the top array.
///
/// Strings pass through no memory but the wiped buffer of `Output`: a value may be among them.
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

  /// A string under a key that is not ours.
  mutating func member(_ key: String, _ value: String) throws(Failure) {
    try begin(nil)
    try quote(key)
    try output.write(":")
    try quote(value)
  }

  /// A string or, where there is none, null.
  mutating func string(_ key: StaticString, orNull value: String?) throws(Failure) {
    guard let value else { return try word(key, "null") }
    try string(key, value)
  }

  /// A string of bytes that are known to be UTF-8.
  mutating func text(_ key: StaticString, _ bytes: UnsafeRawBufferPointer) throws(Failure) {
    try begin(key)
    try output.write(UInt8(ascii: "\""))
    for position in bytes.indices { try escape(unsafe bytes[position]) }
    try output.write(UInt8(ascii: "\""))
  }

  /// JSON that was made elsewhere.
  mutating func verbatim(_ key: StaticString, _ json: UnsafeRawBufferPointer) throws(Failure) {
    try begin(key)
    try unsafe output.write(json)
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

  /// What stands before a value: a comma, a new line in the top array, and the key.
  private mutating func begin(_ key: StaticString?) throws(Failure) {
    if needsComma { try output.write(depth == 1 && key == nil ? ",\n" : ",") }
    needsComma = true
    guard let key else { return }
    try output.write("\"\(key)\":")
  }

  private func quote(_ text: String) throws(Failure) {
    try output.write(UInt8(ascii: "\""))
    for byte in text.utf8 { try escape(byte) }
    try output.write(UInt8(ascii: "\""))
  }

  private func escape(_ byte: UInt8) throws(Failure) {
    switch byte {
    case UInt8(ascii: "\""): try output.write("\\\"")
    case UInt8(ascii: "\\"): try output.write("\\\\")
    case UInt8(ascii: "\n"): try output.write("\\n")
    case UInt8(ascii: "\r"): try output.write("\\r")
    case UInt8(ascii: "\t"): try output.write("\\t")
    case 0..<0x20, 0x7F:
      try output.write("\\u00")
      try output.write(Self.hexadecimal[Int(byte >> 4)])
      try output.write(Self.hexadecimal[Int(byte & 0xF)])
    default: try output.write(byte)
    }
  }

  private static let hexadecimal = Array("0123456789abcdef".utf8)
  private static let base64 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
