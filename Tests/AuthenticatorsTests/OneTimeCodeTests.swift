import Testing
import Vault

@testable import Authenticators

@Suite struct OneTimeCodeTests {
  private static let digits = "1234567890"

  private func key(_ count: Int) -> [UInt8] {
    Array(String(repeating: Self.digits, count: 7).utf8.prefix(count))
  }

  @Test func `counter codes match those of RFC 4226`() {
    let codes = (0...9).map {
      OneTimeCode.text(key: key(20), algorithm: .sha1, digits: 6, counter: $0)
    }
    #expect(
      codes == [
        "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
      ])
  }

  @Test(arguments: [
    (59, "94287082", "46119246", "90693936"), (1_111_111_109, "07081804", "68084774", "25091201"),
    (1_111_111_111, "14050471", "67062674", "99943326"), (1_234_567_890, "89005924", "91819424", "93441116"),
    (2_000_000_000, "69279037", "90698825", "38618901"), (20_000_000_000, "65353130", "77737706", "47863826"),
  ]) func `time codes match those of RFC 6238`(seconds: Int, sha1: String, sha256: String, sha512: String) {
    let time = Timestamp(milliseconds: UInt64(seconds) * 1_000 + 999)
    func code(_ algorithm: OneTimeCode.Algorithm, _ count: Int) -> String {
      OneTimeCode(key: key(count), algorithm: algorithm, digits: 8, period: 30, at: time).text
    }
    #expect(code(.sha1, 20) == sha1)
    #expect(code(.sha256, 32) == sha256)
    #expect(code(.sha512, 64) == sha512)
  }

  @Test(arguments: [(1_511_200_518, "FR8RV"), (1_511_200_714, "9P3VP")]) func `Steam's codes match those of its app`(
    seconds: Int, code: String
  ) {
    // KeePassXC's test has these codes of a throw-away account with the secret 63BEDWCQZKTQWPESARIERL5DTTQFCJTK.
    let key: [UInt8] = [
      0xF6, 0xC2, 0x41, 0xD8, 0x50, 0xCA, 0xA7, 0x0B, 0x3C, 0x92, 0x04, 0x50, 0x48, 0xAF, 0xA3, 0x9C, 0xE0, 0x51, 0x26,
      0x6A,
    ]
    let time = Timestamp(milliseconds: UInt64(seconds) * 1_000)
    #expect(OneTimeCode(key: key, algorithm: .sha1, digits: nil, period: 30, at: time).text == code)
  }

  @Test func `a code says how long it is valid`() {
    func left(_ milliseconds: UInt64, _ period: Int) -> Int {
      OneTimeCode(
        key: key(20), algorithm: .sha1, digits: 6, period: period, at: Timestamp(milliseconds: milliseconds)
      ).secondsLeft
    }
    #expect([left(0, 30), left(29_999, 30), left(30_000, 30), left(59_000, 60)] == [30, 1, 30, 1])
  }
}
