import Exchange
import Testing

@Suite struct TextExchangeTests {
  @Test(arguments: [("a\"b\"", "a\"\"b\"\""), ("\"\u{301}", "\"\"\u{301}"), ("", ""), ("none", "none")])
  func `each occurrence of a part is replaced`(_ text: String, _ result: String) {
    #expect(Array(text.exchanging("\"", for: "\"\"").utf8) == Array(result.utf8))
  }
}
