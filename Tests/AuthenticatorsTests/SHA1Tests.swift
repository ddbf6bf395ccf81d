import TestSupport
import Testing

@testable import Authenticators

/// SHA-1 and HMAC against the vectors in the documents that define them.
@Suite struct SHA1Tests {
  @Test(arguments: [
    // RFC 3174, section 7.3.
    ("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    ("a", 1_000_000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    (
      "0123456701234567012345670123456701234567012345670123456701234567", 10, "dea356a2cddd90c7a7ecedc5ebb563934f460452"
    ),
    // FIPS 180's empty message.
    ("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
  ]) func `SHA-1 gives the digests of RFC 3174`(text: String, count: Int, digest: String) {
    let message = Array(repeating: Array(text.utf8), count: count).flatMap { $0 }
    #expect(SHA1.digest(message) == [UInt8](hex: digest))
  }

  @Test func `messages with lengths around a block boundary have distinct digests`() {
    let digests = (50...130).map { SHA1.digest([UInt8](repeating: 0x61, count: $0)) }
    #expect(Set(digests).count == digests.count)
    // Computed with sha1sum.
    #expect(digests[5] == [UInt8](hex: "c1c8bbdc22796e28c0e15163d20899b65621d65a"))
    #expect(digests[6] == [UInt8](hex: "c2db330f6083854c99d4b5bfb6e8f29f201be699"))
    #expect(digests[14] == [UInt8](hex: "0098ba824b5c16427bd7a1122a5a442a25ec644d"))
  }

  /// RFC 2202, section 3.
  @Test(arguments: [
    ([UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8), "b617318655057264e28bc0b6fb378c8ef146be00"),
    (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
    (
      [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
      "125d7342b9ac11cd91a39af48aa17b4f63f175d3"
    ),
    (Array(1...25), [UInt8](repeating: 0xCD, count: 50), "4c9007f4026250c6bc8414f9bf50c86c2d7235da"),
    (
      [UInt8](repeating: 0xAA, count: 80), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "aa4ae5e15272d00e95705637ce8a3b55ed402112"
    ),
    (
      [UInt8](repeating: 0xAA, count: 80),
      Array("Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data".utf8),
      "e8e99d0f45237d786d6bbaa7965c7808bbff1a91"
    ),
  ]) func `HMAC-SHA-1 gives the codes of RFC 2202`(key: [UInt8], message: [UInt8], code: String) {
    #expect(SHA1.code(of: message, key: key) == [UInt8](hex: code))
  }
}
