internal import Sealing

/// A credential sealed with a passphrase, for handing it to a person (format article, "A sealed credential").
struct SealedCredential: Sendable {
  private let version: Credential.Version
  private let cost: Passphrase.Cost
  private let salt: [UInt8]
  private let check: [UInt8]
  private let nonce: Nonce
  private let sealed: [UInt8]

  /// - Throws: `overLimit` before any work; `storage`.
  init(
    _ credential: Credential, passphrase: GuardedBytes, cost: Passphrase.Cost = .moderate,
    salt: [UInt8] = Randomness.bytes(Passphrase.saltByteCount), nonce: Nonce = Nonce()
  ) throws(VaultError) {
    let key = try sealing(Passphrase.stretch(passphrase, salt: salt, cost: cost))
    let open = try credential.serialized()
    version = Credential.Version(of: credential, sealed: true)
    let header = SealedCredential.header(version, cost, salt)
    (self.cost, self.salt, self.nonce) = (cost, salt, nonce)
    check = key.check(.credentialCheck, header)
    sealed = unsafe open.withUnsafeBytes { unsafe SealedBox.seal($0, key: key, nonce: nonce, binding: header) }
    guard serialized().count <= version.byteLimit else { throw .overLimit("the size of a credential") }
  }

  /// - Throws: `wrongKey` for a wrong passphrase; `damaged` if the passphrase is right but the content is not a
  ///   credential; `overLimit` for costs above the limits; `storage`.
  func open(passphrase: GuardedBytes) throws(VaultError) -> Credential {
    let key = try sealing(Passphrase.stretch(passphrase, salt: salt, cost: cost))
    let header = SealedCredential.header(version, cost, salt)
    guard key.makes(check, .credentialCheck, header) else { throw .wrongKey(Slot.Kind.passphrase) }
    let open: GuardedBytes
    do throws(SealingError) { open = try SealedBox.open(sealed, key: key, nonce: nonce, binding: header) } catch {
      if error == .outOfMemory { throw VaultError(error) }
      throw .damaged(.credential, "the passphrase is right, but the credential does not open")
    }
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
    writer.write(SealedCredential.header(version, cost, salt))
    writer.write(check)
    writer.write(nonce.bytes)
    writer.write(sealed)
    writer.write(Hash.digest(.credentialHash, writer.bytes))
    return writer.bytes
  }

  init(parsing bytes: GuardedBytes) throws(VaultError) {
    version = try Credential.version(of: bytes)
    var reader = ByteReader(unsafe bytes.withUnsafeBytes { unsafe Array($0.dropLast(Digest.byteCount)) })
    do throws(ByteReader.Failure) {
      guard version.isSealed else { throw ByteReader.Failure() }
      _ = try reader.read(count: 20)
      cost = Passphrase.Cost(passes: try reader.read(UInt32.self), memoryKiB: try reader.read(UInt32.self))
      salt = Array(try reader.read(count: Passphrase.saltByteCount))
      check = Array(try reader.read(count: 16))
      guard let nonce = Nonce(try reader.read(count: Nonce.byteCount)) else { throw ByteReader.Failure() }
      self.nonce = nonce
      sealed = Array(try reader.read(count: reader.remaining))
    } catch {
      throw .damaged(.credential, "its fields do not follow the format")
    }
  }

  private static func header(_ version: Credential.Version, _ cost: Passphrase.Cost, _ salt: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(.credential)
    writer.write(version.rawValue)
    writer.write(UInt16(0))
    writer.write(cost.passes)
    writer.write(cost.memoryKiB)
    writer.write(salt)
    return writer.bytes
  }
}

extension Label { fileprivate static let credentialCheck = Label("vault1.cred.chk") }
