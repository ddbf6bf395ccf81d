import Ground
import Sealing
import TestSupport
import Testing

@Suite struct RecipientKeyTests {
  private func key(_ byte: UInt8) throws -> RecipientKey {
    try RecipientKey(seed: try Key(testing: [UInt8](repeating: byte, count: 32)))
  }

  // RFC 7748, section 6.1: the key pair of a seed is the X25519 key of the first half of its SHA-512.
  @Test func `the same seed gives the same pair`() throws {
    #expect(try key(7).publicKey == key(7).publicKey)
    #expect(try key(7).publicKey != key(8).publicKey)
    #expect(
      try key(0).publicKey.bytes.hex == "5bf55c73b82ebe22be80f3430667af570fae2556a6415e6b30d4065300aa947d")
  }

  @Test(arguments: [0, 1, 100, 70_000])
  func `a sealed message opens with the key, and two boxes of it differ`(count: Int) throws {
    let key = try key(1)
    let message = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let box = try RecipientKey.seal(message, to: key.publicKey)
    #expect(box.count == count + RecipientKey.overhead)
    #expect(try key.openUnguarded(box[...]) == message)
    #expect(try RecipientKey.seal(message, to: key.publicKey) != box)
  }

  @Test func `another key, a flipped bit and a cut box do not open`() throws {
    let key = try key(1)
    let box = try RecipientKey.seal([1, 2, 3], to: key.publicKey)
    #expect(throws: SealingError.doesNotOpen) { try self.key(2).openUnguarded(box[...]) }
    for bit in 0..<box.count * 8 {
      var altered = box
      altered[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: SealingError.doesNotOpen) { try key.openUnguarded(altered[...]) }
    }
    for count in [0, 1, 32, 47, 48, box.count - 1] {
      #expect(throws: SealingError.doesNotOpen) { try key.openUnguarded(box.prefix(count)) }
    }
  }

  @Test func `a public key of low order is refused`() {
    for key in [[UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31)] {
      #expect(throws: SealingError.doesNotOpen) { try RecipientKey.seal([1], to: Bytes32(key)!) }
    }
  }
}
