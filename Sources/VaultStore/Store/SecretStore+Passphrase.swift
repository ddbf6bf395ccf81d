extension SecretStore {
  /// Makes `passphrase` the one that opens the store: replaces the old one's slot, or adds the first.
  ///
  /// Nothing else is written: the data stays as it is. Old copies of the identity file still open with the old passphrase.
  ///
  /// - Throws: ``VaultError/denied(_:)`` for anybody but the owner, ``VaultError/invalid(_:)`` for an empty one,
  ///   ``VaultError/busy(group:)``, ``VaultError/storage(_:)``.
  public func changePassphrase(to passphrase: borrowing Secret) throws(VaultError) {
    let identity = try owner()
    guard passphrase.count > 0 else { throw .invalid("a passphrase must not be empty") }
    do {
      let bytes = try passphrase.guarded()
      try location.identityFolder.change { (file) throws(IdentityError) in
        guard file.ownerKey == identity.ownerKey else {
          throw .damaged(.identity, "it was replaced by another store's meanwhile")
        }
        try file.setPassphrase(bytes, of: identity)
      }
    } catch {
      throw VaultError(error)
    }
  }
}
