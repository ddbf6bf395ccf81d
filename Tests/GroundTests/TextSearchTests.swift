import Ground
import Testing

@Suite struct TextSearchTests {
  @Test(arguments: [("key: value", ": ", "value"), ("a::b", ":", ":b"), ("größe = 1", "e = ", "1")])
  func `the first occurrence of a part is found`(_ text: String, _ part: String, _ rest: String) throws {
    let place = try #require(text.place(of: part))
    #expect(text[place.upperBound...] == rest)
  }

  @Test(arguments: ["", "ke", "yk", "keey"]) func `a missing part is not found`(_ text: String) {
    #expect(text.place(of: "key") == nil)
  }

  @Test(arguments: [("a\"b\"", "a\"\"b\"\""), ("\"\u{301}", "\"\"\u{301}"), ("", ""), ("none", "none")])
  func `each occurrence of a part is replaced`(_ text: String, _ result: String) {
    #expect(Array(text.exchanging("\"", for: "\"\"").utf8) == Array(result.utf8))
  }

  @Test(arguments: [
    ("github.com", "hub", true), ("github.com", "hubs", false), ("github", "", true), ("", "a", false),
    ("café", "cafe\u{301}", true), ("cafe\u{301}s", "és", true), ("cafe\u{301}", "cafe", false),
  ])
  func `a text holds a part in any spelling`(_ text: String, _ part: String, _ answer: Bool) {
    #expect(text.holds(part) == answer)
  }
}
