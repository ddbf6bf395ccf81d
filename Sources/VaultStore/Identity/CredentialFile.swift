internal import Glibc
internal import GroupFile
internal import Sealing

/// The file in which an application keeps its credential.
enum CredentialFile {
  /// Reads a credential.
  ///
  /// - Throws: `locked` with the reason if the file is gone or not as it must be; what ``Credential/init(parsing:)`` throws.
  static func read(_ path: String, user: uid_t = geteuid()) throws(IdentityError) -> Credential {
    let bytes: GuardedBytes
    do throws(FileFault) {
      bytes = try SecretFile.read(path, .secret(user: user), size: 0...Credential.byteLimit)
    } catch {
      if case .storage(let failure) = error { throw .storage(failure) }
      throw .locked(.credential(error))
    }
    return try Credential(parsing: bytes)
  }

  /// Where a credential is to be written: nothing is there, and its folder is.
  struct Place: ~Copyable {
    private let path: String
    private let folder: OpenFile

    /// - Throws: ``VaultError/exists(_:)``, ``VaultError/invalid(_:)``, ``VaultError/denied(_:)``,
    ///   ``VaultError/storage(_:)``.
    init(_ path: String) throws(VaultError) {
      do throws(FileFault) {
        var status = stat()
        guard unsafe lstat(path, &status) != 0 else { throw .taken }
        guard errno == ENOENT else { throw FileFault(errno: errno) }
        folder = try SecretFile.folder(of: path)
        self.path = path
      } catch {
        throw Place.error(error)
      }
    }

    /// Writes the credential, mode 0600, durably.
    ///
    /// - Throws: as `init`; there is no file then.
    func write(_ credential: Credential) throws(VaultError) {
      let bytes: GuardedBytes
      do { bytes = try credential.serialized() } catch { throw VaultError(error) }
      do throws(FileFault) {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(FileFault) in
          try unsafe SecretFile.make(path, in: folder, bytes)
        }
      } catch {
        throw Place.error(error)
      }
    }

    private static func error(_ fault: FileFault) -> VaultError {
      switch fault {
      case .taken: .exists("a file at the credential's place")
      case .missing, .wrongKind: .invalid("the folder that the credential is to be written to is not there")
      case .storage(let failure): .storage(failure.rawValue)
      default: .denied(.permissions("the credential's folder \(fault.reason)"))
      }
    }
  }
}
