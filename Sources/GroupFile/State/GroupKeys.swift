package import Sealing

/// The keys of one group and generation, all derived from the group key (format article, "Keys").
package final class GroupKeys: Sendable {
  let groupID: GroupID
  let generation: UInt64
  private let tokenKey: Key
  let attributesKey: Key
  let secretKey: Key
  private let metaKey: Key
  /// `G`, kept so that the owner can wrap it for new members.
  let groupKey: Key
  /// The roster's commitment to the key: it lets a member notice if they were given another key.
  let commitment: Digest
  /// The data that binds the rows of this generation to the group.
  let binding: RowBinding

  /// Derives the keys of `groupKey`; `deviceKey` is required for a group that is bound to a device.
  init(groupKey: consuming Key, groupID: GroupID, generation: UInt64, deviceKey: borrowing Key?) throws(SealingError) {
    self.groupID = groupID
    self.generation = generation
    let context = groupID.context(generation)
    let effective: Key
    switch deviceKey {
    case .some(let device): effective = try device.derive(.device, groupKey, groupID)
    case .none: effective = groupKey.copy()
    }
    tokenKey = try effective.derive(.tokenKey, context)
    attributesKey = try effective.derive(.attributesKey, context)
    secretKey = try effective.derive(.secretKey, context)
    metaKey = try effective.derive(.metaKey, context)
    commitment = effective.mac(.keyCommitment, context)
    self.groupKey = groupKey
    binding = RowBinding(groupID: groupID, generation: generation)
  }

  /// The token of `name` (UTF-8, NFC).
  package func token(of name: String) -> Token { unsafe name.utf8Span.span.withUnsafeBytes { unsafe token(of: $0) } }

  func token(of name: UnsafeRawBufferPointer) -> Token { unsafe Token(prefixOf: tokenKey.mac(.token, name)) }

  /// `N ‖ seal(meta key, N, label ‖ group id ‖ generation, content)`.
  func sealMeta(_ content: [UInt8], _ label: Label, nonce: Nonce = Nonce()) -> [UInt8] {
    nonce.bytes + SealedBox.seal(content, key: metaKey, nonce: nonce, binding: metaBinding(label))
  }

  func openMeta(_ stored: [UInt8], _ label: Label) -> [UInt8]? {
    guard let nonce = Nonce(stored.prefix(24)) else { return nil }
    return try? SealedBox.openUnguarded(
      Array(stored.dropFirst(24)), key: metaKey, nonce: nonce, binding: metaBinding(label))
  }

  private func metaBinding(_ label: Label) -> [UInt8] { label.padded + groupID.context(generation) }
}

extension GroupID {
  /// `group id ‖ generation`: what keys and seals of one generation are bound to.
  func context(_ generation: UInt64) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 40)
    writer.write(self)
    writer.write(generation)
    return writer.bytes
  }
}

extension Label {
  fileprivate static let tokenKey = Label("vault1.key.token")
  fileprivate static let attributesKey = Label("vault1.key.attr")
  fileprivate static let secretKey = Label("vault1.key.sec")
  fileprivate static let metaKey = Label("vault1.key.meta")
  fileprivate static let keyCommitment = Label("vault1.keycommit")
  fileprivate static let device = Label("vault1.device")
  fileprivate static let token = Label("vault1.token")
  fileprivate static let wrap = Label("vault1.wrap")
  fileprivate static let wrapHash = Label("vault1.wrap.hash")
  fileprivate static let deviceID = Label("vault1.device.id")
  fileprivate static let memberSigning = Label("vault1.mem.sign")
  fileprivate static let memberWrap = Label("vault1.mem.wrap")
  fileprivate static let memberSlot = Label("vault1.mem.slot")
  fileprivate static let memberMark = Label("vault1.mem.mark")
}

