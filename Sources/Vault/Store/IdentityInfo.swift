internal import Sealing

/// Who a store belongs to and what opens it: what the identity file shows to everybody who can read it.
public struct IdentityInfo: Sendable {
  /// The owner's public key, in hexadecimal digits.
  public let ownerKey: String
  /// The first half of them, which names the owner's folders.
  public let shortName: String
  /// What opens the store, by rising number; at least one.
  public let slots: [SlotInfo]
  /// Where everything is.
  public let places: [StoreLocation.Place]
}

extension StoreLocation {
  /// What the identity file says; nothing is opened, and nobody is asked.
  ///
  /// - Throws: ``VaultError/noStore(path:)``, ``VaultError/damaged(group:level:detail:)``, ``VaultError/newerFormat(read:write:)``,
  ///   ``VaultError/denied(_:)``, ``VaultError/storage(_:)``.
  public func identity() throws(VaultError) -> IdentityInfo {
    let file = try identityFile()
    return IdentityInfo(
      ownerKey: file.ownerKey.hexadecimal, shortName: file.ownerKey.shortName, slots: file.slots.map(SlotInfo.init),
      places: try all())
  }
}
