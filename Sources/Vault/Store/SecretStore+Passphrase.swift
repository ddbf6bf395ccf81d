extension SecretStore {
  /// Makes `passphrase` the one that opens the store: replaces the old one's slot, or adds the first.
  ///
  /// What each guess costs is raised to what is usual today, and never lowered. Nothing else is written: the data and the other
  /// slots stay as they are. Old copies of the identity file still open with the old passphrase.
  ///
  /// - Throws: ``VaultError/denied(_:)`` for anybody but the owner, ``VaultError/invalid(_:)`` for an empty one,
  ///   ``VaultError/busy(group:)``, ``VaultError/storage(_:)``.
  public func changePassphrase(to passphrase: borrowing Secret) throws(VaultError) {
    guard passphrase.count > 0 else { throw .invalid("a passphrase must not be empty") }
    let bytes = try location.opening { () throws(IdentityError) in try passphrase.guarded() }
    try changeIdentity { (file, identity) throws(IdentityError) in try file.setPassphrase(bytes, of: identity) }
  }
}
