/// Whether a text is a URL with a scheme (RFC 3986), without Foundation, and so that Foundation would change nothing of it.
enum URLText {
  static func isValid(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0, colon + 1 < bytes.count, isLetter(bytes[0]),
      bytes[..<colon].allSatisfy({ isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) })
    else { return false }
    var rest = bytes[(colon + 1)...]
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
      guard isAuthority(rest[..<end]) else { return false }
      rest = rest[end...]
    }
    // The fragment begins once.
    return rest.filter { $0 == UInt8(ascii: "#") }.count <= 1 && holds(rest, beside: ":@/?#")
  }

  /// `user:password@host:port`; a host in brackets is an IPv6 address.
  private static func isAuthority(_ text: ArraySlice<UInt8>) -> Bool {
    var host = text
    if let at = text.firstIndex(of: UInt8(ascii: "@")) {
      guard holds(text[..<at], beside: ":") else { return false }
      host = text[(at + 1)...]
    }
    if host.first == UInt8(ascii: "[") {
      guard let end = host.firstIndex(of: UInt8(ascii: "]")), end > host.startIndex + 2,
        host[(host.startIndex + 1)..<end].allSatisfy({ isHexadecimal($0) || ":.".utf8.contains($0) })
      else { return false }
      host = host[(end + 1)...]
      return host.isEmpty || host.first == UInt8(ascii: ":") && host.dropFirst().allSatisfy(isDigit)
    }
    guard let colon = host.firstIndex(of: UInt8(ascii: ":")) else { return holds(host, beside: "") }
    return holds(host[..<colon], beside: "") && host[(colon + 1)...].allSatisfy(isDigit)
  }

  /// Unreserved characters, sub-delimiters, `%41` and `others`.
  private static func holds(_ text: ArraySlice<UInt8>, beside others: String) -> Bool {
    var rest = text
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard rest.popFirst().map(isHexadecimal) == true, rest.popFirst().map(isHexadecimal) == true else {
          return false
        }
      } else if !isLetter(byte), !isDigit(byte), !"-._~!$&'()*+,;=".utf8.contains(byte), !others.utf8.contains(byte) {
        return false
      }
    }
    return true
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isHexadecimal(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte | 0x20) }
}
