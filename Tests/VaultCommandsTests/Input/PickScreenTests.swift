import Testing

@testable import VaultCommands

@Suite struct PickScreenTests {
  private func screen(_ names: String..., columns: Int = 80, rows: Int = 24) -> PickScreen {
    var screen = PickScreen(names.map { PickScreen.Entry(group: "default", name: $0) })
    screen.resize(columns: columns, rows: rows)
    return screen
  }

  private func type(_ text: String, into screen: inout PickScreen) {
    for character in text { #expect(screen.take(.text(character)) == .nothing) }
  }

  private func names(_ screen: inout PickScreen) -> [String] {
    screen.lines().dropFirst().prefix { !$0.text.isEmpty }.map {
      $0.text.dropFirst(2).trimmingSuffix { $0 == " " }
    }
  }

  @Test func `typing narrows the list to entries with every word, ignoring case`() {
    var screen = screen("web/GitHub", "web/GitLab", "db/password")
    type("HUB we", into: &screen)
    #expect(names(&screen) == ["web/GitHub"])
    #expect(screen.lines()[0].text.hasPrefix("> HUB we") && screen.lines()[0].text.hasSuffix("1 of 3"))
    for _ in 0..<6 { _ = screen.take(.backspace) }
    #expect(names(&screen) == ["web/GitHub", "web/GitLab", "db/password"])
  }

  @Test func `labels, groups and details are searched too`() {
    let detail = PickScreen.Entry.Detail(name: "attribute", value: "env=Production")
    var screen = PickScreen([
      .init(group: "team.shared", name: "a", label: "Ada"), .init(group: "default", name: "b", details: [detail]),
    ])
    type("team ada", into: &screen)
    #expect(names(&screen).first?.hasPrefix("a") == true)
    _ = screen.take(.clear)
    type("production", into: &screen)
    #expect(names(&screen).first?.hasPrefix("b") == true)
  }

  @Test func `keys move the selection, which stays visible and on the list`() {
    var screen = PickScreen((0..<50).map { PickScreen.Entry(group: "default", name: "item-\($0)") })
    screen.resize(columns: 80, rows: 13)
    func chosen() -> String? { screen.lines().first(where: \.isChosen).map { $0.text.trimmingSuffix { $0 == " " } } }
    #expect(chosen() == "> item-0")
    for (key, name) in [
      (PickScreen.Key.up, "item-0"), (.down, "item-1"), (.pageDown, "item-11"), (.end, "item-49"), (.down, "item-49"),
      (.pageUp, "item-39"), (.home, "item-0"),
    ] {
      _ = screen.take(key)
      #expect(chosen() == "> " + name)
    }
  }

  @Test func `values are requested only in the details`() {
    var screen = screen("a", "b")
    _ = screen.take(.down)
    #expect(screen.take(.enter) == .nothing)
    #expect(screen.lines()[0].text == "b")
    #expect(screen.take(.text("c")) == .copy(1))
    #expect(screen.take(.text("u")) == .copyUser(1))
    #expect(screen.take(.text("r")) == .reveal(1))
    #expect(screen.take(.text("o")) == .code(1))
    #expect(screen.take(.text("x")) == .nothing)
    #expect(screen.take(.escape) == .nothing)
    #expect(names(&screen) == ["a", "b"])
  }

  @Test func `a value is shown completely and without control characters until it is hidden`() {
    var screen = screen("a", columns: 20, rows: 12)
    _ = screen.take(.enter)
    screen.show(value: "0123456789012345678901234\nb\u{1B}[2J")
    let lines = screen.lines().map(\.text)
    #expect(lines.contains("0123456789012345678") && lines.contains("901234") && lines.contains("b\\u{1b}[2J"))
    #expect(screen.take(.text("r")) == .nothing)
    #expect(!screen.lines().map(\.text).contains("901234"))
    screen.show(value: "S3CRET")
    _ = screen.take(.escape)
    _ = screen.take(.enter)
    #expect(!screen.lines().map(\.text).contains("S3CRET"))
  }

  @Test func `a code replaces the value and is hidden with the details`() {
    var screen = screen("a")
    _ = screen.take(.enter)
    screen.show(value: "S3CRET")
    screen.show(code: "123456", secondsLeft: 7)
    #expect(screen.showsCode && screen.lines().map(\.text).contains("123456   valid for 7 s"))
    #expect(!screen.lines().map(\.text).contains("S3CRET"))
    _ = screen.take(.escape)
    #expect(!screen.showsCode)
  }

  @Test(arguments: [(80, 24), (20, 5), (200, 60), (1, 1)])
  func `a screen of any size is filled and never exceeded`(columns: Int, rows: Int) {
    var screen = PickScreen(
      (0..<100).map { PickScreen.Entry(group: "g\($0 % 2)", name: "日本語のサイト/\($0)", label: "ラベル🔑") })
    screen.resize(columns: columns, rows: rows)
    for key in [PickScreen.Key.end, .enter] {
      _ = screen.take(key)
      let lines = screen.lines()
      #expect(lines.count == max(rows, 5))
      #expect(lines.allSatisfy { DisplayWidth.of($0.text) < max(columns, 20) })
      #expect(screen.cursor.column < max(columns, 20) && screen.cursor.row < max(rows, 5))
      screen.message = ["copied", "never cleared", "by this program", "no fourth line"]
      #expect(screen.lines().count == max(rows, 5))
    }
  }

  @Test func `a message has up to three lines above the keys, until the next key`() {
    var screen = screen("a", rows: 12)
    screen.message = ["copied", "never cleared", "by this program", "no fourth line"]
    #expect(screen.lines().dropLast().suffix(4).map(\.text) == ["", "copied", "never cleared", "by this program"])
    _ = screen.take(.down)
    #expect(screen.lines().dropLast().suffix(4).allSatisfy { $0.text.isEmpty })
  }

  @Test func `Escape clears the query and then leaves, and Ctrl-C leaves from anywhere`() {
    var screen = screen("a")
    type("a", into: &screen)
    #expect(screen.take(.escape) == .nothing)
    #expect(screen.take(.escape) == .leave)
    _ = screen.take(.enter)
    #expect(screen.take(.suspend) == .suspend)
    #expect(screen.take(.interrupt) == .leave)
  }

  @Test func `keys do nothing if no entry matches`() {
    var screen = screen("a")
    type("zzz", into: &screen)
    for key in [PickScreen.Key.enter, .down, .end, .pageUp] { #expect(screen.take(key) == .nothing) }
    #expect(names(&screen).isEmpty)
  }
}

@Suite struct PickKeysTests {
  private func keys(_ text: String) -> [PickScreen.Key] {
    var keys = PickKeys()
    return keys.take(text.utf8) + keys.end()
  }

  @Test func `bytes are decoded into keys`() {
    #expect(keys("aé日🔑") == [.text("a"), .text("é"), .text("日"), .text("🔑")])
    #expect(
      keys("\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[6~\u{1B}[H\u{1B}[4~") == [.up, .down, .pageUp, .pageDown, .home, .end])
    #expect(keys("\r\u{7F}\u{15}\u{03}\u{1A}") == [.enter, .backspace, .clear, .interrupt, .suspend])
    #expect(keys("\u{1B}") == [.escape] && keys("\u{1B}\u{1B}") == [.escape, .escape])
  }

  @Test func `unknown sequences are ignored`() {
    #expect(keys("\u{1B}[200~x\u{1B}[1;5P\u{1B}xa\u{1}") == [.text("x"), .text("a")])
  }

  @Test func `a key may arrive in pieces`() {
    var keys = PickKeys()
    #expect(keys.take([0x1B]).isEmpty && keys.isWaiting)
    #expect(keys.take([0x5B]).isEmpty && keys.take([0x41]) == [.up])
    #expect(keys.take([0xC3]).isEmpty && keys.take([0xA9]) == [.text("é")])
  }

  @Test func `bytes that are not UTF-8 type nothing`() {
    var keys = PickKeys()
    #expect(keys.take([0xFF, 0xC3, 0x28, 0x61, 0x61, 0x61]).allSatisfy { $0 == .text("a") })
  }
}

extension Substring {
  fileprivate func trimmingSuffix(_ isCut: (Character) -> Bool) -> String {
    var text = self
    while let last = text.last, isCut(last) { text.removeLast() }
    return String(text)
  }
}

extension String {
  fileprivate func trimmingSuffix(_ isCut: (Character) -> Bool) -> String { self[...].trimmingSuffix(isCut) }
}