/// The group key sealed for one member: `u8 kind ‖ N 24 ‖ seal(wrap key, N, binding, G)` (format article, "Wraps").
package enum Wrap {
  /// The only kind so far: a seed that the owner derived.
  private static let kind: UInt8 = 1
  static let byteCount = 1 + Nonce.byteCount + Key.byteCount + SealedBox.overhead

  static func seal(
    _ groupKey: borrowing Key, for seed: MemberSeed, groupID: GroupID, generation: UInt64, nonce: Nonce = Nonce()
  ) throws(SealingError) -> [UInt8] {
    let wrapKey = try seed.wrapKey(group: groupID, generation: generation)
    let binding = Wrap.binding(seed, groupID, generation)
    let box = unsafe groupKey.withUnsafeBytes {
      unsafe SealedBox.seal($0, key: wrapKey, nonce: nonce, binding: binding)
    }
    return [kind] + nonce.bytes + box
  }

  /// - Throws: `damaged(.wrap, …)`; `storage` if guarded memory is short.
  static func open(
    _ stored: [UInt8], for seed: MemberSeed, groupID: GroupID, generation: UInt64
  ) throws(VaultError) -> Key {
    guard stored.count == byteCount, stored[0] == kind, let nonce = Nonce(stored[1..<25]) else {
      throw .damaged(.wrap, "layout")
    }
    do {
      let wrapKey = try seed.wrapKey(group: groupID, generation: generation)
      return try Key(
        SealedBox.open(Array(stored[25...]), key: wrapKey, nonce: nonce, binding: binding(seed, groupID, generation)))
    } catch .outOfMemory {
      throw .storage(.memory)
    } catch {
      throw .damaged(.wrap, "seal")
    }
  }

  /// The roster's digest of a wrap.
  static func digest(_ stored: [UInt8], slotID: [UInt8]) -> Digest { Hash.digest(.wrapHash, slotID + stored) }

  private static func binding(_ seed: MemberSeed, _ groupID: GroupID, _ generation: UInt64) -> [UInt8] {
    Label.wrap.padded + groupID.context(generation) + seed.slotID(group: groupID, generation: generation) + [kind]
  }
}

/// The key of one machine. A group that is bound to it cannot be opened without it (format article, "Keys").
package final class DeviceKey: Sendable {
  package let key: Key
  /// Identifies the key in rosters; 16 bytes.
  package let id: [UInt8]

  /// The id in the roster of a group that is not bound to a device.
  static let noID = [UInt8](repeating: 0, count: 16)

  package init(_ key: consuming Key) {
    id = Array(key.mac(.deviceID, []).bytes.prefix(16))
    self.key = key
  }
}

/// The secret of a group member: 32 bytes from which their signing key and their wrap keys are derived (format article,
/// "Keys").
///
/// The owner derives a seed from their root seed for themselves and for each application; an application reads its seed
/// from its credential.
package final class MemberSeed: Sendable {
  private let seed: Key
  private let signing = Locked<SigningKey?>(nil)

  package init(_ seed: consuming Key) { self.seed = seed }

  /// The key that signs manifests, and identifies this member in the roster; it signs nothing else.
  // Derived at its first use: a member who reads and finds its mark does not need it.
  package func signingKey() throws(SealingError) -> SigningKey {
    try signing.withLock { (derived) throws(SealingError) in
      if let derived { return derived }
      let key = try SigningKey(seed: try seed.derive(.memberSigning))
      derived = key
      return key
    }
  }

  package var signingPublicKey: PublicKey { get throws(SealingError) { try signingKey().publicKey } }

  /// The key that wraps the group's key of one generation for this member.
  package func wrapKey(group: GroupID, generation: UInt64) throws(SealingError) -> Key {
    try seed.derive(.memberWrap, group.context(generation))
  }

  /// The 16 bytes under which that wrap is stored; without the seed they reveal nothing about the member.
  package func slotID(group: GroupID, generation: UInt64) -> [UInt8] {
    Array(seed.mac(.memberSlot, group.context(generation)).bytes.prefix(16))
  }

  /// The code by which this member recognizes a state whose signatures it has verified: `MAC(seed, "vault1.mem.mark",
  /// owner key ‖ counted header ‖ counted roster ‖ counted manifest)` of the stored bytes.
  func mark(owner: PublicKey, header: [UInt8], roster: [UInt8], manifest: [UInt8]) -> Digest {
    var writer = ByteWriter(reservingCapacity: 44 + header.count + roster.count + manifest.count)
    writer.write(owner)
    for part in [header, roster, manifest] { writer.writeCounted32(part) }
    return seed.mac(.memberMark, writer.bytes)
  }

  /// Lends the seed's 32 bytes to `body`, for a credential or the kernel's keyring.
  package func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe seed.withUnsafeBytes(body)
  }
}

extension VaultError {
  package init(_ error: SealingError) {
    self =
      switch error {
      case .overLimit: .overLimit("the costs of a passphrase, or its length")
      case .outOfMemory, .doesNotOpen, .wrongPadding, .wrongCount: .storage(.memory)
      }
  }
}

/// The result of `body`, whose only possible error is a lack of memory.
package func sealing<Result: ~Copyable>(_ body: @autoclosure () throws(SealingError) -> Result) throws(VaultError)
  -> Result
{
  do { return try body() } catch { throw VaultError(error) }
}
