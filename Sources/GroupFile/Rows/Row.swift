internal import Sealing

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
  private(set) var encoded: [UInt8]
  package let token: Token
  package let version: UInt64
  package let state: State
  /// The oldest kept version; only meaningful in the current row.
  package private(set) var oldest: UInt64
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
}

extension Row {
  init(
    token: Token, version: UInt64, state: State, oldest: UInt64, previous: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, attributes: UnsafeRawBufferPointer, place: Place, secret: UnsafeRawBufferPointer
  ) {
    unsafe self.init(
      token: token, version: version, state: state, oldest: oldest, previous: previous, nonce: nonce,
      attributesByteCount: attributes.count, place: place, secretByteCount: secret.count
    ) {
      unsafe $0.copyMemory(from: attributes)
      unsafe $1.copyMemory(from: secret)
    }
  }

  /// Makes a row whose halves are written by `fill`, which receives the places of the attributes and of the secret.
  /// Their sizes must be among those above.
  init(
    token: Token, version: UInt64, state: State, oldest: UInt64, previous: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, attributesByteCount: Int, place: Place, secretByteCount: Int,
    filledBy fill: (UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer) -> Void
  ) {
    precondition(previous.count == Digest.byteCount && nonce.count == Nonce.byteCount)
    let attributesEnd = Row.attributesOffset + attributesByteCount
    let byteCount = attributesEnd + 5 + secretByteCount
    // Written in place: a listing creates a row for every item, and appending to an array costs more than hashing it.
    let encoded = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
      initializedCount = byteCount
      let bytes = unsafe UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: byteCount)
      unsafe bytes.storeBytes(of: token.number.bigEndian, as: UInt128.self)
      unsafe bytes.storeBytes(of: version.bigEndian, toByteOffset: 16, as: UInt64.self)
      unsafe bytes[24] = state.rawValue
      unsafe bytes.storeBytes(of: oldest.bigEndian, toByteOffset: Row.oldestOffset, as: UInt64.self)
      unsafe bytes[Row.previousRange].copy(previous)
      unsafe bytes[Row.nonceRange].copy(nonce)
      unsafe bytes.storeBytes(
        of: UInt32(attributesByteCount).bigEndian, toByteOffset: Row.attributesOffset - 4, as: UInt32.self)
      unsafe bytes[attributesEnd] = place.rawValue
      unsafe bytes.storeBytes(of: UInt32(secretByteCount).bigEndian, toByteOffset: attributesEnd + 1, as: UInt32.self)
      unsafe fill(
        UnsafeMutableRawBufferPointer(rebasing: bytes[Row.attributesOffset..<attributesEnd]),
        UnsafeMutableRawBufferPointer(rebasing: bytes[(attributesEnd + 5)...]))
    }
    self.init(
      encoded: encoded, token: token, version: version, state: state, oldest: oldest, place: place,
      attributesByteCount: attributesByteCount)
  }

  /// Reads a row encoding; any defect is `damaged(.row, …)`.
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
    var kept = self
    kept.oldest = oldest
    unsafe kept.encoded.withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: oldest.bigEndian, toByteOffset: Row.oldestOffset, as: UInt64.self)
    }
    return kept
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

/// The place of an item in its group: 16 bytes that only a member can compute from its name.
///
/// `token = MAC(token key, "vault1.token", NFC name)[0..<16]` (format article, "Keys").
package struct Token: Hashable, Sendable, Comparable {
  /// The first and the last eight bytes, big-endian.
  package let high, low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  private init(_ number: UInt128) {
    self.init(high: UInt64(truncatingIfNeeded: number >> 64), low: UInt64(truncatingIfNeeded: number))
  }

  /// The 16 bytes as a big-endian number.
  var number: UInt128 { UInt128(high) << 64 | UInt128(low) }

  /// Takes the first 16 bytes of `digest`.
  package init(prefixOf digest: Bytes32) { self = unsafe digest.withUnsafeBytes { unsafe Token(loadingFrom: $0) } }

  /// Reads 16 bytes from the start of `bytes`, which holds at least that many.
  init(loadingFrom bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count >= Token.byteCount)
    self.init(unsafe UInt128(bigEndian: bytes.loadUnaligned(as: UInt128.self)))
  }

  package static let byteCount = 16

  /// Lends the 16 bytes in order.
  func withUnsafeBytes<Result, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe Swift.withUnsafeBytes(of: number.bigEndian) { (bytes) throws(Failure) in try unsafe body(bytes) }
  }

  package var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }

  package var hexadecimal: String { bytes.hexadecimal }

  /// Reads 32 hexadecimal digits; `nil` for anything else.
  package init?(hexadecimal text: String) {
    guard text.utf8.count == 32, text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
      let number = UInt128(text, radix: 16)
    else { return nil }
    self.init(number)
  }

  package static func < (left: Token, right: Token) -> Bool { left.number < right.number }

  /// The nibble at `depth` 0...31; depth 0 is the most significant one.
  func nibble(at depth: Int) -> Int { Int(truncatingIfNeeded: number &>> UInt128(124 - 4 * depth)) & 15 }

  /// The first `depth` nibbles (0...32), the others zero.
  func prefix(_ depth: Int) -> Token { depth >= 32 ? self : Token(number & ~(UInt128.max &>> UInt128(4 * depth))) }

  /// This prefix with `nibble` set at `depth`.
  func appending(_ nibble: Int, at depth: Int) -> Token { Token(number | UInt128(nibble) &<< UInt128(124 - 4 * depth)) }
}

extension ByteReader {
  mutating func readToken() throws(Failure) -> Token { Token(high: try read(UInt64.self), low: try read(UInt64.self)) }
}

extension [Token] {
  /// The tokens and their positions, sorted by token; equal ones keep their order.
  package func sortedPositions() -> [(token: Token, position: Int)] {
    // Tokens are random, so their first bits distribute them evenly over about as many parts as there are tokens.
    let bits = UInt64(Swift.min(20, Int.bitWidth - count.leadingZeroBitCount))
    func part(_ token: Token) -> Int { Int(token.high >> (64 - bits)) }
    var ends = [Int](repeating: 0, count: 1 << Int(bits) + 1)
    for token in self { ends[part(token) + 1] += 1 }
    var places = [(token: Token, position: Int)](repeating: (Token(high: 0, low: 0), 0), count: count)
    guard ends.max()! <= 64 + count >> 14 else {
      // Many tokens begin alike: somebody has chosen them, or an item has many versions.
      for (position, token) in enumerated() { places[position] = (token, position) }
      places.sort { $0.token == $1.token ? $0.position < $1.position : $0.token < $1.token }
      return places
    }
    for part in ends.indices.dropFirst() { ends[part] += ends[part - 1] }
    for (position, token) in enumerated() {
      // From the end of the part before on, so that in the end each number is the end of its own part.
      var place = ends[part(token)]
      ends[part(token)] += 1
      // Parts have only a few tokens, mostly one.
      while place > 0, places[place - 1].token > token {
        places[place] = places[place - 1]
        place -= 1
      }
      places[place] = (token, position)
    }
    return places
  }
}
