/// Base64 (RFC 4648), the form of data in XML property lists and JSON.
package enum Base64 {
  /// Passes the encoded `bytes` to `write` four digits at a time, padded and without line breaks.
  @inlinable
  package static func encode<Failure>(
    _ bytes: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let digits = unsafe group(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + 3, bytes.count)]))
      try unsafe withUnsafeBytes(of: digits.bigEndian) { (digits) throws(Failure) in try unsafe write(digits) }
    }
  }

  /// Four digits for one to three bytes, the first digit in the highest byte.
  @usableFromInline
  static func group(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var bits: UInt32 = 0
    for position in 0..<3 { bits = bits << 8 | (position < bytes.count ? UInt32(unsafe bytes[position]) : 0) }
    var group: UInt32 = 0
    for position in 0..<4 {
      let digit = digits[Int(bits >> UInt32(18 - 6 * position)) & 63]
      group = group << 8 | UInt32(position > bytes.count ? UInt8(ascii: "=") : digit)
    }
    return group
  }

  /// Appends the encoded `bytes`, padded and without line breaks.
  package static func append(encoding bytes: some Collection<UInt8>, to text: inout [UInt8]) {
    text.reserveCapacity(text.count + (bytes.count + 2) / 3 * 4)
    // Not from a copy, because the bytes may be secret.
    let isDone: Void? = bytes.withContiguousStorageIfAvailable { bytes in
      unsafe encode(UnsafeRawBufferPointer(bytes)) { unsafe text.append(contentsOf: $0) }
    }
    if isDone == nil { append(encoding: Array(bytes), to: &text) }
  }

  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// Appends the decoded bytes of base64 `text`; returns false if it is invalid. White space is allowed anywhere.
  package static func append(decoding text: [UInt8], to bytes: inout [UInt8]) -> Bool {
    var bits: UInt32 = 0
    var digits = 0
    var padding = 0
    for byte in text where byte != 0x20 && byte != 0x0A && byte != 0x0D && byte != 0x09 {
      if byte == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0, let value = value(byte) else { return false }
      bits = bits << 6 | UInt32(value)
      digits += 1
      if digits == 4 {
        bytes += [UInt8(truncatingIfNeeded: bits >> 16), UInt8(truncatingIfNeeded: bits >> 8)]
        bytes.append(UInt8(truncatingIfNeeded: bits))
        (bits, digits) = (0, 0)
      }
    }
    switch (digits, padding) {
    case (0, 0): return true
    case (2, 2): bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
    case (3, 1): bytes += [UInt8(truncatingIfNeeded: bits >> 10), UInt8(truncatingIfNeeded: bits >> 2)]
    default: return false
    }
    return true
  }

  private static func value(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
