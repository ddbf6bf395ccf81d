/// How a store is opened. A source that is named is final: if it fails, nothing else is tried.
public enum Unlocking: ~Copyable, Sendable {
  /// What the environment names, else what ``SecretStore/unlock(at:unlocking:for:)`` left with the kernel, else the key file
  /// that opened the store on this machine before, else `prompt`.
  ///
  /// - Parameter prompt: asks for the passphrase; `nil` where nobody can be asked.
  case automatic(prompt: (@Sendable () throws(VaultError) -> Secret)? = nil)
  /// The key file at this path.
  case keyFile(String)
  case passphrase(Secret)
  /// As the application whose credential is at this path.
  case credential(String)
  /// A recovery code as it was written down, in either case, with spaces, hyphens or nothing between its groups.
  case recoveryCode(Secret)
}

/// What shall open a new store.
public enum NewSlot: ~Copyable, Sendable {
  /// The key file at this path, outside the store: exactly 32 random bytes, made if it is not there.
  case keyFile(String)
  case passphrase(Secret)
}
