import Testing

@testable import Exchange

@Suite struct YAMLLineTests {
  private func line(_ name: String, _ value: String) -> String {
    String(decoding: YAMLLine.of(name, value), as: UTF8.self)
  }

  @Test(arguments: [
    ("", #""""#), ("plain", #""plain""#), ("true", #""true""#), (#"a: b # "c" \"#, #""a: b # \"c\" \\""#),
    ("two\nlines\n", #""two\nlines\n""#), ("\t\r", #""\t\r""#), ("é 🔑 日本", #""é 🔑 日本""#),
    ("\0\u{7F}\u{85}\u{2028}\u{FEFF}\u{FFFE}", #""\u0000\u007F\u0085\u2028\uFEFF\uFFFE""#),
  ])
  func `a value is written as one line in double quotes`(value: String, written: String) {
    #expect(line("NAME", value) == "NAME: \(written)\n")
  }

  @Test func `names that some version of YAML does not read as text are quoted`() {
    #expect(line("DB_PASSWORD2", "x").hasPrefix("DB_PASSWORD2: "))
    for name in ["NO", "null", "y", "1_A", "a: b", ""] { #expect(line(name, "x") == "\"\(name)\": \"x\"\n") }
  }
}
