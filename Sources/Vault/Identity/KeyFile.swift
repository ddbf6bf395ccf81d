internal import Glibc
internal import GroupFile
internal import Sealing

/// A file of 32 random bytes that opens the identity unattended.
enum KeyFile {
  /// Reads a key file.
  ///
  /// - Parameter store: the store's folder. A key inside it is refused, because copies of the store would contain it.
  /// - Throws: `locked` with the reason: missing, a link, not a regular file, not owned by us or root, open to others,
  ///   or not exactly 32 bytes long; `storage`.
  static func read(_ path: String, outside store: String, user: uid_t = geteuid()) throws(VaultError) -> Key {
    try refuseInside(path, store)
    do throws(FileFault) {
      let size = Key.byteCount...Key.byteCount
      let bytes = try SecretFile.read(path, .secret(user: user), size: size)
      do { return try Key(bytes) } catch { throw .wrongSize }
    } catch {
      throw fault(error)
    }
  }

  /// Creates a key file, mode 0600, durably.
  ///
  /// - Throws: `locked(.keyFile(.taken))` if something exists at the path; `locked` also if its folder does not exist
  ///   or is inside the store; `storage`. No new file is left then.
  static func make(_ path: String, outside store: String) throws(VaultError) -> Key {
    try refuseInside(path, store)
    let key = try sealing(Key.random())
    do throws(FileFault) {
      try SecretFile.Draft(path).place(key)
    } catch {
      switch error {
      case .missing, .wrongKind, .link: throw .locked(.keyFileFolder(error))
      default: throw fault(error)
      }
    }
    return key
  }

  /// Reads a key file, or creates it if nothing exists at the path, with all missing folders above it.
  static func readOrMake(_ path: String, outside store: String) throws(VaultError) -> Key {
    do throws(VaultError) {
      return try read(path, outside: store)
    } catch .locked(.keyFile(.missing)) {
      do throws(FileFault) { try Folder.make(StoreLocation.absolute(CanonicalPath.split(path).folder)) } catch {
        throw .locked(.keyFileFolder(error))
      }
      do throws(VaultError) {
        return try make(path, outside: store)
      } catch .locked(.keyFile(.taken)) {
        // Another process made it just now.
        return try read(path, outside: store)
      }
    }
  }

  private static func fault(_ fault: FileFault) -> VaultError {
    return VaultError(fault, VaultError.Lock.keyFile)
  }

  private static func refuseInside(_ path: String, _ store: String) throws(VaultError) {
    let isInside: Bool
    do throws(FileFault) {
      let folder = try CanonicalPath.of(CanonicalPath.split(path).folder)
      isInside = CanonicalPath.isInside(folder, try CanonicalPath.of(store))
    } catch {
      throw fault(error)
    }
    if isInside { throw .locked(.keyFileInsideStore) }
  }
}

/// The file `device.key` in the state folder: 32 random bytes that never leave this machine.
///
/// It is not backed up, because groups bound to it are meant to be lost with the machine.
enum DeviceKeyFile {
  static let name = "device.key"

  /// Reads the device key; `nil` if there is none yet.
  ///
  /// - Throws: the fault: a link, not a regular file, not owned by us, open to others, or not exactly 32 bytes long.
  static func read(in stateFolder: String, user: uid_t = geteuid()) throws(FileFault) -> DeviceKey? {
    do throws(FileFault) {
      let trust = FileTrust(owners: [user], forbiddenMode: 0o077)
      let size = Key.byteCount...Key.byteCount
      let bytes = try SecretFile.read(path(in: stateFolder), trust, size: size)
      do { return DeviceKey(try Key(bytes)) } catch { throw .wrongSize }
    } catch {
      if error == .missing { return nil }
      throw error
    }
  }

  /// Reads the device key, or creates it, durably. An existing one is never replaced, because groups would be lost.
  ///
  /// - Throws: `locked` with the fault of the file or its folder; `storage`.
  static func readOrMake(in stateFolder: String) throws(VaultError) -> DeviceKey {
    do throws(FileFault) {
      if let key = try read(in: stateFolder) { return key }
      // The state folder must be ours, and nobody else may have write access.
      _ = try Folder(stateFolder, .state(), followingLink: true)
      do throws(FileFault) {
        let key: Key
        do { key = try Key.random() } catch { throw .storage(.memory) }
        try SecretFile.Draft(path(in: stateFolder)).place(key)
      } catch {
        // Another process made it just now.
        guard error == .taken else { throw error }
      }
      guard let key = try read(in: stateFolder) else { throw .missing }
      return key
    } catch {
      throw VaultError(error, VaultError.Lock.deviceKey)
    }
  }

  /// Finds the device key that a group is bound to.
  ///
  /// - Throws: `otherDevice`, which says what this machine has instead.
  static func key(_ id: [UInt8], in stateFolder: String?) throws(GroupFileError) -> Key {
    guard let stateFolder else { throw .otherDevice("no state folder is known, so this machine has no device key") }
    let found: DeviceKey?
    do throws(FileFault) { found = try read(in: stateFolder) } catch {
      throw .otherDevice("the device key here \(error.reason)")
    }
    guard let found else { throw .otherDevice("this machine has no device key") }
    guard found.id == id else { throw .otherDevice("this machine has another device key") }
    return found.key.copy()
  }

  private static func path(in stateFolder: String) -> String { "\(stateFolder)/\(name)" }
}

/// The content of `$CREDENTIALS_DIRECTORY/vault`: a slot's key if it has 32 bytes, otherwise an application's
/// credential (format article, "The credential").
enum SystemdCredential {
  case application(Credential)
  case sealed(SealedCredential)
  case slotKey(SlotKey)

  /// A key, in a class because the payload of an enum and the captures of a closure must be copyable.
  final class SlotKey: Sendable {
    let key: Key

    init(_ key: consuming Key) { self.key = key }
  }

  /// Reads the file; `nil` if it does not exist.
  ///
  /// - Throws: `locked` if the file is unsuitable, `damaged` if it is neither a key nor a credential.
  static func read(_ path: String) throws(VaultError) -> SystemdCredential? {
    let bytes: GuardedBytes
    do throws(FileFault) {
      bytes = try SecretFile.read(path, .handedOver(), size: 0...Credential.byteLimit)
    } catch {
      if error == .missing { return nil }
      throw VaultError(error, VaultError.Lock.credential)
    }
    if bytes.count == Key.byteCount {
      return .slotKey(SlotKey(try sealing(Key(bytes))))
    }
    guard SealedCredential.isMeant(by: bytes) else { return .application(try Credential(parsing: bytes)) }
    return .sealed(try SealedCredential(parsing: unsafe bytes.withUnsafeBytes { unsafe Array($0) }))
  }
}
