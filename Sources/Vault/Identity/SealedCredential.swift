internal import GroupFile
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

  /// Whether the bytes are a sealed credential, not an unsealed one.
  static func isMeant(by bytes: GuardedBytes) -> Bool {
    let start = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(18)) }
    return [Credential.Version.sealed, .sealedWithRemote].contains {
      start.elementsEqual(header($0, .moderate, []).prefix(18))
    }
  }

  func serialized() -> [UInt8] {
    var writer = ByteWriter()
    writer.write(SealedCredential.header(version, cost, salt))
    writer.write(check)
    writer.write(nonce.bytes)
    writer.write(sealed)
    writer.write(Hash.digest(.credentialHash, writer.bytes))
    return writer.bytes
  }

  /// - Throws: `damaged`.
  init(parsing bytes: [UInt8]) throws(VaultError) {
    guard bytes.count <= Credential.byteLimit,
      let covered = try CheckedFile.covered(bytes, .credential, hash: .credentialHash, level: .credential)
    else { throw .damaged(.credential, "it was altered or truncated") }
    do throws(ByteReader.Failure) {
      var reader = ByteReader(covered)
      try reader.expect(.credential)
      guard let version = Credential.Version(rawValue: try reader.read(UInt16.self)), version.isSealed,
        bytes.count <= version.byteLimit, try reader.read(UInt16.self) == 0
      else { throw ByteReader.Failure() }
      self.version = version
      cost = Passphrase.Cost(passes: try reader.read(UInt32.self), memoryKiB: try reader.read(UInt32.self))
      salt = Array(try reader.read(count: Passphrase.saltByteCount))
      check = Array(try reader.read(count: 16))
      guard let nonce = Nonce(try reader.read(count: Nonce.byteCount)) else { throw ByteReader.Failure() }
      self.nonce = nonce
      sealed = Array(try reader.read(count: covered.count - reader.offset))
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
    do throws(FileFault) { bytes = try SecretFile.read(path, .handedOver(), size: 0...Credential.byteLimit) } catch {
      if error == .missing { return nil }
      throw VaultError(error, VaultError.Lock.credential)
    }
    if bytes.count == Key.byteCount { return .slotKey(SlotKey(try sealing(Key(bytes)))) }
    guard SealedCredential.isMeant(by: bytes) else { return .application(try Credential(parsing: bytes)) }
    return .sealed(try SealedCredential(parsing: unsafe bytes.withUnsafeBytes { unsafe Array($0) }))
  }
}

extension Label {
  fileprivate static let credentialCheck = Label("vault1.cred.chk")
}
