/// The environment variable for an item's name: `db/password` becomes `DB_PASSWORD`.
public enum VariableName {
  /// A name that is a valid variable already, with a capital or `_` in it, is kept: `http_proxy`, `TF_VAR_region`. In others
  /// letters become capitals, digits are kept, and each other character becomes `_`. A leading digit gets a `_` before it.
  ///
  /// - Returns: `nil` for a name without any ASCII letter or digit.
  public static func of(_ itemName: String) -> String? {
    if isVariable(itemName) { return itemName }
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

  private static func isVariable(_ name: String) -> Bool {
    let isLetter = { (byte: UInt8) in (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_") }
    guard let first = name.utf8.first, isLetter(first) else { return false }
    guard name.utf8.allSatisfy({ isLetter($0) || (0x30...0x39).contains($0) }) else { return false }
    return name.utf8.contains { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "_") }
      && name.utf8.contains { $0 != UInt8(ascii: "_") }
  }
}
