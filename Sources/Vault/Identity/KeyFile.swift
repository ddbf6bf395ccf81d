internal import Glibc
internal import GroupFile
internal import Sealing

/// A file of 32 random bytes that opens the identity unattended.
enum KeyFile {
  /// Reads a key file.
  ///
  /// - Parameter store: the store's folder; a key inside it would be copied with what it opens.
  /// - Throws: `locked` with the reason: gone, a link, not a regular file, not ours or root's, open to others, or not of
  ///   exactly 32 bytes; `storage`.
  static func read(_ path: String, outside store: String, user: uid_t = geteuid()) throws(IdentityError) -> Key {
    try refuseInside(path, store)
    do throws(FileFault) {
      let size = Key.byteCount...Key.byteCount
      let bytes = try SecretFile.read(path, .secret(user: user), size: size)
      do { return try Key(bytes) } catch { throw .wrongSize }
    } catch {
      throw fault(error)
    }
  }

  /// Makes a key file, mode 0600, durably.
  ///
  /// - Throws: `locked(.keyFile(.taken))` if anything is there; `locked` also where its folder is not there or the key
  ///   would lie inside the store; `storage`. There is no new file then.
  static func make(_ path: String, outside store: String) throws(IdentityError) -> Key {
    try refuseInside(path, store)
    let key = try sealing { () throws(SealingError) in try Key.random() }
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

  /// Reads a key file, or makes it if nothing is there, with the folders above it that are missing.
  static func readOrMake(_ path: String, outside store: String) throws(IdentityError) -> Key {
    do throws(IdentityError) {
      return try read(path, outside: store)
    } catch .locked(.keyFile(.missing)) {
      do throws(FileFault) { try Folder.make(Locations.absolute(CanonicalPath.split(path).folder)) } catch {
        throw .locked(.keyFileFolder(error))
      }
      do throws(IdentityError) {
        return try make(path, outside: store)
      } catch .locked(.keyFile(.taken)) {
        // Somebody else made it just now.
        return try read(path, outside: store)
      }
    }
  }

  private static func fault(_ fault: FileFault) -> IdentityError {
    if case .storage(let failure) = fault { return .storage(failure) }
    return .locked(.keyFile(fault))
  }

  private static func refuseInside(_ path: String, _ store: String) throws(IdentityError) {
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
