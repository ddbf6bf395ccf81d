import Exchange
import Testing

@Suite struct EnvironmentFileTests {
  private func values(_ text: String) throws -> [[String]] {
    try EnvironmentFile(text).entries.map { [$0.name, $0.value, String($0.line)] }
  }

  @Test func `names, values, comments and quotes are read`() throws {
    let text = """
      # a comment
      A=1
      export B = two words  # and a comment

      C='single # \\' quoted'
      D="a\\n\\"b\\" \\\\ \\x"
      E="two
      lines"
      F=
      G=a#b
      'quoted name'=x
      H=vault://g/n#f
      """
    #expect(
      try values(text) == [
        ["A", "1", "2"], ["B", "two words", "3"], ["C", "single # ' quoted", "5"], ["D", "a\n\"b\" \\ \\x", "6"],
        ["E", "two\nlines", "7"], ["F", "", "9"], ["G", "a#b", "10"], ["quoted name", "x", "11"],
        ["H", "vault://g/n#f", "12"],
      ])
  }

  @Test func `all line endings and a byte-order mark are accepted`() throws {
    #expect(try values("\u{FEFF}A=1\r\nB=2\rC=3\n") == [["A", "1", "1"], ["B", "2", "2"], ["C", "3", "3"]])
    #expect(try values("A='x\r\ny'\r\nB=\"x\ry\"\n") == [["A", "x\ny", "1"], ["B", "x\ny", "3"]])
    #expect(try values("").isEmpty)
    #expect(try values("A=1") == [["A", "1", "1"]])
  }

  @Test(arguments: ["\u{A0}", "\u{85}", "\u{2028}", "\u{3000}", "\u{1C}", "\u{1F}", "\t \u{202F}"])
  func `Unicode white space around a value is trimmed, as in Python`(blank: String) throws {
    let quoted = "\(blank)B\(blank)=\(blank)'x\(blank)'\(blank)\n"
    let text = "A=\(blank)x\(blank)y\(blank)\n\(quoted)C=x\(blank)#c\nD=\u{200B}x\n"
    #expect(
      try values(text) == [
        ["A", "x\(blank)y", "1"], ["B", "x\(blank)", "2"], ["C", "x", "3"], ["D", "\u{200B}x", "4"],
      ])
  }

  @Test func `a value that may name another one is kept as it is written, and the import says so`() throws {
    let imported = try EnvironmentFile("A=x\nB=\"${A}/$A\"\nC='$A'\n").importedItems
    #expect(imported.items.map { String(decoding: $0.value, as: UTF8.self) } == ["x", "${A}/$A", "$A"])
    #expect(imported.losses == ["line 2: what '${' in 'B' stands for; the text is kept as it is written"])
  }

  @Test(arguments: [
    (#""pa\$\$word""#, #"pa\$\$word"#, #"\$"#), (#""a\`b""#, #"a\`b"#, #"\`"#), ("$HOME/x", "$HOME/x", "$"),
    ("\"a$(id)\"", "a$(id)", "$"), ("`id`", "`id`", "`"), ("# x", "# x", "#"), ("$1", "$1", nil), ("a$", "a$", nil),
    ("'$HOME `id` \\$'", "$HOME `id` \\$", nil), ("#x", "#x", nil),
  ]) func `a value that other programs read otherwise is kept as it is written, and the import says so`(
    text: String, value: String, mark: String?
  ) throws {
    let imported = try EnvironmentFile("A=\(text)\n").importedItems
    #expect(imported.items.map { String(decoding: $0.value, as: UTF8.self) } == [value])
    #expect(
      imported.losses
        == (mark.map { "line 1: what '\($0)' in 'A' stands for; the text is kept as it is written" }.map {
          [$0]
        } ?? []))
  }

  @Test func `a comment after white space leaves the value empty, and the import says so`() throws {
    let text = "A= # comment\nB=\t#c\nC=#c\nD= x # c\n"
    #expect(try values(text).map { $0[1] } == ["", "", "#c", "x"])
    let losses = ["line 1: what follows '#' after 'A='", "line 2: what follows '#' after 'B='"]
    #expect(try EnvironmentFile(text).importedItems.losses == losses)
  }

  @Test(arguments: [
    ("A=1\nhunter2\n", EnvironmentFile.Fault.malformed(line: 2)), ("A='x", .unclosedQuote(line: 1)),
    ("A=1\n\nB=\"x\n", .unclosedQuote(line: 3)), ("A='x' y", .malformed(line: 1)), ("=x", .badName(line: 1)),
    ("A=x\0y", .badValue(line: 1)), ("A b=c", .malformed(line: 1)),
  ]) func `a defect is reported with its line`(text: String, fault: EnvironmentFile.Fault) {
    #expect(throws: fault) { try EnvironmentFile(text) }
  }
}
