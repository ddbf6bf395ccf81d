internal import Ground
import Sealing

/// One version of one item as stored: the exact bytes that the tree hashes, and the positions of its parts.
///
/// Hashing, opening and showing all use this one buffer, so nothing can change between the proof and the use
/// (format article, "Rows").
package struct Row: Sendable {
  /// Whether the version holds a value or records that the item was removed.
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
  /// The oldest kept version; only meaningful in the current row.
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

  private static let oldestOffset = 25
  static let previousRange = 33..<65
  static let nonceRange = 65..<89
  private static let attributesOffset = 93

  /// The allowed sizes of sealed attributes: from one padded block to 64 KiB of content.
  static let sealedAttributesByteCount =
    Padding.padded(count: 0) + SealedBox.overhead...Padding.padded(count: GroupLimits.attributesByteCount)
    + SealedBox.overhead
  /// The allowed sizes of a sealed secret in its row.
  static let inlineByteCount = Padding.padded(count: 0) + SealedBox.overhead...GroupLimits.inlineSecretByteCount
  /// The allowed sizes of a sealed secret in a blob.
  static let blobByteCount =
    GroupLimits.inlineSecretByteCount + 1...Padding.padded(count: GroupLimits.secretByteCount) + SealedBox.overhead

  /// The fields of a row, and the sizes of its halves, which must be among those above.
  struct Head {
    let token: Token
    let version: UInt64
    let state: State
    let oldest: UInt64
    let attributesByteCount: Int
    let place: Place
    let secretByteCount: Int

    fileprivate var attributesEnd: Int { Row.attributesOffset + attributesByteCount }
    fileprivate var byteCount: Int { attributesEnd + 5 + secretByteCount }

    /// Writes `E` without its halves. Written in place: a listing creates a row for every item, and appending to an array
    /// costs more than hashing it.
    fileprivate func write(
      to bytes: UnsafeMutableRawBufferPointer, previous: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer
    ) {
      precondition(previous.count == Digest.byteCount && nonce.count == Nonce.byteCount)
      unsafe bytes.storeBytes(of: token.high.bigEndian, as: UInt64.self)
      unsafe bytes.storeBytes(of: token.low.bigEndian, toByteOffset: 8, as: UInt64.self)
      unsafe bytes.storeBytes(of: version.bigEndian, toByteOffset: 16, as: UInt64.self)
      unsafe bytes[24] = state.rawValue
      unsafe bytes.storeBytes(of: oldest.bigEndian, toByteOffset: Row.oldestOffset, as: UInt64.self)
      unsafe bytes[Row.previousRange].copy(previous)
      unsafe bytes[Row.nonceRange].copy(nonce)
      unsafe bytes.storeBytes(
        of: UInt32(attributesByteCount).bigEndian, toByteOffset: Row.attributesOffset - 4, as: UInt32.self)
      unsafe bytes[attributesEnd] = place.rawValue
      unsafe bytes.storeBytes(of: UInt32(secretByteCount).bigEndian, toByteOffset: attributesEnd + 1, as: UInt32.self)
    }
  }

  /// The parts of a row while their bytes are lent.
  @safe struct Parts {
    let head: Head
    let previous: UnsafeRawBufferPointer
    let nonce: UnsafeRawBufferPointer
    let attributes: UnsafeRawBufferPointer
    let secret: UnsafeRawBufferPointer

    init(
      token: Token, version: UInt64, state: State, oldest: UInt64, previous: UnsafeRawBufferPointer,
      nonce: UnsafeRawBufferPointer, attributes: UnsafeRawBufferPointer, place: Place, secret: UnsafeRawBufferPointer
    ) {
      head = Head(
        token: token, version: version, state: state, oldest: oldest, attributesByteCount: attributes.count,
        place: place, secretByteCount: secret.count)
      unsafe (self.previous, self.nonce, self.attributes, self.secret) = (previous, nonce, attributes, secret)
    }

    /// The digest of the row, which is not kept.
    var digest: Digest {
      unsafe withUnsafeTemporaryAllocation(byteCount: head.byteCount, alignment: 8) { bytes in
        unsafe head.write(to: bytes, previous: previous, nonce: nonce)
        unsafe bytes[Row.attributesOffset..<head.attributesEnd].copy(attributes)
        unsafe bytes[(head.attributesEnd + 5)...].copy(secret)
        return unsafe Hash.digest(.rowHash, UnsafeRawBufferPointer(bytes))
      }
    }
  }
}

