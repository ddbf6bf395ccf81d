internal import Glibc
internal import KeyedArchives
internal import Sealing

/// An ed25519 key of SSH. Its item holds the file that OpenSSH would have written (PROTOCOL.key in OpenSSH's source).
package struct SSHKey: ~Copyable, Sendable {
  private let seed: Key
  private let signing: SigningKey
  package let comment: String

  /// The attribute of an item with a key: the key's public part, as in `authorized_keys`.
  package static let attribute = "ssh-public-key"

  private static let type = Array("ssh-ed25519".utf8)
  private static let magic = Array("openssh-key-v1\0".utf8)
  private static let begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
  private static let end = "-----END OPENSSH PRIVATE KEY-----\n"
  private static let byteLimit = 16_384

  private init(_ seed: consuming Key, _ comment: String) throws(SealingError) {
    signing = try SigningKey(seed: seed)
    self.seed = seed
    self.comment = comment
  }

  /// Makes a new key.
  ///
  /// - Throws: ``VaultError/storage(_:)`` if memory is short.
  package static func random(comment: String) throws(VaultError) -> SSHKey {
    try sealing { () throws(SealingError) in try SSHKey(Key.random(), comment) }
  }

  // MARK: Bytes

  /// Reads a file of OpenSSH. The caller wipes the original.
  ///
  /// - Throws: ``VaultError/invalid(_:)`` for anything but one ed25519 key without a passphrase.
  package init(parsing file: [UInt8]) throws(VaultError) {
    guard file.count <= Self.byteLimit, let text = String(validating: file, as: UTF8.self),
      let start = text.utf8.firstRange(of: Self.begin), let stop = text.utf8.firstRange(of: Self.end.dropLast())
    else { throw .invalid("an SSH key is a file that begins with \(Self.begin.dropLast())") }
    guard start.upperBound <= stop.lowerBound else { throw Self.malformed }
    var base64 = Array(text.utf8[start.upperBound..<stop.lowerBound])
    var bytes: [UInt8] = []
    bytes.reserveCapacity(base64.count)
    defer {
      unsafe explicit_bzero(&base64, base64.count)
      unsafe explicit_bzero(&bytes, bytes.count)
    }
    guard Base64.append(decoding: base64, to: &bytes) else { throw Self.malformed }
    self = try Self.parsed(bytes)
  }

  private static let malformed = VaultError.invalid("the SSH key does not follow OpenSSH's format")

  private static func parsed(_ bytes: [UInt8]) throws(VaultError) -> SSHKey {
    let limit = byteLimit
    var reader = ByteReader(bytes)
    var secret: [UInt8] = []
    defer { unsafe explicit_bzero(&secret, secret.count) }
    do {
      guard try Array(reader.read(count: magic.count)) == magic else { throw malformed }
      let cipher = try reader.readCounted32(limit: limit)
      _ = (try reader.readCounted32(limit: limit), try reader.readCounted32(limit: limit))
      guard cipher == Array("none".utf8) else {
        throw VaultError.invalid("the SSH key has a passphrase; take it off a copy first: ssh-keygen -p -f FILE")
      }
      guard try reader.read(UInt32.self) == 1 else { throw malformed }
      _ = try reader.readCounted32(limit: limit)
      secret = try reader.readCounted32(limit: limit)
      try reader.finish()
    } catch let error as VaultError {
      throw error
    } catch {
      throw malformed
    }
    return try key(in: secret)
  }

  private static func key(in secret: [UInt8]) throws(VaultError) -> SSHKey {
    var reader = ByteReader(secret)
    var pair: [UInt8] = []
    defer { unsafe explicit_bzero(&pair, pair.count) }
    let publicKey: [UInt8]
    let comment: String
    do {
      guard try reader.read(UInt32.self) == reader.read(UInt32.self) else { throw malformed }
      guard try reader.readCounted32(limit: 64) == type else {
        throw VaultError.invalid("only ed25519 keys are supported; make one: vault ssh generate NAME")
      }
      publicKey = try reader.readCounted32(limit: 32)
      pair = try reader.readCounted32(limit: 64)
      guard let text = String(validating: try reader.readCounted32(limit: 1_024), as: UTF8.self) else {
        throw malformed
      }
      comment = text
      guard publicKey.count == 32, pair.count == 64 else { throw malformed }
    } catch let error as VaultError {
      throw error
    } catch {
      throw malformed
    }
    let key = try sealing { () throws(SealingError) in try SSHKey(Key(seedOf: pair), comment) }
    guard key.signing.publicKey.bytes == publicKey else { throw malformed }
    return key
  }

  /// The file of OpenSSH. The caller wipes it.
  package borrowing func serialized() -> [UInt8] {
    var secret = ByteWriter(reservingCapacity: 512)
    let check = Randomness.bytes(4)
    secret.write(check + check)
    secret.writeCounted32(Self.type)
    secret.writeCounted32(signing.publicKey.bytes)
    secret.write(UInt32(64))
    unsafe seed.withUnsafeBytes { unsafe secret.write($0) }
    secret.write(signing.publicKey.bytes)
    secret.writeCounted32(Array(comment.utf8))
    var padding: UInt8 = 1
    while secret.bytes.count % 8 != 0 {
      secret.write(padding)
      padding += 1
    }
    var writer = ByteWriter(reservingCapacity: 1_024)
    writer.write(Self.magic)
    for text in ["none", "none", ""] { writer.writeCounted32(Array(text.utf8)) }
    writer.write(UInt32(1))
    writer.writeCounted32(publicBlob)
    writer.writeCounted32(secret.bytes)
    var base64: [UInt8] = []
    Base64.append(encoding: writer.bytes, to: &base64)
    var file = Array(Self.begin.utf8)
    for start in stride(from: 0, to: base64.count, by: 70) {
      file += base64[start..<min(start + 70, base64.count)]
      file.append(UInt8(ascii: "\n"))
    }
    return file + Self.end.utf8
  }

  /// The public key, as the protocols of SSH send it.
  package var publicBlob: [UInt8] {
    var writer = ByteWriter()
    writer.writeCounted32(Self.type)
    writer.writeCounted32(signing.publicKey.bytes)
    return writer.bytes
  }

  /// The public key as in `authorized_keys`, without a comment.
  package var publicText: String {
    var base64: [UInt8] = []
    Base64.append(encoding: publicBlob, to: &base64)
    return String(decoding: Self.type, as: UTF8.self) + " " + String(decoding: base64, as: UTF8.self)
  }

  /// The public key that such a text holds, as the protocols of SSH send it; `nil` for any other text.
  package static func publicBlob(of text: String) -> [UInt8]? {
    let words = text.split(separator: " ")
    var blob: [UInt8] = []
    guard words.count >= 2, words[0].utf8.elementsEqual(type), Base64.append(decoding: Array(words[1].utf8), to: &blob)
    else { return nil }
    return blob
  }

  /// The signature of `message`, as the protocols of SSH send it.
  package borrowing func signature(of message: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.writeCounted32(Self.type)
    writer.writeCounted32(signing.sign(message))
    return writer.bytes
  }
}

extension Key {
  /// The first half of a pair of seed and public key.
  fileprivate init(seedOf pair: [UInt8]) throws(SealingError) {
    let seed = try unsafe pair.span.withUnsafeBytes { (bytes) throws(SealingError) in
      try unsafe GuardedBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[..<32]))
    }
    try self.init(seed)
  }
}

extension String.UTF8View {
  /// Where `text` stands first; `Collection.firstRange` would bring the tables of Unicode into the executable.
  fileprivate func firstRange(of text: some StringProtocol) -> Range<Index>? {
    var start = startIndex
    while start != endIndex {
      if self[start...].starts(with: text.utf8) { return start..<index(start, offsetBy: text.utf8.count) }
      formIndex(after: &start)
    }
    return nil
  }
}
