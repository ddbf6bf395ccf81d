internal import Glibc
internal import Sealing

enum CredentialFile {
  /// The credential in a file that was written with this passphrase; `nil` stands for an unsealed one.
  ///
  /// - Throws: as ``bytes(_:)`` and ``Credential/init(parsing:)``; `wrongKey` for another passphrase.
  static func read(_ path: String, sealedBy passphrase: GuardedBytes? = nil) throws(VaultError) -> Credential {
    let bytes = try bytes(path)
    guard let passphrase else { return try Credential(parsing: bytes) }
    return try SealedCredential(parsing: bytes).open(passphrase: passphrase)
  }

  /// The bytes of a credential, sealed or not; throws `locked` with the reason if the file is missing or unsuitable. The
  /// path may be a link, as Kubernetes makes for a Secret, if only root and this user could have made it.
  static func bytes(_ path: String) throws(VaultError) -> GuardedBytes {
    do throws(FileFault) {
      let path = try CanonicalPath.followingLinks(path, user: geteuid())
      return try SecretFile.read(path, .handedOver(), size: 0...Credential.byteLimit)
    } catch {
      throw VaultError(error, VaultError.Lock.credential)
    }
  }

  /// The content of `$CREDENTIALS_DIRECTORY/vault`; `nil` if the file does not exist. 32 bytes are the key of a slot,
  /// and everything else is an application's credential (format article, "The credential").
  ///
  /// - Throws: `locked` if the file is unsuitable.
  static func ofSystemd(_ path: String) throws(VaultError) -> GuardedBytes? {
    do throws(FileFault) { return try SecretFile.read(path, .handedOver(), size: 0...Credential.byteLimit) } catch {
      if error == .missing { return nil }
      throw VaultError(error, VaultError.Lock.credential)
    }
  }

  /// The place of a new credential: no file exists there, and one can be created.
  struct Place: ~Copyable {
    /// `nil` if the credential has been written already.
    private let draft: SecretFile.Draft?

    /// - Parameters:
    ///   - store: the store's folder. A credential inside it is refused, because copies of the store would contain it.
    ///   - isWritten: whether the credential is there already; it is left unchanged then.
    /// - Throws: ``VaultError/exists(_:)``, ``VaultError/invalid(_:)``, ``VaultError/denied(_:)``,
    ///   ``VaultError/storage(_:)``.
    init(_ path: String, outside store: String, isWritten: Bool = false) throws(VaultError) {
      let isInside: Bool
      do throws(FileFault) { isInside = try CanonicalPath.isFile(at: path, inside: store) } catch {
        throw Place.error(error)
      }
      if isInside { throw .invalid("a credential must be outside the store that it opens") }
      do throws(FileFault) { draft = if isWritten { nil } else { try SecretFile.Draft(path) } } catch {
        throw Place.error(error)
      }
    }

    /// Writes the credential, mode 0600, durably.
    ///
    /// - Throws: as `init`, and `overLimit`. Then no file is left.
    func write(_ credential: Credential, passphrase: GuardedBytes? = nil) throws(VaultError) {
      var bytes = try credential.serialized()
      if let passphrase {
        let sealed = try SealedCredential(credential, passphrase: passphrase).serialized()
        bytes = try unsafe sealing(
          sealed.span.withUnsafeBytes { (sealed) throws(SealingError) in try unsafe GuardedBytes(copying: sealed) })
      }
      do throws(FileFault) {
        try unsafe bytes.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe draft?.place(bytes) }
      } catch {
        throw Place.error(error)
      }
    }

    private static func error(_ fault: FileFault) -> VaultError {
      switch fault {
      case .taken: .exists(.credentialPlace)
      case .missing, .wrongKind: .invalid("the credential's folder does not exist")
      case .storage(let failure): .storage(failure)
      case .openToOthers, .foreignOwner: .denied(.file(.credential, fault))
      default: .denied(.permissions("the credential's folder \(fault.reason)"))
      }
    }
  }
}
