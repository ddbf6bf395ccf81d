internal import CSodium
package import Ground

/// An Ed25519 signing key (RFC 8032) in guarded memory.
///
/// Signed messages begin with a ``Label``, so a signature for one use is invalid in any other.
package final class SigningKey: Sendable {
  package static let signatureByteCount = 64

  package let publicKey: PublicKey

  // The seed followed by the public key, as libsodium expects them.
  private let expanded: GuardedBytes

  /// Makes the signing key of a 32-byte seed; the same seed gives the same key.
  package init(seed: borrowing Key) throws(SealingError) {
    (publicKey, expanded) = try unsafe keyPair(of: seed, secretByteCount: 64) {
      unsafe crypto_sign_seed_keypair($0, $1, $2)
    }
  }

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

/// An X25519 key pair in guarded memory: anyone with the public key can seal a message, and only this key opens it.
///
/// The boxes are libsodium's `crypto_box_seal`: a fresh sender's key for each message, X25519 and XSalsa20-Poly1305.
/// They do not say who sealed them, and bind nothing but their message.
package struct RecipientKey: ~Copyable, Sendable {
  /// The key to seal with; not secret.
  package let publicKey: Bytes32
  private let secretKey: GuardedBytes

  /// The number of bytes that a box adds to its message: 48.
  package static let overhead = 48

  /// Makes the key pair of a 32-byte seed; the same seed gives the same pair.
  package init(seed: borrowing Key) throws(SealingError) {
    (publicKey, secretKey) = try unsafe keyPair(of: seed, secretByteCount: 32) {
      unsafe crypto_box_seed_keypair($0, $1, $2)
    }
  }

  /// - Throws: ``SealingError/doesNotOpen`` for a public key that no pair has, with which anyone could open the box.
  package static func seal(_ message: [UInt8], to publicKey: Bytes32) throws(SealingError) -> [UInt8] {
    Sodium.ready
    return try unsafe made(message.count + overhead) { box in
      unsafe message.withUnsafeBytes { message in
        unsafe publicKey.withUnsafeBytes { publicKey in
          unsafe crypto_box_seal(box, message.octets, UInt64(message.count), publicKey.octets!) == 0
        }
      }
    }
  }

  /// Opens a box into ordinary memory, which is not wiped: for records, never for a secret.
  ///
  /// - Throws: ``SealingError/doesNotOpen`` for a box for another key, for altered bytes and for a box that is too
  ///   short.
  package borrowing func openUnguarded(_ box: ArraySlice<UInt8>) throws(SealingError) -> [UInt8] {
    try unsafe made(box.count - RecipientKey.overhead) { message in
      unsafe box.withUnsafeBytes { box in
        unsafe secretKey.withUnsafeBytes { secretKey in
          unsafe publicKey.withUnsafeBytes { publicKey in
            unsafe crypto_box_seal_open(
              message, box.octets!, UInt64(box.count), publicKey.octets!, secretKey.octets!) == 0
          }
        }
      }
    }
  }
}

/// Makes a key pair of a 32-byte seed: `make` writes the public key and the secret one.
private func keyPair(
  of seed: borrowing Key, secretByteCount: Int,
  made make: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>) -> CInt
) throws(SealingError) -> (publicKey: PublicKey, secretKey: GuardedBytes) {
  Sodium.ready
  let secretKey = try GuardedBytes(count: secretByteCount)
  let publicKey = unsafe PublicKey { publicKey in
    unsafe seed.withUnsafeBytes { seed in
      unsafe secretKey.withUnsafeMutableBytes {
        _ = unsafe make(publicKey, $0.baseAddress!.assumingMemoryBound(to: UInt8.self), seed.octets!)
      }
    }
  }
  return (publicKey, secretKey)
}

package typealias Digest = Bytes32
package typealias PublicKey = Bytes32
/// The permanent random id of an access group.
package typealias GroupID = Bytes32
