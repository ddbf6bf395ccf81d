extension MaskPatterns {
  /// The names of members that say whose account it is and where. Programs often print their values, which are not
  /// secret.
  private static let shownMembers: Set<String> = ["name", "url", "username"]

  /// The strings in a value that is a JSON object or array, at any depth, such as a login's password.
  ///
  /// Names of members are not included, and neither are the strings of members called `name`, `username` or `url`. A
  /// URL with an `@` may contain a password and is included.
  static func texts(in value: [UInt8]) -> [[UInt8]] {
    guard let first = value.first(where: { !" \t\r\n".utf8.contains($0) }),
      first == UInt8(ascii: "{") || first == UInt8(ascii: "["),
      let text = String(validating: value, as: UTF8.self), let json = try? JSONValue(parsing: text)
    else { return [] }
    var texts: [[UInt8]] = []
    collect(json, &texts)
    return texts
  }

  private static func collect(_ json: JSONValue, _ texts: inout [[UInt8]]) {
    switch json {
    case .string(let text): texts.append(Array(text.utf8))
    case .array(let elements): for element in elements { collect(element, &texts) }
    case .object(let members):
      for member in members where !isShown(member) { collect(member.value, &texts) }
    case .null, .bool, .number: break
    }
  }

  private static func isShown(_ member: JSONValue.Member) -> Bool {
    guard let text = member.value.text, shownMembers.contains(member.name) else { return false }
    return member.name != "url" || !text.contains("@")
  }
}
