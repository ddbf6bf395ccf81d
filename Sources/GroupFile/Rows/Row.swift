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
  package let token: Token
  package let version: UInt64
  package let state: State
  /// The oldest version kept; only the current row's counts.
  package let oldest: UInt64
  let place: Place
  private let attributesByteCount: Int

  /// `H("vault1.row.hash", E)`.
  var digest: Digest { Hash.digest(.rowHash, encoded) }

  /// The digest of the version that this one replaced; zeros if there is none.
  var previous: Digest { Digest(encoded[Row.previousRange])! }

  var nonce: Nonce { Nonce(encoded[Row.nonceRange])! }

  var attributesRange: Range<Int> { Row.attributesOffset..<Row.attributesOffset + attributesByteCount }

  /// `B`: the sealed secret, or the digest of a blob.
  var secretRange: Range<Int> { attributesRange.upperBound + 5..<encoded.count }

  static let previousRange = 33..<65
  static let nonceRange = 65..<89
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
    precondition(previous.count == Digest.byteCount && nonce.count == Nonce.byteCount)
    let attributesEnd = Row.attributesOffset + attributes.count
    let count = attributesEnd + 5 + secret.count
    // Written in place: a list makes a row for every item, and appending to an array costs more than hashing it.
    encoded = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      unsafe bytes.storeBytes(of: token.high.bigEndian, as: UInt64.self)
      unsafe bytes.storeBytes(of: token.low.bigEndian, toByteOffset: 8, as: UInt64.self)
      unsafe bytes.storeBytes(of: version.bigEndian, toByteOffset: 16, as: UInt64.self)
      unsafe bytes[24] = state.rawValue
      unsafe bytes.storeBytes(of: oldest.bigEndian, toByteOffset: 25, as: UInt64.self)
      unsafe bytes[Row.previousRange].copy(previous)
      unsafe bytes[Row.nonceRange].copy(nonce)
      unsafe bytes.storeBytes(
        of: UInt32(attributes.count).bigEndian, toByteOffset: Row.attributesOffset - 4, as: UInt32.self)
      unsafe bytes[Row.attributesOffset...].copy(attributes)
      unsafe bytes[attributesEnd] = place.rawValue
      unsafe bytes.storeBytes(of: UInt32(secret.count).bigEndian, toByteOffset: attributesEnd + 1, as: UInt32.self)
      unsafe bytes[(attributesEnd + 5)...].copy(secret)
      initializedCount = count
    }
    self.token = token
    self.version = version
    self.state = state
    self.oldest = oldest
    self.place = place
    attributesByteCount = attributes.count
  }
}

extension Slice<UnsafeMutableRawBufferPointer> {
  fileprivate func copy(_ source: UnsafeRawBufferPointer) {
    unsafe UnsafeMutableRawBufferPointer(rebasing: self).copyMemory(from: source)
  }
}

extension Label {
  static let row = Label("vault1.row")
  static let rowHash = Label("vault1.row.hash")
  static let blob = Label("vault1.blob")
}
