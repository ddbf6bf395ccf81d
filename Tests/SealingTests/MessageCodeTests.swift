import TestSupport
import Testing

@testable import Sealing

/// HMAC against the vectors in the document that defines them.
@Suite struct MessageCodeTests {
  /// RFC 4231, sections 4.3 and 4.7.
  @Test func `HMAC-SHA-256 and 512 give the codes of RFC 4231`() {
    let (key, message) = (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
    #expect(
      MessageCode.sha256.code(of: message, key: key)
        == [UInt8](hex: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
    #expect(
      MessageCode.sha512.code(of: message, key: key)
        == [UInt8](
          hex:
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
            + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"))
    let (long, text) = (
      [UInt8](repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
    )
    #expect(
      MessageCode.sha256.code(of: text, key: long)
        == [UInt8](hex: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"))
  }
}
