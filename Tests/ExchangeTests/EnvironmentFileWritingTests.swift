import Exchange
import Testing

@Suite struct EnvironmentFileWritingTests {
  private func line(_ name: String, _ value: [UInt8]) throws(EnvironmentFile.Line.Fault) -> String {
    let line = try EnvironmentFile.Line(name, value.span)
    var bytes: [UInt8] = []
    line.write(value.span) { bytes.append($0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func line(_ name: String, _ value: String) throws -> String { try line(name, Array(value.utf8)) }

  @Test(arguments: [
    ("A", "x", "A=x\n"), ("A", "", "A=\n"), ("A", "two words", "A='two words'\n"),
    ("A", #"it's \ "so""#, #"A='it\'s \ "so"'"# + "\n"), ("A", "a\r\nb\t\"\\.", #"A="a\r\nb\t\"\\.""# + "\n"),
    ("A", "it's", "A=\"it's\"\n"), ("A", #"a\b c"#, #"A='a\b c'"# + "\n"), ("A", #"\\a \'"#, #"A='\\\a \\\''"# + "\n"),
    ("A", "l1\n\"l2\"\t", "A='l1\n\"l2\"\t'\n"), ("A", "it's\nso", "A=\"it's\nso\"\n"),
    ("db/password", "$x", "db/password='$x'\n"), ("a b", "é", "'a b'='é'\n"), ("it's", "x", "it's=x\n"),
    ("A", #"C:\"#, #"A=C:\"# + "\n"), ("A", "x #y", "A='x #y'\n"), ("export", "x", "export=x\n"),
  ]) func `each name and value is written in one form`(name: String, value: String, text: String) throws {
    #expect(try line(name, value) == text)
  }

  @Test(arguments: [
    ("it's", false), (#"a\b c"#, false), ("a\n\"b\"", false), ("x", false), ("", false), (#"it's $x"#, true),
    (#"\\host"#, true), ("a\r", true), (#"C:\"#, true),
  ]) func `a value that only some readers read exactly is known`(value: String, isOdd: Bool) throws {
    #expect(try EnvironmentFile.Line("A", Array(value.utf8).span).needsEscapes == isOdd)
  }

  @Test func `names and values that no file can hold are refused`() {
    #expect(throws: EnvironmentFile.Line.Fault.notText) { try line("A", [0x61, 0]) }
    #expect(throws: EnvironmentFile.Line.Fault.notText) { try line("A", [0xFF]) }
    #expect(throws: EnvironmentFile.Line.Fault.name) { try line("it's so", "x") }
    #expect(throws: EnvironmentFile.Line.Fault.name) { try line("'", "x") }
    for value in ["a\n\\", " \\", "'\\", "a #\\"] {
      #expect(throws: EnvironmentFile.Line.Fault.endsWithBackslash) { try line("A", value) }
    }
  }

  @Test func `random values written to one file are read back`() throws {
    let parts = ["'", "\"", "\\", "#", " ", "\n", "\r", "\t", "$", "=", "é", "\u{A0}", "\u{2028}", "\u{1}", "n", "a"]
    var generator = SystemRandomNumberGenerator()
    var text = ""
    var values: [String] = []
    for index in 0..<3_000 {
      let value = (0..<Int.random(in: 0...6, using: &generator)).map { _ in parts.randomElement()! }.joined()
      guard let line = try? line("A\(index)", value) else {
        #expect(value.hasSuffix("\\"))
        continue
      }
      text += line
      values.append(value)
    }
    #expect(try EnvironmentFile(text).entries.map { Array($0.value.utf8) } == values.map { Array($0.utf8) })
  }
}
