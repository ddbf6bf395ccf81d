#if Daemon
  import Authenticators
  internal import CGcrypt
  import Glibc
  import Sealing
  import VaultFoundation

  extension SSHKey {
    /// Flags of a signature request that choose the hash of an RSA signature.
    enum HashFlag {
      static let sha256: UInt32 = 2
      static let sha512: UInt32 = 4
    }

    private static let isReady = cgcrypt_start() == 0

    /// The signature in the SSH wire format.
    ///
    /// - Throws: `Refusal` for RSA without a flag, which would mean SHA-1, and for a key whose numbers are
    ///   inconsistent.
    borrowing func signature(of message: [UInt8], flags: UInt32) throws -> [UInt8] {
      switch algorithm {
      case .ed25519: return Self.signature(algorithm.rawValue, try ed25519Signature(of: message))
      case .rsa:
        let hash: (name: String, algorithm: gcry_md_algos)
        if flags & HashFlag.sha512 != 0 {
          hash = ("sha512", GCRY_MD_SHA512)
        } else if flags & HashFlag.sha256 != 0 {
          hash = ("sha256", GCRY_MD_SHA256)
        } else {
          throw Refusal.invalid("RSA keys sign only with SHA-256 and SHA-512")
        }
        let digest = try Self.digest(of: message, hash.algorithm)
        return try withFields { fields in
          // libgcrypt wants the inverse of p modulo q, and OpenSSH stores that of q modulo p.
          let key = try Expression(
            key: "rsa",
            [
              ("n", fields[0]), ("e", fields[1]), ("d", fields[2]), ("p", fields[5]), ("q", fields[4]),
              ("u", fields[3]),
            ])
          let number = try key.signature(of: digest, hash.name, flags: "pkcs1").number("s")
          let count = fields[0].drop { $0 == 0 }.count
          let padding = [UInt8](repeating: 0, count: max(0, count - number.count))
          return Self.signature("rsa-sha2-" + hash.name.suffix(3), padding + number)
        }
      case .p256: return try ecdsaSignature(of: message, "NIST P-256", ("sha256", GCRY_MD_SHA256))
      case .p384: return try ecdsaSignature(of: message, "NIST P-384", ("sha384", GCRY_MD_SHA384))
      case .p521: return try ecdsaSignature(of: message, "NIST P-521", ("sha512", GCRY_MD_SHA512))
      }
    }

    private borrowing func ecdsaSignature(
      of message: [UInt8], _ curve: String, _ hash: (name: String, algorithm: gcry_md_algos)
    ) throws -> [UInt8] {
      let name = algorithm.rawValue
      let digest = try Self.digest(of: message, hash.algorithm)
      return try withFields { fields in
        let key = try Expression(key: "ecc", [("curve", Array(curve.utf8)), ("q", fields[1]), ("d", fields[2])])
        let made = try key.signature(of: digest, hash.name, flags: "rfc6979")
        var writer = ByteWriter()
        for part in ["r", "s"] {
          let number = try made.number(part)
          // If the first bit were set, the number would be read as negative.
          writer.writeCounted32((number.first ?? 0) < 0x80 ? number : [0] + number)
        }
        return Self.signature(name, writer.bytes)
      }
    }

    /// Whether OpenSSH takes this public key: one of a curve must be a point of it that is neither very small nor very large.
    static func isTaken(_ publicBlob: [UInt8]) -> Bool {
      var reader = ByteReader(publicBlob)
      guard isReady, let name = try? reader.readCounted32(limit: 64) else { return false }
      let (curve, bitCount): (String, Int)
      switch Algorithm(rawValue: String(decoding: name, as: UTF8.self)) {
      case .ed25519, .rsa: return true
      case .p256: (curve, bitCount) = ("NIST P-256", 256)
      case .p384: (curve, bitCount) = ("NIST P-384", 384)
      case .p521: (curve, bitCount) = ("NIST P-521", 521)
      case nil: return false
      }
      guard (try? reader.readCounted32(limit: 64)) != nil, let point = try? reader.readCounted32(limit: 256),
        point.count > 2
      else {
        return false
      }
      var context: gcry_ctx_t?
      guard unsafe gcry_mpi_ec_new(&context, nil, curve) == 0 else { return false }
      defer { unsafe gcry_ctx_release(context) }
      guard let encoded = Number(point), let decoded = unsafe gcry_mpi_point_new(0) else { return false }
      defer { unsafe gcry_mpi_point_release(decoded) }
      guard unsafe gcry_mpi_ec_decode_point(decoded, encoded.value, context) == 0,
        unsafe gcry_mpi_ec_curve_point(decoded, context) != 0, let order = unsafe gcry_mpi_ec_get_mpi("n", context, 1)
      else { return false }
      defer { unsafe gcry_mpi_release(order) }
      unsafe gcry_mpi_sub_ui(order, order, 1)
      let half = (point.count - 1) / 2
      return [point[1...half], point[(half + 1)...]].allSatisfy { digits in
        guard let number = Number(Array(digits)) else { return false }
        return unsafe gcry_mpi_get_nbits(number.value) > bitCount / 2 && gcry_mpi_cmp(number.value, order) < 0
      }
    }

    private static func signature(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
      var writer = ByteWriter()
      writer.writeCounted32(Array(name.utf8))
      writer.writeCounted32(bytes)
      return writer.bytes
    }

    private static func digest(of message: [UInt8], _ algorithm: gcry_md_algos) throws -> [UInt8] {
      let number = Int32(algorithm.rawValue)
      guard isReady else { throw Refusal.unexpected }
      var result = [UInt8](repeating: 0, count: Int(gcry_md_get_algo_dlen(number)))
      unsafe gcry_md_hash_buffer(number, &result, message, message.count)
      return result
    }
  }

  /// An S-expression of libgcrypt: a key, data to be signed, or a signature.
  @safe private final class Expression {
    private let handle: gcry_sexp_t

    private init(adopting handle: gcry_sexp_t) { unsafe self.handle = handle }

    deinit { unsafe gcry_sexp_release(handle) }

    /// - Throws: `Refusal` if libgcrypt rejects it.
    private init(_ canonical: [UInt8]) throws {
      var canonical = canonical
      defer { unsafe explicit_bzero(&canonical, canonical.count) }
      var made: gcry_sexp_t?
      guard unsafe gcry_sexp_new(&made, canonical, canonical.count, 0) == 0, let made = unsafe made else {
        throw Refusal.invalid("the key's numbers do not belong together")
      }
      unsafe handle = made
    }

    convenience init(key algorithm: String, _ numbers: [(name: String, bytes: [UInt8])]) throws {
      let lists = numbers.flatMap { Self.list([Array($0.name.utf8), $0.bytes]) }
      try self.init(Self.list(["private-key"], Self.list([algorithm], lists)))
    }

    func signature(of digest: [UInt8], _ hash: String, flags: String) throws -> Expression {
      let value = Self.list([Array("hash".utf8), Array(hash.utf8), digest])
      let data = try Expression(Self.list(["data"], Self.list(["flags", flags]) + value))
      var made: gcry_sexp_t?
      guard unsafe gcry_pk_testkey(handle) == 0, unsafe gcry_pk_sign(&made, data.handle, handle) == 0,
        let made = unsafe made
      else {
        throw Refusal.invalid("the key's numbers do not belong together")
      }
      return unsafe Expression(adopting: made)
    }

    /// The bytes of a number without leading zeros.
    func number(_ name: String) throws -> [UInt8] {
      guard let found = unsafe gcry_sexp_find_token(handle, name, 0) else { throw Refusal.unexpected }
      defer { unsafe gcry_sexp_release(found) }
      var count = 0
      guard let bytes = unsafe gcry_sexp_nth_data(found, 1, &count) else { throw Refusal.unexpected }
      return unsafe UnsafeRawBufferPointer(start: bytes, count: count).drop { $0 == 0 }.map(\.self)
    }

    private static func list(_ words: [String], _ rest: [UInt8] = []) -> [UInt8] {
      list(words.map { Array($0.utf8) }, rest)
    }

    private static func list(_ words: [[UInt8]], _ rest: [UInt8] = []) -> [UInt8] {
      [UInt8(ascii: "(")] + words.flatMap { Array("\($0.count):".utf8) + $0 } + rest + [UInt8(ascii: ")")]
    }
  }
#endif
