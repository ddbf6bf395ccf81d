internal import Ground
package import Sealing

/// The keys of one group and generation, all derived from the group key (format article, "Keys").
package final class GroupKeys: Sendable {
  let groupID: GroupID
  let generation: UInt64
  private let token: Key
  private let attributes: Key
  private let secret: Key
  private let meta: Key
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
    token = try effective.derive(.tokenKey, context)
    attributes = try effective.derive(.attributesKey, context)
    secret = try effective.derive(.secretKey, context)
    meta = try effective.derive(.metaKey, context)
    commitment = effective.mac(.keyCommitment, context)
    self.groupKey = groupKey
    binding = RowBinding(groupID: groupID, generation: generation)
  }

  /// The token of `name` (UTF-8, NFC).
  package func token(of name: String) -> Token { unsafe name.utf8Span.span.withUnsafeBytes { unsafe token(of: $0) } }

  private func token(of name: UnsafeRawBufferPointer) -> Token { unsafe Token(prefixOf: token.mac(.token, name)) }

  /// Seals a padded half of a row into `box`, which may be where that half is.
  func seal(
    _ padded: UnsafeRawBufferPointer, half: RowBinding.Half, nonce: Nonce, binding: UnsafeRawBufferPointer,
    into box: UnsafeMutableRawPointer
  ) {
    switch half {
    case .attributes: unsafe SealedBox.seal(padded, key: attributes, nonce: nonce, binding: binding, into: box)
    case .secret: unsafe SealedBox.seal(padded, key: secret, nonce: nonce, binding: binding, into: box)
    }
  }

  /// Opens sealed attributes into `padded`, padding included.
  func openAttributes(
    _ box: UnsafeRawBufferPointer, nonce: Nonce, binding: UnsafeRawBufferPointer,
    into padded: UnsafeMutableRawBufferPointer
  ) throws(SealingError) {
    try unsafe SealedBox.openUnguarded(box, key: attributes, nonce: nonce, binding: binding, into: padded)
  }

  /// Opens the secret of a row, padding included.
  func openSecret(
    _ box: UnsafeRawBufferPointer, nonce: Nonce, binding: UnsafeRawBufferPointer
  ) throws(SealingError) -> GuardedBytes {
    try unsafe SealedBox.open(box, key: secret, nonce: nonce, binding: binding)
  }

  /// `N ‖ seal(meta key, N, label ‖ group id ‖ generation, content)`.
  func sealMeta(_ content: [UInt8], _ label: Label, nonce: Nonce = Nonce()) -> [UInt8] {
    nonce.bytes + SealedBox.seal(content, key: meta, nonce: nonce, binding: metaBinding(label))
  }

  /// Opens the output of `sealMeta`; `nil` for anything else.
  func openMeta(_ stored: [UInt8], _ label: Label) -> [UInt8]? {
    guard let nonce = Nonce(stored.prefix(24)) else { return nil }
    return try? SealedBox.openUnguarded(
      Array(stored.dropFirst(24)), key: meta, nonce: nonce, binding: metaBinding(label))
  }

  private func metaBinding(_ label: Label) -> [UInt8] { label.padded + groupID.context(generation) }
}

/// Opening and sealing the rows of the generation (format article, "Rows"), from any thread.
extension GroupKeys {
  /// Opens the attributes of a proved row, and checks that the name in them belongs to the row's token.
  ///
  /// - Parameter name: the name by whose token the row was found; `nil` if it was found in another way.
  /// - Throws: `damaged(.row, …)`.
  package func attributes(of row: Row, named name: String? = nil) throws(VaultError) -> Attributes {
    var opened: [UInt8] = []
    return Attributes(try fields(of: row, named: name, in: &opened), of: opened)
  }

