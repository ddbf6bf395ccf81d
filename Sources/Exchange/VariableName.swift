/// The environment variable that an item's name gives: `db/password` is `DB_PASSWORD`.
public enum VariableName {
  /// Letters become capitals, digits stay, and whatever else stands between becomes one `_` each; a digit in front gets one,
  /// too.
  ///
  /// - Returns: `nil` for a name in which no letter or digit of ASCII is left.
  public static func of(_ itemName: String) -> String? {
    var name = itemName.unicodeScalars.map { scalar -> Character in
      switch scalar {
      case "a"..."z": Character(Unicode.Scalar(UInt8(scalar.value) - 32))
      case "A"..."Z", "0"..."9": Character(scalar)
      default: "_"
      }
    }
    guard name.contains(where: { $0 != "_" }) else { return nil }
    if let first = name.first, first.isNumber { name.insert("_", at: 0) }
    return String(name)
  }

  /// Whether a shell can assign to `name`: letters, digits and `_`, and no digit in front.
  public static func isAssignable(_ name: String) -> Bool {
    guard let first = name.utf8.first, !(48...57).contains(first) else { return false }
    return name.utf8.allSatisfy { byte in
      byte == UInt8(ascii: "_") || (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
  }
}
