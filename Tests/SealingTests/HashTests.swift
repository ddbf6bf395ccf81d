import Ground
import Sealing
import TestSupport
import Testing

@Suite struct HashTests {
  // Python: hashlib.blake2b(message, digest_size=32, person=b"vault1.leaf\0\0\0\0\0")
  static let vectors = [
    ([UInt8](), "6e25480f2fe64a75402722a5b1e3e4ab26914ef8b21893d7a8807d4bcdada206"),
    (Array("abc".utf8), "4061134a9f64db05cc520f182ac65455c2d6495487f0e68dac18ffacb3791b48"),
    ([UInt8](countingFrom: 0, count: 256), "c9333f7b7d5f1cd4e46ddfa6c8ad8f461cc09aad1b71d62f742c6f0adcf94490"),
  ]

  @Test(arguments: vectors)
  func `a digest is BLAKE2b-256 with the label as personal value`(message: [UInt8], expected: String) {
    #expect(Hash.digest(Label("vault1.leaf"), message).bytes.hex == expected)
  }
}
