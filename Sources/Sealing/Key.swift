internal import CSodium
package import Ground

/// A 32-byte key in guarded memory: for MACs, for derivation and for sealing.
///
/// It cannot be copied by accident, printed, encoded or compared. ``copy()`` makes a second holder explicit.
package struct Key: ~Copyable, Sendable {
  package static let byteCount = 32

  // Never written after the initializer, so copies may share it.
  @usableFromInline let bytes: GuardedBytes

  private init(sharing bytes: GuardedBytes) { self.bytes = bytes }

  /// Makes a key from `bytes` without copying them; the caller must not write to them afterwards.
  ///
  /// - Throws: ``SealingError/wrongCount(_:expected:)`` if their number is not 32.
  package init(_ bytes: GuardedBytes) throws(SealingError) {
    guard bytes.count == Key.byteCount else { throw .wrongCount(bytes.count, expected: Key.byteCount) }
    self.bytes = bytes
  }

  /// Makes a key from a copy of 32 bytes, as above. The caller wipes the original.
  package init(copying bytes: UnsafeRawBufferPointer) throws(SealingError) {
    try unsafe self.init(GuardedBytes(copying: bytes))
  }

  package static func random() throws(SealingError) -> Key { try unsafe made { unsafe randombytes_buf($0, byteCount) } }

  private static func made(by fill: (UnsafeMutablePointer<UInt8>) -> Void) throws(SealingError) -> Key {
    let bytes = try GuardedBytes(count: byteCount)
    unsafe bytes.withUnsafeMutableBytes { unsafe fill($0.baseAddress!.assumingMemoryBound(to: UInt8.self)) }
    return Key(sharing: bytes)
  }

  /// `H(label, message)` of a secret message. Neither the message nor the resulting key leaves guarded memory.
  package static func hash(_ label: Label, _ message: GuardedBytes) throws(SealingError) -> Key {
    try unsafe made { output in
      unsafe message.withUnsafeBytes {
        unsafe Hash.write(label, $0, key: UnsafeRawBufferPointer(start: nil, count: 0), to: output)
      }
    }
  }

  /// Another holder of the same key. The bytes are shared, not copied.
  package borrowing func copy() -> Key { Key(sharing: bytes) }

  @inlinable
  package func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe bytes.withUnsafeBytes(body)
  }
}

// MARK: - MAC: keyed BLAKE2b-256 with the label as personal value, salt zero (format article, "Primitives")

extension Key {
  /// `MAC(key, label, message)` for a result that is not secret: check values, slot ids, tokens, commitments.
  package borrowing func mac(_ label: Label, _ message: [UInt8]) -> Bytes32 {
    unsafe message.withUnsafeBytes { unsafe mac(label, $0) }
  }

  package borrowing func mac(_ label: Label, _ message: UnsafeRawBufferPointer) -> Bytes32 {
    unsafe Bytes32 { unsafe writeMAC(label, message, to: $0) }
  }

  /// `MAC(key, label, message)` for a result that is itself a key. It never leaves guarded memory.
  package borrowing func derive(_ label: Label, _ message: [UInt8] = []) throws(SealingError) -> Key {
    try unsafe Key.made { output in unsafe message.withUnsafeBytes { unsafe writeMAC(label, $0, to: output) } }
  }

  /// `MAC(key, label, other ‖ suffix)`. The message contains a key, so it is assembled in guarded memory.
  package borrowing func derive(_ label: Label, _ other: borrowing Key, _ suffix: Bytes32) throws(SealingError) -> Key {
    let message = try GuardedBytes(count: Key.byteCount + Bytes32.byteCount)
    unsafe message.withUnsafeMutableBytes { message in
      unsafe other.withUnsafeBytes { unsafe message.copyMemory(from: $0) }
      unsafe suffix.withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: message[Key.byteCount...]).copyMemory(from: $0)
      }
    }
    return try unsafe Key.made { output in unsafe message.withUnsafeBytes { unsafe writeMAC(label, $0, to: output) } }
  }

  private borrowing func writeMAC(
    _ label: Label, _ message: UnsafeRawBufferPointer, to output: UnsafeMutablePointer<UInt8>
  ) {
    unsafe withUnsafeBytes { unsafe Hash.write(label, message, key: $0, to: output) }
  }
}

