internal import KeyedArchives

/// The one text that a value of a kind is stored as, made of what a person or a program writes for it.
public enum ValueText {
  /// Checks `text` and gives the form that is stored: numbers without leading zeros, dates in UTC, UUIDs in upper case.
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
      // Neither hexadecimal digits nor more than a double can hold.
      guard let number = Double(text), !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "x") }),
        !number.isInfinite || !text.utf8.contains(where: isDigit)
      else {
        throw .invalid("a double is a decimal number, such as 0.1 or 1e100, or inf or nan")
      }
      return String(number)
    case .date:
      guard let moment = UTCDate.moment(text) else {
        throw .invalid("a date is like 2027-01-31, 2027-01-31T12:00Z or 2027-01-31T12:00:30+01:00")
      }
      return UTCDate.text(secondsSince2001: moment.secondsSince2001)
    case .url:
      guard isURL(text) else { throw .invalid("a url has a scheme, as in https://example.com, and no spaces") }
      return text
    case .uuid:
      guard let uuid = uuid(text) else { throw .invalid("a uuid has 32 hexadecimal digits in groups of 8-4-4-4-12") }
      return uuid
    case .json:
      guard JSONText.isValid(text) else { throw .invalid("this is not JSON") }
      return text
    default: return text
    }
  }

  private static func isURL(_ text: String) -> Bool {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex,
      text.utf8.first.map(isLetter) == true
    else { return false }
    let scheme = text.utf8[..<colon]
    guard scheme.allSatisfy({ isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }) else { return false }
    var rest = text.utf8[text.utf8.index(after: colon)...]
    guard !rest.isEmpty else { return false }
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard rest.popFirst().map(isHexadecimal) == true, rest.popFirst().map(isHexadecimal) == true else {
          return false
        }
      } else if !isLetter(byte), !isDigit(byte), !"-._~:/?#[]@!$&'()*+,;=".utf8.contains(byte) {
        return false
      }
    }
    return true
  }

  private static func uuid(_ text: String) -> String? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12], groups.allSatisfy({ $0.utf8.allSatisfy(isHexadecimal) }) else {
      return nil
    }
    return text.uppercased()
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isHexadecimal(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte | 0x20) }
}
