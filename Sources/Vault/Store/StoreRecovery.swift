/// A key for the identity of a store or backup: it may open any of the slots.
public enum SlotKey: ~Copyable, Sendable {
  /// A recovery code as typed, in either case, with spaces, hyphens or nothing between its groups.
  case recoveryCode(Secret)
  case passphrase(Secret)
  /// The key file at this path.
  case keyFile(String)
}

/// Recovers the store of a lost machine: from a backup, with a recovery code, the passphrase or a key file.
///
/// The new store belongs to the same owner: the groups have the same members, and an application whose credential is
/// issued again can open its groups. Of the old slots, the new store has only the one that opened the backup.
public struct StoreRecovery: Sendable {
  private let location: StoreLocation
  private let backup: String
  private let identity: Identity
  private let slot: Slot
  private var keyFile: String?

  /// Opens a backup's identity.
  ///
  /// - Parameters:
  ///   - backup: the backup's folder.
  ///   - location: the place of the new store; by default the one that this process's environment names.
  ///   - key: returns a key for one of the kinds of slots that the backup has; called once the place is known to be
  ///     free.
  /// - Throws: ``VaultError/exists(_:)`` if there is a store; ``VaultError/damaged(group:level:detail:)`` for a folder
  ///   that is not a backup; ``VaultError/locked(_:)`` for a backup without a slot of the key's kind;
  ///   ``VaultError/mistypedCode(_:)``, ``VaultError/wrongKey(_:)``; what `key` throws. Nothing is created.
  public init(
    from backup: String, at location: StoreLocation? = nil,
    key: (_ kinds: Set<Slot.Kind>) throws(VaultError) -> SlotKey
  ) throws(VaultError) {
    let location = if let location { location } else { try StoreLocation.standard() }
    self.location = location
    // A backup inside the new store would be part of what it restores.
    let backup = try location.outside(backup)
    self.backup = backup
    try location.requireStateOutside()
    try location.identityFolder.refuseStore()
    let file = try IdentityFile(inBackup: backup)
    guard try StoreLocation(home: backup, state: backup).hasGroup(.registry) else { throw StoreRecovery.incomplete }
    let key = try key(Set(file.slots.map { $0.kind }))
    switch key {
    case .keyFile(let path): keyFile = path
    default: break
    }
    (identity, slot) = try file.unlock(key, at: location)
  }

  private static let incomplete = VaultError.damaged(.backup, "it lacks the list of groups")

  /// Whether the passphrase opened the backup.
  public var hasPassphrase: Bool { slot.kind == .passphrase }

  /// Creates the store, with the slot that was opened and a new one, and restores the groups.
  ///
  /// Repeating an interrupted call finishes the recovery, even with another new slot. Until then the store lacks
  /// groups, and no other store can be created in its place.
  ///
  /// - Parameters:
  ///   - new: a second key that will open the store, besides the one that opened the backup; `nil` for none.
  ///   - progress: called now and then with a group's name.
  /// - Returns: the store, and the result for each group of the backup.
  /// - Throws: ``VaultError/exists(_:)`` if there is a store; it is unchanged. ``VaultError/busy(group:)`` while
  ///   another process recovers the store; ``VaultError/locked(_:)`` for a key file that cannot be used; and the error
  ///   of restoring the owner's registry.
  public func makeStore(
    with new: consuming NewSlot?, progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> (store: SecretStore, restoration: StoreRestoration) {
    let folder = location.identityFolder
    var file = IdentityFile(ownerKey: identity.ownerKey, first: slot)
    var keyFile = keyFile
    if let new {
      let (added, path) = try new.make(file.nextNumber(), at: location, sealing: identity)
      try file.add(added)
      keyFile = path ?? keyFile
    }
    let mark = try folder.beginRecovery(file)
    defer { mark.unlock() }
    try location.makeStateFolder(of: identity.ownerKey)
    let store = try SecretStore(location, .owner(identity))
    let restoration = try store.restoreBackup(from: backup, progress: progress)
    // Without the registry the store is incomplete; another backup may have it.
    guard location.hasGroup(.registry) else {
      let registry = restoration.groups.filter { $0.name == AccessGroup.Name.registry.description }
      for case .failed(let error) in registry.map(\.outcome) { throw error }
      throw StoreRecovery.incomplete
    }
    location.forgetKeyFile(unless: file)
    if let keyFile, let notice = location.remember(keyFile: keyFile, of: identity.ownerKey) {
      store.notices.post(notice)
    }
    // The last step: if an earlier one failed, the next call finishes the recovery.
    try folder.finishRecovery()
    return (store, restoration)
  }
}

extension IdentityFile {
  init(inBackup path: String) throws(VaultError) {
    do { self = try IdentityFolder(store: path).read() } catch .noStore {
      throw .damaged(.backup, "there is no complete backup at this path")
    } catch .damaged(_, .store, let detail) {
      throw .damaged(.backup, detail)
    } catch .denied(.file(_, let fault)) {
      throw .denied(.file(.backup, fault))
    }
  }
}
