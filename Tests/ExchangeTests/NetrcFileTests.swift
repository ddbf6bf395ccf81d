import Testing

@testable import Exchange

@Suite struct NetrcFileTests {
  private func text(_ host: String, _ username: String, _ password: String) throws(NetrcFile.Fault) -> String {
    var file = NetrcFile()
    try file.add(host: host, username: Array(username.utf8), password: Array(password.utf8))
    return String(decoding: file.bytes, as: UTF8.self)
  }

  @Test(arguments: [
    ("s3cret", "s3cret"), ("a#b$c", "a#b$c"), ("pässword", "pässword"), ("a b", #""a b""#), (#"a"b"#, #""a\"b""#),
    (#"a\b"#, #""a\\b""#), ("it's", #""it's""#),
    ("#hash", ##""#hash""##),
  ]) func `only a text that needs quotes has them`(password: String, written: String) throws {
    #expect(try text("h:8080", "u", password) == "machine h:8080 login u password \(written)\n")
    #expect(try text("h", password, "p") == "machine h login \(written) password p\n")
  }

  @Test(arguments: ["", "a\nb", "a\rb", "a\tb", "\u{0}", "\u{7F}"])
  func `a text that a netrc reader would not read completely is refused`(
    text: String
  ) {
    #expect(throws: NetrcFile.Fault.badText) { try self.text("h", text, "p") }
    #expect(throws: NetrcFile.Fault.badText) { try self.text("h", "u", text) }
  }

  @Test(arguments: ["", "a b", "a\nb", "\"a\"", "a\\", "a'", "#a"]) func `a host that is not a single word is refused`(
    host: String
  ) {
    #expect(throws: NetrcFile.Fault.badHost) { try text(host, "u", "p") }
  }

  @Test func `a line that curl would ignore is refused`() throws {
    let line = try text("h", "u", String(repeating: "p", count: 4_000))
    #expect(line.utf8.count < 4_096)
    #expect(throws: NetrcFile.Fault.tooLong) { try text("h", "u", String(repeating: "p", count: 4_095)) }
  }

  @Test func `a host is written once, and bytes that are not UTF-8 are refused`() throws {
    var file = NetrcFile()
    try file.add(host: "h", username: [0x75], password: [0x70])
    #expect(throws: NetrcFile.Fault.repeatedHost) { try file.add(host: "h", username: [0x75], password: [0x70]) }
    #expect(throws: NetrcFile.Fault.badText) { try file.add(host: "i", username: [0x75], password: [0xFF]) }
    #expect(file.bytes == Array("machine h login u password p\n".utf8))
  }
}
