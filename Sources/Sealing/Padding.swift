/// Hides the length of a sealed text: u32 length ‖ bytes ‖ zeros (format article, "Rows").
///
/// Sizes are at least 32, multiples of 16 up to 64, of 32 up to 512, then Padmé (Nikitin et al., PURBs, 2019): at most
/// 12 % more, and the size reveals O(log log n) bits.
package enum Padding {
  /// The number of bytes of the length field: 4.
  static let lengthByteCount = 4

  /// The padded size of a text of `count` bytes, including the length field.
  package static func padded(count: Int) -> Int {
    let size = lengthByteCount + count
    switch size {
    case ...32: return 32
    case ...64: return roundUp(size, to: 16)
    case ...512: return roundUp(size, to: 32)
    default:
      let exponent = Int.bitWidth - 1 - size.leadingZeroBitCount
      let significantBits = Int.bitWidth - exponent.leadingZeroBitCount
      return roundUp(size, to: 1 << (exponent - significantBits))
    }
  }

  private static func roundUp(_ size: Int, to unit: Int) -> Int { (size + unit - 1) / unit * unit }

  /// Pads a secret text.
  ///
  /// - Throws: ``SealingError/outOfMemory``.
  package static func pad(_ text: UnsafeRawBufferPointer) throws(SealingError) -> GuardedBytes {
    let result = try GuardedBytes(count: padded(count: text.count))
    unsafe result.withUnsafeMutableBytes { result in
      unsafe result.storeBytes(of: UInt32(text.count).bigEndian, as: UInt32.self)
      unsafe UnsafeMutableRawBufferPointer(rebasing: result[lengthByteCount...]).copyMemory(from: text)
    }
    return result
  }

  /// Pads a text that need not be in guarded memory.
  package static func padUnguarded(_ text: [UInt8]) -> [UInt8] {
    let size = padded(count: text.count)
    var writer = ByteWriter(reservingCapacity: size)
    writer.writeCounted32(text)
    writer.writeZeros(size - lengthByteCount - text.count)
    return writer.bytes
  }

  /// The range of the text in padded bytes.
  ///
  /// - Throws: ``SealingError/wrongPadding`` if the size is wrong for a text of this length, or a byte after the text
  ///   is not zero.
  package static func unpad(_ padded: UnsafeRawBufferPointer) throws(SealingError) -> Range<Int> {
    guard padded.count >= lengthByteCount else { throw .wrongPadding }
    let count = Int(UInt32(bigEndian: unsafe padded.loadUnaligned(as: UInt32.self)))
    guard Padding.padded(count: count) == padded.count else { throw .wrongPadding }
    let text = lengthByteCount..<lengthByteCount + count
    guard unsafe padded[text.upperBound...].allSatisfy({ $0 == 0 }) else { throw .wrongPadding }
    return text
  }

  /// The range of the text in padded bytes that are not secret.
  ///
  /// - Throws: ``SealingError/wrongPadding``, as ``unpad(_:)``.
  package static func textRange(inUnguarded padded: [UInt8]) throws(SealingError) -> Range<Int> {
    try unsafe padded.span.withUnsafeBytes { (padded) throws(SealingError) in try unsafe unpad(padded) }
  }
}