extension Row {
  init(_ parts: Parts) {
    unsafe self.init(parts.head, previous: parts.previous, nonce: parts.nonce) { attributes, secret in
      unsafe attributes.copyMemory(from: parts.attributes)
      unsafe secret.copyMemory(from: parts.secret)
    }
  }

  /// Makes a row whose halves are written by `fill`, which receives the places of the attributes and of the secret.
  init(
    _ head: Head, previous: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer,
    filledBy fill: (UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer) -> Void
  ) {
    let encoded = unsafe [UInt8](unsafeUninitializedCapacity: head.byteCount) { buffer, initializedCount in
      initializedCount = head.byteCount
      let bytes = unsafe UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: initializedCount)
      unsafe head.write(to: bytes, previous: previous, nonce: nonce)
      unsafe fill(
        UnsafeMutableRawBufferPointer(rebasing: bytes[Row.attributesOffset..<head.attributesEnd]),
        UnsafeMutableRawBufferPointer(rebasing: bytes[(head.attributesEnd + 5)...]))
    }
    self.init(
      encoded: encoded, token: head.token, version: head.version, state: head.state, oldest: head.oldest,
      place: head.place, attributesByteCount: head.attributesByteCount)
  }

  /// Reads a row encoding.
  ///
  /// - Throws: `damaged(.row, …)`.
  init(parsing encoded: [UInt8]) throws(VaultError) {
    do {
      var reader = ByteReader(encoded)
      let token = try reader.readToken()
      let version = try reader.readCounter()
      let state = State(rawValue: try reader.read(UInt8.self))
      let oldest = try reader.readCounter()
      _ = try reader.read(count: Row.nonceRange.upperBound - Row.previousRange.lowerBound)
      let attributes = try reader.readCounted32(limit: Row.sealedAttributesByteCount.upperBound)
      let place = Place(rawValue: try reader.read(UInt8.self))
      let secret = try reader.readCounted32(limit: Row.inlineByteCount.upperBound)
      try reader.finish()
      guard let state, let place, (state == .removed) == (place == .none), version >= 1, oldest >= 1,
        oldest <= version, Row.sealedAttributesByteCount.contains(attributes.count),
        Row.secretByteCount(place).contains(secret.count)
      else { throw VaultError.damaged(.row, "fields") }
      self.init(
        encoded: encoded, token: token, version: version, state: state, oldest: oldest, place: place,
        attributesByteCount: attributes.count)
    } catch {
      throw error as? VaultError ?? .damaged(.row, "layout")
    }
  }

  /// The same version, with `oldest` as the oldest kept version.
  func keeping(from oldest: UInt64) -> Row {
    var encoded = encoded
    unsafe encoded.withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: oldest.bigEndian, toByteOffset: Row.oldestOffset, as: UInt64.self)
    }
    return Row(
      encoded: encoded, token: token, version: version, state: state, oldest: oldest, place: place,
      attributesByteCount: attributesByteCount)
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

/// The associated data of one half of a row: 88 bytes that tie it to its group, generation, name, version and state.
///
/// A half copied to another token, version or group does not open there (format article, "Rows").
struct RowBinding: Sendable {
  enum Half: UInt32 {
    case attributes = 1
    case secret = 2
  }

  private let start: [UInt8]

  private static let byteCount = 88

  /// The part that is the same for all rows of a group's generation.
  init(groupID: GroupID, generation: UInt64) {
    var writer = ByteWriter(reservingCapacity: 56)
    writer.write(Label.row)
    writer.write(groupID)
    writer.write(generation)
    start = writer.bytes
  }

  /// Lends the 88 bytes for `half` of a row.
  func withBytes<Result, Failure>(
    token: Token, version: UInt64, state: Row.State, half: Half,
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe withUnsafeTemporaryAllocation(byteCount: RowBinding.byteCount, alignment: 8) {
      (bytes) throws(Failure) in
      unsafe start.span.withUnsafeBytes { unsafe bytes.copyMemory(from: $0) }
      unsafe bytes.storeBytes(of: token.high.bigEndian, toByteOffset: 56, as: UInt64.self)
      unsafe bytes.storeBytes(of: token.low.bigEndian, toByteOffset: 64, as: UInt64.self)
      unsafe bytes.storeBytes(of: version.bigEndian, toByteOffset: 72, as: UInt64.self)
      unsafe bytes.storeBytes(of: half.rawValue.bigEndian, toByteOffset: 80, as: UInt32.self)
      unsafe bytes.storeBytes(of: UInt32(state.rawValue).bigEndian, toByteOffset: 84, as: UInt32.self)
      return try unsafe body(UnsafeRawBufferPointer(bytes))
    }
  }
}
