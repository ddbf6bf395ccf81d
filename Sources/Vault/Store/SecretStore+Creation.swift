internal import Sealing

extension SecretStore {
  /// Creates a store with the group `default`.
  ///
  /// If creating the store was interrupted, a call with the same source finishes it.
  ///
  /// - Throws: ``VaultError/exists(_:)`` if there is a store; it is unchanged. ``VaultError/locked(_:)`` for a key file
  ///   that cannot be used, ``VaultError/denied(_:)``, ``VaultError/storage(_:)``.
  @discardableResult
  public static func create(
    at location: StoreLocation? = nil, with slot: consuming NewSlot
  ) throws(VaultError) -> SecretStore {
    let location = if let location { location } else { try StoreLocation.standard() }
    let identity: Identity
    let keyFile: String?
    if let file = try unfinished(location) {
      switch consume slot {
      case .keyFile(let path):
        (identity, keyFile) = (try file.unlock(.keyFile(path), at: location).identity, path)
      case .passphrase(let passphrase):
        (identity, keyFile) = (try file.unlock(passphrase: passphrase.guarded()).identity, nil)
      }
    } else {
      identity = try sealing(Identity.random())
      let first: Slot
      (first, keyFile) = try slot.make(1, at: location, sealing: identity)
      try location.identityFolder.create(IdentityFile(ownerKey: identity.ownerKey, first: first))
    }
    let store = try SecretStore(location, .owner(identity))
    try store.makeFirstGroups(keyFile: keyFile)
    return store
  }

  /// Throws ``VaultError/exists(_:)`` if there is a complete store at `location`.
  package static func requireNone(at location: StoreLocation) throws(VaultError) { _ = try unfinished(location) }

  /// The identity file of a store whose creation was interrupted; `nil` if there is none yet. Throws
  /// ``VaultError/exists(_:)`` for a complete store.
  private static func unfinished(_ location: StoreLocation) throws(VaultError) -> IdentityFile? {
    try location.requireStateOutside()
    if location.identityFolder.isRecovering { throw VaultError.exists(.storeInRecovery) }
    let file: IdentityFile
    do {
      file = try location.identityFolder.read()
    } catch .noStore {
      return nil
    }
    // The group `default` is created last. If its owner removed it, only the registry knows that it existed.
    if location.hasGroup(.default) { throw .exists(.storeAtPlace) }
    switch Witness(of: AccessGroup.Name.default.description, in: location.witnesses(of: file.ownerKey)).read() {
    case .valid, .invalid: throw .exists(.storeAtPlace)
    // The state folder does not exist yet, or cannot be used.
    case .absent, .unavailable: return file
    }
  }

  /// Creates the missing parts of a new store besides its identity; `default` comes last. If nothing was missing, it
  /// throws ``VaultError/exists(_:)``.
  private func makeFirstGroups(keyFile path: String?) throws(VaultError) {
    try location.makeStateFolder(of: access.ownerKey)
    let registry = try registry()
    if !location.hasGroup(.registry) {
      try lockingGroups { (groups) throws(VaultError) in
        try make(
          .registry, GroupCreation(name: AccessGroup.Name.registry.description, time: SystemClock.milliseconds()),
          groupID: GroupID(Randomness.bytes(32))!, as: registry.group.file.context.seed, in: groups)
      }
    }
    let entry = try registry.entry(of: .default)
    guard entry == nil || entry?.presence == .changing else { throw .exists(.storeAtPlace) }
    if let notice = location.remember(keyFile: path, of: access.ownerKey), path != nil { notices.post(notice) }
    try createGroup(AccessGroup.Name.default.description)
  }
}

/// The properties of a new access group.
public struct NewGroup: Sendable {
  /// How many versions of each item are kept, the current one included: 1...1,000.
  public var keep: Int
  /// What happens to the group when its application is uninstalled.
  public var lifetime: GroupLifetime
  /// Whether the group can be opened only with this machine's state folder. It cannot be shared with a Unix group.
  public var isThisDeviceOnly: Bool
  /// The Unix group that may use the group's files; `nil` if only the user who creates it may.
  public var unixGroup: UnixGroup?

  public init(
    keep: Int = 10, lifetime: GroupLifetime = .survives, isThisDeviceOnly: Bool = false, unixGroup: UnixGroup? = nil
  ) {
    (self.keep, self.lifetime, self.isThisDeviceOnly, self.unixGroup) = (keep, lifetime, isThisDeviceOnly, unixGroup)
  }
}
