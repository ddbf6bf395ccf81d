import Ground
import Testing

@testable import Exchange
@testable import ForeignStores

@Suite struct SopsTests {
  /// A substitute for age, which opens the data key of the vectors.
  private func open(_ sealed: [UInt8]) throws(ImportFault) -> [UInt8] {
    guard sealed.starts(with: Array("-----BEGIN AGE".utf8)) else { throw ImportFault("not sealed", .wrongKey) }
    return [UInt8](0..<32)
  }

  @Test(arguments: ["sealed.yaml", "sealed.json"])
  func `a file of sops gives the values with their types and names`(_ name: String) throws {
    let imported = try ForeignFile(name).items(as: .sops, age: open)
    #expect(
      imported.items.map { "\($0.name) \($0.kind) \($0.text)" } == [
        "database/user string ann", "database/password string two\nlines: # ü", "database/port int 5432",
        "database/ratio double 0.5", "database/tls bool true", #"tokens json ["one","two"]"#,
        "plain_unencrypted string seen",
      ])
    #expect(imported.losses == ["'empty' is null"])
  }

  @Test func `an env file of sops gives its values, and an altered one is detected`() throws {
    let imported = try ForeignFile("sealed.env").items(as: .sops, age: open)
    #expect(
      imported.items.map { "\($0.name) \($0.kind) \($0.text)" } == [
        "USER string ann", "PASSWORD string two\nlines: # ü", "NOTE_unencrypted string a = b\nc",
      ])
    let text = String(decoding: try Vectors.bytes("sealed.env"), as: UTF8.self)
    for altered in [text.replacing("a = b", with: "a = c"), text.replacing("USER=", with: "USERS=")] {
      #expect(throws: ImportFault.self) { try ForeignFile(Array(altered.utf8)).items(as: .sops, age: open) }
    }
  }

  @Test func `a swapped, removed or altered value is detected`() throws {
    let text = String(decoding: try Vectors.bytes("sealed.json"), as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    func fault(_ lines: [String]) -> ImportFault.Kind? {
      do throws(ImportFault) {
        _ = try ForeignFile(Array(lines.joined(separator: "\n").utf8)).items(as: .sops, age: open)
        return nil
      } catch { return error.kind }
    }
    #expect(fault(lines) == nil)
    let user = try #require(lines.firstIndex { $0.contains("\"user\"") })
    var removed = lines
    removed.remove(at: user)
    #expect(fault(removed) == .damaged)
    var exchanged = lines
    exchanged[user] = lines[user + 1].replacing("\"password\"", with: "\"user\"")
    #expect(fault(exchanged) == .damaged)
    let plain = lines.map { $0.replacing("\"seen\"", with: "\"changed\"") }
    #expect(fault(plain) == .damaged)
  }

  @Test func `a file of another kind keeps its bytes, and any other value that is not text is refused`() throws {
    let imported = try ForeignFile("sealed-binary.json").items(as: .sops, age: open)
    #expect(imported.items.map { "\($0.name) \($0.kind) \($0.value)" } == ["data bytes [80, 75, 3, 4, 255, 254, 0]"])
    #expect(imported.losses.isEmpty)
    // A sequence changes neither the code nor the keys to which its values are bound.
    let text = String(decoding: try Vectors.bytes("sealed-binary.json"), as: UTF8.self)
    let listed = text.replacing(/"data": ("ENC[^"]*")/) { #""data": [\#($0.1)]"# }
    #expect(listed != text)
    #expect(throws: ImportFault("a value is not text", at: "data", .unsupported)) {
      try ForeignFile(Array(listed.utf8)).items(as: .sops, age: open)
    }
  }

  @Test func `a number enters the code as sops writes it`() throws {
    func code(_ number: String) throws -> [UInt8] {
      var values = SopsValues(key: [], onlySealed: false)
      #expect(try values.opened(.number(number), ["n"]) == .number(number))
      return try values.code()
    }
    #expect(try code("1.10") == code("1.1") && code("-0") == code("0"))
    #expect(try code("1.1") != code("1.2"))
  }

  @Test func `a file that no identity opens and a damaged file have different errors`() throws {
    let file = try ForeignFile("sealed.yaml")
    #expect(throws: ImportFault("no identity of age opens it", .wrongKey)) {
      try file.items(as: .sops) { _ throws(ImportFault) in throw ImportFault("no", .wrongKey) }
    }
    #expect(ForeignFile(Array("a: b\n".utf8)).fault(as: .sops) == .damaged)
  }
}

@Suite struct YAMLReaderTests {
  private func json(_ text: String) throws(ImportFault) -> String {
    String(decoding: try YAMLReader.value(of: text).json, as: UTF8.self)
  }

  @Test func `mappings, sequences and scalars are read as in YAML`() throws {
    let text = """
      ---
      # a comment
      a: plain text  # another
      "b c": 'it''s'
      url: https://a.test:80/#x
      n: 12
      f: 1.5
      zip: 0123
      yes: yes
      on: True
      none:
      nil: ~
      list:
      - one
      - k: v
        l: [1, "two"]
      -
        - inner
      deep:
          x: {}
          y: "tab\\t\\u00fc"
      """
    #expect(
      try json(text)
        == #"{"a":"plain text","b c":"it's","url":"https://a.test:80/#x","n":12,"f":1.5,"zip":"0123","yes":"yes","#
        + #""on":true,"none":null,"nil":null,"list":["one",{"k":"v","l":[1,"two"]},["inner"]],"#
        + #""deep":{"x":{},"y":"tab\tü"}}"#)
  }

