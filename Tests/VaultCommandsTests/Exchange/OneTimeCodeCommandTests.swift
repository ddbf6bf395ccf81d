import Testing

@testable import VaultCommands

@Suite struct OneTimeCodeCommandTests {
  private let store: TestStore
  private let url = "otpauth://totp/Example:ann?secret=GEZDGNBVGY3TQOJQ&digits=8&period=86400"

  init() throws { store = try TestStore() }

  @Test func `a code is made from a URL, a login's field or a bare secret`() throws {
    store.run("set", "url", input: url)
    store.run("set", "login", "--type", "json", input: #"{"password":"pw","totp":"\#(url)"}"#)
    let code = store.run("totp", "url")
    #expect(code.status == 0 && code.errors.isEmpty)
    #expect(code.output.contains(/^\d{8}$/))
    #expect(store.run("totp", "login").output == code.output)
    store.run("set", "bare", input: "gezd gnbv gy3t qojq")
    #expect(store.run("totp", "bare").output.contains(/^\d{6}$/))
    let told = try readJSON(store.run("totp", "url", "--json").output)
    #expect(told["code"] as? String == code.output)
    let left = try #require(told["secondsLeft"] as? Int)
    #expect((1...86_400).contains(left) && told["period"] as? Int == 86_400)
  }

  @Test func `a code of Steam has its letters and digits`() throws {
    store.run("set", "steam", input: "otpauth://totp/Steam:x?secret=JBSWY3DPEHPK3PXP&encoder=steam")
    #expect(store.run("totp", "steam").output.contains(/^[2-9BCDFGHJKMNPQRTVWXY]{5}$/))
  }

  @Test func `on a terminal the code ends with a newline`() {
    store.run("set", "url", input: url)
    let terminal = PseudoTerminal()
    #expect(store.run(["totp", "url"], on: terminal).status == 0)
    #expect(terminal.shown().hasSuffix("\r\n"))
  }

  @Test(arguments: [
    ("s3cret!", "string", "the value is neither an otpauth://totp/ URL nor a secret in base32"),
    ("otpauth://hotp/x?secret=s3cret&counter=1", "string", "the value is for counter codes (hotp)"),
    ("otpauth://totp/x?secret=s3cret1", "string", "the URL's secret is not base32"),
    (#"{"password":"s3cret"}"#, "json", "the value has no field 'totp', 'otpauth' or 'otp'"),
  ]) func `an item without a code is an error that does not repeat the value`(
    value: String, type: String, words: String
  ) {
    store.run("set", "a", "--type", type, input: value)
    for options in [[], ["--json"]] {
      let refused = Transcript(["totp", "a"] + options, environment: store.environment)
      #expect(refused.status == 18 && refused.output.isEmpty)
      #expect(refused.errors.contains(words) && !refused.errors.contains("s3cret"))
    }
  }
}
