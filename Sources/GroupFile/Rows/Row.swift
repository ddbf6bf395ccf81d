import Sealing

/// One version of one item as it is stored: the very bytes that the tree hashes, and where its parts lie in them.
///
/// What is hashed, opened and shown comes from this one buffer, so nothing can change between the proof and the use
/// (format article, "Rows").
package struct Row: Sendable {
  /// Whether the version holds a value or says that the item was removed.
  package enum State: UInt8, Sendable {
    case present = 1
    case removed = 2
  }

  /// Where the sealed secret is.
  package enum Place: UInt8, Sendable {
    case none = 0
    case inline = 1
    case blob = 2
  }

  /// `E`, the row encoding.
  let encoded: [UInt8]
  let token: Token
  package let version: UInt64
  package let state: State
  /// The oldest version kept; only the current row's counts.
  package let oldest: UInt64
  let place: Place
  private let attributesByteCount: Int

  /// `H("vault1.row.hash", E)`.
  var digest: Digest { Hash.digest(.rowHash, encoded) }

  /// The digest of the version that this one replaced; zeros if there is none.
  var previous: Digest { Digest(encoded[Row.previousOffset..<Row.nonceOffset])! }

  var nonce: Nonce { Nonce(encoded[Row.nonceOffset..<Row.attributesOffset - 4])! }

  var attributesRange: Range<Int> { Row.attributesOffset..<Row.attributesOffset + attributesByteCount }

  /// `B`: the sealed secret, or the digest of a blob.
  var secretRange: Range<Int> { attributesRange.upperBound + 5..<encoded.count }

  private static let previousOffset = 33
  private static let nonceOffset = 65
  private static let attributesOffset = 93

  /// The smallest and largest sealed attributes: one padded block to 64 KiB of content.
  static let sealedAttributesByteCount =
    Padding.padded(count: 0) + SealedBox.overhead...Padding.padded(count: GroupLimits.attributesByteCount)
    + SealedBox.overhead
  /// A sealed secret in its row.
  static let inlineByteCount = Padding.padded(count: 0) + SealedBox.overhead...GroupLimits.inlineSecretByteCount
  /// A sealed secret in a blob.
  static let blobByteCount =
    GroupLimits.inlineSecretByteCount + 1...Padding.padded(count: GroupLimits.secretByteCount) + SealedBox.overhead

  /// Assembles a row; the parts must be of the sizes above.
  init(
    token: Token, version: UInt64, state: State, oldest: UInt64, previous: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, attributes: UnsafeRawBufferPointer, place: Place, secret: UnsafeRawBufferPointer
  ) {
    var bytes = ByteWriter(reservingCapacity: Row.attributesOffset + attributes.count + 5 + secret.count)
    bytes.write(token)
    bytes.write(version)
    bytes.write(state.rawValue)
    bytes.write(oldest)
    unsafe bytes.write(previous)
    unsafe bytes.write(nonce)
    bytes.write(UInt32(attributes.count))
    unsafe bytes.write(attributes)
    bytes.write(place.rawValue)
    bytes.write(UInt32(secret.count))
    unsafe bytes.write(secret)
    encoded = bytes.bytes
    self.token = token
    self.version = version
    self.state = state
    self.oldest = oldest
    self.place = place
    attributesByteCount = attributes.count
  }
}

extension Label {
  static let row = Label("vault1.row")
  static let rowHash = Label("vault1.row.hash")
  static let blob = Label("vault1.blob")
}
