internal import CSodium

/// The nonce of a sealed box: 24 bytes, long enough that random nonces do not repeat.
package struct Nonce: Sendable, Hashable {
  package static let byteCount = 24

  // Inline instead of an array, because one is read with every row.
  @usableFromInline var words: (UInt64, UInt64, UInt64) = (0, 0, 0)

  package init() {
    Sodium.ready
    unsafe Swift.withUnsafeMutableBytes(of: &words) { unsafe randombytes_buf($0.baseAddress!, Nonce.byteCount) }
  }

  package static func random(count: Int) -> [Nonce] {
    Sodium.ready
    var nonces = [Nonce](repeating: Nonce(words: (0, 0, 0)), count: count)
    unsafe nonces.withUnsafeMutableBytes { bytes in
      if let base = bytes.baseAddress { unsafe randombytes_buf(base, bytes.count) }
    }
    return nonces
  }

  private init(words: (UInt64, UInt64, UInt64)) { self.words = words }

  /// This nonce with `mark` for its first 8 bytes, which leaves 16 random ones.
  package func marked(_ mark: UInt64) -> Nonce { Nonce(words: (mark.bigEndian, words.1, words.2)) }

  package var mark: UInt64 { UInt64(bigEndian: words.0) }

  // Overloads for each kind of bytes instead of one generic initializer, which other modules would call unspecialized.

  package init?(_ bytes: ArraySlice<UInt8>) {
    guard let nonce = unsafe bytes.span.withUnsafeBytes({ unsafe Nonce($0) }) else { return nil }
    self = nonce
  }

  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Nonce.byteCount else { return nil }
    unsafe Swift.withUnsafeMutableBytes(of: &words) { unsafe $0.copyMemory(from: bytes) }
  }

  @inlinable
  package func withUnsafeBytes<Result, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe Swift.withUnsafeBytes(of: words) { (bytes) throws(Failure) in try unsafe body(bytes) }
  }

  package var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }

  package static func == (left: Nonce, right: Nonce) -> Bool { left.words == right.words }

  package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

/// `seal(key, nonce, binding, message)`: XChaCha20-Poly1305-IETF (draft-irtf-cfrg-xchacha-03).
///
/// A box is the encrypted message and a 16-byte tag. It opens only with the same key, nonce and binding. The binding
/// identifies the box's place and is not part of the box.
package enum SealedBox {
  /// The number of bytes that a box adds to its message: 16.
  package static let overhead = 16

  /// Seals `message` into `box`, which has room for ``overhead`` bytes more, and may be where the message is.
  package static func seal(
    _ message: UnsafeRawBufferPointer, key: borrowing Key, nonce: Nonce, binding: [UInt8],
    into box: UnsafeMutableRawPointer
  ) {
    Sodium.ready
    unsafe key.withUnsafeBytes { key in
      unsafe nonce.withUnsafeBytes { nonce in
        _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
          box.assumingMemoryBound(to: UInt8.self), nil, message.octets, UInt64(message.count), binding,
          UInt64(binding.count), nil, nonce.octets!, key.octets!)
      }
    }
  }

  package static func seal(
    _ message: UnsafeRawBufferPointer, key: borrowing Key, nonce: Nonce, binding: [UInt8]
  ) -> [UInt8] {
    let count = message.count + overhead
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { box, initialized in
      unsafe seal(message, key: key, nonce: nonce, binding: binding, into: box.baseAddress!)
      initialized = count
    }
  }

  /// Seals `message`, which need not be in guarded memory.
  package static func seal(_ message: [UInt8], key: borrowing Key, nonce: Nonce, binding: [UInt8]) -> [UInt8] {
    unsafe message.withUnsafeBytes { unsafe seal($0, key: key, nonce: nonce, binding: binding) }
  }

  /// Opens a box into guarded memory.
  ///
  /// - Throws: ``SealingError/doesNotOpen`` for another key, nonce or binding, for altered bytes and for a box that is
  ///   too short; ``SealingError/outOfMemory``.
  package static func open(
    _ box: [UInt8], key: borrowing Key, nonce: Nonce, binding: [UInt8]
  ) throws(SealingError) -> GuardedBytes {
    let message = try GuardedBytes(count: max(box.count - overhead, 0))
    try unsafe box.span.withUnsafeBytes { (box) throws(SealingError) in
      try unsafe open(box, key: key, nonce: nonce, binding: binding, into: message)
    }
    return message
  }

  /// Opens a box into guarded memory of the caller's, which has room for the message.
  ///
  /// - Throws: ``SealingError/doesNotOpen``, as ``open(_:key:nonce:binding:)-swift.type.method``.
  package static func open(
    _ box: UnsafeRawBufferPointer, key: borrowing Key, nonce: Nonce, binding: [UInt8],
    into message: GuardedBytes
  ) throws(SealingError) {
    defer { extendLifetime(message) }
    guard box.count >= overhead, box.count - overhead <= message.count,
      unsafe open(box, key: key, nonce: nonce, binding: binding, into: message.memory)
    else { throw .doesNotOpen }
  }

  /// Opens a box into `message`, ordinary memory of the message's size, at least 1 byte, which is not wiped: for attributes,
  /// rosters and manifests, never for a secret.
  ///
  /// - Throws: ``SealingError/doesNotOpen``, as ``open(_:key:nonce:binding:)-swift.type.method``.
  package static func openUnguarded(
    _ box: UnsafeRawBufferPointer, key: borrowing Key, nonce: Nonce, binding: [UInt8],
    into message: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    unsafe precondition(!message.isEmpty && box.count == message.count + overhead)
    guard unsafe open(box, key: key, nonce: nonce, binding: binding, into: message.baseAddress!) else {
      throw .doesNotOpen
    }
  }

  package static func openUnguarded(
    _ box: [UInt8], key: borrowing Key, nonce: Nonce, binding: [UInt8]
  ) throws(SealingError) -> [UInt8] {
    try unsafe made(box.count - overhead) { message in
      unsafe box.span.withUnsafeBytes { unsafe open($0, key: key, nonce: nonce, binding: binding, into: message) }
    }
  }

  // libsodium checks the tag before it writes a byte of the message.
  private static func open(
    _ box: UnsafeRawBufferPointer, key: borrowing Key, nonce: Nonce, binding: [UInt8],
    into message: UnsafeMutableRawPointer
  ) -> Bool {
    Sodium.ready
    return unsafe key.withUnsafeBytes { key in
      unsafe nonce.withUnsafeBytes { nonce in
        unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
          message.assumingMemoryBound(to: UInt8.self), nil, nil, box.octets!, UInt64(box.count),
          binding, UInt64(binding.count), nonce.octets!, key.octets!) == 0
      }
    }
  }
}

