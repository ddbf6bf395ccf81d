import Testing

@testable import Exchange

@Suite struct PassEntryTests {
  private func item(_ text: String) -> [String] {
    let item = PassEntry.item("mail/work", Array(text.utf8))
    return [item.kind.rawValue, String(decoding: item.value, as: UTF8.self), item.label ?? ""]
  }

  @Test(arguments: [
    ("hunter2\n", "hunter2"), ("hunter2", "hunter2"), ("", ""), ("two words\r\n", "two words"), ("x\n\n\n", "x"),
    ("otpauth://totp/x?secret=MY\n", "otpauth://totp/x?secret=MY"), (" spaces ", " spaces "),
  ]) func `an entry of one line becomes a text item`(content: String, value: String) {
    #expect(item(content) == ["string", value, ""])
  }

  @Test func `in an entry of gopass, fields before the first other line become members`() {
    let text = "pw\nuser: ann\nPIN: 7\npassword: other\nfree text\nlate: x"
    let item = PassEntry.item("a", Array(text.utf8), keepsFields: true)
    #expect(
      String(decoding: item.value, as: UTF8.self)
        == #"{"username":"ann","password":"pw","notes":"password: other\nfree text\nlate: x","PIN":"7"}"#)
  }

  @Test(arguments: [
    (
      "totp: JBSWY3DPEHPK3PXP\nPIN: 1234\nhost: db1",
      #"{"password":"pw","totp":"JBSWY3DPEHPK3PXP","PIN":"1234","host":"db1"}"#
    ),
    (
      "url: https://a\nurl: https://b\npassword: x\nPIN: 1\nPIN: 2\ntotp: on the phone\nhost: db1",
      #"{"password":"pw","url":"https://a","notes":"url: https://b\npassword: x\nPIN: 2\ntotp: on the phone","#
        + #""PIN":"1","host":"db1"}"#
    ),
    ("PIN: \nhost: db1", #"{"password":"pw","notes":"PIN: ","host":"db1"}"#),
    (
      "otpauth://totp/x?secret=MY\ntotp: JBSWY3DPEHPK3PXP",
      #"{"password":"pw","notes":"totp: JBSWY3DPEHPK3PXP","totp":"otpauth://totp/x?secret=MY"}"#
    ),
  ]) func `a line of gopass with a name that is taken, or without a value, ends no fields`(lines: String, value: String)
  {
    let item = PassEntry.item("a", Array("pw\n\(lines)".utf8), keepsFields: true)
    #expect(String(decoding: item.value, as: UTF8.self) == value)
  }

  @Test func `an entry of several lines becomes a login with notes`() {
    #expect(
      item("pw\nLogin: ann\nurl:https://a.test/\notpauth://totp/x?secret=MY\nPIN: 7\n\nuser: second\n")
        == [
          "json",
          #"{"username":"ann","password":"pw","url":"https://a.test/","notes":"PIN: 7\n\nuser: second","#
            + #""totp":"otpauth://totp/x?secret=MY"}"#,
          "ann",
        ])
    #expect(
      item("otpauth://totp/x?secret=MY\nuser: ann")
        == ["json", #"{"username":"ann","totp":"otpauth://totp/x?secret=MY"}"#, "ann"])
    #expect(item("pw\nlogin:\nhttps://a.test") == ["json", #"{"password":"pw","notes":"login:\nhttps://a.test"}"#, ""])
  }

  @Test(arguments: [
    "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n", "{\n \"user\": \"ann\"}\n\n", "[1,\n2]",
  ])
  func `a document of several lines is kept as it is`(document: String) {
    #expect(item(document) == ["string", document, ""])
    #expect(item("{x\nuser: ann") == ["json", #"{"username":"ann","password":"{x"}"#, "ann"])
  }

  @Test func `an entry that is not UTF-8 is kept as bytes`() {
    let item = PassEntry.item("key", [0xFF, 0x0A])
    #expect(item.kind == .bytes && item.value == [0xFF, 0x0A] && item.place == "'key'")
  }
}
