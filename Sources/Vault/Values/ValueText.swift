/// The canonical text that is stored for a value of a kind.
public enum ValueText {
  /// Checks `text` and returns the form that is stored: numbers without leading zeros, dates in UTC, UUIDs in upper
  /// case.
  ///
  /// | Kind | Text |
  /// | --- | --- |
  /// | bool | `true` or `false` |
  /// | int | a decimal integer of 64 bits |
  /// | double | a decimal number, `inf`, `-inf` or `nan` |
  /// | string | any |
  /// | date | `2027-01-31`, `2027-01-31T12:00Z`, `2027-01-31T12:00:30.25+01:00` |
  /// | url | a URL with a scheme, of the characters that RFC 3986 allows |
  /// | uuid | 32 hexadecimal digits with hyphens |
  /// | json | a JSON text (RFC 8259); it is stored as it is |
  ///
  /// - Throws: ``VaultError/invalid(_:)``, which does not repeat the text.
  public static func canonical(_ text: String, _ kind: SecretKind) throws(VaultError) -> String {
    switch kind {
    case .bool:
      guard text == "true" || text == "false" else { throw .invalid("a bool is 'true' or 'false'") }
      return text
    case .int:
      guard let number = Int64(text) else { throw .invalid("an int is a decimal integer of at most 64 bits") }
      return String(number)
    case .double:
      guard let number = double(text) else {
        throw .invalid("a double is a decimal number that 64 bits can hold, such as 0.1 or 1e100, or inf or nan")
      }
      return String(number)
    case .date:
      guard let moment = UTCDate.moment(text) else {
        throw .invalid("a date is like 2027-01-31, 2027-01-31T12:00Z or 2027-01-31T12:00:30+01:00")
      }
      let canonical = UTCDate.text(secondsSince2001: moment.secondsSince2001)
      guard UTCDate.moment(canonical)?.secondsSince2001 == moment.secondsSince2001 else {
        throw .invalid("a date lies between the years 1 and 8338")
      }
      return canonical
    case .url:
      guard URLText.isValid(text) else {
        throw .invalid("a url has a scheme, as in https://example.com, and no spaces")
      }
      return text
    case .uuid:
      guard let uuid = uuid(text) else { throw .invalid("a uuid has 32 hexadecimal digits in groups of 8-4-4-4-12") }
      return uuid
    case .json:
      // Deeper nesting is valid, but many programs reject it.
      guard JSONScanner.isValid(text, nesting: 512) else { throw .invalid("this is not JSON") }
      return text
    default: return text
    }
  }

  /// Parses a decimal number; rejects hexadecimal, overflow and underflow.
  private static func double(_ text: String) -> Double? {
    if ["inf", "+inf", "-inf", "nan"].contains(text) { return Double(text) }
    guard text.utf8.allSatisfy({ $0.isDigit || "+-.eE".utf8.contains($0) }), let number = Double(text),
      number.isFinite
    else { return nil }
    let digits = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
    return number == 0 && digits.contains { $0.isDigit && $0 != UInt8(ascii: "0") } ? nil : number
  }

  private static func uuid(_ text: String) -> String? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12], groups.joined().utf8.allSatisfy(\.isHexadecimal) else {
      return nil
    }
    return text.uppercased()
  }
}

/// Checks for a URL with a scheme (RFC 3986) without Foundation; accepts only text that Foundation would not change.
enum URLText {
  static func isValid(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0, colon + 1 < bytes.count, bytes[0].isLetter,
      bytes[..<colon].allSatisfy({ $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) })
    else { return false }
    var rest = bytes[(colon + 1)...]
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
      guard isAuthority(rest[..<end]) else { return false }
      rest = rest[end...]
    }
    // `#` may occur once: it begins the fragment.
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
        host[(host.startIndex + 1)..<end].allSatisfy({ $0.isHexadecimal || ":.".utf8.contains($0) })
      else { return false }
      host = host[(end + 1)...]
      return host.isEmpty || host.first == UInt8(ascii: ":") && host.dropFirst().allSatisfy(\.isDigit)
    }
    guard let colon = host.firstIndex(of: UInt8(ascii: ":")) else { return holds(host, beside: "") }
    return holds(host[..<colon], beside: "") && host[(colon + 1)...].allSatisfy(\.isDigit)
  }

  /// Whether `text` has only unreserved characters, sub-delimiters, escapes such as `%41`, and `others`.
  private static func holds(_ text: ArraySlice<UInt8>, beside others: String) -> Bool {
    var rest = text
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard rest.popFirst().map(\.isHexadecimal) == true, rest.popFirst().map(\.isHexadecimal) == true else {
          return false
        }
      } else if !byte.isLetter, !byte.isDigit, !"-._~!$&'()*+,;=".utf8.contains(byte), !others.utf8.contains(byte) {
        return false
      }
    }
    return true
  }
}
