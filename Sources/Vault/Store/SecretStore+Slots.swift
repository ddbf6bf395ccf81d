internal import Glibc
internal import Sealing

/// The slots that open the store. Each call rewrites one slot of the identity file and changes no other slot and no
/// group.
extension SecretStore {
  /// Adds a passphrase to a store that has none.
  ///
  /// - Returns: the new slot.
  /// - Throws: ``VaultError/exists(_:)`` if there is one, which ``changePassphrase(to:)`` replaces;
  ///   ``VaultError/invalid(_:)`` for an empty passphrase; otherwise as ``removeSlot(_:)``.
  @discardableResult
  public func addPassphrase(_ passphrase: borrowing Secret) throws(VaultError) -> Slot {
    let bytes = try passphrase.guardedNewPassphrase()
    return try addSlot { (file, identity) throws(VaultError) in
      // Checked first, because stretching the passphrase takes long.
      if file.slots.contains(where: { $0.kind == .passphrase }) { throw .exists(.passphraseSlot) }
      return try Slot(number: file.nextNumber(), passphrase: bytes, sealing: identity)
    }
  }

  /// Makes `passphrase` the one that opens the store: replaces the old one's slot, or adds a first one.
  ///
  /// The cost of each guess is raised to today's default, and never lowered. Nothing else is written: data and other
  /// slots are unchanged. Old copies of the identity file still open with the old passphrase.
  ///
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner, ``VaultError/invalid(_:)`` for an empty passphrase,
  ///   ``VaultError/busy(group:)``, ``VaultError/storage(_:)``.
  public func changePassphrase(to passphrase: borrowing Secret) throws(VaultError) {
    let bytes = try passphrase.guardedNewPassphrase()
    try changeIdentity(.changeSlot) { (file, identity) throws(VaultError) in
      try file.setPassphrase(bytes, of: identity)
      return ((), nil, Slot.Kind.passphrase.name)
    }
  }

  /// Adds the key file at `path`, outside the store: exactly 32 random bytes. It is created if missing, its folder not.
  ///
  /// It is remembered as the key file to open with only in place of one that does not exist any more, or if there is none
  /// and no passphrase. If a slot for a created file cannot be added, the file stays, and the next call uses it.
  ///
  /// - Returns: the new slot.
  /// - Throws: ``VaultError/exists(_:)`` if it opens the store already, ``VaultError/locked(_:)`` if it cannot be used;
  ///   otherwise as ``removeSlot(_:)``.
  @discardableResult
  public func addKeyFile(_ path: String) throws(VaultError) -> Slot {
    let slot = try addSlot { (file, identity) throws(VaultError) in
      let number = try file.nextNumber()
      let key = try KeyFile.readOrMake(path, outside: location.home, makesFolders: false)
      if (try? file.unlock(key: key, use: .keyFile)) != nil { throw .exists(.keyFileSlot) }
      return try Slot(number: number, key: key, use: .keyFile, sealing: identity)
    }
    if let old = location.replaceMissingKeyFile(by: path, of: access.ownerKey) { notices.post(.keyFileReplaced(old)) }
    return slot
  }

  /// Adds a key for systemd: 32 random bytes in a new file at `path`, outside the store, for `systemd-creds encrypt` or
  /// `LoadCredential=vault:…`. A service that gets them as its credential `vault` opens the store as its owner.
  ///
  /// - Returns: the new slot.
  /// - Throws: ``VaultError/exists(_:)`` if something exists at `path`; it is unchanged. Otherwise as
  ///   ``removeSlot(_:)``, and no file is left.
  @discardableResult
  public func addSystemdCredential(at path: String) throws(VaultError) -> Slot {
    _ = try owner()
    func newKey() throws(VaultError) -> Key {
      do { return try KeyFile.make(path, outside: location.home) } catch .locked(.keyFile(.taken, _)) {
        throw .exists(.file)
      }
    }
    let key = try newKey()
    do {
      return try addSlot { (file, identity) throws(VaultError) in
        try Slot(number: file.nextNumber(), key: key, use: .systemdCredential, sealing: identity)
      }
    } catch {
      unsafe unlink(path)
      throw error
    }
  }

