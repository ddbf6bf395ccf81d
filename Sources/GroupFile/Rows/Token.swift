internal import Ground
package import Sealing

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

  /// Takes the first 16 bytes of `digest`.
  package init(prefixOf digest: Bytes32) {
    self = unsafe digest.withUnsafeBytes { unsafe Token(loadingFrom: $0) }
  }

  /// Reads 16 bytes from the start of `bytes`, which holds at least that many.
  init(loadingFrom bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count >= Token.byteCount)
    high = unsafe UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    low = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  package static let byteCount = 16

  /// Lends the 16 bytes in order.
  func withUnsafeBytes<Result, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let inOrder = (high.bigEndian, low.bigEndian)
    return try unsafe Swift.withUnsafeBytes(of: inOrder) { (bytes) throws(Failure) in try unsafe body(bytes) }
  }

  package var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }

  package var hexadecimal: String { bytes.hexadecimal }

  /// Reads 32 hexadecimal digits; `nil` for anything else.
  package init?(hexadecimal text: String) {
    guard text.utf8.count == 32, text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
      let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.dropFirst(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }

  package static func < (left: Token, right: Token) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }

  /// The nibble at `depth` 0...31; depth 0 is the most significant one.
  func nibble(at depth: Int) -> Int {
    depth < 16 ? Int(high >> (60 - 4 * UInt64(depth)) & 15) : Int(low >> (124 - 4 * UInt64(depth)) & 15)
  }

  /// The first `depth` nibbles (0...32), the others zero.
  func prefix(_ depth: Int) -> Token {
    if depth >= 32 { return self }
    if depth >= 16 { return Token(high: high, low: depth == 16 ? 0 : low & ~(UInt64.max >> (4 * UInt64(depth - 16)))) }
    return Token(high: depth == 0 ? 0 : high & ~(UInt64.max >> (4 * UInt64(depth))), low: 0)
  }

  /// This prefix with `nibble` set at `depth`.
  func appending(_ nibble: Int, at depth: Int) -> Token {
    depth < 16
      ? Token(high: high | UInt64(nibble) << (60 - 4 * UInt64(depth)), low: low)
      : Token(high: high, low: low | UInt64(nibble) << (124 - 4 * UInt64(depth)))
  }
}

extension ByteReader {
  mutating func readToken() throws(Failure) -> Token {
    Token(high: try read(UInt64.self), low: try read(UInt64.self))
  }
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
