/// Text in which `%` and two hexadecimal digits represent one byte (RFC 3986, section 2.1).
public enum PercentEncoding {
  /// Writes each byte that `isPlain` rejects, and every `%`, as `%` and two digits.
  ///
  /// The result is UTF-8 if `isPlain` accepts bytes from 0x80 on only in valid text.
  public static func encoded(
    _ bytes: some Sequence<UInt8>, inLowerCase: Bool = false, keeping isPlain: (UInt8) -> Bool
  ) -> [UInt8] {
    let digits = Array((inLowerCase ? "0123456789abcdef" : "0123456789ABCDEF").utf8)
    var encoded: [UInt8] = []
    for byte in bytes {
      if byte != UInt8(ascii: "%"), isPlain(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return encoded
  }

  /// The bytes that `text` represents; `nil` if a `%` is not followed by two hexadecimal digits.
  public static func decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
