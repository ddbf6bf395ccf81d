internal import CSodium
internal import Ground

/// An Ed25519 signing key (RFC 8032) in guarded memory.
///
/// Signed messages begin with a ``Label``, so a signature for one use is invalid in any other.
package final class SigningKey: Sendable {
  package static let signatureByteCount = 64

  /// The key that verifies this key's signatures.
  package let publicKey: PublicKey

  // The seed followed by the public key, as libsodium expects them.
  private let expanded: GuardedBytes

  /// Makes the signing key of a 32-byte seed; the same seed gives the same key.
  ///
  /// - Throws: ``SealingError/outOfMemory``.
  package init(seed: borrowing Key) throws(SealingError) {
    Sodium.ready
    let expanded = try GuardedBytes(count: 64)
    publicKey = unsafe PublicKey { publicKey in
      unsafe seed.withUnsafeBytes { seed in
        unsafe expanded.withUnsafeMutableBytes { expanded in
          let secretKey = unsafe expanded.baseAddress!.assumingMemoryBound(to: UInt8.self)
          _ = unsafe crypto_sign_seed_keypair(publicKey, secretKey, seed.octets!)
        }
      }
    }
    self.expanded = expanded
  }

  /// The signature of `message`: 64 bytes.
  package func sign(_ message: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: SigningKey.signatureByteCount) { signature, initialized in
      unsafe expanded.withUnsafeBytes { expanded in
        unsafe message.withUnsafeBytes { message in
          _ = unsafe crypto_sign_detached(
            signature.baseAddress!, nil, message.octets, UInt64(message.count), expanded.octets!)
        }
      }
      initialized = SigningKey.signatureByteCount
    }
  }
}

extension PublicKey {
  /// Whether `signature` is this key's signature of `message`; also `false` for bytes that are not a valid key or
  /// signature.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    guard signature.count == SigningKey.signatureByteCount else { return false }
    Sodium.ready
    return unsafe withUnsafeBytes { key in
      unsafe signature.withUnsafeBytes { signature in
        unsafe message.withUnsafeBytes { message in
          unsafe crypto_sign_verify_detached(signature.octets!, message.octets, UInt64(message.count), key.octets!) == 0
        }
      }
    }
  }
}

/// Thirty-two bytes held in place: a digest, a public key, a group id or a commitment.
///
/// Compares in byte order. Not for secrets: values are copied freely, and comparison stops at the first difference.
package struct Bytes32: Hashable, Sendable, Comparable {
  // Big-endian words, so that comparing the words compares the bytes.
  @usableFromInline var words: (UInt64, UInt64, UInt64, UInt64)

  package static let zero = Bytes32(words: (0, 0, 0, 0))

  package static let byteCount = 32

  private init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

  // Overloads for each kind of bytes instead of one generic initializer, which other modules would call unspecialized.

  package init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

  package init?(_ bytes: ArraySlice<UInt8>) {
    guard let value = unsafe bytes.span.withUnsafeBytes({ unsafe Bytes32($0) }) else { return nil }
    self = value
  }

  /// Makes a value from exactly 32 bytes; `nil` for any other count.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 32 else { return nil }
    words = unsafe (
      UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)),
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
    )
  }

  /// Reads 64 lower-case hexadecimal digits; `nil` for anything else.
  package init?(hexadecimal text: Substring) {
    guard text.utf8.count == 64, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) else { return nil }
    let digits = Array(text)
    let words = (0..<4).compactMap { UInt64(String(digits[16 * $0..<16 * ($0 + 1)]), radix: 16) }
    self.init(words: (words[0], words[1], words[2], words[3]))
  }

  /// Makes a value by letting `fill` write 32 bytes.
  package init(filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    unsafe withUnsafeMutableBytes(of: &words) { buffer in
      unsafe fill(buffer.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }
    self.init(words: (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian))
  }

  package var hexadecimal: String { bytes.hexadecimal }

  @inlinable
  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let inOrder = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
    return unsafe Swift.withUnsafeBytes(of: inOrder) { unsafe body($0) }
  }

  package var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }

  /// Whether this is the code `other`, compared in constant time.
  package func isCode(_ other: Bytes32) -> Bool {
    (words.0 ^ other.words.0) | (words.1 ^ other.words.1) | (words.2 ^ other.words.2) | (words.3 ^ other.words.3) == 0
  }

  package static func == (left: Bytes32, right: Bytes32) -> Bool { left.words == right.words }

  package static func < (left: Bytes32, right: Bytes32) -> Bool { left.words < right.words }

  /// Eight of the 32 bytes: enough to index a table of digests, which then compares them in full.
  package var word: UInt64 { words.0 }

  package func hash(into hasher: inout Hasher) {
    // Digests are uniform, so one word is enough for a hash. Values with equal hashes are still compared in full.
    hasher.combine(words.0)
  }
}

/// A BLAKE2b-256 digest.
package typealias Digest = Bytes32
/// An Ed25519 public key.
package typealias PublicKey = Bytes32
/// The permanent random id of an access group.
package typealias GroupID = Bytes32