  /// Creates a recovery code and adds a slot for it; earlier codes stay valid.
  ///
  /// - Returns: the code, which is stored nowhere.
  /// - Throws: as ``removeSlot(_:)``.
  public func createRecoveryCode() throws(VaultError) -> RecoveryCodeSlot {
    let code = try sealing(RecoveryCode.random())
    let key = try sealing(code.key())
    let text = try sealing(code.text())
    let secret = try unsafe text.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe Secret(copying: bytes) }
    var others: [Int] = []
    let slot = try addSlot { (file, identity) throws(VaultError) in
      others = file.slots.filter { $0.kind == .recoveryCode }.map(\.number)
      return try Slot(number: file.nextNumber(), key: key, use: .recoveryCode, sealing: identity)
    }
    return RecoveryCodeSlot(code: secret, slot: slot.number, others: others)
  }

  /// Removes a slot. Its key then opens only old copies of the identity file.
  ///
  /// - Throws: ``VaultError/contradiction(_:)`` for the last slot; ``VaultError/notFound(_:)`` for another number;
  ///   ``VaultError/denied(_:)`` for anyone but the owner, ``VaultError/overLimit(_:)`` beyond 64 slots,
  ///   ``VaultError/busy(group:)``, ``VaultError/damaged(group:level:detail:)``, ``VaultError/storage(_:)``. The
  ///   identity is unchanged then.
  public func removeSlot(_ number: Int) throws(VaultError) {
    let file = try changeIdentity(.removeSlot) { (file, _) throws(VaultError) in
      try file.remove(number: number)
      return (file, String(number), nil)
    }
    location.forgetKeyFile(unless: file)
  }

  private func addSlot(_ make: (IdentityFile, Identity) throws(VaultError) -> Slot) throws(VaultError) -> Slot {
    try changeIdentity(.addSlot) { (file, identity) throws(VaultError) in
      let slot = try make(file, identity)
      try file.add(slot)
      return (slot, String(slot.number), slot.kind.name)
    }
  }

  /// Changes the identity file, which must still belong to this store's owner, and keeps other processes from changing
  /// it meanwhile.
  ///
  /// - Parameter body: changes the file, which is then recorded and written; returns also what the record names.
  private func changeIdentity<Result>(
    _ action: AuditRecord.Action,
    _ body: (inout IdentityFile, Identity) throws(VaultError) -> (Result, subject: String?, detail: String?)
  ) throws(VaultError) -> Result {
    let identity = try owner()
    return try location.identityFolder.change { (found, write) throws(VaultError) in
      guard found.ownerKey == identity.ownerKey else {
        throw .damaged(.identity, "another store's identity has replaced it")
      }
      var file = found
      let (result, subject, detail) = try body(&file, identity)
      try recording(action, subject: subject, detail: detail) { [file] () throws(VaultError) in try write(file) }
      return result
    }
  }
}

/// A new recovery code. Write it down, away from the store and its backups: it opens the store, and together with a
/// backup it restores everything.
public struct RecoveryCodeSlot: ~Copyable, Sendable {
  /// The code: 8 groups of 5 characters with hyphens between them.
  public let code: Secret
  /// The number of its slot.
  public let slot: Int
  /// The slots of earlier codes, which stay valid.
  public let others: [Int]
}

extension StoreLocation {
  /// Remembers a new key file if the remembered one does not exist, or if there is none and no passphrase either.
  ///
  /// - Returns: the path of the key file that was remembered.
  fileprivate func replaceMissingKeyFile(by path: String, of ownerKey: PublicKey) -> String? {
    guard case .success(let known) = rememberedKeyFile(of: ownerKey) else { return nil }
    let isMissing =
      if let known { unsafe access(known, F_OK) != 0 && errno == ENOENT } else {
        (try? identity())?.slots.contains { $0.kind == .passphrase } == false
      }
    guard isMissing else { return nil }
    try? Settings.change(in: stateFolder(of: ownerKey), of: ownerKey) { $0.keyFile = StoreLocation.absolute(path) }
    return known
  }

  /// Forgets the key file that opened the store on this machine, if it no longer opens any slot.
  func forgetKeyFile(unless file: IdentityFile) {
    guard case .success(let path?) = rememberedKeyFile(of: file.ownerKey) else { return }
    if file.slots.contains(where: { $0.kind == .keyFile }) {
      // A key file that cannot be read now may still open a slot later.
      guard let key = try? KeyFile.read(path, outside: home) else { return }
      if (try? file.unlock(key: key, use: .keyFile)) != nil { return }
    }
    try? Settings.change(in: stateFolder(of: file.ownerKey), of: file.ownerKey) { $0.keyFile = nil }
  }
}
