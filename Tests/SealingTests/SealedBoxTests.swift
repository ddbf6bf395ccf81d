import Sealing
import TestSupport
import Testing

@Suite struct SealedBoxTests {
  // draft-irtf-cfrg-xchacha-03, appendix A.3.1.
  static let text =
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
  static let binding = [UInt8](hex: "50515253c0c1c2c3c4c5c6c7")
  static let nonce = Nonce([UInt8](countingFrom: 0x40, count: 24))!
  static let box =
    "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216"
    + "cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13"
    + "b52ec0875924c1c7987947deafd8780acf49"

  private func key() throws -> Key { try Key(testing: [UInt8](countingFrom: 0x80, count: 32)) }

  @Test func `the published vector seals and opens`() throws {
    let key = try key()
    let box = SealedBox.seal(Array(Self.text.utf8), key: key, nonce: Self.nonce, binding: Self.binding)
    #expect(box.hex == Self.box)
    #expect(
      try SealedBox.open(box, key: key, nonce: Self.nonce, binding: Self.binding).testBytes == Array(Self.text.utf8))
    #expect(
      try SealedBox.openUnguarded(box, key: key, nonce: Self.nonce, binding: Self.binding) == Array(Self.text.utf8))
  }

  @Test(arguments: [0, 1, 32, 4096, 100_000])
  func `a guarded message is the same after sealing and opening`(count: Int) throws {
    let key = try Key.random()
    let nonce = Nonce()
    let message = [UInt8](countingFrom: 3, count: count)
    let box = SealedBox.seal(message, key: key, nonce: nonce, binding: [])
    #expect(box.count == count + SealedBox.overhead)
    #expect(try SealedBox.open(box, key: key, nonce: nonce, binding: []).testBytes == message)
    #expect(try SealedBox.openUnguarded(box, key: key, nonce: nonce, binding: []) == message)
  }

  @Test func `an empty message has a tag`() throws {
    let key = try key()
    #expect(SealedBox.seal([], key: key, nonce: Self.nonce, binding: []).hex == "1dac8f73146d1e9da796cb7f7221a5df")
  }

  @Test func `a box with any bit flipped is refused`() throws {
    let key = try key()
    let box = SealedBox.seal([1, 2, 3], key: key, nonce: Self.nonce, binding: Self.binding)
    for bit in 0..<box.count * 8 {
      var altered = box
      altered[bit / 8] ^= 1 << (bit % 8)
      expectRefusal(altered, key: key, nonce: Self.nonce, binding: Self.binding)
    }
  }

  @Test(arguments: 0..<19)
  func `a truncated box is refused`(count: Int) throws {
    let key = try key()
    let box = SealedBox.seal([1, 2, 3], key: key, nonce: Self.nonce, binding: Self.binding)
    expectRefusal(Array(box.prefix(count)), key: key, nonce: Self.nonce, binding: Self.binding)
  }

  @Test func `another key, nonce or binding is refused`() throws {
    let key = try key()
    let box = SealedBox.seal([1, 2, 3], key: key, nonce: Self.nonce, binding: Self.binding)
    expectRefusal(box, key: try Key.random(), nonce: Self.nonce, binding: Self.binding)
    expectRefusal(box, key: key, nonce: Nonce(), binding: Self.binding)
    expectRefusal(box, key: key, nonce: Self.nonce, binding: Self.binding + [0])
    expectRefusal(box, key: key, nonce: Self.nonce, binding: [])
    expectRefusal(box + [0], key: key, nonce: Self.nonce, binding: Self.binding)
  }

  private func expectRefusal(_ box: [UInt8], key: borrowing Key, nonce: Nonce, binding: [UInt8]) {
    var refusals: [SealingError] = []
    do { _ = try SealedBox.open(box, key: key, nonce: nonce, binding: binding) } catch { refusals.append(error) }
    do { _ = try SealedBox.openUnguarded(box, key: key, nonce: nonce, binding: binding) } catch {
      refusals.append(error)
    }
    #expect(refusals == [.doesNotOpen, .doesNotOpen])
  }
}

@Suite struct NonceTests {
  @Test func `a nonce has 24 bytes`() {
    #expect(Nonce([UInt8](repeating: 0, count: 23)) == nil)
    #expect(Nonce([UInt8](repeating: 0, count: 25)) == nil)
    #expect(Nonce([UInt8](countingFrom: 9, count: 24))?.bytes == [UInt8](countingFrom: 9, count: 24))
    #expect(Nonce([UInt8](countingFrom: 0, count: 30)[3..<27])?.bytes == [UInt8](countingFrom: 3, count: 24))
  }

  @Test func `random nonces differ`() {
    #expect(Set((0..<100).map { _ in Nonce() }).count == 100)
    #expect(Set(Nonce.random(count: 100) + Nonce.random(count: 100)).count == 200)
    #expect(Nonce.random(count: 0).isEmpty)
  }
}
