import Testing

@testable import Exchange

@Suite struct OneTimeSourceTests {
  private let key = Array("12345678901234567890".utf8)

  @Test(arguments: [
    "otpauth://totp/Example:ann@example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Example",
    "OTPAUTH://TOTP/x?Secret=gezdgnbvgy3tqojqgezdgnbvgy3tqojq", "gezd gnbv gy3t qojq gezd gnbv gy3t qojq",
    "otpauth://totp?digits=6&period=30&algorithm=sha1&secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\n",
  ]) func `a URL and a bare secret give the default settings`(text: String) throws {
    var usual = try OneTimeSource("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
    #expect(usual.key == key)
    #expect((usual.algorithm, usual.digits, usual.period) == ("SHA1", 6, 30))
    #expect(try OneTimeSource(text) == usual)
    usual.period = 60
    #expect(try OneTimeSource(text) != usual)
  }

  @Test func `the algorithm, digits and period of a URL are used`() throws {
    let source = try OneTimeSource("otpauth://totp/x?secret=MZXW6YTB&algorithm=SHA512&digits=8&period=60")
    #expect(source.key == Array("fooba".utf8))
    #expect((source.algorithm, source.digits, source.period) == ("SHA512", 8, 60))
  }

  @Test(arguments: [
    "otpauth://totp/Steam:x?secret=MZXW6YTB&encoder=steam", "steam://mzxw6ytb",
    "otpauth://totp/Steam:x?secret=MZXW6YTB&period=30&digits=5&issuer=Steam&encoder=STEAM",
  ]) func `Steam's codes have five characters`(text: String) throws {
    let source = try OneTimeSource(text)
    #expect(source.isSteam && source.digits == 5 && source.key == Array("fooba".utf8))
    #expect(try OneTimeSource(#require(OneTimeSource.url(of: text))) == source)
  }

  @Test(arguments: [
    ("", ""), ("MY======", "f"), ("MZXQ====", "fo"), ("MZXW6===", "foo"), ("MZXW6YQ=", "foob"), ("MZXW6YTB", "fooba"),
    ("MZXW6YTBOI======", "foobar"), ("MZXW6YTBOI", "foobar"), ("mzxw6ytboi", "foobar"),
  ]) func `base32 is decoded as in RFC 4648, with or without padding`(text: String, plain: String) {
    #expect(Base32.decoded(text.utf8) == Array(plain.utf8))
  }

  @Test(arguments: ["M", "MZX", "MZXW6Y", "MZXW6YT1", "MZ=XW6YT", "é"]) func `text that is not base32 is refused`(
    text: String
  ) {
    #expect(Base32.decoded(text.utf8) == nil)
  }

  @Test(arguments: [
    ("hunter2!", OneTimeSource.Fault.noSource), ("", .noSource), ("other", .noSource), ("GEZDGNBVGY3TQOJ", .noSource),
    ("otpauth://push/x?secret=MY", .noSource),
    ("otpauth://hotp/x?secret=MY&counter=1", .countsUses), ("otpauth://totp/x", .noSecret),
    ("otpauth://totp/x?secret=", .noSecret), ("otpauth://totp/x?secret=1", .badSecret),
    ("otpauth://totp/x?secret=MY&digits=9", .badDigits), ("otpauth://totp/x?secret=MY&digits=5", .badDigits),
    ("otpauth://totp/x?secret=MY&period=0", .badPeriod),
    ("otpauth://totp/x?secret=MY&digits=6&encoder=steam", .badDigits),
    ("otpauth://totp/x?secret=MY&encoder=other", .badEncoder), ("steam://1", .badSecret), ("steam://", .noSecret),
    ("steam://MZXW6YTB#x", .noSource),
    ("otpauth://totp/x?secret=MY&algorithm=MD5", .badAlgorithm),
  ]) func `text that is not a source of codes is refused with the reason`(text: String, fault: OneTimeSource.Fault) {
    #expect(throws: fault) { try OneTimeSource(text) }
  }
}
