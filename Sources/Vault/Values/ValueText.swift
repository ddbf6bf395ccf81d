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
      guard JSONText.isValid(text) else { throw .invalid("this is not JSON") }
      return text
    default: return text
    }
  }

  /// Neither hexadecimal digits, nor more or less than 64 bits can hold.
  private static func double(_ text: String) -> Double? {
    if ["inf", "+inf", "-inf", "nan"].contains(text) { return Double(text) }
    guard text.utf8.allSatisfy({ isDigit($0) || "+-.eE".utf8.contains($0) }), let number = Double(text),
      number.isFinite
    else { return nil }
    let digits = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
    return number == 0 && digits.contains { isDigit($0) && $0 != UInt8(ascii: "0") } ? nil : number
  }

  private static func uuid(_ text: String) -> String? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12], groups.allSatisfy({ $0.utf8.allSatisfy(isHexadecimal) }) else {
      return nil
    }
    return text.uppercased()
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isHexadecimal(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte | 0x20) }
}
