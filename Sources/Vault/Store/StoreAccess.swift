public import GroupFile
internal import Sealing

/// The role in which a store is open.
enum StoreAccess: Sendable {
  case owner(Identity)
  case unlocked(UnlockedOwner)
  case application(Credential)
  /// `vaultd` opens the store and decides what this process may do.
  case service(ServiceClient)

  /// The kind that rosters must give to the member of this role.
  var memberKind: Member.Kind {
    switch self {
    case .owner, .unlocked: .owner
    case .application, .service: .application
    }
  }

  var ownerKey: PublicKey {
    switch self {
    case .owner(let identity): identity.ownerKey
    case .unlocked(let unlocked): unlocked.ownerKey
    case .application(let credential): credential.ownerKey
    case .service(let service): service.ownerKey
    }
  }
}

extension StoreAccess {
  /// Whether the store's owner has opened it, with or without the root seed.
  var isOwners: Bool { memberKind == .owner }

  /// Whether the identity, and with it the registry, would have to be opened first.
  var lacksIdentity: Bool {
    if case .unlocked(let unlocked) = self { !unlocked.isOpen } else { false }
  }

  /// The credential's floor for a group.
  func floor(of group: AccessGroup.Name) -> Floor? {
    guard case .application(let credential) = self else { return nil }
    return credential.floors.first { $0.group == group.description }?.state
  }

  /// Opens the store with the source that `unlocking` names.
  ///
  /// - Parameter usesKeyring: whether a key in the kernel's keyring may open it.
  static func open(
    _ location: StoreLocation, _ unlocking: consuming Unlocking, usesKeyring: Bool = true
  ) throws(VaultError) -> StoreAccess {
    switch consume unlocking {
    case .keyFile(let path): .owner(try identity(location, try location.identityFolder.read(), keyFile: path))
    case .passphrase(let passphrase): .owner(try identity(location, passphrase))
    case .credential(let path, let prompt): try application(path, prompt)
    case .credentialBytes(let bytes, let prompt): try application(bytes.guarded(), prompt)
    case .recoveryCode(let code): .owner(try identity(location, recoveryCode: code))
    case .automatic(let prompt): try automatic(location, prompt, usesKeyring)
    }
  }

  private static func automatic(
    _ location: StoreLocation, _ prompt: (@Sendable () throws(VaultError) -> Secret)?, _ usesKeyring: Bool
  ) throws(VaultError) -> StoreAccess {
    let given = location.variable("CREDENTIALS_DIRECTORY").map { $0 + "/vault" }
    if let path = location.variable("VAULT_CREDENTIAL"), path != given { return try application(path, prompt) }
    if let given, let access = try systemd(location, given, prompt) { return access }
    // The file is missing, but VAULT_CREDENTIAL names it too, so this is an error.
    if let given, location.variable("VAULT_CREDENTIAL") == given { return try application(given, prompt) }
    if let path = location.variable("VAULT_KEY_FILE") { return try open(location, .keyFile(path)) }
    if let path = location.variable("VAULT_SOCKET") { return .service(try ServiceClient(StoreLocation.absolute(path))) }
    do {
      return try owner(location, prompt, usesKeyring)
    } catch {
      switch error {
      case .noStore, .denied, .locked(.nothingNamed), .locked(.nobodyToAsk), .locked(.joinedStore): break
      default: throw error
      }
      guard let service = try location.service() else { throw error }
      return .service(service)
    }
  }

  private static func owner(
    _ location: StoreLocation, _ prompt: (@Sendable () throws(VaultError) -> Secret)?, _ usesKeyring: Bool
  ) throws(VaultError) -> StoreAccess {
    let file = try location.identityFolder.read()
    if usesKeyring {
      let unlocked = try UnlockedOwner.find(file.ownerKey) { () throws(VaultError) in
        try identity(location, location.identityFolder.read(), prompt)
      }
      if let unlocked { return .unlocked(unlocked) }
    }
    return .owner(try identity(location, file, prompt))
  }

  /// Opens the identity if no source is named: with the key file that opened it before, or with the passphrase.
  private static func identity(
    _ location: StoreLocation, _ file: IdentityFile, _ prompt: (@Sendable () throws(VaultError) -> Secret)?
  ) throws(VaultError) -> Identity {
    let remembered = location.rememberedKeyFile(of: file.ownerKey)
    // Its slot may have been removed: then prompt.
    let takesKeyFiles = file.slots.contains { $0.kind == .keyFile }
    if takesKeyFiles, case .success(let path?) = remembered { return try identity(location, file, keyFile: path) }
    guard file.slots.contains(where: { $0.kind == .passphrase }) else {
      throw .locked(.nothingNamed(file.kinds, remembered.unknown?.message))
    }
    guard let prompt else { throw .locked(.nobodyToAsk("there is no terminal to ask for the passphrase on")) }
    return try identity(location, try prompt())
  }

  private typealias Prompt = @Sendable () throws(VaultError) -> Secret

  private static func application(_ path: String, _ prompt: Prompt?) throws(VaultError) -> StoreAccess {
    try application(CredentialFile.bytes(path), prompt)
  }

  private static func application(_ bytes: GuardedBytes, _ prompt: Prompt?) throws(VaultError) -> StoreAccess {
    .application(try credential(bytes, prompt))
  }

