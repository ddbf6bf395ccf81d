internal import CGcrypt
internal import Exchange

/// The parts of libgcrypt that other programs' formats need. Each call fails closed: an algorithm that the machine's
/// library refuses, for example in FIPS mode, ends in ``refused``.
enum Gcrypt {
  static var refused: ImportFault { ImportFault("libgcrypt on this machine does not do what it needs", .unsupported) }

  /// Whether the library is new enough and was prepared.
  static let isReady: Bool = cgcrypt_start() == 0

  enum Digest {
    case sha256, sha512

    var algorithm: gcry_md_algos { self == .sha256 ? GCRY_MD_SHA256 : GCRY_MD_SHA512 }
    var byteCount: Int { self == .sha256 ? 32 : 64 }
  }

  static func sha256(_ parts: [UInt8]...) throws(ImportFault) -> [UInt8] { try hash(.sha256, parts.flatMap(\.self)) }
  static func sha512(_ parts: [UInt8]...) throws(ImportFault) -> [UInt8] { try hash(.sha512, parts.flatMap(\.self)) }

  private static func hash(_ digest: Digest, _ bytes: [UInt8]) throws(ImportFault) -> [UInt8] {
    guard isReady else { throw refused }
    var result = [UInt8](repeating: 0, count: digest.byteCount)
    unsafe gcry_md_hash_buffer(Int32(digest.algorithm.rawValue), &result, bytes, bytes.count)
    return result
  }

  static func hmac(_ digest: Digest = .sha256, key: [UInt8], _ bytes: [UInt8]) throws(ImportFault) -> [UInt8] {
    guard isReady else { throw refused }
    var result = [UInt8](repeating: 0, count: digest.byteCount)
    let code = unsafe key.withUnsafeBytes { key in
      unsafe bytes.withUnsafeBytes { bytes in
        var parts = unsafe [buffer(key), buffer(bytes)]
        return unsafe gcry_md_hash_buffers(
          Int32(digest.algorithm.rawValue), UInt32(GCRY_MD_FLAG_HMAC.rawValue), &result, &parts, 2)
      }
    }
    guard code == 0 else { throw refused }
    return result
  }

  private static func buffer(_ bytes: UnsafeRawBufferPointer) -> gcry_buffer_t {
    unsafe gcry_buffer_t(
      size: 0, off: 0, len: bytes.count, data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  /// Compares in a time that does not reveal where the two differ.
  static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  static func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in generator.next() }
  }

  /// Opens AES-256-GCM.
  ///
  /// - Returns: nil if the tag does not match.
  static func openedGCM(
    _ bytes: [UInt8], tag: [UInt8], key: [UInt8], vector: [UInt8], bound: [UInt8]
  ) throws(ImportFault) -> [UInt8]? {
    var handle: gcry_cipher_hd_t?
    guard isReady, key.count == 32,
      unsafe gcry_cipher_open(&handle, Int32(GCRY_CIPHER_AES256.rawValue), Int32(GCRY_CIPHER_MODE_GCM.rawValue), 0) == 0
    else { throw refused }
    defer { unsafe gcry_cipher_close(handle) }
    var bytes = bytes
    guard unsafe gcry_cipher_setkey(handle, key, key.count) == 0,
      unsafe gcry_cipher_setiv(handle, vector, vector.count) == 0,
      unsafe gcry_cipher_authenticate(handle, bound, bound.count) == 0,
      unsafe gcry_cipher_decrypt(handle, &bytes, bytes.count, nil, 0) == 0
    else { throw refused }
    return unsafe gcry_cipher_checktag(handle, tag, tag.count) == 0 ? bytes : nil
  }

  // MARK: Keys from passphrases

  static func pbkdf2(
    _ passphrase: [UInt8], salt: [UInt8], rounds: Int, byteCount: Int = 32
  ) throws(ImportFault) -> [UInt8] {
    guard isReady else { throw refused }
    var key = [UInt8](repeating: 0, count: byteCount)
    let code = unsafe gcry_kdf_derive(
      passphrase, passphrase.count, Int32(GCRY_KDF_PBKDF2.rawValue), Int32(GCRY_MD_SHA256.rawValue), salt, salt.count,
      UInt(rounds), byteCount, &key)
    guard code == 0 else { throw refused }
    return key
  }

  /// The cost of Argon2, within ``Argon2/limits``.
  struct Argon2 {
    var isArgon2id = false
    var passes: Int
    var kibibytes: Int
    var lanes: Int
    var secret: [UInt8] = []
    var associated: [UInt8] = []

    /// 1 GiB of memory; together the passes write at most 128 GiB, which takes about two minutes.
    static let largestKibibytes = 1 << 20
    static let largestWork = 128 << 20
    static let mostLanes = 1 << 16

    /// - Throws: `damaged` for a cost that does not exist, `overLimit` before any memory is taken.
    func check() throws(ImportFault) {
      guard passes >= 1, lanes >= 1, kibibytes / 8 >= lanes else {
        throw ImportFault("its key derivation is damaged", .damaged)
      }
      guard kibibytes <= Self.largestKibibytes, passes <= Self.largestWork / kibibytes else {
        throw ImportFault("its key derivation costs too much: at most 1 GiB of memory, and 128 GiB written", .overLimit)
      }
      guard lanes <= Self.mostLanes else {
        throw ImportFault("its key derivation has more than \(Self.mostLanes) lanes", .overLimit)
      }
    }

