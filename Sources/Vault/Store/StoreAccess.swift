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

  /// Confirms that ``ownerKey`` is the root seed's, if this process has that seed.
  func confirmOwner() throws(VaultError) { if case .owner(let identity) = self { try identity.confirmOwner() } }

  /// Whether the store's owner has opened it, with or without the root seed.
  var isOwners: Bool { memberKind == .owner }

  /// Whether the identity, and with it the registry, would have to be opened first.
  var lacksIdentity: Bool { if case .unlocked(let unlocked) = self { !unlocked.isOpen } else { false } }

  func floor(of group: AccessGroup.Name) -> WitnessRecord? {
    guard case .application(let credential) = self else { return nil }
    return credential.floors.first { $0.group == group.description }?.state
  }

  /// Opens the store with the source that `unlocking` names, and if `usesKeyring` with a key in the kernel's keyring.
  static func open(
    _ location: StoreLocation, _ unlocking: consuming Unlocking, usesKeyring: Bool = true
  ) throws(VaultError) -> StoreAccess {
    switch consume unlocking {
    // The identity is read before the key file, so that a missing store is reported as such.
    case .keyFile(let path): try owner(location, .keyFile(path))
    case .passphrase(let passphrase): try owner(location, .passphrase(passphrase))
    case .credential(let path, let prompt): try application(path, prompt)
    case .credentialBytes(let bytes, let prompt): .application(try credential(bytes.guarded(), prompt))
    case .recoveryCode(let code): try owner(location, .recoveryCode(code))
    case .automatic(let prompt): try automatic(location, prompt, usesKeyring)
    }
  }

  typealias Prompt = @Sendable () throws(VaultError) -> Secret

  private static func automatic(
    _ location: StoreLocation, _ prompt: Prompt?, _ usesKeyring: Bool
  ) throws(VaultError) -> StoreAccess {
    let given = location.variable("CREDENTIALS_DIRECTORY").map { $0 + "/vault" }
    if let path = location.variable("VAULT_CREDENTIAL"), path != given { return try application(path, prompt) }
    if let given, let bytes = try CredentialFile.ofSystemd(given) {
      // A credential, or the 32 bytes of a slot's key; its content shows which.
      guard bytes.count == Key.byteCount else { return .application(try credential(bytes, prompt)) }
      let key = try sealing(Key(bytes))
      return .owner(try location.identityFolder.read().unlock(key: key, use: .systemdCredential).identity)
    }
    // The file is missing, but VAULT_CREDENTIAL names it too, so this is an error.
    if let given, location.variable("VAULT_CREDENTIAL") == given { return try application(given, prompt) }
    if let path = location.variable("VAULT_KEY_FILE") { return try open(location, .keyFile(path)) }
    if let path = location.variable("VAULT_SOCKET") {
      return .service(try ServiceClient(StoreLocation.absolute(path), of: location.namedHome))
    }
    do throws(VaultError) {
      let file = try location.identityFolder.read()
      if usesKeyring {
        let unlocked = try UnlockedOwner(file.ownerKey) { (asks) throws(VaultError) in
          try identity(location, location.identityFolder.read(), asks ? prompt : nil)
        }
        if let unlocked { return .unlocked(unlocked) }
      }
      return .owner(try identity(location, file, prompt))
    } catch {
      switch error {
      case .noStore, .denied, .locked(.nothingNamed), .locked(.nobodyToAsk), .locked(.joinedStore): break
      default: throw error
      }
      let service = try location.listening { (path) throws(VaultError) in
        try ServiceClient(path, of: location.namedHome)
      }
      guard let service else { throw error }
      return .service(service)
    }
  }

  private static func owner(_ location: StoreLocation, _ key: consuming SlotKey) throws(VaultError) -> StoreAccess {
    .owner(try location.identityFolder.read().unlock(key, at: location).identity)
  }

  /// Opens the identity if no source is named: with the key file that opened it before, or with the passphrase.
  private static func identity(
    _ location: StoreLocation, _ file: IdentityFile, _ prompt: Prompt?
  ) throws(VaultError) -> Identity {
    let remembered = location.rememberedKeyFile(of: file.ownerKey)
    var missing: VaultError?
    // Its slot may have been removed: then prompt.
    if file.kinds.contains(.keyFile), case .success(let path?) = remembered {
      do throws(VaultError) { return try file.unlock(.keyFile(path), at: location).identity } catch {
        guard case .locked(.keyFile(.missing, _)) = error, file.kinds.contains(.passphrase) else { throw error }
        missing = error
      }
    }
    guard file.kinds.contains(.passphrase) else {
      var unknown = location.stateFolder(of: file.ownerKey).map { "the state folder '\($0)' does not remember it" }
      if case .failure(let error) = remembered { unknown = error.message }
      throw .locked(.nothingNamed(file.kinds, file.kinds.contains(.keyFile) ? unknown : nil))
    }
    do throws(VaultError) {
      guard let prompt else { throw .locked(.nobodyToAsk("there is no terminal to ask for the passphrase on")) }
      let passphrase = try prompt()
      return try location.identityFolder.read().unlock(passphrase: passphrase.guarded()).identity
    } catch .locked(.nobodyToAsk(let reason)) {
      throw missing ?? .locked(.nobodyToAsk(reason))
    }
  }

  private static func application(_ path: String, _ prompt: Prompt?) throws(VaultError) -> StoreAccess {
    .application(try credential(CredentialFile.bytes(path), prompt))
  }

  /// Reads a credential, which `prompt` gives the passphrase of if it is sealed.
  static func credential(_ bytes: GuardedBytes, _ prompt: Prompt?) throws(VaultError) -> Credential {
    guard try Credential.version(of: bytes).isSealed else { return try Credential(parsing: bytes) }
    let sealed = try SealedCredential(parsing: bytes)
    guard let prompt else {
      throw .locked(.nobodyToAsk("the credential needs a passphrase, and nobody can be asked for it"))
    }
    let passphrase = try prompt()
    return try sealed.open(passphrase: passphrase.guarded())
  }
}

