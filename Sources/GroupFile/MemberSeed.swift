package import Sealing

/// What makes somebody a member of groups: 32 bytes that his signing key and his wrap keys follow from (format article,
/// "Keys").
///
/// The owner derives it from his root seed, for himself and for each application; an application finds it in its credential.
package final class MemberSeed: Sendable {
  private let seed: Key
  private let signing: SigningKey

  /// Makes the member of `seed`; the same seed gives the same member.
  ///
  /// - Throws: `outOfMemory`.
  package init(_ seed: consuming Key) throws(SealingError) {
    signing = try SigningKey(seed: try seed.derive(.memberSigning))
    self.seed = seed
  }

  /// The key that the roster knows this member by.
  package var signingPublicKey: PublicKey { signing.publicKey }

  /// The key that signs manifests, and nothing else.
  package func signingKey() -> SigningKey { signing.copy() }

  /// The key that the group's key of one generation is wrapped with for this member.
  ///
  /// - Throws: `outOfMemory`.
  package func wrapKey(group: GroupID, generation: UInt64) throws(SealingError) -> Key {
    try seed.derive(.memberWrap, MemberSeed.place(group, generation))
  }

  /// The 16 bytes under which that wrap is filed; without the seed they say nothing about the member.
  package func slotID(group: GroupID, generation: UInt64) -> [UInt8] {
    Array(seed.mac(.memberSlot, MemberSeed.place(group, generation)).bytes.prefix(16))
  }

  /// Lends the seed's 32 bytes: for a credential or the kernel's keyring.
  package func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe seed.withUnsafeBytes(body)
  }

  private static func place(_ group: GroupID, _ generation: UInt64) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 40)
    writer.write(group)
    writer.write(generation)
    return writer.bytes
  }
}

extension Label {
  fileprivate static let memberSigning = Label("vault1.mem.sign")
  fileprivate static let memberWrap = Label("vault1.mem.wrap")
  fileprivate static let memberSlot = Label("vault1.mem.slot")
}
