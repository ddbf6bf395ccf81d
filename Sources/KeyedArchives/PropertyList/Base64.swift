/// Base64 (RFC 4648), the form of data in XML property lists and JSON.
package enum Base64 {
  /// Appends the encoded `bytes`, padded and without line breaks.
  package static func append(encoding bytes: some Collection<UInt8>, to text: inout [UInt8]) {
    text.reserveCapacity(text.count + (bytes.count + 2) / 3 * 4)
    var position = bytes.startIndex
    var rest = bytes.count
    while rest > 0 {
      var group: UInt32 = 0
      for index in 0..<3 {
        group <<= 8
        guard index < rest else { continue }
        group |= UInt32(bytes[position])
        position = bytes.index(after: position)
      }
      text.append(digits[Int(group >> 18)])
      text.append(digits[Int(group >> 12 & 63)])
      text.append(rest > 1 ? digits[Int(group >> 6 & 63)] : UInt8(ascii: "="))
      text.append(rest > 2 ? digits[Int(group & 63)] : UInt8(ascii: "="))
      rest -= min(rest, 3)
    }
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
