import Ground
import Testing

@testable import Exchange

@Suite struct JSONItemsTests {
  private func value(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

  @Test func `every JSON value is read`() throws {
    #expect(
      try value(#" {"a":[null,true,false,-1.5e3,"x\n\u00e9\ud83d\ude00"],"b":{}} "#)
        == .object([
          .init(
            name: "a", value: .array([.null, .bool(true), .bool(false), .number("-1.5e3"), .string("x\né😀")]), line: 1),
          .init(name: "b", value: .object([]), line: 1),
        ]))
  }

  @Test(arguments: [
    "", "{", "[1,]", "{\"a\" 1}", "{a:1}", "\"\\x\"", "\"\\u12\"", "\"\\u+123\"", "\"a\nb\"", "tru", "nulll", "[1 2]",
    "+", "+5", "01", ".5", "1.", "-", "1e", "1e+", "--1", "0x1", "\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\ud83d\"",
    "\"\\ud83dx\"",
    "\"\\ud83d\\n\"", "{\"\\udc00\":1}",
    "\"a\\\"", String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
  ]) func `text that is not JSON is refused`(text: String) {
    #expect(throws: JSONValue.Fault.self) { try value(text) }
    #expect(throws: ImportFault.self) { try JSONItems.items(of: text) }
  }

  @Test func `what another program did not hand out is named and refused`() throws {
    let found = try JSONItems.items(
      of: #"{"items":[{"name":"a","kind":"string","value":"1"}],"unread":["Old mail"],"notKept":["dates (1 item)"]}"#)
    #expect(found.losses == ["dates (1 item)"])
    #expect(found.items.map(\.name) == ["a"])
    #expect(found.refusals == [ImportFault("it is locked or cannot be read", at: "'Old mail'", .locked)])
  }

  @Test(
    arguments: [
      ("1", .int), ("-7", .int), ("9223372036854775807", .int), ("2.5", .double), ("-0.5", .double),
      ("1e+100", .double),
      ("1.10", .json), ("-0", .json), ("9223372036854775808", .json), ("12345678901234567890.123", .json),
      ("1E5", .json),
      ("1e999", .json), ("0.1000000000000000055511151231257827", .json),
    ] as [(String, ImportedItem.Kind)])
  func `a number is kept as it is written`(number: String, kind: ImportedItem.Kind) throws {
    let items = try JSONItems.items(of: #"{"n":\#(number)}"#).items
    #expect(items.map(\.kind) == [kind] && items.map(\.value) == [Array(number.utf8)])
  }

  @Test func `an imported item has every exported field`() throws {
    let text = #"""
      {"group":"g","items":[
      {"name":"a","kind":"int","value":"7","label":"L","attributes":{"k":"v"},"expires":"2099-01-01T00:00:00.250Z"},
      {"name":"b","kind":"archive","type":"Person","valueBase64":"/wA=","label":null,"attributes":{},"extra":1},
      {"name":"c","value":"text"}]}
      """#
    let found = try JSONItems.items(of: text)
    #expect(found.items.map(\.kind) == [.int, .archive, .string])
    #expect(found.items.map(\.value) == [Array("7".utf8), [0xFF, 0], Array("text".utf8)])
    #expect(found.items[0].label == "L" && found.items[0].attributes == ["k": "v"])
    #expect(found.items[0].expires == 4_070_908_800_250)
    #expect(found.items[1].typeName == "Person")
    #expect(found.losses == ["item 2 ('b'): 'extra'"])
  }

  @Test(arguments: [
    ("{\"items\":\n[hunter2]}", "line 2", "this is not JSON"), ("[]", nil, "it is neither an export nor an object"),
    (#"{"items":[1]}"#, "item 1", "it is not an object"), (#"{"items":[{"value":"x"}]}"#, "item 1", "it has no 'name'"),
    (
      #"{"items":[{"name":"a"}]}"#, "item 1 ('a')",
      "it needs one string, 'value' or 'valueBase64'"
    ),
    (
      #"{"items":[{"name":"a","value":7}]}"#, "item 1 ('a')",
      "it needs one string, 'value' or 'valueBase64'"
    ),
    (#"{"items":[{"name":"a","valueBase64":"hunter2"}]}"#, "item 1 ('a')", "its 'valueBase64' is not base64"),
    (#"{"items":[{"name":"a","value":"x","kind":"hunter2"}]}"#, "item 1 ('a')", "its 'kind' is not a known kind"),
    (
      #"{"items":[{"name":"a","value":"x","expires":"hunter2"}]}"#, "item 1 ('a')",
      "its 'expires' is not a time such as 2027-01-31T12:00:00Z"
    ),
    (#"{"items":[{"name":"a","value":"x","kind":7}]}"#, "item 1 ('a')", "its 'kind' is not a string"),
    (#"{"items":[{"name":"a","value":"x","label":7}]}"#, "item 1 ('a')", "its 'label' is not a string"),
    (#"{"items":[{"name":"a","value":"x","type":["hunter2"]}]}"#, "item 1 ('a')", "its 'type' is not a string"),
    (
      #"{"items":[{"name":"a","value":"x","attributes":"hunter2"}]}"#, "item 1 ('a')",
      "its 'attributes' are not an object"
    ),
    ("{\"items\":[],\n\"hunter2\":\"x\"}", "line 2", "an export has only 'group' next to its 'items'"),
  ]) func `a defect is reported with its position`(text: String, place: String?, words: String) {
    #expect(throws: ImportFault(words, at: place)) { try JSONItems.items(of: text) }
  }
}