/// The `count` bytes that `make` writes; it returns whether it could. If not, or for a negative number, the error is
/// ``SealingError/doesNotOpen``.
func made(_ count: Int, by make: (UnsafeMutablePointer<UInt8>) -> Bool) throws(SealingError) -> [UInt8] {
  guard count >= 0 else { throw .doesNotOpen }
  var isMade = false
  // At least one byte of capacity, so that the buffer has an address.
  let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max(count, 1)) { buffer, initialized in
    isMade = unsafe make(buffer.baseAddress!)
    initialized = isMade ? count : 0
  }
  guard isMade else { throw .doesNotOpen }
  return bytes
}

extension UnsafeRawBufferPointer {
  /// The start as the pointer type that libsodium takes.
  var octets: UnsafePointer<UInt8>? { unsafe baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

/// Hides the length of a sealed text: u32 length ‖ bytes ‖ zeros (format article, "Padding").
///
/// Sizes are at least 32, multiples of 16 up to 64, of 32 up to 512, then Padmé (Nikitin et al., PURBs, 2019): at most
/// 12 % more, and the size reveals O(log log n) bits.
package enum Padding {
  package static let lengthByteCount = 4

  /// The padded size of a text of `count` bytes, including the length field.
  package static func padded(count: Int) -> Int {
    let size = lengthByteCount + count
    switch size {
    case ...32: return 32
    case ...64: return roundUp(size, to: 16)
    case ...512: return roundUp(size, to: 32)
    default:
      let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
      let significantBits = Int.bitWidth - exponent.leadingZeroBitCount
      return roundUp(size, to: 1 << (exponent - significantBits))
    }
  }

  private static func roundUp(_ size: Int, to unit: Int) -> Int { (size + unit - 1) / unit * unit }

  package static func pad(_ text: UnsafeRawBufferPointer) throws(SealingError) -> GuardedBytes {
    let result = try GuardedBytes(count: padded(count: text.count))
    unsafe result.withUnsafeMutableBytes { unsafe pad(text, into: $0) }
    return result
  }

  /// Pads a text in `result`, memory of the caller's that has exactly the padded size.
  package static func pad(_ text: UnsafeRawBufferPointer, into result: UnsafeMutableRawBufferPointer) {
    let end = lengthByteCount + text.count
    unsafe result.storeBytes(of: UInt32(text.count).bigEndian, as: UInt32.self)
    unsafe UnsafeMutableRawBufferPointer(rebasing: result[lengthByteCount..<end]).copyMemory(from: text)
    unsafe UnsafeMutableRawBufferPointer(rebasing: result[end...]).initializeMemory(as: UInt8.self, repeating: 0)
  }

  /// The range of the text in padded bytes.
  ///
  /// - Throws: ``SealingError/wrongPadding`` if the size is wrong for a text of this length, or a byte after the text
  ///   is not zero.
  package static func unpad(_ padded: UnsafeRawBufferPointer) throws(SealingError) -> Range<Int> {
    guard padded.count >= lengthByteCount else { throw .wrongPadding }
    let count = Int(UInt32(bigEndian: unsafe padded.loadUnaligned(as: UInt32.self)))
    guard Padding.padded(count: count) == padded.count else { throw .wrongPadding }
    let text = lengthByteCount..<lengthByteCount + count
    // A loop over numbers: each row of a list comes here, and `allSatisfy` over a slice is not specialized.
    for index in text.upperBound..<padded.count { guard unsafe padded[index] == 0 else { throw .wrongPadding } }
    return text
  }
}
