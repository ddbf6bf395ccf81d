import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// Tests `vault pick` in tmux, and its refusals.
@Suite struct PickTests {
  private let store: TestStore
  private let session = "vault-\(getpid())-\(UInt32.random(in: 0 ... .max))"

  init() throws {
    store = try TestStore()
    store.run("set", "db/password", input: "s3cret")
    store.run("set", "web/日本語サイト", input: "geheim")
    store.run(
      "set", "web/GitHub", "--type", "json",
      input: #"{"username":"ada","password":"hunter2","totp":"JBSWY3DPEHPK3PXP"}"#)
  }

  private func begin(_ term: String = "xterm", columns: Int = 80, rows: Int = 24) {
    let variables = store.scriptEnvironment.merging(["TERM": term]) { $1 }.map { "'\($0.key)=\($0.value)'" }
    let program = #"echo before; sh -c 'echo $$ >"$folder/pid"; exec "$vault" pick'; echo ended=$?; sleep 60"#
    let script = store.folder.write("pick.sh", Array(program.utf8))
    let shell = "env -i \(variables.joined(separator: " ")) sh '\(script)'"
    store.shell("tmux -L \(session) -f /dev/null new-session -d -x \(columns) -y \(rows) \"\(shell)\"")
    #expect(shows("3 of 3"))
  }

  private func end() { store.shell("tmux -L \(session) kill-server") }
  private func press(_ keys: String...) {
    for key in keys { store.shell("tmux -L \(session) send-keys -t 0 '\(key)'") }
  }
  private var screen: String { store.shell("tmux -L \(session) capture-pane -p -t 0").output }
  private func shows(_ text: String) -> Bool { eventually { screen.contains(text) } }

  @Test(.needsClients) func `an item is found, opened, revealed and hidden, and the screen is restored`() {
    begin()
    defer { end() }
    press("git")
    #expect(shows("1 of 3") && !screen.contains("db/password"))
    press("Enter")
    #expect(shows("r: reveal") && !screen.contains("hunter2"))
    press("r")
    #expect(shows("password: hunter2"))
    press("o")
    #expect(shows("valid for") && !screen.contains("hunter2"))
    press("Escape")
    #expect(shows("type to narrow"))
    press("Escape", "Escape")
    #expect(shows("ended=0"))
    #expect(screen.hasPrefix("before\nended=0\n"))
  }

  @Test(.needsClients) func `all fields of an item are revealed, those of a login first`() {
    store.run("set", "web/GitHub#pin", input: "4711")
    store.run("set", "web/GitHub#url", input: "https://github.com")
    store.run("set", "db/password", "--type", "json", "--replace-fields", input: #"{"host":"h","port":{"tcp":5432}}"#)
    begin()
    defer { end() }
    press("git", "Enter", "r")
    #expect(shows("pin: 4711"))
    #expect(screen.contains("password: hunter2\nurl: https://github.com\ntotp: JBSWY3DPEHPK3PXP\npin: 4711\n"))
    press("Escape")
    #expect(shows("type to narrow"))
    press("C-u", "db", "Enter", "r")
    #expect(shows("host: h\nport: {\"tcp\":5432}\n"))
  }

  @Test(.needsClients, arguments: ["TERM", "HUP", "INT"])
  func `the screen is restored after a signal`(signal: String) {
    begin()
    defer { end() }
    press("db")
    #expect(shows("1 of 3"))
    store.shell(#"kill -\#(signal) "$(cat "$folder/pid")""#)
    #expect(shows("ended=130"))
    #expect(screen.hasPrefix("before\n") && !screen.contains("1 of 3"))
  }

  @Test(.needsClients, arguments: ["vt100", "linux", "screen", "xterm-256color"])
  func `the screen fits a small terminal of any kind`(term: String) {
    begin(term, columns: 40, rows: 10)
    defer { end() }
    #expect(shows("web/日本語サイト"))
    press("日本")
    #expect(shows("1 of 3"))
    press("C-c")
    #expect(shows("ended=0"))
  }

  @Test func `without a terminal, or on a dumb one, the error names an alternative`() {
    let alone = store.run("pick")
    #expect(alone.status == 64 && alone.errors.contains("vault search"))
    store.environment["TERM"] = "dumb"
    let terminal = PseudoTerminal()
    #expect(store.run(["pick"], on: terminal).status == 64)
    #expect(terminal.shown().isEmpty)
  }

  @Test func `no value is opened before the user asks for it`() throws {
    // A value that does not open affects nothing but itself.
    let terminal = PseudoTerminal()
    terminal.type("\u{1B}\u{1B}")
    #expect(store.run(["pick"], on: terminal).status == 0)
    #expect(!terminal.shown().contains("s3cret"))
  }
}
