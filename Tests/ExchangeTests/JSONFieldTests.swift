import Exchange
import Foundation
import Testing

@Suite struct JSONFieldTests {
  private func value(_ key: String, _ text: String) -> String? {
    JSONField.value(of: key, in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `a member's string, number or object is found`() {
    let text = #" { "user" : "ann\n\u00fc\ud83d\udd11" , "port": 5432 ,"tls":{"a":[1,"}"]},"n" :null } "#
    #expect(value("user", text) == "ann\nü🔑")
    #expect(value("port", text) == "5432")
    #expect(value("tls", text) == #"{"a":[1,"}"]}"#)
    #expect(value("n", text) == "null")
    #expect(value("a", text) == nil && value("", text) == nil)
  }

  @Test func `the last of two members with the same key counts, even if its key is escaped`() {
    #expect(value("a", #"{"a":1,"\u0061":2}"#) == "2")
    #expect(value("a\"b", #"{"a\"b":"x"}"#) == "x")
  }

  @Test func `the names of members keep their order, each once`() {
    #expect(JSONField.names(in: Array(#" {"b":{"c":1},"\u0061":[2],"b":"x"} "#.utf8)) == ["b", "a"])
    for text in ["[]", "\"a\"", "{}", "1"] { #expect(JSONField.names(in: Array(text.utf8)).isEmpty) }
  }

  @Test(arguments: [
    (#"{"a":1}"#, #"{"a":"x"}"#), (#" { "a" : {"b":[2]} , "c":3 } "#, #" { "a" : "x" , "c":3 } "#),
    (#"{"a":1,"a":2}"#, #"{"a":1,"a":"x"}"#), ("{}", #"{"a":"x"}"#), (#"{"b":"}"}"#, #"{"b":"}","a":"x"}"#),
  ]) func `setting a member changes no other byte`(text: String, changed: String) {
    let bytes = JSONField.setting("a", to: JSONField.quoted(Array("x".utf8)), in: Array(text.utf8))
    #expect(bytes.map { String(decoding: $0, as: UTF8.self) } == changed)
    #expect(bytes.map { JSONField.kind(of: "a", in: $0) } == .string)
  }

  @Test(arguments: [
    (#"{"a":1}"#, "{}"), (#"{"a":1,"b" : [2, "]"] ,"\u0061":{}, "c\"":"\u00fc"}"#, #"{"b":[2, "]"],"c\"":"\u00fc"}"#),
    (#" { "b" : 1 } "#, #" { "b" : 1 } "#), ("{}", "{}"),
  ]) func `removing a member leaves the others`(text: String, changed: String) {
    let bytes = JSONField.removing(["a", "x"], from: Array(text.utf8))
    #expect(bytes.map { String(decoding: $0, as: UTF8.self) } == changed)
  }

  @Test func `names that differ only in their Unicode form are two members`() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let text = Array("{\"\(composed)\":1,\"\(decomposed)\":2}".utf8)
    #expect(JSONField.names(in: text).map { Array($0.utf8) } == [composed, decomposed].map { Array($0.utf8) })
    let values = [Array(composed.utf8): Array("1".utf8), Array(decomposed.utf8): Array("2".utf8)]
    #expect(JSONField.values(in: text) == values)
    let left = JSONField.removing([decomposed], from: text)
    #expect(left == Array("{\"\(composed)\":1}".utf8))
  }

  @Test func `members are the same in any order, but the text 1 is not the number`() {
    func members(_ text: String) -> [[UInt8]: JSONField.Member] { JSONField.members(in: Array(text.utf8)) }
    #expect(members(#"{"a":1,"b":"x","a":2}"#) == members(#" { "b" : "\u0078", "a":2 }"#))
    #expect(members(#"{"a":1}"#) != members(#"{"a":"1"}"#))
    #expect(members(#"{"a":1,"a":2}"#) != members(#"{"a":1}"#))
    #expect(members("[1]").isEmpty)
  }

  @Test(arguments: ["[]", "\"a\"", "1", "null"])
  func `a member cannot be set in or removed from a value that is not an object`(text: String) {
    #expect(JSONField.setting("a", to: Array("1".utf8), in: Array(text.utf8)) == nil)
    #expect(JSONField.removing(["a"], from: Array(text.utf8)) == nil)
  }

  @Test(arguments: ["[]", "\"a\"", "1", "{}", "null"]) func `a value without members has no field`(text: String) {
    #expect(value("a", text) == nil)
  }

  @Test func `random objects that Foundation writes are read correctly`() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      var object: [String: String] = [:]
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        func text() -> String {
          String(
            (0..<Int.random(in: 0...6, using: &random)).map { _ in
              "a\"\\/\n\u{1}ü🔑{}[],:".randomElement(using: &random)!
            })
        }
        object[text()] = text()
      }
      let data = try JSONSerialization.data(withJSONObject: object)
      for (key, expected) in object {
        #expect(JSONField.value(of: key, in: Array(data)).map { String(decoding: $0, as: UTF8.self) } == expected)
      }
    }
  }
}
