import Ground
import Testing

/// What is JSON and what is not, in the manner of JSONTestSuite. Everything that reads JSON shares one scanner.
@Suite struct JSONGrammarTests {
  @Test(arguments: [
    "[]", "[[]   ]", "[\"\"]", "[\"a\"]", "[false]", "[null, 1, \"1\", {}]", "[null]", "[1\n]", " [1]",
    "[1,null,null,2]",
    "[2] ", "[123e65]", "[0e+1]", "[0e1]", "[ 4]", "[-0.0000000000000000000000000000000000000000000000000001]",
    "[20e1]", "[-0]", "[-123]", "[-1]", "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[123.456e78]", "[1e-2]", "[1e+2]",
    "[123]", "[123.456789]", "[1e400]", "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", "{\"asd\":\"sdf\"}",
    "{\"a\":\"b\",\"a\":\"c\"}",
    "{}", "{\"\":0}", "{\"foo\\u0000bar\": 42}", "{\"min\": -1.0e+28, \"max\": 1.0e+28}", "{\"a\":[]}",
    "{\n\"a\": \"b\"\n}",
    "[\"\\u0060\\u012a\\u12AB\"]", "[\"\\uD801\\udc37\"]", "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\\u0000\"]", "[\"\\\"\"]", "[\"a/*b*/c/*d//e\"]", "[\"\\\\a\"]",
    "[\"\\\\n\"]",
    "[\"\\u0012\"]", "[\"\u{FFFF}\"]", "[\"\u{10FFFF}\"]", "[\"\u{7F}\"]", "[\"\u{2028}\u{2029}\"]",
    "[\"new\\u00A0line\"]",
    "\" \"", "\"asd\"", "false", "42", "-0.1", "null", "true", "\"\"", "[\"a\"]\n", "[true]", " [] ",
  ]) func `what the grammar allows is JSON`(_ text: String) throws {
    #expect(JSONScanner.isValid(text, nesting: 64))
    _ = try JSONValue(parsing: text)
  }

  @Test(arguments: [
    "", " ", "[1 true]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]", "[\"x\"", "[x",
    "[3[4]]",
    "[1:2]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[*]", "[\"\"", "[1,", "[1,\n1\n,1",
    "[{}",
    "[fals]", "[nul]", "[tru]", "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]",
    "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[0e+]", "[0e]", "[1.0e+]", "[1.0e-]", "[1.0e]",
    "[1 000.0]",
    "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]", "[9.e+]", "[Inf]", "[NaN]", "[1+2]", "[0x1]", "[0x42]", "[Infinity]",
    "[0e+-1]", "[-123.123foo]", "[-Infinity]", "[-foo]", "[- 1]", "[-012]", "[-.123]", "[-1x]", "[1ea]", "[1.]",
    "[.123]",
    "[1.2a-3]", "[1.8011670033376514H-308]", "[012]", "[\u{FF11}]", "[\"x\", truth]", "{[: \"x\"}", "{\"x\", null}",
    "{\"x\"::\"b\"}", "{\"a\":\"a\" 123}", "{key: 'value'}", "{\"a\" b}", "{:\"b\"}", "{\"a\" \"b\"}", "{\"a\":",
    "{\"a\"", "{1:1}",
    "{null:null,null:null}", "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}", "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}#",
    "{\"a\":\"b\",,\"c\":\"d\"}",
    "{a: \"b\"}", "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }", "{\"a\":\"b\"}#{}", "[\"\\uD800\\u\"]",
    "[\"\\uD800\\u1\"]", "[\\u00A9]",
    "[\"\\x00\"]", "[\"\\\\\\\"]", "[\"\\\t\"]", "[\"\\🌀\"]", "[\"\\\"]", "[\"\\u00A\"]", "[\"\\uD834\\uDd\"]",
    "[\"\\uD800\\uD800\\x\"]",
    "[\"\\a\"]", "[\"\\uqqqq\"]", "[\"\\u-000\"]", "[\"\\u+123\"]", "[\\n]", "['single quote']", "abc", "[\"\\",
    "[\"a\u{0}a\"]", "[\"new\nline\"]",
    "[\"\t\"]", "\"\\UA66D\"", "<.>", "[<null>]", "[1]x", "[1]]", "[\"asd]", "aå", "[True]", "1]", "{\"x\": true,",
    "[][]", "]",
    "{\"\":", "{", "{\"asd\":\"asd\"", "å", "[", "[1", "{]", "[}", "{\"a\":[}", "[\u{C}]", "[\u{2060}]", "\u{FEFF}{}",
    "2@", "{}}", "\"", "*",
    "[\"a\",'b']", "[a", "{\"a\":/*comment*/\"b\"}", "{\"a\": true} \"x\"", "\u{A0}[]",
  ]) func `what the grammar does not allow is refused`(_ text: String) {
    #expect(!JSONScanner.isValid(text, nesting: 64))
    #expect(throws: JSONValue.Fault.self) { try JSONValue(parsing: text) }
  }

  @Test(arguments: ["[\"\\uD800\"]", "[\"\\uDFAA\"]", "[\"\\uD888\\u1234\"]", "[\"\\uD800\\n\"]", "[\"\\uDd1ea\"]"])
  func `half of a surrogate pair is kept as it is written, but is no text`(_ text: String) throws {
    #expect(JSONScanner.isValid(text, nesting: 64))
    #expect(throws: JSONValue.Fault.self) { try JSONValue(parsing: text) }
    var scanner = JSONScanner(Array(text.utf8.dropFirst()))
    let string = try scanner.string()
    #expect(string.isLossy && string.text.starts(with: "\u{FFFD}".utf8))
  }

  @Test func `nesting is bounded, and does not overflow the stack`() {
    let deep = { (count: Int) in String(repeating: "[", count: count) + String(repeating: "]", count: count) }
    #expect(JSONScanner.isValid(deep(512), nesting: 512) && !JSONScanner.isValid(deep(513), nesting: 512))
    #expect(throws: JSONValue.Fault.self) { try JSONValue(parsing: deep(100_000)) }
    #expect(!JSONScanner.isValid(String(repeating: "[", count: 100_000), nesting: 512))
    #expect(!JSONScanner.isValid(String(repeating: "{\"\":", count: 100_000), nesting: .max))
    var scanner = JSONScanner(Array(deep(100_000).utf8))
    #expect((try? scanner.skipValue())?.count == 200_000)
  }

  @Test(arguments: [
    ("[\n\n 1.\n]", 3), ("{\n\"a\":\n\"\\ud83d\"\n}", 3), ("[1\n\n", 3), ("[\n\"a\\\n\"]", 2), ("{\"a\":1,\n\n}", 3),
  ]) func `a fault is reported on the line on which its token begins`(_ text: String, _ line: Int) {
    #expect(throws: JSONValue.Fault.malformed(line: line)) { try JSONValue(parsing: text) }
  }
}
