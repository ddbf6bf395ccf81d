import Sealing

/// A row to be written, with everything that is known before it is sealed.
final class RowDraft: Sendable {
  let attributes: Attributes
  /// `nil` makes a tombstone.
  let secret: OpenedSecret?
  let token: Token
  let version: UInt64
  let oldest: UInt64
  /// The proved row that this one replaces.
  let old: Row?
  /// The mark of the request that the row is written for.
  let mark: UInt64?

  init(
    attributes: Attributes, secret: OpenedSecret?, token: Token, version: UInt64, oldest: UInt64, old: Row?,
    mark: UInt64?
  ) {
    (self.attributes, self.secret, self.token, self.mark) = (attributes, secret, token, mark)
    (self.version, self.oldest, self.old) = (version, oldest, old)
  }

  func sealed(by keys: GroupKeys, nonce: Nonce = Nonce()) throws(VaultError) -> SealedDraft {
    let (row, blob) = try keys.sealedRow(
      attributes, secret, token: token, version: version, oldest: oldest, previous: old?.digest ?? .zero,
      nonce: mark.map(nonce.marked) ?? nonce)
    return SealedDraft(old: old, row: row, digest: row.digest, blob: blob)
  }
}

final class SealedDraft: Sendable {
  /// The proved row that this one replaces.
  let old: Row?
  let row: Row
  let digest: Digest
  /// The sealed value if it is too large for the row.
  let blob: [UInt8]?

  init(old: Row?, row: Row, digest: Digest, blob: [UInt8]?) {
    (self.old, self.row, self.digest, self.blob) = (old, row, digest, blob)
  }
}
