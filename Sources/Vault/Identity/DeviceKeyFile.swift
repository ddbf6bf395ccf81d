internal import Glibc
internal import GroupFile
internal import Sealing

/// The file `device.key` in the state folder: 32 random bytes that never leave this machine.
///
/// It is not backed up: groups that are bound to it are meant to be lost with the machine.
enum DeviceKeyFile {
  static let name = "device.key"

  /// Reads the device key; `nil` if there is none yet.
  ///
  /// - Throws: why the file is not one: a link, not a regular file, not ours, open to others, or not of exactly 32 bytes.
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

  /// Reads the device key, or makes it, durably, if there is none. One that is there is never replaced: groups would be lost.
  ///
  /// - Throws: `locked` with what is wrong with the file or its folder; `storage`.
  static func readOrMake(in stateFolder: String) throws(IdentityError) -> DeviceKey {
    do throws(FileFault) {
      if let key = try read(in: stateFolder) { return key }
      // The state folder must be ours, and nobody else may write to it.
      _ = try Folder(stateFolder, .state(), followingLink: true)
      do throws(FileFault) {
        let key: Key
        do { key = try Key.random() } catch { throw .storage(.memory) }
        try SecretFile.Draft(path(in: stateFolder)).place(key)
      } catch {
        // Somebody else made it just now.
        guard error == .taken else { throw error }
      }
      guard let key = try read(in: stateFolder) else { throw .missing }
      return key
    } catch {
      if case .storage(let failure) = error { throw .storage(failure) }
      throw .locked(.deviceKey(error))
    }
  }

  /// Finds the device key that a group asks for.
  ///
  /// - Throws: `otherDevice`, with what is here instead.
  static func key(_ id: [UInt8], in stateFolder: String?) throws(GroupFileError) -> Key {
    guard let stateFolder else { throw .otherDevice("no state folder is known, so no device key is here") }
    let found: DeviceKey?
    do throws(FileFault) { found = try read(in: stateFolder) } catch {
      throw .otherDevice("the device key here \(error.reason)")
    }
    guard let found else { throw .otherDevice("no device key is here") }
    guard found.id == id else { throw .otherDevice("the device key here is another one") }
    return found.key.copy()
  }

  private static func path(in stateFolder: String) -> String { "\(stateFolder)/\(name)" }
}
