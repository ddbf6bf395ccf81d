import Sealing
import TestSupport
import Testing

@Suite struct PassphraseTests {
  // argon2-cffi (the reference implementation): type ID, version 19, one lane, salt 00 01 … 0f.
  static let vectors = [
    ("", 1, 8192, "50445b64a362cf432d175b0fbd484f23f51d3f1f797b60bd490532c2add1d65a"),
    ("password", 1, 8192, "6708f1faf7314dfc009386f5258b181f70f6190926363475fadec630a1bde67a"),
    (
      "correct horse battery staple", 2, 16384,
      "7cfb910f4bd460566328e3bad06e93c339eea042b331c8215ee9b478f9851668"
    ),
  ]

  @Test(arguments: vectors)
  func `a passphrase is stretched with Argon2id`(
    passphrase: String, passes: Int, memoryKiB: Int, expected: String
  ) throws {
    let key = try Passphrase.stretch(
      try GuardedBytes(testing: Array(passphrase.utf8)), salt: [UInt8](countingFrom: 0, count: 16),
      cost: Passphrase.Cost(passes: UInt32(passes), memoryKiB: UInt32(memoryKiB)))
    #expect(key.testBytes.hex == expected)
  }

  @Test(
    arguments: [
      (0, 8192), (17, 8192), (UInt32.max, 8192), (1, 0), (1, 8191), (1, 1_048_577), (3, UInt32.max),
      (5, 1_048_576), (16, 262_145),
    ] as [(UInt32, UInt32)])
  func `costs out of range are refused`(passes: UInt32, memoryKiB: UInt32) throws {
    let cost = Passphrase.Cost(passes: passes, memoryKiB: memoryKiB)
    #expect(!cost.isWithinLimits)
    #expect(throws: SealingError.overLimit) {
      _ = try Passphrase.stretch(try GuardedBytes(count: 4), salt: [UInt8](repeating: 0, count: 16), cost: cost)
    }
  }

  @Test(arguments: [(1, 8192), (16, 8192), (4, 1_048_576), (16, 262_144), (3, 262_144)] as [(UInt32, UInt32)])
  func `costs at the edge of the range are allowed`(passes: UInt32, memoryKiB: UInt32) {
    #expect(Passphrase.Cost(passes: passes, memoryKiB: memoryKiB).isWithinLimits)
  }

  @Test func `new slots cost 3 passes over 256 MiB`() {
    #expect(Passphrase.Cost.moderate == Passphrase.Cost(passes: 3, memoryKiB: 262_144))
  }

  @Test(arguments: [0, 8, 15, 17])
  func `a salt has 16 bytes`(count: Int) throws {
    #expect(throws: SealingError.wrongCount(count, expected: 16)) {
      _ = try Passphrase.stretch(
        try GuardedBytes(count: 4), salt: [UInt8](repeating: 0, count: count),
        cost: Passphrase.Cost(passes: 1, memoryKiB: 8192))
    }
  }

  @Test func `a passphrase of more than 64 KiB is refused`() throws {
    #expect(throws: SealingError.overLimit) {
      _ = try Passphrase.stretch(
        try GuardedBytes(count: 65_537), salt: [UInt8](repeating: 0, count: 16),
        cost: Passphrase.Cost(passes: 1, memoryKiB: 8192))
    }
  }
}
