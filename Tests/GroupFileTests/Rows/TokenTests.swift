import TestSupport
import Testing

@testable import GroupFile

@Suite struct TokenTests {
  private let token = Token(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)

  @Test func `nibbles are in the order of the bytes`() {
    #expect((0..<32).map { token.nibble(at: $0) } == Array(0..<16) + (0..<16).reversed())
  }

  @Test func `a prefix keeps its nibbles and clears the rest`() {
    for depth in 0...32 {
      let prefix = token.prefix(depth)
      for place in 0..<32 { #expect(prefix.nibble(at: place) == (place < depth ? token.nibble(at: place) : 0)) }
    }
  }

  @Test func `extending a prefix nibble by nibble ends with the token`() {
    var grown = Token(high: 0, low: 0)
    for depth in 0..<32 {
      #expect(grown == token.prefix(depth))
      grown = grown.appending(token.nibble(at: depth), at: depth)
    }
    #expect(grown == token)
  }

  @Test func `tokens compare like their bytes`() {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<1_000 {
      let left = Token(high: generator.next() & 3, low: generator.next() & 3)
      let right = Token(high: generator.next() & 3, low: generator.next() & 3)
      #expect((left < right) == left.bytes.lexicographicallyPrecedes(right.bytes))
    }
  }
}
