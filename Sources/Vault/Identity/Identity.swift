internal import GroupFile
internal import Sealing

/// The root seed of a store's owner, and all that follows from it (format article, "Keys").
final class Identity: Sendable {
  /// The key that signs rosters; it names the owner.
  let ownerKey: PublicKey

  private let rootSeed: Key
  private let signing: SigningKey

  /// The identity of a root seed.
  init(rootSeed: consuming Key) throws(SealingError) {
    signing = try SigningKey(seed: try rootSeed.derive(.ownerSigning))
    ownerKey = signing.publicKey
    self.rootSeed = rootSeed
  }

  /// A new identity.
  static func random() throws(SealingError) -> Identity { try Identity(rootSeed: try Key.random()) }

  /// The key that signs rosters, and nothing else.
  func ownerSigningKey() -> SigningKey { signing.copy() }

  /// The sole member of the owner's registry.
  func registryMember() throws(SealingError) -> MemberSeed { try MemberSeed(try rootSeed.derive(.registry)) }

  /// The owner as a member of his groups.
  func personalMember() throws(SealingError) -> MemberSeed { try MemberSeed(try rootSeed.derive(.personal)) }

  /// An application as a member of groups; the same id and issue give the same member.
  func applicationMember(id: String, issue: UInt32) throws(SealingError) -> MemberSeed {
    var place = ByteWriter()
    place.write(issue)
    place.write(Array(id.utf8))
    return try MemberSeed(try rootSeed.derive(.applicationRoot).derive(.applicationSeed, place.bytes))
  }

  /// Lends the root seed's 32 bytes to a slot that seals them.
  func withRootSeed<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe rootSeed.withUnsafeBytes(body)
  }
}

extension Label {
  fileprivate static let ownerSigning = Label("vault1.owner.sig")
  fileprivate static let registry = Label("vault1.registry")
  fileprivate static let personal = Label("vault1.self")
  fileprivate static let applicationRoot = Label("vault1.app.root")
  fileprivate static let applicationSeed = Label("vault1.app.seed")
}
