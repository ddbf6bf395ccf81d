import Glibc
import Testing

@testable import VaultCommands

@Suite struct TableTests {
  private func table() -> Table {
    var table = Table("NAME", "LABEL", "VERSION")
    table.add("db/password", "日本", "3")
    table.add("x", "é", "10")
    return table
  }

  private let plain = Style(descriptor: -1, environment: [:])

  @Test func `a pipe gets tabs, no header and nothing shortened`() throws {
    let descriptor = Pipe.nameless()
    let output = try Output(descriptor: descriptor)
    try table().write(to: output, style: plain)
    try output.flush()
    let text = String(decoding: Pipe.contents(of: descriptor), as: UTF8.self)
    #expect(text == "db/password\t日本\t3\nx\té\t10\n")
  }

  @Test func `a terminal gets columns aligned by display width, not by number of characters`() throws {
    let terminal = PseudoTerminal()
    let output = try Output(descriptor: terminal.descriptor)
    try table().write(to: output, style: plain)
    try output.flush()
    #expect(
      terminal.shown() == """
        NAME         LABEL  VERSION\r
        db/password  日本   3\r
        x            é      10\r

        """)
  }

  @Test func `the widest column is shortened on a narrow terminal`() throws {
    let terminal = PseudoTerminal(columns: 26)
    let output = try Output(descriptor: terminal.descriptor)
    try table().write(to: output, style: plain)
    try output.flush()
    #expect(terminal.shown().hasPrefix("NAME        LABEL  VERSION\r\ndb/passwo…  日本   3\r\n"))
  }

  @Test func `a name cannot break its line or recolour the terminal`() throws {
    var table = Table("NAME")
    table.add("a\nb\u{1B}[31m\u{202E}c\t")
    let descriptor = Pipe.nameless()
    let output = try Output(descriptor: descriptor)
    try table.write(to: output, style: plain)
    try output.flush()
    let text = String(decoding: Pipe.contents(of: descriptor), as: UTF8.self)
    #expect(text == "a\\u{a}b\\u{1b}[31m\\u{202e}c\\u{9}\n")
  }
}

@Suite struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("日本", 4), ("é", 1), ("e\u{301}", 1), ("👍", 2), ("👩‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("ﾊ", 1),
    ("한", 2), ("\u{200B}", 0),
  ])
  func `text has its display width on a terminal`(text: String, width: Int) {
    #expect(DisplayWidth.of(text) == width)
  }

  @Test func `shortened text ends with an ellipsis`() {
    #expect(DisplayWidth.cut("abcdef", to: 4) == "abc…")
    #expect(DisplayWidth.cut("日本語", to: 4) == "日…")
    #expect(DisplayWidth.cut("abcd", to: 4) == "abcd")
  }
}

@Suite struct StyleTests {
  @Test func `colour is used on terminals that support it for users who want it`() {
    let terminal = PseudoTerminal()
    #expect(Style(descriptor: terminal.descriptor, environment: [:]).hasColour)
    #expect(!Style(descriptor: terminal.descriptor, environment: ["NO_COLOR": "1"]).hasColour)
    #expect(Style(descriptor: terminal.descriptor, environment: ["NO_COLOR": ""]).hasColour)
    #expect(!Style(descriptor: terminal.descriptor, environment: ["TERM": "dumb"]).hasColour)
    let file = Pipe.nameless()
    defer { close(file) }
    #expect(!Style(descriptor: file, environment: [:]).hasColour)
  }
}
