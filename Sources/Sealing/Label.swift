/// The name of one use of a hash, a key or a signature, zero-padded to 16 bytes (format article, "All labels").
///
/// A label is the BLAKE2b *personal* value of its use, or the first 16 bytes of the signed or bound data. So bytes made
/// for one use are invalid in any other.
package struct Label: Sendable, Hashable {
  // In place rather than in an array: every hash and every MAC begins with one.
  private var first: UInt64 = 0
  private var last: UInt64 = 0

  /// The number of bytes: 16.
  static let byteCount = 16

  /// Makes the label of `name`: 1 to 16 ASCII bytes.
  package init(_ name: StaticString) {
    precondition(name.isASCII && (1...Label.byteCount).contains(name.utf8CodeUnitCount))
    unsafe Swift.withUnsafeMutableBytes(of: &self) { bytes in
      name.withUTF8Buffer { unsafe bytes.copyMemory(from: UnsafeRawBufferPointer($0)) }
    }
  }

  /// Lends the 16 bytes.
  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe Swift.withUnsafeBytes(of: self) { unsafe body($0) }
  }

  /// The ASCII name, zero-padded to 16 bytes.
  package var padded: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}
