import Sealing
import Testing

@Suite struct SodiumTests {
  @Test func `the version of libsodium has three numbers`() {
    #expect(Sodium.version.split(separator: ".").compactMap { Int($0) }.count == 3)
  }

  @Test func `random bytes have the requested count and differ each time`() {
    #expect(Randomness.bytes(0).isEmpty)
    #expect(Randomness.bytes(33).count == 33)
    #expect(Randomness.bytes(16) != Randomness.bytes(16))
  }
}
