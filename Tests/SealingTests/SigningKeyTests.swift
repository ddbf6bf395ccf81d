import Ground
import Sealing
import TestSupport
import Testing

@Suite struct SigningKeyTests {
  // RFC 8032, section 7.1, tests 1 and 3.
  static let vectors = [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        + "d25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        + "4a7c15e9716ed28dc027beceea1ec40a"
    ),
  ]

  @Test(arguments: vectors)
  func `the published vectors sign and verify`(seed: String, key: String, message: String, signature: String) throws {
    let signingKey = try SigningKey(seed: try Key(testing: [UInt8](hex: seed)))
    #expect(signingKey.publicKey.bytes.hex == key)
    #expect(signingKey.sign([UInt8](hex: message)).hex == signature)
    #expect(signingKey.publicKey.verifies([UInt8](hex: signature), of: [UInt8](hex: message)))
  }

  @Test func `a flipped bit in the key, signature or message is refused`() throws {
    let signingKey = try SigningKey(seed: try Key.random())
    let message: [UInt8] = [1, 2, 3, 4]
    let signature = signingKey.sign(message)
    func altered(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
      var bytes = bytes
      bytes[bit / 8] ^= 1 << (bit % 8)
      return bytes
    }
    for bit in 0..<512 { #expect(!signingKey.publicKey.verifies(altered(signature, bit), of: message)) }
    for bit in 0..<32 { #expect(!signingKey.publicKey.verifies(signature, of: altered(message, bit))) }
    for bit in 0..<256 {
      #expect(!PublicKey(altered(signingKey.publicKey.bytes, bit))!.verifies(signature, of: message))
    }
  }

  @Test(arguments: [0, 32, 63, 65])
  func `a signature of another size does not verify`(count: Int) throws {
    let signingKey = try SigningKey(seed: try Key.random())
    let signature = signingKey.sign([]) + [0]
    #expect(!signingKey.publicKey.verifies(Array(signature.prefix(count)), of: []))
  }

  @Test func `a second form of the same signature is refused`() {
    // The first vector with the group order added to its scalar: valid without RFC 8032's range check.
    let signature =
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901554c8c7872aa064e049dbb3013fbf29380"
      + "d25bf5f0595bbe24655141438e7a101b"
    #expect(!PublicKey([UInt8](hex: Self.vectors[0].1))!.verifies([UInt8](hex: signature), of: []))
  }

  @Test func `a key of small order verifies nothing`() {
    // With the neutral point as the key, R = neutral and S = 0 "sign" every message for a verifier that does not check
    // the key.
    let neutral = [1] + [UInt8](repeating: 0, count: 31)
    let signature = neutral + [UInt8](repeating: 0, count: 32)
    #expect(!PublicKey(neutral)!.verifies(signature, of: [1, 2, 3]))
  }
}
