package import Sealing

extension Array where Element == UInt8 {
  /// The bytes that `text` gives in hexadecimal digits.
  package init(hex text: String) {
    let digits = text.compactMap(\.hexDigitValue)
    precondition(digits.count == text.count && text.count.isMultiple(of: 2))
    self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  /// `count` bytes that count up from `first`.
  package init(countingFrom first: UInt8, count: Int) {
    self = (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
  }

  /// The bytes in lower-case hexadecimal digits.
  package var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

extension Key {
  /// A key of known bytes, only for tests.
  package init(testing bytes: [UInt8]) throws(SealingError) {
    self = try unsafe bytes.span.withUnsafeBytes { (bytes) throws(SealingError) in try unsafe Key(copying: bytes) }
  }

  /// The key's bytes, only for tests.
  package var testBytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}

extension GuardedBytes {
  /// A copy of `bytes`.
  package convenience init(testing bytes: [UInt8]) throws(SealingError) {
    try self.init(count: bytes.count)
    unsafe withUnsafeMutableBytes { unsafe $0.copyBytes(from: bytes) }
  }

  /// The bytes, only for tests.
  package var testBytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}

extension Nonce {
  package init?(_ bytes: [UInt8]) { self.init(bytes[...]) }
}