extension StoreLocation {
  /// A variable of the environment; an empty one is treated as not set.
  func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

  var identityFolder: IdentityFolder { IdentityFolder(store: home) }

  /// The key file that opened the store on this machine, or the error of looking it up.
  func rememberedKeyFile(of ownerKey: PublicKey) -> Result<String?, VaultError> {
    Result { () throws(VaultError) in try Settings.read(in: stateFolder(of: ownerKey), of: ownerKey).keyFile }
  }

  /// Remembers the key file of a new store, if it has one, and nothing else: another store may use the same folder.
  ///
  /// - Returns: a notice if that is impossible, so that it must be named each time.
  func remember(keyFile path: String?, of ownerKey: PublicKey) -> Notice? {
    do throws(VaultError) {
      try Settings.change(in: stateFolder(of: ownerKey), of: ownerKey) { settings in
        settings = Settings(keyFile: path.map(StoreLocation.absolute))
      }
      return nil
    } catch {
      return .keyFileForgotten(reason: error.message)
    }
  }
}

extension IdentityFile {
  fileprivate var kinds: [Slot.Kind] {
    slots.reduce(into: []) { kinds, slot in if !kinds.contains(slot.kind) { kinds.append(slot.kind) } }
  }

  /// Opens the root seed of the store at `location`, or of its backup.
  func unlock(
    _ key: consuming SlotKey, at location: StoreLocation
  ) throws(VaultError) -> (identity: Identity, slot: Slot) {
    switch consume key {
    case .keyFile(let path): return try unlock(key: KeyFile.read(path, outside: location.home), use: .keyFile)
    case .passphrase(let passphrase): return try unlock(passphrase: passphrase.guarded())
    case .recoveryCode(let code):
      let typed = try RecoveryCode(parsing: code.guarded())
      return try unlock(key: sealing(typed.key()), use: .recoveryCode)
    }
  }
}

extension Secret {
  func guarded() throws(VaultError) -> GuardedBytes {
    try unsafe withUnsafeBytes { (bytes) throws(VaultError) in try sealing(unsafe GuardedBytes(copying: bytes)) }
  }

  /// The bytes of a new passphrase, which must not be empty.
  func guardedNewPassphrase() throws(VaultError) -> GuardedBytes {
    guard count > 0 else { throw .invalid("a passphrase must not be empty") }
    return try guarded()
  }
}

/// How a store is opened. If a named source fails, nothing else is tried.
public enum Unlocking: ~Copyable, Sendable {
  /// Tries the source that the environment names, else the key that ``SecretStore/unlock(at:unlocking:for:)`` left in
  /// the kernel's keyring, else the key file that opened the store on this machine before, else `prompt`, else
  /// `vaultd`.
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
  /// A recovery code as typed.
  case recoveryCode(Secret)
}

/// The key that will open a new store.
public enum NewSlot: ~Copyable, Sendable {
  /// The key file at this path, outside the store: exactly 32 random bytes; created if missing, with its folders.
  case keyFile(String)
  case passphrase(Secret)

  /// The slot that this key opens, and the path of its key file, which is created if it does not exist.
  consuming func make(
    _ number: Int, at location: StoreLocation, sealing identity: Identity
  ) throws(VaultError) -> (slot: Slot, keyFile: String?) {
    switch consume self {
    case .keyFile(let path):
      let key = try KeyFile.readOrMake(path, outside: location.home, makesFolders: true)
      return (try Slot(number: number, key: key, use: .keyFile, sealing: identity), path)
    case .passphrase(let passphrase):
      return (try Slot(number: number, passphrase: passphrase.guardedNewPassphrase(), sealing: identity), nil)
    }
  }
}
