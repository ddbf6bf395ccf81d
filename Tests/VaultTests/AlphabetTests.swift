import Testing
import Vault

struct AlphabetTests {
  @Test(arguments: ["", "a", "aa", "ab a", "a\tb", "é\u{0}"])
  func `an invalid alphabet is refused`(text: String) {
    #expect(throws: VaultError.self) { try Alphabet(text) }
  }

  @Test func `a secret has the requested length and only characters of the alphabet`() throws {
    let text = try Secret.random(length: 4_000, of: Alphabet("xyzé")).exportInsecurelyAsString() ?? ""
    #expect(text.count == 4_000)
    #expect(Set(text) == Set("xyzé"))
  }

  @Test func `every character is about equally likely`() throws {
    let text = try Secret.random(length: 64_000, of: .safe).exportInsecurelyAsString() ?? ""
    let counts = Dictionary(text.map { ($0, 1) }, uniquingKeysWith: +)
    #expect(counts.count == 64)
    // 1,000 are expected of each; this allows eight standard deviations.
    #expect(counts.values.allSatisfy { (750...1_250).contains($0) })
  }

  @Test func `two secrets differ`() throws {
    #expect(
      try Secret.random(length: 20).exportInsecurelyAsString() != Secret.random(length: 20).exportInsecurelyAsString())
  }

  @Test(arguments: [0, -1, 65_537]) func `a length out of range is refused`(length: Int) {
    #expect(throws: VaultError.self) { _ = try Secret.random(length: length) }
  }
}
