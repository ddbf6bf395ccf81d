internal import Glibc
internal import Ground
internal import Sealing
package import Vault

/// A private key of SSH. Its item holds the file that OpenSSH would have written (PROTOCOL.key in OpenSSH's source).
package struct SSHKey: ~Copyable, Sendable {
  /// What a key signs with, by its name in the protocols of SSH.
  package enum Algorithm: String, Sendable {
    case ed25519 = "ssh-ed25519"
    case rsa = "ssh-rsa"
    case p256 = "ecdsa-sha2-nistp256"
    case p384 = "ecdsa-sha2-nistp384"
    case p521 = "ecdsa-sha2-nistp521"

    /// How many counted fields a private key has between its name and its comment.
    fileprivate var fieldCount: Int {
      switch self {
      case .ed25519: 2
      case .rsa: 6
      case .p256, .p384, .p521: 3
      }
    }

    /// How many counted fields a public key has after its name.
    fileprivate var publicFieldCount: Int { self == .ed25519 ? 1 : 2 }

    /// The number of bytes of a coordinate; of a curve only.
    fileprivate var coordinateByteCount: Int {
      switch self {
      case .p256: 32
      case .p384: 48
      case .p521: 66
      case .ed25519, .rsa: 0
      }
    }
  }

  package let algorithm: Algorithm
  package let comment: String
  /// The public key, as the protocols of SSH send it.
  package let publicBlob: [UInt8]
  /// The fields of the private key, each with its length before it.
  private let fields: Secret

  /// The attribute of an item with a key: the key's public part, as in `authorized_keys`.
  package static let attribute = "ssh-public-key"

  /// The attribute of an item whose key signs only after a person agreed; its value does not matter.
  package static let confirmAttribute = "ssh-confirm"

  /// In bits, the sizes of RSA keys that are taken.
  private static let rsaSizes = 2_048...8_192
  private static let magic = Array("openssh-key-v1\0".utf8)
  private static let begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
  private static let end = "-----END OPENSSH PRIVATE KEY-----\n"
  private static let byteLimit = 32_768

  /// Makes a new ed25519 key.
  ///
  /// - Throws: ``VaultError/storage(_:)`` if memory is short.
  package static func random(comment: String) throws(VaultError) -> SSHKey {
    var pair = Randomness.bytes(32)
    defer { unsafe explicit_bzero(&pair, pair.count) }
    let publicKey = try publicKey(ofSeed: pair)
    pair += publicKey
    return try SSHKey(.ed25519, [publicKey, pair], comment)
  }

  private static func publicKey(ofSeed pair: [UInt8]) throws(VaultError) -> [UInt8] {
    try sealing(SigningKey(seed: Key(seedOf: pair)).publicKey.bytes)
  }

  private init(_ algorithm: Algorithm, _ fields: [[UInt8]], _ comment: String) throws(VaultError) {
    let blob = try Self.publicBlob(algorithm, fields)
    var kept = ByteWriter(reservingCapacity: Self.byteLimit)
    for field in fields { kept.writeCounted32(field) }
    var bytes = kept.bytes
    defer { unsafe explicit_bzero(&bytes, bytes.count) }
    self.fields = try Secret(bytes)
    (self.algorithm, self.comment, publicBlob) = (algorithm, comment, blob)
  }

  /// Checks the fields of a private key as far as that takes no arithmetic of RSA or curves, and makes the public key.
  ///
  /// - Parameter fields: in OpenSSH's order: of ed25519 the public key, and the seed with the public key after it; of
  ///   RSA n, e, d, the inverse of q modulo p, p and q; of ECDSA the curve, the point and the number.
  private static func publicBlob(_ algorithm: Algorithm, _ fields: [[UInt8]]) throws(VaultError) -> [UInt8] {
    let shown: [[UInt8]]
    switch algorithm {
    case .ed25519:
      guard fields[1].count == 64, try publicKey(ofSeed: fields[1]) == fields[0] else { throw malformed }
      shown = [fields[0]]
    case .rsa:
      // Of numbers that do not belong together, a library may divide by zero or calculate for ever.
      let numbers = fields.map { $0.drop { $0 == 0 } }
      guard rsaSizes.contains(bitCount(fields[0])) else {
        throw .invalid("an RSA key has 2048 to 8192 bits; a good new key: vault ssh generate NAME")
      }
      let half = numbers[0].count / 2
      guard fields.allSatisfy({ ($0.first ?? 0xFF) < 0x80 }), (1...numbers[0].count).contains(numbers[2].count),
        (1...half + 1).contains(numbers[3].count),
        numbers[4...].allSatisfy({ (half - 1...half + 1).contains($0.count) && $0.last.map { $0 & 1 } == 1 })
      else { throw malformed }
      shown = [fields[1], fields[0]]
    case .p256, .p384, .p521:
      guard (1...algorithm.coordinateByteCount + 1).contains(fields[2].count), fields[2][0] < 0x80 else {
        throw malformed
      }
      shown = [fields[0], fields[1]]
    }
    guard arePublic(shown, algorithm) else { throw malformed }
    var blob = ByteWriter()
    blob.writeCounted32(Array(algorithm.rawValue.utf8))
    for field in shown { blob.writeCounted32(field) }
    return blob.bytes
  }

  /// Whether these can be the fields of a public key, in the order in which the protocols of SSH send them.
  private static func arePublic(_ fields: [[UInt8]], _ algorithm: Algorithm) -> Bool {
    switch algorithm {
    case .ed25519: return fields[0].count == 32
    case .rsa:
      let numbers = fields.map { $0.drop { $0 == 0 } }
      // OpenSSH refuses a list of keys in which one number is negative or too long; it writes one zero byte at most.
      return rsaSizes.contains(bitCount(fields[1])) && (1...8).contains(numbers[0].count)
        && fields.indices.allSatisfy { index in
          fields[index][0] < 0x80 && fields[index].count <= numbers[index].count + 1
            && numbers[index].last.map { $0 & 1 } == 1
        }
    case .p256, .p384, .p521:
      return fields[0] == Array(algorithm.rawValue.utf8.suffix(8))
        && fields[1].count == 1 + 2 * algorithm.coordinateByteCount && fields[1][0] == 4
    }
  }

  private static func bitCount(_ number: [UInt8]) -> Int {
    let digits = number.drop { $0 == 0 }
    return digits.count * 8 - (digits.first ?? 0).leadingZeroBitCount
  }

  /// Lends the fields of the private key, in OpenSSH's order, and wipes them afterwards.
  package borrowing func withFields<Result, Failure>(
    _ body: ([[UInt8]]) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var bytes = unsafe fields.withUnsafeBytes { unsafe Array($0) }
    var reader = ByteReader(bytes)
    var list: [[UInt8]] = []
    while let field = try? reader.readCounted32(limit: Self.byteLimit) { list.append(field) }
    defer {
      unsafe explicit_bzero(&bytes, bytes.count)
      for index in list.indices { unsafe explicit_bzero(&list[index], list[index].count) }
    }
    return try body(list)
  }

  /// The 64 bytes of an ed25519 key's signature.
  ///
  /// - Throws: ``VaultError/storage(_:)`` if memory is short.
  package borrowing func ed25519Signature(of message: [UInt8]) throws(VaultError) -> [UInt8] {
    try withFields { (fields) throws(VaultError) in
      try sealing(SigningKey(seed: Key(seedOf: fields[1])).sign(message))
    }
  }

  // MARK: Bytes

  /// Reads a file of OpenSSH. The caller wipes the original.
  ///
  /// - Throws: ``VaultError/invalid(_:)`` for anything but one key of a known algorithm, without a passphrase.
  package init(parsing file: [UInt8]) throws(VaultError) {
    guard file.count <= Self.byteLimit, let text = String(validating: file, as: UTF8.self),
      let start = text.place(of: Self.begin), let stop = text.place(of: Self.end.dropLast())
    else {
      throw .invalid(
        "an SSH key is a file that begins with \(Self.begin.dropLast()); convert a copy: ssh-keygen -p -f FILE")
    }
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
    } catch {
      throw error as? VaultError ?? malformed
    }
    return try key(in: secret)
  }

  private static func key(in secret: [UInt8]) throws(VaultError) -> SSHKey {
    var reader = ByteReader(secret)
    var fields: [[UInt8]] = []
    defer { for index in fields.indices { unsafe explicit_bzero(&fields[index], fields[index].count) } }
    let algorithm: Algorithm
    let comment: String
    do {
      guard try reader.read(UInt32.self) == reader.read(UInt32.self) else { throw malformed }
      guard let known = Algorithm(rawValue: String(decoding: try reader.readCounted32(limit: 64), as: UTF8.self)) else {
        throw VaultError.invalid("only ed25519, RSA and ECDSA keys are supported; make one: vault ssh generate NAME")
      }
      algorithm = known
      for _ in 0..<known.fieldCount { fields.append(try reader.readCounted32(limit: byteLimit)) }
      guard let text = String(validating: try reader.readCounted32(limit: 1_024), as: UTF8.self) else {
        throw malformed
      }
      comment = text
    } catch {
      throw error as? VaultError ?? malformed
    }
    return try SSHKey(algorithm, fields, comment)
  }

  /// The file of OpenSSH. The caller wipes it.
  package borrowing func serialized() -> [UInt8] {
    var secret = ByteWriter(reservingCapacity: Self.byteLimit)
    let check = Randomness.bytes(4)
    secret.write(check + check)
    secret.writeCounted32(Array(algorithm.rawValue.utf8))
    unsafe fields.withUnsafeBytes { unsafe secret.write($0) }
    secret.writeCounted32(Array(comment.utf8))
    var padding: UInt8 = 1
    while secret.bytes.count % 8 != 0 {
      secret.write(padding)
      padding += 1
    }
    var writer = ByteWriter(reservingCapacity: Self.byteLimit)
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

  /// The public key as in `authorized_keys`, without a comment.
  package var publicText: String {
    var base64: [UInt8] = []
    Base64.append(encoding: publicBlob, to: &base64)
    return algorithm.rawValue + " " + String(decoding: base64, as: UTF8.self)
  }

  /// The public key that such a text holds, as the protocols of SSH send it; `nil` for any other text.
  package static func publicBlob(of text: String) -> [UInt8]? {
    let words = text.split(separator: " ")
    var blob: [UInt8] = []
    guard words.count >= 2, let algorithm = Algorithm(rawValue: String(words[0])),
      Base64.append(decoding: Array(words[1].utf8), to: &blob)
    else { return nil }
    var reader = ByteReader(blob)
    guard (try? reader.readCounted32(limit: 64)) == Array(algorithm.rawValue.utf8) else { return nil }
    var fields: [[UInt8]] = []
    while fields.count < algorithm.publicFieldCount, let field = try? reader.readCounted32(limit: byteLimit) {
      fields.append(field)
    }
    guard fields.count == algorithm.publicFieldCount, reader.remaining == 0, arePublic(fields, algorithm) else {
      return nil
    }
    return blob
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
