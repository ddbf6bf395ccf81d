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
    let parent: OpenFile
    do throws(FileFault) {
      parent = try OpenFile(CanonicalPath.split(path).folder + "/", O_RDONLY | O_DIRECTORY)
    } catch {
      throw error.isOfStorage ? fault(error) : .locked(.keyFileFolder(error))
    }
    do throws(FileFault) { try make(path, in: parent, key) } catch { throw fault(error) }
    return key
  }

  /// A process that is killed meanwhile leaves no half of a key under the name.
  private static func make(_ path: String, in parent: borrowing OpenFile, _ key: borrowing Key) throws(FileFault) {
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    let draft = "\(CanonicalPath.split(path).folder)/.vault-key-\(number).new"
    let file = try OpenFile(draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    defer { unsafe unlink(draft) }
    try unsafe key.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe file.write(bytes) }
    try file.synchronize()
    let code = NewName.give(path, to: draft)
    guard code == 0 else { throw FileFault(errno: code) }
    do throws(FileFault) { try parent.synchronize() } catch {
      unsafe unlink(path)
      throw error
    }
  }

  /// Reads a key file, or makes it if nothing is there.
  static func readOrMake(_ path: String, outside store: String) throws(IdentityError) -> Key {
    do throws(IdentityError) {
      return try read(path, outside: store)
    } catch .locked(.keyFile(.missing)) {
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
