internal import Vault

/// How a command comes to its store and its group.
extension Session {
  /// - Throws: `noStore`, `locked`, `wrongKey` and whatever else keeps a store from being opened; `usage` for two sources.
  func openStore(_ key: KeySource) throws -> SecretStore {
    let location = try StoreLocation(environment: environment)
    let store = try SecretStore.open(at: location, unlocking: unlocking(key))
    atEnd { session in
      for notice in store.takeNotices() { session.warn(notice.message) }
    }
    return store
  }

  /// - Parameter name: as the command line named it; nil means VAULT_GROUP or else `default`.
  func openGroup(_ name: String?, _ key: KeySource) throws -> AccessGroup {
    try openStore(key).group(name ?? variable("VAULT_GROUP") ?? AccessGroup.Name.default.description)
  }

  private func unlocking(_ key: KeySource) throws -> Unlocking {
    switch try key.named(in: self) {
    case .keyFile(let path)?: return .keyFile(path)
    case .passphrase(let descriptor)?: return .passphrase(try KeySource.passphrase(descriptor: descriptor))
    case nil:
      let path = streams.terminal
      return .automatic(prompt: { () throws(VaultError) -> Secret in
        throw VaultError.locked("TODO \(path)")
      })
    }
  }
}
