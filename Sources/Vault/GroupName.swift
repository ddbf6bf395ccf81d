extension AccessGroup {
  /// A valid name of an access group: `[a-z0-9][a-z0-9._-]{0,127}`, without `..`.
  ///
  /// Other names are refused, not folded, because the name is a folder's name and part of what the owner signs.
  public struct Name: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// Checks `text`.
    ///
    /// - Throws: ``VaultError/invalid(_:)``.
    public init(_ text: String) throws(VaultError) {
      guard Name.isValid(text) else {
        throw .invalid(
          "a group's name has 1 to 128 of the characters a-z 0-9 . _ - and begins with a letter or digit, without '..'")
      }
      description = text
    }

    private static func isValid(_ text: String) -> Bool {
      let bytes = Array(text.utf8)
      func isAlphanumeric(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) }
      guard let first = bytes.first, isAlphanumeric(first), bytes.count <= 128 else { return false }
      guard bytes.allSatisfy({ isAlphanumeric($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D }) else { return false }
      return !zip(bytes, bytes.dropFirst()).contains { $0 == 0x2E && $1 == 0x2E }
    }

    /// The group that `init` makes and that is meant where none is named.
    public static let `default` = Name(trusted: "default")
    /// The owner's registry of groups and applications; not for items.
    static let registry = Name(trusted: "vault.owner")

    private init(trusted: String) { description = trusted }

    /// Whether the name is kept for the store itself.
    public var isReserved: Bool { self == .default || description.hasPrefix("vault.") }
  }
}
