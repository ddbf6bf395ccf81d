// Foundation's normalization would bring all of Foundation along: half of the executable and of its start.
@_spi(_Unicode) internal import Swift

extension Item {
  /// A valid name of an item: 1 to 1,024 bytes of UTF-8 in NFC, without control characters.
  ///
  /// `/` has no meaning but to people. Two spellings that Unicode calls canonically equal are one name.
  public struct Name: Sendable, Hashable, CustomStringConvertible {
    /// The name in NFC.
    public let description: String

    /// Checks and normalizes `text`.
    ///
    /// - Throws: ``VaultError/invalid(_:)``, ``VaultError/overLimit(_:)``.
    public init(_ text: String) throws(VaultError) {
      if Name.isPlain(text) {
        description = text
        return
      }
      let normal = Name.composed(text)
      guard !normal.isEmpty else { throw .invalid("an item's name must not be empty") }
      guard normal.utf8.count <= 1_024 else { throw .overLimit("1,024 bytes in an item's name") }
      for scalar in normal.unicodeScalars {
        guard !Name.isControl(scalar) else { throw .invalid("an item's name must not hold control characters") }
        guard Name.isStable(scalar) else {
          throw .invalid("an item's name holds a character that Unicode 15.0 does not know")
        }
      }
      description = normal
    }

    /// A name that was stored, and must be one that could be asked for.
    ///
    /// - Returns: `nil` if it is not valid, or not in NFC.
    init?(stored text: String) {
      if Name.isPlain(text) {
        description = text
      } else {
        // The bytes are compared, because `==` would find any spelling equal.
        guard let name = try? Name(text), name.description.utf8.elementsEqual(text.utf8) else { return nil }
        self = name
      }
    }

    /// Whether it is of printable ASCII, as nearly every name is: then it is in NFC and nothing else can be wrong with it.
    private static func isPlain(_ text: String) -> Bool {
      guard (1...1_024).contains(text.utf8.count) else { return false }
      var text = text
      return text.withUTF8 { unsafe $0.allSatisfy { $0 >= 0x20 && $0 < 0x7F } }
    }

    private static func composed(_ text: String) -> String {
      var scalars = String.UnicodeScalarView()
      scalars.append(contentsOf: text._nfc)
      return String(scalars)
    }

    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
      scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
    }

    /// NFC may change for characters that are assigned later, and with it the place of the item.
    private static func isStable(_ scalar: Unicode.Scalar) -> Bool {
      // Noncharacters have an age although no version assigns them.
      guard let age = scalar.properties.age, scalar.properties.generalCategory != .unassigned else { return false }
      return age.major <= 15 && (age.major < 15 || age.minor == 0)
    }
  }
}
