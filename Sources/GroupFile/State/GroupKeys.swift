import Sealing

/// The keys of one group and generation, all derived from the group key (format article, "Keys").
package final class GroupKeys: Sendable {
  let groupID: GroupID
  let generation: UInt64
  private let token: Key
  private let attributes: Key
  private let secret: Key
  private let meta: Key
  /// `G`, kept so that the owner can wrap it for a new member.
  let groupKey: Key
  /// What the roster says of the key: a member who was given another one notices.
  let commitment: Digest
  /// What ties the rows of this generation to the group.
  let binding: RowBinding

  /// Derives the keys of `groupKey`; `deviceKey` is given for a group that is bound to a device.
  init(groupKey: consuming Key, groupID: GroupID, generation: UInt64, deviceKey: borrowing Key?) throws(SealingError) {
    self.groupID = groupID
    self.generation = generation
    var context = ByteWriter(reservingCapacity: 40)
    context.write(groupID)
    context.write(generation)
    let effective: Key
    switch deviceKey {
    case .some(let device): effective = try device.derive(.device, groupKey, groupID)
    case .none: effective = groupKey.copy()
    }
    token = try effective.derive(.tokenKey, context.bytes)
    attributes = try effective.derive(.attributesKey, context.bytes)
    secret = try effective.derive(.secretKey, context.bytes)
    meta = try effective.derive(.metaKey, context.bytes)
    commitment = effective.mac(.keyCommitment, context.bytes)
    self.groupKey = groupKey
    binding = RowBinding(groupID: groupID, generation: generation)
  }

  /// Where `name` (UTF-8, NFC) stands.
  package func token(of name: String) -> Token {
    unsafe Token(prefixOf: name.utf8Span.span.withUnsafeBytes { unsafe token.mac(.token, $0) })
  }

  /// Seals a padded half of a row.
  func seal(_ padded: UnsafeRawBufferPointer, half: RowBinding.Half, nonce: Nonce, binding: [UInt8]) -> [UInt8] {
    switch half {
    case .attributes: unsafe SealedBox.seal(padded, key: attributes, nonce: nonce, binding: binding)
    case .secret: unsafe SealedBox.seal(padded, key: secret, nonce: nonce, binding: binding)
    }
  }

  /// Opens the attributes of a row, padding included.
  func openAttributes(_ box: UnsafeRawBufferPointer, nonce: Nonce, binding: [UInt8]) throws(SealingError) -> [UInt8] {
    try unsafe SealedBox.openUnguarded(box, key: attributes, nonce: nonce, binding: binding)
  }

  /// Opens the secret of a row, padding included, into guarded memory.
  func openSecret(_ box: UnsafeRawBufferPointer, nonce: Nonce, binding: [UInt8]) throws(SealingError) -> GuardedBytes {
    try unsafe SealedBox.open(box, key: secret, nonce: nonce, binding: binding)
  }

  /// `N ‖ seal(meta key, N, label ‖ group id ‖ generation, content)`.
  func sealMeta(_ content: [UInt8], _ label: Label, nonce: Nonce = Nonce()) -> [UInt8] {
    nonce.bytes + SealedBox.seal(content, key: meta, nonce: nonce, binding: metaBinding(label))
  }

  /// Opens what `sealMeta` made; `nil` for anything else.
  func openMeta(_ stored: [UInt8], _ label: Label) -> [UInt8]? {
    guard let nonce = Nonce(stored.prefix(24)) else { return nil }
    return try? SealedBox.openUnguarded(
      Array(stored.dropFirst(24)), key: meta, nonce: nonce, binding: metaBinding(label))
  }

  private func metaBinding(_ label: Label) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 56)
    writer.write(label)
    writer.write(groupID)
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
}
