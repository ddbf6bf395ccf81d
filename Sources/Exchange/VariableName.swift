/// The environment variable for an item's name: `db/password` becomes `DB_PASSWORD`.
public enum VariableName {
  /// Letters become capitals, digits are kept, and each other character becomes `_`. A leading digit gets a `_` before
  /// it.
  ///
  /// - Returns: `nil` for a name without any ASCII letter or digit.
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
