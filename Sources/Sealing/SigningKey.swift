internal import CSodium

/// An Ed25519 signing key (RFC 8032) in guarded memory.
///
/// Signed messages begin with a ``Label``, so a signature for one use is invalid in any other.
package struct SigningKey: ~Copyable, Sendable {
  /// The number of bytes of a signature: 64.
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

  private init(sharing expanded: GuardedBytes, publicKey: PublicKey) {
    self.expanded = expanded
    self.publicKey = publicKey
  }

  /// Another holder of the same key. The bytes are shared, not copied.
  package borrowing func copy() -> SigningKey { SigningKey(sharing: expanded, publicKey: publicKey) }

  /// The signature of `message`: 64 bytes.
  package borrowing func sign(_ message: [UInt8]) -> [UInt8] {
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
  /// Whether `signature` is this key's signature of `message`; also `false` for bytes that are not a valid key or signature.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    unsafe message.withUnsafeBytes { unsafe verifies(signature, of: $0) }
  }

  /// Whether `signature` is this key's signature of `message`; also `false` for bytes that are not a valid key or signature.
  package func verifies(_ signature: [UInt8], of message: UnsafeRawBufferPointer) -> Bool {
    guard signature.count == SigningKey.signatureByteCount else { return false }
    Sodium.ready
    return unsafe withUnsafeBytes { key in
      unsafe signature.withUnsafeBytes { signature in
        unsafe crypto_sign_verify_detached(
          signature.octets!, message.octets, UInt64(message.count), key.octets!) == 0
      }
    }
  }
}