  /// Opens the attributes of a proved row, otherwise as `attributes(of:named:)`.
  ///
  /// - Parameter opened: receives them. Rows can share it one after the other, and it only grows.
  package func fields(
    of row: Row, named name: String? = nil, in opened: inout [UInt8]
  ) throws(VaultError) -> AttributeFields {
    let fields: AttributeFields
    do {
      let count = row.attributesRange.count - SealedBox.overhead
      if opened.count < count { opened = [UInt8](repeating: 0, count: max(count, 256)) }
      let range = try unsafe row.encoded.span.withUnsafeBytes { (bytes) throws(SealingError) in
        let box = unsafe UnsafeRawBufferPointer(rebasing: bytes[row.attributesRange])
        return try unsafe binding.withBytes(
          token: row.token, version: row.version, state: row.state, half: .attributes
        ) { (binding) throws(SealingError) in
          var opened = opened.mutableSpan
          return try unsafe opened.withUnsafeMutableBytes { (opened) throws(SealingError) in
            let padded = unsafe UnsafeMutableRawBufferPointer(rebasing: opened[..<count])
            try unsafe openAttributes(box, nonce: row.nonce, binding: binding, into: padded)
            return try unsafe Padding.unpad(UnsafeRawBufferPointer(padded))
          }
        }
      }
      fields = try AttributeFields(of: opened, in: range)
    } catch {
      throw error as? VaultError ?? .damaged(.row, "attributes do not open")
    }
    // Compare bytes, as for the token: `==` treats all equivalent spellings as equal.
    let belongs = unsafe opened.span.withUnsafeBytes { opened in
      let found = unsafe UnsafeRawBufferPointer(rebasing: opened[fields.name])
      guard let name else { return unsafe token(of: found) == row.token }
      return unsafe name.utf8Span.span.withUnsafeBytes { unsafe $0.hasSameBytes(as: found) }
    }
    if !belongs { throw .damaged(.row, "a name in another's place") }
    return fields
  }

  /// Opens `box[range]`, the sealed secret of a proved row.
  ///
  /// - Throws: `damaged(.row, …)`; `storage` if guarded memory is short.
  func secret(_ box: [UInt8], in range: Range<Int>, of row: Row) throws(VaultError) -> OpenedSecret {
    try secret(box, in: range, token: row.token, version: row.version, nonce: row.nonce)
  }

  /// Opens the sealed value of `token`, otherwise as `secret(_:in:of:)`.
  func secret(_ value: SealedValue, of token: Token) throws(VaultError) -> OpenedSecret {
    try secret(value.box, in: value.box.indices, token: token, version: value.version, nonce: value.nonce)
  }

  private func secret(
    _ box: [UInt8], in range: Range<Int>, token: Token, version: UInt64, nonce: Nonce
  ) throws(VaultError) -> OpenedSecret {
    do {
      let bytes = try unsafe box.span.withUnsafeBytes { (box) throws(SealingError) in
        let box = unsafe UnsafeRawBufferPointer(rebasing: box[range])
        // Only a row that is present has a secret.
        return try unsafe binding.withBytes(
          token: token, version: version, state: .present, half: .secret
        ) { (binding) throws(SealingError) in
          try unsafe openSecret(box, nonce: nonce, binding: binding)
        }
      }
      let text = try unsafe bytes.withUnsafeBytes { (bytes) throws(SealingError) in try unsafe Padding.unpad(bytes) }
      guard text.count <= GroupLimits.secretByteCount else { throw VaultError.damaged(.row, "a value too long") }
      return OpenedSecret(bytes: bytes, range: text)
    } catch let error as VaultError {
      throw error
    } catch SealingError.outOfMemory {
      throw .storage(.memory)
    } catch {
      throw .damaged(.row, "a secret does not open")
    }
  }

