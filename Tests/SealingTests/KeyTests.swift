import Ground
import Sealing
import TestSupport
import Testing

@Suite struct KeyTests {
  // Python: hashlib.blake2b(message, digest_size=32, key=bytes(range(32)), person=b"vault1.token\0\0\0\0")
  static let vectors = [
    ([UInt8](), "3852ea7d0eefdc1145b68e8417e92bc958e704dd385c2ed75bab264895fff23d"),
    (Array("abc".utf8), "7cbaa791acd7d286ed6f06614da3d7261c446a0d1477ecb3ebfb428ef1239bd3"),
    ([UInt8](countingFrom: 0, count: 256), "13951c50e1401a103d0f2de1fcc2cfe099092c3b2bb8e760849feb947e598688"),
  ]

  @Test(arguments: vectors)
  func `a MAC is keyed BLAKE2b-256 with the label as personal value`(message: [UInt8], expected: String) throws {
    let key = try Key(testing: [UInt8](countingFrom: 0, count: 32))
    #expect(key.mac(Label("vault1.token"), message).bytes.hex == expected)
    #expect(try key.derive(Label("vault1.token"), message).testBytes.hex == expected)
  }

  @Test func `a label of 16 bytes is used in full`() throws {
    let key = try Key(testing: [UInt8](countingFrom: 0, count: 32))
    #expect(
      key.mac(Label("exactly16bytes!!"), Array("abc".utf8)).bytes.hex
        == "8d1909c2e1c8463ae1b2a5120d2cc6b00c97541d8e8eaa116d3cc7d0617381a3")
  }

  @Test func `another label gives another MAC`() throws {
    let key = try Key(testing: [UInt8](countingFrom: 0, count: 32))
    #expect(key.mac(Label("vault1.token"), []) != key.mac(Label("vault1.tokem"), []))
  }

  @Test(arguments: [0, 16, 31, 33, 64])
  func `a key has 32 bytes`(count: Int) throws {
    #expect(throws: SealingError.wrongCount(count, expected: 32)) {
      _ = try Key(testing: [UInt8](repeating: 1, count: count))
    }
    #expect(throws: SealingError.wrongCount(count, expected: 32)) { _ = try Key(try GuardedBytes(count: count)) }
  }

  @Test func `random keys differ, and a copy equals its original`() throws {
    let key = try Key.random()
    #expect(try key.testBytes != Key.random().testBytes)
    #expect(key.testBytes == key.copy().testBytes)
  }

  @Test func `a key outlives the holder that it was copied from`() throws {
    let copy = try { () throws(SealingError) in try Key(testing: [UInt8](countingFrom: 0, count: 32)).copy() }()
    #expect(copy.testBytes == [UInt8](countingFrom: 0, count: 32))
  }
}
