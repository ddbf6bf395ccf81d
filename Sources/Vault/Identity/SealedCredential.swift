internal import Sealing

/// A credential sealed with a passphrase, for handing it to a person (format article, "A sealed credential").
struct SealedCredential: Sendable {
  private let version: Credential.Version
  private let box: CheckedBox

  /// - Throws: `overLimit` before any work; `storage`.
  init(
    _ credential: Credential, passphrase: GuardedBytes, cost: Passphrase.Cost = .moderate,
    salt: [UInt8] = Randomness.bytes(Passphrase.saltByteCount), nonce: Nonce = Nonce()
  ) throws(VaultError) {
    let key = try sealing(Passphrase.stretch(passphrase, salt: salt, cost: cost))
    let open = try credential.serialized()
    version = Credential.Version(of: credential, sealed: true)
    let start = SealedCredential.start(version)
    box = unsafe open.withUnsafeBytes { open in
      unsafe CheckedBox(open, key: key, .credentialCheck, at: start, cost: cost, salt: salt, nonce: nonce)
    }
    guard serialized().count <= version.byteLimit else { throw .overLimit("the size of a credential") }
  }

  /// - Throws: `wrongKey` for a wrong passphrase; `damaged` if the passphrase is right but the content is not a
  ///   credential; `overLimit` for costs above the limits; `storage`.
  func open(passphrase: GuardedBytes) throws(VaultError) -> Credential {
    let open = try box.open(
      box.key(of: passphrase), .credentialCheck, at: SealedCredential.start(version), .passphrase,
      orThrow: .damaged(.credential, "the passphrase is right, but the credential does not open"))
    let credential: Credential
    do { credential = try Credential(parsing: open) } catch .storage(let failure) { throw .storage(failure) } catch {
      throw SealedCredential.wrongContent
    }
    guard Credential.Version(of: credential, sealed: true) == version else { throw SealedCredential.wrongContent }
    return credential
  }

  private static let wrongContent = VaultError.damaged(
    .credential, "the passphrase is right, but the content is not a credential")

  func serialized() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(SealedCredential.start(version) + box.bytes)
    writer.write(Hash.digest(.credentialHash, writer.bytes))
    return writer.bytes
  }

  init(parsing bytes: GuardedBytes) throws(VaultError) {
    version = try Credential.version(of: bytes)
    var reader = ByteReader(unsafe bytes.withUnsafeBytes { unsafe Array($0.dropLast(Digest.byteCount)) })
    do throws(ByteReader.Failure) {
      guard version.isSealed else { throw ByteReader.Failure() }
      _ = try reader.read(count: 20)
      box = CheckedBox(bytes: Array(try reader.read(count: reader.remaining)))
    } catch {
      throw .damaged(.credential, "its fields do not follow the format")
    }
  }

  private static func start(_ version: Credential.Version) -> [UInt8] {
    Label.credential.padded + [0, UInt8(version.rawValue), 0, 0]
  }
}

extension Label { fileprivate static let credentialCheck = Label("vault1.cred.chk") }
