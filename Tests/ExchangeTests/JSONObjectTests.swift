import Ground
import Testing

@testable import Exchange

@Suite struct JSONObjectTests {
  @Test func `members keep their order, and every string is read back unchanged`() {
    var object = JSONObject()
    #expect(object.bytes == Array("{}".utf8))
    let texts = ["", "plain", #"a "quoted" \ text"#, "\u{0}\u{1}\u{1F}\u{7F}\n\r\t", "größe 鍵 \u{2028}"]
    for (index, text) in texts.enumerated() { object.add("key \"\(index)\"", text.utf8) }
    #expect(String(decoding: object.bytes, as: UTF8.self).hasPrefix(#"{"key \"0\"":"","key \"1\"":"plain","key"#))
    #expect(object.bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
    for (index, text) in texts.enumerated() {
      #expect(JSONField.value(of: "key \"\(index)\"", in: object.bytes) == Array(text.utf8))
    }
  }
}
