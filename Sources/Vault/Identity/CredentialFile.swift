internal import Glibc
internal import GroupFile
internal import Sealing

/// The file in which an application keeps its credential.
enum CredentialFile {
  /// Reads a credential.
  ///
  /// The path may be a link, as Kubernetes makes them for a Secret, if nobody but root and `user` could have put it there.
  ///
  /// - Throws: `locked` with the reason if the file is gone or not as it must be; what ``Credential/init(parsing:)`` throws.
  static func read(_ path: String, user: uid_t = geteuid()) throws(IdentityError) -> Credential {
    let bytes: GuardedBytes
    do throws(FileFault) {
      let path = try CanonicalPath.followingLinks(path, user: user)
      bytes = try SecretFile.read(path, .handedOver(user: user), size: 0...Credential.byteLimit)
    } catch {
      if case .storage(let failure) = error { throw .storage(failure) }
      throw .locked(.credential(error))
    }
    return try Credential(parsing: bytes)
  }

  /// Where a credential is to be written: nothing is there, and a file can be made.
  struct Place: ~Copyable {
    /// `nil` where the credential is there already.
    private let draft: SecretFile.Draft?

    /// - Parameters:
    ///   - store: the store's folder; a credential inside it would be copied with what it opens.
    ///   - isWritten: says whether a credential that is there is the one to be written; it is left as it is then.
    /// - Throws: ``VaultError/exists(_:)``, ``VaultError/invalid(_:)``, ``VaultError/denied(_:)``,
    ///   ``VaultError/storage(_:)``.
    init(
      _ path: String, outside store: String, isWritten: (Credential) -> Bool = { _ in false }
    ) throws(VaultError) {
      guard try !Place.isInside(path, store) else {
        throw .invalid("a credential is written to a folder outside of the store that it opens")
      }
      if let found = try? CredentialFile.read(path), isWritten(found) {
        draft = nil
        return
      }
      do throws(FileFault) { draft = try SecretFile.Draft(path) } catch { throw Place.error(error) }
    }

    private static func isInside(_ path: String, _ store: String) throws(VaultError) -> Bool {
      do throws(FileFault) {
        return CanonicalPath.isInside(
          try CanonicalPath.of(CanonicalPath.split(path).folder), try CanonicalPath.of(store))
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
        try unsafe bytes.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe draft?.place(bytes) }
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