  /// Seals a row of `token`. Both halves are padded by the same rule and share one nonce under two keys.
  ///
  /// - Parameters:
  ///   - secret: the value; `nil` makes a tombstone.
  ///   - nonce: random, and used for no other row.
  /// - Returns: the row, and the sealed secret if it is too large for the row.
  func sealedRow(
    _ attributes: Attributes, _ secret: OpenedSecret?, token: Token, version: UInt64, oldest: UInt64, previous: Digest,
    nonce: Nonce = Nonce()
  ) throws(VaultError) -> (row: Row, blob: [UInt8]?) {
    let state: Row.State = secret == nil ? .removed : .present
    let encoded = try attributes.encoded()
    func seal(_ padded: UnsafeRawBufferPointer, _ half: RowBinding.Half, into box: UnsafeMutableRawPointer) {
      unsafe binding.withBytes(token: token, version: version, state: state, half: half) { binding in
        unsafe self.seal(padded, half: half, nonce: nonce, binding: binding, into: box)
      }
    }
    let boxByteCount = secret.map { $0.paddedByteCount + SealedBox.overhead } ?? 0
    let place: Row.Place = secret == nil ? .none : boxByteCount <= GroupLimits.inlineSecretByteCount ? .inline : .blob
    var blob: [UInt8]?
    if let secret, place == .blob {
      blob = unsafe [UInt8](unsafeUninitializedCapacity: boxByteCount) { box, initializedCount in
        unsafe secret.withPadded { unsafe seal($0, .secret, into: box.baseAddress!) }
        initializedCount = boxByteCount
      }
    }
    let head = Row.Head(
      token: token, version: version, state: state, oldest: oldest,
      attributesByteCount: Padding.padded(count: encoded.count) + SealedBox.overhead, place: place,
      secretByteCount: place == .blob ? Digest.byteCount : boxByteCount)
    // Both halves are sealed where they are stored.
    let row = unsafe previous.withUnsafeBytes { previous in
      unsafe nonce.withUnsafeBytes { nonceBytes in
        unsafe Row(head, previous: previous, nonce: nonceBytes) { attributes, stored in
          let padded = unsafe UnsafeMutableRawBufferPointer(rebasing: attributes.dropLast(SealedBox.overhead))
          unsafe Padding.padUnguarded(encoded, into: padded)
          unsafe seal(UnsafeRawBufferPointer(padded), .attributes, into: attributes.baseAddress!)
          if let blob {
            unsafe Hash.digest(.blob, blob).withUnsafeBytes { unsafe stored.copyMemory(from: $0) }
          } else if let secret {
            unsafe secret.withPadded { unsafe seal($0, .secret, into: stored.baseAddress!) }
          }
        }
      }
    }
    return (row, blob)
  }
}

extension GroupID {
  /// `group id ‖ generation`: what keys and seals of one generation are bound to.
  fileprivate func context(_ generation: UInt64) -> [UInt8] {
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
  private let signing: SigningKey

  /// Derives the member of `seed`; the same seed gives the same member.
  ///
  /// - Throws: `outOfMemory`.
  package init(_ seed: consuming Key) throws(SealingError) {
    signing = try SigningKey(seed: try seed.derive(.memberSigning))
    self.seed = seed
  }

  /// The key that identifies this member in the roster.
  package var signingPublicKey: PublicKey { signing.publicKey }

  /// The key that signs manifests; it signs nothing else.
  package func signingKey() -> SigningKey { signing.copy() }

  /// The key that wraps the group's key of one generation for this member.
  ///
  /// - Throws: `outOfMemory`.
  package func wrapKey(group: GroupID, generation: UInt64) throws(SealingError) -> Key {
    try seed.derive(.memberWrap, group.context(generation))
  }

  /// The 16 bytes under which that wrap is stored; without the seed they reveal nothing about the member.
  package func slotID(group: GroupID, generation: UInt64) -> [UInt8] {
    Array(seed.mac(.memberSlot, group.context(generation)).bytes.prefix(16))
  }

  /// Lends the seed's 32 bytes to `body`, for a credential or the kernel's keyring.
  package func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe seed.withUnsafeBytes(body)
  }
}
