import Ground
import Sealing
import TestSupport
import Testing

@Suite struct PaddingTests {
  @Test(
    arguments: [
      (0, 32), (1, 32), (28, 32), (29, 48), (44, 48), (45, 64), (60, 64), (61, 96), (92, 96), (93, 128), (508, 512),
      (509, 544), (540, 544), (541, 576), (1020, 1024), (1021, 1088), (1084, 1088), (1085, 1152), (4096, 4352),
      (10_000, 10_240), (65_536, 67_584), (1_048_576, 1_081_344), (2_147_483_648, 2_214_592_512),
    ])
  func `sizes follow the table, then Padmé`(count: Int, size: Int) {
    #expect(Padding.padded(count: count) == size)
  }

  @Test func `a padded size holds the text, never decreases as the text grows, and is its own padded size`() {
    var last = 0
    for count in 0..<20_000 {
      let size = Padding.padded(count: count)
      #expect(size >= count + 4 && size >= last)
      #expect(Padding.padded(count: size - 4) == size)
      last = size
    }
  }

  @Test(arguments: [0, 1, 28, 29, 64, 508, 509, 5000])
  func `a text is the same after padding and unpadding`(count: Int) throws {
    let text = [UInt8](countingFrom: 1, count: count)
    let padded = Padding.padUnguarded(text)
    #expect(Array(padded.prefix(4)) == [0, 0, UInt8(count >> 8), UInt8(count & 0xff)])
    #expect(padded.count == Padding.padded(count: count))
    #expect(Array(padded[try unsafe padded.withUnsafeBytes { try unsafe Padding.unpad($0) }]) == text)
    #expect(try unsafe text.withUnsafeBytes { try unsafe Padding.pad($0) }.testBytes == padded)
  }

  @Test(arguments: 0..<4) func `bytes too few for a length are refused`(count: Int) {
    expectRefusal([UInt8](repeating: 0, count: count))
  }

  @Test func `a byte after the text that is not zero is refused`() {
    for offset in 7..<32 {
      var padded = Padding.padUnguarded([1, 2, 3])
      padded[offset] = 1
      expectRefusal(padded)
    }
  }

  @Test(arguments: [4, 7, 16, 31, 33, 48, 64])
  func `a size that is wrong for the text is refused`(size: Int) {
    expectRefusal([0, 0, 0, 3] + [UInt8](repeating: 0, count: size - 4))
  }

  @Test(arguments: [29, 64, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
  func `a length beyond the bytes is refused`(length: UInt32) {
    var writer = ByteWriter()
    writer.write(length)
    expectRefusal(writer.bytes + [UInt8](repeating: 0, count: 28))
  }

  private func expectRefusal(_ padded: [UInt8]) {
    #expect(throws: SealingError.wrongPadding) {
      _ = try unsafe padded.withUnsafeBytes { try unsafe Padding.unpad($0) }
    }
  }
}
