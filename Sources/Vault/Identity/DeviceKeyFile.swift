internal import Glibc
internal import Sealing

/// The file `device.key` in the state folder: 32 random bytes that never leave this machine.
///
/// It is not backed up, because groups bound to it are meant to be lost with the machine.
enum DeviceKeyFile {
  static let name = "device.key"

  /// Reads the device key; `nil` if there is none yet.
  ///
  /// - Throws: the fault: a link, not a regular file, not owned by us, open to others, or not exactly 32 bytes long.
  static func read(in stateFolder: String) throws(FileFault) -> DeviceKey? {
    do throws(FileFault) {
      return DeviceKey(try KeyFile.key(at: path(in: stateFolder), FileTrust(owners: [geteuid()], forbiddenMode: 0o077)))
    } catch .missing {
      return nil
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
      } catch .taken {
        // Another process made it just now.
      }
      guard let key = try read(in: stateFolder) else { throw .missing }
      return key
    } catch {
      throw VaultError(error, VaultError.Lock.deviceKey)
    }
  }

  /// Finds the device key that a group is bound to, or any if `id` is `nil`; throws `otherDevice`, which says what this
  /// machine has instead.
  static func key(_ id: [UInt8]?, in stateFolder: String?) throws(VaultError) -> Key {
    guard let stateFolder else { throw .otherDevice("no state folder is known, so this machine has no device key") }
    let found: DeviceKey?
    do throws(FileFault) { found = try read(in: stateFolder) } catch {
      throw .otherDevice("the device key here \(error.reason)")
    }
    guard let found else { throw .otherDevice("this machine has no device key") }
    guard id == nil || found.id == id else { throw .otherDevice("this machine has another device key") }
    return found.key.copy()
  }

  private static func path(in stateFolder: String) -> String { "\(stateFolder)/\(name)" }
}
