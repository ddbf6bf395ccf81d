internal import CSodium

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
  ///
  /// - Throws: ``SealingError/outOfMemory``.
  package init(seed: borrowing Key) throws(SealingError) {
    Sodium.ready
    let secretKey = try GuardedBytes(count: 32)
    publicKey = unsafe Bytes32 { publicKey in
      unsafe seed.withUnsafeBytes { seed in
        unsafe secretKey.withUnsafeMutableBytes { secretKey in
          let output = unsafe secretKey.baseAddress!.assumingMemoryBound(to: UInt8.self)
          _ = unsafe crypto_box_seed_keypair(publicKey, output, seed.octets!)
        }
      }
    }
    self.secretKey = secretKey
  }

  /// Seals `message` to `publicKey`.
  ///
  /// - Throws: ``SealingError/doesNotOpen`` for a public key that no pair has, with which anyone could open the box.
  package static func seal(_ message: [UInt8], to publicKey: Bytes32) throws(SealingError) -> [UInt8] {
    Sodium.ready
    var isSealed = false
    let box = unsafe [UInt8](unsafeUninitializedCapacity: message.count + overhead) { box, initialized in
      unsafe message.withUnsafeBytes { message in
        unsafe publicKey.withUnsafeBytes { publicKey in
          isSealed =
            unsafe crypto_box_seal(box.baseAddress!, message.octets, UInt64(message.count), publicKey.octets!) == 0
        }
      }
      initialized = isSealed ? message.count + overhead : 0
    }
    guard isSealed else { throw .doesNotOpen }
    return box
  }

  /// Opens a box into ordinary memory, which is not wiped: for records, never for a secret.
  ///
  /// - Throws: ``SealingError/doesNotOpen`` for a box for another key, for altered bytes and for a box that is too
  ///   short.
  package borrowing func openUnguarded(_ box: ArraySlice<UInt8>) throws(SealingError) -> [UInt8] {
    guard box.count >= RecipientKey.overhead else { throw .doesNotOpen }
    let count = box.count - RecipientKey.overhead
    var opens = false
    // At least one byte of capacity, so that the buffer has an address.
    let message = unsafe [UInt8](unsafeUninitializedCapacity: max(count, 1)) { message, initialized in
      unsafe box.withUnsafeBytes { box in
        unsafe secretKey.withUnsafeBytes { secretKey in
          unsafe publicKey.withUnsafeBytes { publicKey in
            opens =
              unsafe crypto_box_seal_open(
                message.baseAddress!, box.octets!, UInt64(box.count), publicKey.octets!, secretKey.octets!) == 0
          }
        }
      }
      initialized = opens ? count : 0
    }
    guard opens else { throw .doesNotOpen }
    return message
  }
}
