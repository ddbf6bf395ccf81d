internal import CSodium

/// Derives keys from passphrases: Argon2id 1.3 (RFC 9106) with one lane.
package enum Passphrase {
  /// The cost of stretching. ``stretch(_:salt:cost:)`` checks the format's limits.
  package struct Cost: Sendable, Equatable {
    /// The number of passes over the memory: 1 to 16.
    package let passes: UInt32
    /// The memory that it takes, in KiB: 8 MiB to 1 GiB.
    package let memoryKiB: UInt32

    package init(passes: UInt32, memoryKiB: UInt32) {
      self.passes = passes
      self.memoryKiB = memoryKiB
    }

    /// The cost of new slots: 3 passes over 256 MiB, about half a second (libsodium's MODERATE).
    package static let moderate = Cost(passes: 3, memoryKiB: 256 * 1024)

    /// Whether a reader accepts it: within both ranges, and memory × passes at most 4 GiB.
    package var isWithinLimits: Bool {
      (1...16).contains(passes) && (8 * 1024...1024 * 1024).contains(memoryKiB)
        && UInt64(passes) * UInt64(memoryKiB) <= 4 * 1024 * 1024
    }
  }

  package static let saltByteCount = 16

  /// Derives the key of a passphrase.
  ///
  /// - Parameter salt: 16 bytes, random and new for every slot.
  /// - Throws: ``SealingError/overLimit`` before anything is allocated; ``SealingError/wrongCount(_:expected:)`` for
  ///   the salt; ``SealingError/outOfMemory``.
  package static func stretch(_ passphrase: GuardedBytes, salt: [UInt8], cost: Cost) throws(SealingError) -> Key {
    guard cost.isWithinLimits, passphrase.count <= byteCountLimit else { throw .overLimit }
    guard salt.count == saltByteCount else { throw .wrongCount(salt.count, expected: saltByteCount) }
    Sodium.ready
    let key = try GuardedBytes(count: Key.byteCount)
    let status = unsafe key.withUnsafeMutableBytes { key in
      unsafe passphrase.withUnsafeBytes { passphrase in
        unsafe crypto_pwhash(
          key.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(key.count),
          passphrase.baseAddress!.assumingMemoryBound(to: CChar.self), UInt64(passphrase.count),
          salt, UInt64(cost.passes), Int(cost.memoryKiB) * 1024, crypto_pwhash_ALG_ARGON2ID13)
      }
    }
    // With costs in range, libsodium fails only if it gets no memory.
    guard status == 0 else { throw .outOfMemory }
    return try Key(key)
  }

  /// The largest size of a passphrase in bytes: 64 KiB.
  package static let byteCountLimit = 65_536
}
