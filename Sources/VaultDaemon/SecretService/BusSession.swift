#if Daemon
  import Ground
  internal import CGcrypt
  import Glibc
  import Sealing

  /// How secrets travel between one client and the service.
  struct BusSession: Sendable {
    /// The client's unique name.
    let client: String
    /// `nil` if secrets travel as they are.
    private let key: [UInt8]?

    static let plain = "plain"
    static let encrypted = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

    /// The second Oakley group (RFC 2409, 6.2).
    private static let prime =
      "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
      + "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
      + "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF"
    private static let byteCount = 128
    private static let isReady = cgcrypt_start() == 0

    /// Begins a session.
    ///
    /// - Returns: the session, and what the client needs for it.
    /// - Throws: `unsupported` for another algorithm, after which clients take the plain one.
    static func open(
      _ algorithm: String, _ input: BusValue, for client: String
    ) throws(BusFailure) -> (session: BusSession, output: BusValue) {
      switch (algorithm, input) {
      case (plain, _): return (BusSession(client: client, key: nil), .text(""))
      case (encrypted, .bytes(let theirs)):
        var secret = [UInt8](repeating: 0, count: byteCount)
        defer { unsafe explicit_bzero(&secret, secret.count) }
        unsafe gcry_randomize(&secret, secret.count, GCRY_STRONG_RANDOM)
        let (ours, key) = try agree(with: theirs, secret)
        return (BusSession(client: client, key: key), .bytes(ours))
      case (encrypted, _): throw .invalid("the key of the algorithm is an array of bytes")
      default: throw .unsupported("there is no such algorithm")
      }
    }

    /// The public key that belongs to `secret`, and the key that both sides derive.
    ///
    /// - Throws: `invalid` for a key outside the group, or one that makes the result predictable.
    static func agree(
      with theirs: [UInt8], _ secret: [UInt8]
    ) throws(BusFailure) -> (publicKey: [UInt8], key: [UInt8]) {
      guard isReady else { throw .unsupported("libgcrypt on this machine does not do what it needs") }
      guard theirs.count <= byteCount, let modulus = Number(hexadecimal: prime), let other = Number(theirs),
        let exponent = Number(secret), let base = Number([2])
      else { throw .invalid("a public key has 128 bytes at most") }
      guard other.isBetween(1, modulus) else { throw .invalid("the public key is outside the group") }
      guard let publicKey = base.raised(to: exponent, modulo: modulus)?.bytes(byteCount),
        var shared = other.raised(to: exponent, modulo: modulus)?.bytes(byteCount)
      else { throw .failed("there is no memory") }
      defer { unsafe explicit_bzero(&shared, shared.count) }
      // HKDF (RFC 5869) without salt and info: one block is enough.
      let extracted = MessageCode.sha256.code(of: shared, key: [UInt8](repeating: 0, count: 32))
      return (publicKey, Array(MessageCode.sha256.code(of: [1], key: extracted).prefix(16)))
    }

    /// A secret for the client.
    func seal(_ value: [UInt8], contentType: String, at path: String) throws(BusFailure) -> BusValue {
      guard let key else {
        return BusSecret(session: path, parameters: [], value: value, contentType: contentType).asValue
      }
      var vector = [UInt8](repeating: 0, count: 16)
      unsafe gcry_create_nonce(&vector, vector.count)
      let padding = 16 - value.count % 16
      var bytes = value + [UInt8](repeating: UInt8(padding), count: padding)
      try unsafe Self.cipher(key, vector) { handle in
        unsafe gcry_cipher_encrypt(handle, &bytes, bytes.count, nil, 0)
      }
      return BusSecret(session: path, parameters: vector, value: bytes, contentType: contentType).asValue
    }

    /// The value of a secret that the client sent.
    ///
    /// - Throws: `invalid` for bytes that are no message of this session.
    func open(_ secret: BusSecret) throws(BusFailure) -> [UInt8] {
      guard let key else { return secret.value }
      var bytes = secret.value
      guard secret.parameters.count == 16, !bytes.isEmpty, bytes.count % 16 == 0 else { throw Self.damaged }
      try unsafe Self.cipher(key, secret.parameters) { handle in
        unsafe gcry_cipher_decrypt(handle, &bytes, bytes.count, nil, 0)
      }
      guard let last = bytes.last, (1...16).contains(last), bytes.suffix(Int(last)).allSatisfy({ $0 == last }) else {
        throw Self.damaged
      }
      bytes.removeLast(Int(last))
      return bytes
    }

    private static let damaged = BusFailure.invalid("the secret is not encrypted for this session")

    private static func cipher(
      _ key: [UInt8], _ vector: [UInt8], _ body: (gcry_cipher_hd_t?) -> gcry_error_t
    ) throws(BusFailure) {
      var handle: gcry_cipher_hd_t?
      guard
        unsafe gcry_cipher_open(&handle, Int32(GCRY_CIPHER_AES.rawValue), Int32(GCRY_CIPHER_MODE_CBC.rawValue), 0)
          == 0
      else { throw .unsupported("libgcrypt on this machine does not do what it needs") }
      defer { unsafe gcry_cipher_close(handle) }
      guard unsafe gcry_cipher_setkey(handle, key, key.count) == 0,
        unsafe gcry_cipher_setiv(handle, vector, vector.count) == 0, unsafe body(handle) == 0
      else { throw damaged }
    }
  }

  /// The sessions of all clients.
  struct BusSessions: Sendable {
    /// By client and id, each with the number of its last use.
    private var sessions: [String: [String: (session: BusSession, use: UInt64)]] = [:]
    private var lastUse: UInt64 = 0
    /// The most sessions of one client. Some libraries begin one for each item, and end none.
    static let limit = 4_096

    /// Adds a session. A client that has too many loses the one that it has not used for the longest time.
    mutating func add(_ session: BusSession, _ id: String) {
      var own = sessions[session.client] ?? [:]
      if own.count >= Self.limit, let oldest = own.min(by: { $0.value.use < $1.value.use }) { own[oldest.key] = nil }
      lastUse += 1
      own[id] = (session, lastUse)
      sessions[session.client] = own
    }

    /// - Returns: `nil` if the client has no such session.
    mutating func use(_ id: String, by client: String) -> BusSession? {
      guard let found = sessions[client]?[id] else { return nil }
      lastUse += 1
      sessions[client]?[id]?.use = lastUse
      return found.session
    }

    /// - Returns: whether there was one.
    mutating func close(_ id: String, of client: String) -> Bool { sessions[client]?.removeValue(forKey: id) != nil }

    mutating func forget(client: String) { sessions[client] = nil }

    func ids(of client: String) -> [String] { Array((sessions[client] ?? [:]).keys) }
  }

  /// A large number of libgcrypt.
  @safe final class Number {
    let value: gcry_mpi_t

    private init(_ value: gcry_mpi_t) { unsafe self.value = unsafe value }

    convenience init?(_ bytes: [UInt8]) {
      var made: gcry_mpi_t?
      guard unsafe gcry_mpi_scan(&made, GCRYMPI_FMT_USG, bytes, bytes.count, nil) == 0, let made = unsafe made else {
        return nil
      }
      unsafe self.init(made)
    }

    convenience init?(hexadecimal text: String) {
      var made: gcry_mpi_t?
      guard unsafe gcry_mpi_scan(&made, GCRYMPI_FMT_HEX, "00" + text, 0, nil) == 0, let made = unsafe made else {
        return nil
      }
      unsafe self.init(made)
    }

    deinit { unsafe gcry_mpi_release(value) }

    /// Whether it is greater than `low`, and less than `high` by more than one.
    func isBetween(_ low: UInt, _ high: Number) -> Bool {
      guard let largest = unsafe gcry_mpi_new(0) else { return false }
      defer { unsafe gcry_mpi_release(largest) }
      unsafe gcry_mpi_sub_ui(largest, high.value, 1)
      return unsafe gcry_mpi_cmp_ui(value, low) > 0 && gcry_mpi_cmp(value, largest) < 0
    }

    func raised(to exponent: Number, modulo modulus: Number) -> Number? {
      guard let result = unsafe gcry_mpi_new(0) else { return nil }
      unsafe gcry_mpi_powm(result, value, exponent.value, modulus.value)
      return unsafe Number(result)
    }

    /// Big endian, with zeros before it.
    func bytes(_ count: Int) -> [UInt8] {
      var (bytes, written) = ([UInt8](repeating: 0, count: count), 0)
      unsafe gcry_mpi_print(GCRYMPI_FMT_USG, &bytes, count, &written, value)
      return [UInt8](repeating: 0, count: count - written) + bytes.prefix(written)
    }
  }
#endif
