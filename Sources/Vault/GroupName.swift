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
      guard FolderName.isValid(text) else {
        throw .invalid(
          "a group's name has 1 to 128 of the characters a-z 0-9 . _ - and begins with a letter or digit, without '..'")
      }
      description = text
    }

    private init(trusted: String) { description = trusted }

    /// The group that `init` makes and that is meant where none is named.
    public static let `default` = Name(trusted: "default")
    /// The owner's registry of groups and applications; not for items.
    static let registry = Name(trusted: "vault.owner")

    /// Whether the name is kept for the store itself.
    var isReserved: Bool { description.hasPrefix("vault.") }
  }
}