    func key(_ passphrase: [UInt8], salt: [UInt8], byteCount: Int = 32) throws(ImportFault) -> [UInt8] {
      try check()
      guard isReady, salt.count >= 8 else { throw refused }
      let cost = [UInt(byteCount), UInt(passes), UInt(kibibytes), UInt(lanes)]
      let kind = isArgon2id ? GCRY_KDF_ARGON2ID : GCRY_KDF_ARGON2D
      var state: gcry_kdf_hd_t?
      guard
        unsafe gcry_kdf_open(
          &state, Int32(GCRY_KDF_ARGON2.rawValue), Int32(kind.rawValue), cost, 4, passphrase, passphrase.count, salt,
          salt.count, secret, secret.count, associated, associated.count) == 0
      else { throw unable }
      defer { unsafe gcry_kdf_close(state) }
      var key = [UInt8](repeating: 0, count: byteCount)
      guard unsafe gcry_kdf_compute(state, nil) == 0, unsafe gcry_kdf_final(state, byteCount, &key) == 0 else {
        throw unable
      }
      return key
    }

    /// The fault if libgcrypt cannot derive a key, nearly always because it did not get enough memory.
    private var unable: ImportFault {
      ImportFault(
        "libgcrypt does not derive its key, for which it needs \(kibibytes >> 10) MiB of memory", .overLimit)
    }
  }
}

/// One direction of a cipher. Each call continues where the last one ended.
@safe final class Cipher {
  enum Algorithm {
    case aes256, twofish, chacha20, salsa20

    fileprivate var number: gcry_cipher_algos {
      switch self {
      case .aes256: GCRY_CIPHER_AES256
      case .twofish: GCRY_CIPHER_TWOFISH
      case .chacha20: GCRY_CIPHER_CHACHA20
      case .salsa20: GCRY_CIPHER_SALSA20
      }
    }

    /// Whether it works on blocks of 16 bytes, in CBC; otherwise it is a stream.
    var isBlocks: Bool { self == .aes256 || self == .twofish }
    var vectorByteCount: Int { isBlocks ? 16 : self == .chacha20 ? 12 : 8 }
  }

  private let handle: gcry_cipher_hd_t

  init(_ algorithm: Algorithm, key: [UInt8], vector: [UInt8]) throws(ImportFault) {
    guard key.count == 32, vector.count == algorithm.vectorByteCount else {
      throw ImportFault("a key or an initialization vector has the wrong length", .damaged)
    }
    let mode = algorithm.isBlocks ? GCRY_CIPHER_MODE_CBC : GCRY_CIPHER_MODE_STREAM
    var handle: gcry_cipher_hd_t?
    guard Gcrypt.isReady,
      unsafe gcry_cipher_open(&handle, Int32(algorithm.number.rawValue), Int32(mode.rawValue), 0) == 0,
      let handle = unsafe handle
    else { throw Gcrypt.refused }
    unsafe self.handle = handle
    guard unsafe gcry_cipher_setkey(handle, key, key.count) == 0,
      unsafe gcry_cipher_setiv(handle, vector, vector.count) == 0
    else { throw Gcrypt.refused }
  }

  deinit { unsafe gcry_cipher_close(handle) }

  /// Encrypts or decrypts bytes in place. A block cipher needs whole blocks.
  func decrypt(_ bytes: inout [UInt8]) throws(ImportFault) {
    guard !bytes.isEmpty else { return }
    guard unsafe gcry_cipher_decrypt(handle, &bytes, bytes.count, nil, 0) == 0 else { throw Gcrypt.refused }
  }

  func encrypt(_ bytes: inout [UInt8]) throws(ImportFault) {
    guard !bytes.isEmpty else { return }
    guard unsafe gcry_cipher_encrypt(handle, &bytes, bytes.count, nil, 0) == 0 else { throw Gcrypt.refused }
  }

  /// Decrypts a whole text. For a block cipher it removes the PKCS #7 padding.
  ///
  /// - Returns: nil if the padding is wrong, as with a wrong key.
  static func opened(
    _ bytes: [UInt8], _ algorithm: Algorithm, key: [UInt8], vector: [UInt8]
  ) throws(ImportFault) -> [UInt8]? {
    var bytes = bytes
    guard algorithm.isBlocks else {
      try Cipher(algorithm, key: key, vector: vector).decrypt(&bytes)
      return bytes
    }
    guard !bytes.isEmpty, bytes.count % 16 == 0 else { throw ImportFault("it is cut short", .damaged) }
    try Cipher(algorithm, key: key, vector: vector).decrypt(&bytes)
    guard let last = bytes.last, (1...16).contains(last), bytes.suffix(Int(last)).allSatisfy({ $0 == last }) else {
      return nil
    }
    bytes.removeLast(Int(last))
    return bytes
  }

  static func sealed(
    _ bytes: [UInt8], _ algorithm: Algorithm, key: [UInt8], vector: [UInt8]
  ) throws(ImportFault) -> [UInt8] {
    var bytes = bytes
    if algorithm.isBlocks {
      let padding = 16 - bytes.count % 16
      bytes += [UInt8](repeating: UInt8(padding), count: padding)
    }
    try Cipher(algorithm, key: key, vector: vector).encrypt(&bytes)
    return bytes
  }

  /// `block` encrypted `rounds` times with AES-256.
  ///
  /// CBC over zeros does exactly this: each output block is the encryption of the previous one.
  static func repeatedAES(_ block: [UInt8], key: [UInt8], rounds: UInt64) throws(ImportFault) -> [UInt8] {
    guard rounds > 0 else { return block }
    let cipher = try Cipher(.aes256, key: key, vector: block)
    var left = rounds
    var last: [UInt8] = block
    while left > 0 {
      var zeros = [UInt8](repeating: 0, count: 16 * Int(min(left, 4_096)))
      try cipher.encrypt(&zeros)
      last = Array(zeros.suffix(16))
      left -= UInt64(zeros.count / 16)
    }
    return last
  }
}
