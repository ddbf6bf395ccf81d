internal import CSodium

/// `H(label, message)`: BLAKE2b-256 with the label as personal value, no key, salt zero (format article, "Primitives").
///
/// For a message in one piece, call ``digest(_:_:)-swift.type.method``. For several pieces, create a value, update it
/// with each piece and finish it.
@safe package struct Hash: ~Copyable {
  // Allocated separately because libsodium requires a 64-byte boundary.
  private let state: OpaquePointer

  /// Begins a hash for one use.
  package init(_ label: Label) {
    Sodium.ready
    unsafe state = OpaquePointer(
      UnsafeMutableRawPointer.allocate(byteCount: crypto_generichash_blake2b_statebytes(), alignment: 64))
    let status = unsafe label.withUnsafeBytes {
      unsafe crypto_generichash_blake2b_init_salt_personal(state, nil, 0, Digest.byteCount, nil, $0.octets)
    }
    // It fails only for sizes that are not used here.
    precondition(status == 0)
  }

  deinit { unsafe UnsafeMutableRawPointer(state).deallocate() }

  /// Adds `bytes` to the message.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    _ = unsafe crypto_generichash_blake2b_update(state, bytes.octets, UInt64(bytes.count))
  }

  /// Adds `bytes` to the message.
  package mutating func update(_ bytes: [UInt8]) { unsafe bytes.withUnsafeBytes { unsafe update($0) } }

  /// Adds the 32 bytes of `value` to the message.
  package mutating func update(_ value: Bytes32) { unsafe value.withUnsafeBytes { unsafe update($0) } }

  /// Ends the message and returns its digest.
  package consuming func finish() -> Digest {
    unsafe Digest { _ = unsafe crypto_generichash_blake2b_final(state, $0, Digest.byteCount) }
  }

  /// The digest of `message` for one use.
  package static func digest(_ label: Label, _ message: [UInt8]) -> Digest {
    unsafe message.withUnsafeBytes { unsafe digest(label, $0) }
  }

  /// The digest of `message` for one use.
  package static func digest(_ label: Label, _ message: UnsafeRawBufferPointer) -> Digest {
    unsafe Digest { unsafe Blake2b.digest(label, message, key: UnsafeRawBufferPointer(start: nil, count: 0), to: $0) }
  }
}

/// libsodium's one-call BLAKE2b-256 with a personal value.
enum Blake2b {
  /// Writes 32 bytes to `output`; an empty key means no key.
  static func digest(
    _ label: Label, _ message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
    to output: UnsafeMutablePointer<UInt8>
  ) {
    Sodium.ready
    let status = unsafe label.withUnsafeBytes { personal in
      unsafe crypto_generichash_blake2b_salt_personal(
        output, Digest.byteCount,
        message.octets, UInt64(message.count), key.octets, key.count, nil, personal.octets)
    }
    // It fails only for sizes that are not used here.
    precondition(status == 0)
  }
}
