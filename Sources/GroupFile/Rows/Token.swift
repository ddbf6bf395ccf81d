package import Sealing

/// Where an item stands in its group: 16 bytes that only a member can compute from its name.
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

  /// The 16 bytes in order.
  package var bytes: [UInt8] {
    var writer = ByteWriter(reservingCapacity: Token.byteCount)
    writer.write(self)
    return writer.bytes
  }

  /// The 16 bytes as 32 digits.
  package var hexadecimal: String { Token.digits(high) + Token.digits(low) }

  private static func digits(_ half: UInt64) -> String {
    let digits = String(half, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

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

  /// The nibble at `depth` 0...31, the most significant first.
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

extension ByteWriter {
  /// Appends the 16 bytes of `token`.
  mutating func write(_ token: Token) {
    write(token.high)
    write(token.low)
  }
}

extension ByteReader {
  /// Reads 16 bytes as a token.
  mutating func readToken() throws(Failure) -> Token {
    Token(high: try read(UInt64.self), low: try read(UInt64.self))
  }
}
