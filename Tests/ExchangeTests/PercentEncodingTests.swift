import Testing

@testable import Exchange

@Suite struct PercentEncodingTests {
  @Test func `all bytes can be decoded again, and kept bytes are not escaped`() {
    let all = Array(UInt8.min...UInt8.max)
    let encoded = PercentEncoding.encoded(all) { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
    #expect(encoded.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
    #expect(PercentEncoding.decoded(encoded) == all)
    #expect(PercentEncoding.encoded("a%b/c".utf8) { _ in true } == Array("a%25b/c".utf8))
    #expect(PercentEncoding.decoded("%2f%2F".utf8) == Array("//".utf8))
  }

  @Test(arguments: ["%", "%4", "%g0", "%0g", "a%", "%%41"]) func `an invalid escape is refused`(text: String) {
    #expect(PercentEncoding.decoded(text.utf8) == nil)
  }
}