  /// Reads a credential, which `prompt` gives the passphrase of if it is sealed.
  static func credential(
    _ bytes: GuardedBytes, _ prompt: (@Sendable () throws(VaultError) -> Secret)?
  ) throws(VaultError) -> Credential {
    guard SealedCredential.isMeant(by: bytes) else { return try Credential(parsing: bytes) }
    return try credential(SealedCredential(parsing: unsafe bytes.withUnsafeBytes { unsafe Array($0) }), prompt)
  }

  private static func credential(_ sealed: SealedCredential, _ prompt: Prompt?) throws(VaultError) -> Credential {
    guard let prompt else {
      throw .locked(.nobodyToAsk("the credential needs a passphrase, and nobody can be asked for it"))
    }
    let passphrase = try prompt()
    return try sealed.open(passphrase: passphrase.guarded())
  }

  /// Opens the store with what systemd provided, a credential or the 32 bytes of a slot's key; its content shows which.
  private static func systemd(
    _ location: StoreLocation, _ path: String, _ prompt: Prompt?
  ) throws(VaultError) -> StoreAccess? {
    switch try SystemdCredential.read(path) {
    case .application(let credential): .application(credential)
    case .sealed(let sealed): .application(try credential(sealed, prompt))
    case .slotKey(let key):
      .owner(try location.identityFolder.read().unlock(key: key.key, use: .systemdCredential).identity)
    case nil: nil
    }
  }

  /// - Parameter file: the identity file, read before the key file, so that a missing store is reported as such.
  private static func identity(
    _ location: StoreLocation, _ file: IdentityFile, keyFile path: String
  ) throws(VaultError) -> Identity {
    try file.unlock(key: KeyFile.read(path, outside: location.home), use: .keyFile).identity
  }

  private static func identity(
    _ location: StoreLocation, _ passphrase: borrowing Secret
  ) throws(VaultError) -> Identity {
    try location.identityFolder.read().unlock(passphrase: passphrase.guarded()).identity
  }

  private static func identity(
    _ location: StoreLocation, recoveryCode: borrowing Secret
  ) throws(VaultError) -> Identity {
    try location.identityFolder.read().unlock(recoveryCode: recoveryCode.guarded()).identity
  }
}

extension StoreLocation {
  /// A variable of the environment; an empty one is treated as not set.
  func variable(_ name: String) -> String? {
    guard let value = environment[name], !value.isEmpty else { return nil }
    return value
  }

  var identityFolder: IdentityFolder { IdentityFolder(store: home) }

  /// The key file that opened the store on this machine, or the error of looking it up.
  func rememberedKeyFile(of ownerKey: PublicKey) -> Result<String?, VaultError> {
    guard let folder = stateFolder(of: ownerKey) else { return .success(nil) }
    return Result { () throws(VaultError) in try Settings.read(in: folder, of: ownerKey) }
      .map(\.keyFile)
  }

  /// Remembers the key file of a new store, if it has one, and nothing else: another store may use the same folder.
  ///
  /// - Returns: a notice if that is impossible, so that it must be named each time.
  func remember(keyFile path: String?, of ownerKey: PublicKey) -> Notice? {
    do throws(VaultError) {
      guard let folder = stateFolder(of: ownerKey) else { throw .locked(.noStateFolder) }
      try Settings.change(in: folder, of: ownerKey) { $0 = Settings(keyFile: path.map(StoreLocation.absolute)) }
      return nil
    } catch {
      return .keyFileForgotten(reason: error.message)
    }
  }
}

extension IdentityFile {
  /// The kinds of the slots that the store has, each once.
  fileprivate var kinds: [Slot.Kind] {
    slots.reduce(into: []) { kinds, slot in if !kinds.contains(slot.kind) { kinds.append(slot.kind) } }
  }
}

extension Secret {
  /// The bytes in guarded memory.
  func guarded() throws(VaultError) -> GuardedBytes {
    try unsafe withUnsafeBytes { (bytes) throws(VaultError) in
      try sealing(unsafe GuardedBytes(copying: bytes))
    }
  }
}

extension Result<String?, VaultError> {
  /// The error of looking up the key file that was used before.
  fileprivate var unknown: VaultError? { if case .failure(let error) = self { error } else { nil } }
}

/// How a store is opened. If a named source fails, nothing else is tried.
public enum Unlocking: ~Copyable, Sendable {
  /// Tries the source that the environment names, else the key that ``SecretStore/unlock(at:unlocking:for:)`` left in
  /// the kernel's keyring, else the key file that opened the store on this machine before, else `prompt`, else `vaultd`.
  ///
  /// - Parameter prompt: asks for the passphrase; `nil` if nobody can be asked.
  case automatic(prompt: (@Sendable () throws(VaultError) -> Secret)? = nil)
  /// The key file at this path.
  case keyFile(String)
  case passphrase(Secret)
  /// Opens the store as the application whose credential is at this path.
  ///
  /// - Parameter passphrase: asks for the passphrase of a sealed credential; `nil` if nobody can be asked.
  case credential(String, passphrase: (@Sendable () throws(VaultError) -> Secret)? = nil)
  /// Opens the store as the application with this credential, which need not be in a file.
  case credentialBytes(Secret, passphrase: (@Sendable () throws(VaultError) -> Secret)? = nil)
  /// A recovery code as typed, in either case, with spaces, hyphens or nothing between its groups.
  case recoveryCode(Secret)
}

/// The key that will open a new store.
public enum NewSlot: ~Copyable, Sendable {
  /// The key file at this path, outside the store: exactly 32 random bytes; created if it does not exist.
  case keyFile(String)
  case passphrase(Secret)
}
