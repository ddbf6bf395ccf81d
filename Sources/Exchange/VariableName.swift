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
}