/// `H(label, message)`: BLAKE2b-256 with the label as personal value, no key, salt zero (format article, "Primitives").
package enum Hash {
  package static func digest(_ label: Label, _ message: [UInt8]) -> Digest {
    unsafe message.withUnsafeBytes { unsafe digest(label, $0) }
  }

  package static func digest(_ label: Label, _ message: UnsafeRawBufferPointer) -> Digest {
    unsafe Digest { unsafe write(label, message, key: UnsafeRawBufferPointer(start: nil, count: 0), to: $0) }
  }

  /// Writes the 32 bytes of a hash or MAC to `output`; an empty key means no key.
  fileprivate static func write(
    _ label: Label, _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
    to output: UnsafeMutablePointer<UInt8>
  ) {
    Sodium.ready
    let status = unsafe label.withUnsafeBytes { personal in
      unsafe crypto_generichash_blake2b_salt_personal(
        output, Digest.byteCount,
        message.octets, UInt64(message.count), key.octets, key.count, nil, personal.octets)
    }
    // It fails only for invalid sizes, which no caller passes.
    precondition(status == 0)
  }
}

/// The name of one use of a hash, a key or a signature, zero-padded to 16 bytes (format article, "All labels").
///
/// A label is the BLAKE2b *personal* value of its use, or the first 16 bytes of the signed or bound data. So bytes made
/// for one use are invalid in any other.
package struct Label: Sendable, Hashable {
  // In place rather than in an array: every hash and every MAC begins with one.
  private var first: UInt64 = 0
  private var last: UInt64 = 0

  static let byteCount = 16

  /// Makes the label of `name`: 1 to 16 ASCII bytes.
  package init(_ name: StaticString) {
    precondition(name.isASCII && (1...Label.byteCount).contains(name.utf8CodeUnitCount))
    unsafe Swift.withUnsafeMutableBytes(of: &self) { bytes in
      name.withUTF8Buffer { unsafe bytes.copyMemory(from: UnsafeRawBufferPointer($0)) }
    }
  }

  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe Swift.withUnsafeBytes(of: self) { unsafe body($0) }
  }

  /// The ASCII name, zero-padded to 16 bytes.
  package var padded: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}

// MARK: - Labels in the format's layouts

extension ByteReader {
  package mutating func expect(_ label: Label) throws(Failure) {
    let found = try read(count: Label.byteCount)
    guard unsafe label.withUnsafeBytes({ unsafe $0.elementsEqual(found) }) else { throw Failure() }
  }
}

extension ByteWriter {
  package mutating func write(_ label: Label) { unsafe label.withUnsafeBytes { unsafe write($0) } }
}

// MARK: - Keys from passphrases

/// Derives keys from passphrases: Argon2id 1.3 (RFC 9106) with one lane.
package enum Passphrase {
  /// The cost of stretching. ``stretch(_:salt:cost:)`` checks the format's limits.
  package struct Cost: Sendable, Equatable {
    /// The number of passes over the memory: 1 to 16.
    package let passes: UInt32
    /// The memory that it takes, in KiB: 8 MiB to 1 GiB.
    package let memoryKiB: UInt32

    package init(passes: UInt32, memoryKiB: UInt32) { (self.passes, self.memoryKiB) = (passes, memoryKiB) }

    /// The cost of new slots: 3 passes over 256 MiB, about half a second (libsodium's MODERATE).
    package static let moderate = Cost(passes: 3, memoryKiB: 256 * 1024)

    /// Whether a reader accepts it: within both ranges, and memory × passes at most 4 GiB.
    package var isWithinLimits: Bool {
      (1...16).contains(passes) && (8 * 1024...1024 * 1024).contains(memoryKiB)
        && UInt64(passes) * UInt64(memoryKiB) <= 4 * 1024 * 1024
    }
  }

  package static let saltByteCount = 16

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