  @Test func `blanks around keys, colons and comments belong neither to names nor to values`() throws {
    #expect(try json("user     : admin\n\"q\":\tx\nk\t: 1\n") == #"{"user":"admin","q":"x","k":1}"#)
    #expect(
      try json("a: hunter2\t# note\nb: \thunter2\nc: \t# d\ne:\tf\ng: 'h'\t# i\n")
        == #"{"a":"hunter2","b":"hunter2","c":null,"e":"f","g":"h"}"#)
    #expect(try json("a: |\t# b\n  one\n") == #"{"a":"one\n"}"#)
    #expect(try json("a\t# b: c\n") == #""a""#)
  }

  @Test func `in a folded block, lines that begin with a tab keep their line breaks`() throws {
    #expect(try json("a: >\n  one\n  \ttwo\n  three\n") == #"{"a":"one\n\ttwo\nthree\n"}"#)
  }

  @Test(arguments: ["a: b", "{\"a\":\"b\"}"])
  func `a byte-order mark is no part of the first name`(text: String) throws {
    let imported = try ForeignFile([0xEF, 0xBB, 0xBF] + Array(text.utf8)).items(as: .yaml)
    #expect(imported.items.map(\.name) == ["a"] && imported.items.map(\.text) == ["b"])
  }

  @Test func `blocks of text keep their line breaks and trailing spaces`() throws {
    #expect(try json("a: |\n  one \n   # two\n\n  three\n\nb: 1\n") == #"{"a":"one \n # two\n\nthree\n","b":1}"#)
    #expect(try json("a: |-\n  one\n\n") == #"{"a":"one"}"#)
    #expect(try json("a: |+\n  one\n\n") == #"{"a":"one\n\n"}"#)
    #expect(try json("a: >\n  one\n  two\n\n  three\n   more\n  last\n") == #"{"a":"one two\nthree\n more\nlast\n"}"#)
    #expect(try json("a: |2\n    one\n") == #"{"a":"  one\n"}"#)
  }

  @Test func `blocks keep lines of spaces, and have a last line break only if the file has one`() throws {
    #expect(try json("a: |\n  one") == #"{"a":"one"}"#)
    #expect(try json("a: |+\n  one") == #"{"a":"one"}"#)
    #expect(try json("a: |+\n  one\n ") == #"{"a":"one\n"}"#)
    #expect(try json("a: >\n  one\n  two") == #"{"a":"one two"}"#)
    #expect(try json("a: |+\n\n\nz: 1\n") == #"{"a":"\n\n","z":1}"#)
    #expect(try json("a: |+\n\n") == #"{"a":"\n"}"#)
    #expect(try json("a: |\n\n\nz: 1\n") == #"{"a":"","z":1}"#)
    #expect(try json("a: |+") == #"{"a":""}"#)
    #expect(try json("a: |\n  one\n     \n\nz: 1\n") == #"{"a":"one\n   \n","z":1}"#)
    #expect(try json("a: |\n  one\n   \n  two\n") == #"{"a":"one\n \ntwo\n"}"#)
    #expect(try json("a: |-\n  one\n     ") == #"{"a":"one\n   "}"#)
    #expect(try json("a: |2\n    \n  one\n") == #"{"a":"  \none\n"}"#)
    // The first line has more spaces than the text, so its indentation is unclear.
    #expect(throws: ImportFault.self) { try json("a: |\n    \n  one\n") }
  }

  @Test(arguments: ["1.10", "1234567890.12345678901", "-0", "7", "2.5", "-0.0"])
  func `a number is kept as it is written`(number: String) throws {
    let imported = try ForeignFile(Array("n: \(number)\n".utf8)).items(as: .yaml)
    #expect(
      imported.items
        == (try JSONItems.items(of: #"{"n":\#(number)}"#).items.map { item in
          var item = item
          item.place = "'n'"
          return item
        }))
    #expect(imported.items.map(\.text) == [number])
  }

  @Test func `an empty mapping is a value, like an empty sequence`() throws {
    let imported = try ForeignFile(Array("a:\n  options: {}\n  list: []\n".utf8)).items(as: .yaml)
    #expect(imported.items.map { "\($0.name) \($0.kind) \($0.text)" } == ["a/options json {}", "a/list json []"])
  }

  @Test(arguments: ["+49170123", "0123", "1_000", "1e3", ".5", "1.", "12345678901234567890", "1.5e400", "-", "٣"])
  func `what is no plain number stays text`(text: String) throws {
    #expect(try json("n: \(text)\n") == #"{"n":"\#(text)"}"#)
  }

  @Test(arguments: [
    "a: &x 1", "a: *x", "a: !!str 1", "a: b\n  c", "a: b\na: c", "a: \"open", "a: [b, c]", "a: b\n c: d", "- a\nb: c",
    "a: 1\n---\nb: 2", "a\nb", "? a\n: b", "a:\n\t- b", "a: 'b' c", "a:\n\tb: 1", "- \tb: 1",
    "a:\n  -\tx", "a: |x\n  b",
  ]) func `ambiguous YAML is refused`(_ text: String) {
    #expect(throws: ImportFault.self) { try json(text) }
  }

  @Test func `YAML with any changed byte is read or refused`() throws {
    for bytes in try Vectors.bytes("sealed.yaml").mutations(500) {
      _ = try? YAMLReader.value(of: String(decoding: bytes, as: UTF8.self))
    }
    let deep = (0..<200).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\n")
    #expect(throws: ImportFault.self) { try YAMLReader.value(of: deep) }
    let long = String(repeating: "\n", count: YAMLReader.mostLines)
    #expect(throws: ImportFault("it has more than \(YAMLReader.mostLines) lines", .overLimit)) {
      try YAMLReader.value(of: long)
    }
    #expect(throws: ImportFault.self) { try YAMLReader.value(of: String(repeating: "- ", count: 2_000) + "a") }
  }
}
