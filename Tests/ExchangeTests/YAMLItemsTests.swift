import Testing

@testable import Exchange

@Suite struct YAMLItemsTests {
  private func values(_ text: String) throws -> [String] {
    try YAMLItems.items(of: text).items.map { "\($0.name)=\(String(decoding: $0.value, as: UTF8.self))" }
  }

  @Test func `names and texts are read in each of their forms`() throws {
    let text = """
      --- # a comment
      plain: two words   # and a comment
      url: https://example.com/a#b
      single: 'it''s # no comment'
      "double name" : "a\\tb\\u00e9\\x41\\U0001F511\\\\ \\" \\/"
      'quoted: name': -x
      dash: -1
      empty: ""
      """
    #expect(
      try values(text) == [
        "plain=two words", "url=https://example.com/a#b", "single=it's # no comment", "double name=a\tbéA🔑\\ \" /",
        "quoted: name=-x", "dash=-1", "empty=",
      ])
  }

  @Test func `numbers keep their text, and booleans are recognized`() throws {
    let items = try YAMLItems.items(of: "a: 0123\nb: 1.10\nc: 1e3\nd: true\ne: FALSE\nf: yes\ng: 'true'\n").items
    #expect(
      items.map { String(decoding: $0.value, as: UTF8.self) } == [
        "0123", "1.10", "1e3", "true", "false", "yes", "true",
      ])
    #expect(items.map(\.kind) == [.string, .string, .string, .bool, .bool, .string, .string])
  }

  @Test func `a null is reported as lost`() throws {
    let imported = try YAMLItems.items(of: "a:\nb: null\nc: ~ # none\nd: x\n")
    #expect(imported.items.map(\.name) == ["d"] && imported.items.map(\.place) == ["line 4"])
    #expect(imported.losses == ["line 1: 'a' is null", "line 2: 'b' is null", "line 3: 'c' is null"])
  }

  @Test(arguments: [
    ("a: |\n  x\n   y\n\n  z\nb: 1", "a=x\n y\n\nz\n"), ("a: |-\n  x\n\n", "a=x"), ("a: |+\n  x\n\n", "a=x\n\n"),
    ("a: |\n  x", "a=x"), ("a: |2 # c\n   x\n", "a= x\n"), ("a: |\nb: 1", "a="), ("a: |\n\n  # x\n", "a=\n# x\n"),
    ("a: |\n  x\n # a comment\n", "a=x\n"),
  ])
  func `a literal text keeps its lines`(text: String, value: String) throws {
    #expect(try values(text).first == value)
  }

  @Test(arguments: [
    ("a:\n  b: 1", "line 2"), ("a:\n- b", "line 2"), ("a: [1]", "line 1"), ("a: {b: 1}", "line 1"),
    ("{a: 1}", "line 1"),
    ("a: &x 1", "line 1"), ("a: 1\nb: *x", "line 2"), ("a: !!str 1", "line 1"), ("<<: x", "line 1"),
    ("a: >\n  x", "line 1"),
    ("a: 1\n---\nb: 2", "line 2"), ("a: 1\n...\nb: 2", "line 3"), ("a: 1\na: 2", "line 2"), ("a: b\n  c", "line 2"),
    ("a: 'b\n  c'", "line 1"), ("a: \"b", "line 1"), ("a: \"\\q\"", "line 1"), ("a: \"\\uD800\"", "line 1"),
    ("a: \"\\x4\"", "line 1"),
    ("a: b: c", "line 1"), ("a: 'b' c", "line 1"), ("a", "line 1"), (": a", "line 1"), ("? a", "line 1"),
    ("%YAML 1.2\n---\n", "line 1"),
    ("a: @b", "line 1"), ("a: \u{1}", "line 1"), ("a: |9x", "line 1"), ("a: |\n  x\n y\n", "line 3"),
    ("\ta: b", "line 1"),
    ("--- a: b", "line 1"),
  ])
  func `YAML that is nested or ambiguous is refused with its line`(text: String, place: String) {
    let fault = #expect(throws: ImportFault.self) { try YAMLItems.items(of: text) }
    #expect(fault?.place == place)
  }

  @Test func `no error repeats the text`() {
    let fault = #expect(throws: ImportFault.self) { try YAMLItems.items(of: "a: [S3CRET]") }
    #expect(fault?.message.contains("S3CRET") == false)
  }

  @Test func `other systems' line endings and a byte-order mark are accepted`() throws {
    #expect(try values("\u{FEFF}a: 1\r\nb: 2\rc: |\r\n  x\r\n") == ["a=1", "b=2", "c=x\n"])
  }

  @Test(arguments: [
    "", " ", "plain", "true", "0123", "a: b # c", "it's \"quoted\" \\n", "two\nlines\n",
    "\t\r\0\u{7}\u{7F}\u{85}\u{2028}\u{FEFF}\u{FFFE}",
    "é 🔑 日本", "- x", "~",
  ])
  func `written YAML is read back exactly`(value: String) throws {
    for name in ["DB_PASSWORD", "NO", "null", "a: b"] {
      let line = String(decoding: YAMLItems.line(name, value), as: UTF8.self)
      let items = try YAMLItems.items(of: line).items
      #expect(
        items.map(\.name) == [name] && items.map(\.value) == [Array(value.utf8)] && items.map(\.kind) == [.string])
    }
  }

  @Test func `names that some version of YAML reads as something else are quoted`() {
    #expect(YAMLItems.line("DB_PASSWORD", "x") == Array("DB_PASSWORD: \"x\"\n".utf8))
    #expect(YAMLItems.line("NO", "x") == Array("\"NO\": \"x\"\n".utf8))
    #expect(YAMLItems.line("1_A", "x") == Array("\"1_A\": \"x\"\n".utf8))
  }
}
