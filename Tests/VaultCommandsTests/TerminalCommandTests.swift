import Testing
import Vault

@testable import VaultCommands

/// What commands do on a terminal.
@Suite struct TerminalCommandTests {
  private let store: TestStore
  private let terminal = PseudoTerminal()

  init() throws { store = try TestStore() }

  @Test func `a value ends with a newline only on a terminal`() {
    store.run("set", "a", input: "s3cret")
    #expect(store.run(["get", "a"], on: terminal).status == 0)
    #expect(terminal.shown() == "s3cret\r\n")
    #expect(store.run("get", "a").output == "s3cret")
  }

  @Test(arguments: [[0x61, 0xFF], [0x1B, 0x5B, 0x32, 0x4A], [0x00]])
  func `binary is not written to a terminal`(bytes: [UInt8]) {
    store.run("set", "a", "--file", store.folder.write("value", bytes))
    let result = store.run(["get", "a"], on: terminal)
    #expect(result.status == 64)
    #expect(
      result.errors == """
        vault: error: the value is not text and is not written to a terminal
        vault: hint: use --output FILE, or a pipe

        """)
    #expect(terminal.shown().isEmpty)
    #expect(store.run(["get", "a", "--output", store.folder.file("out")], on: terminal).status == 0)
    #expect(store.folder.read("out") == bytes)
    #expect(store.folder.mode("out") == 0o600)
  }

  @Test(arguments: [
    ["env"], ["env", "--shell", "fish"], ["env", "--shell", "docker"], ["env", "--shell", "github"],
    ["env", "--shell", "dotenv"], ["inject"], ["export", "--to", "dotenv"], ["export", "--to", "csv"],
  ])
  func `values written for other programs do not steer a terminal`(_ command: [String]) {
    store.run("set", "a", input: "text")
    let more = command[0] == "export" ? ["-g", "default", "--yes-print-secrets"] : []
    #expect(store.run(command + more, on: terminal, input: "{{ vault:///a }}").status == 0)
    #expect(terminal.shown().contains("text"))
    store.run("set", "a", input: "\u{1B}]0;owned\u{7}")
    let refused = store.run(command + more, on: terminal, input: "{{ vault:///a }}")
    #expect(refused.status == 64 && terminal.shown().isEmpty, "\(refused.errors)")
    #expect(refused.errors.contains("the value is not text and is not written to a terminal"))
    let piped = Transcript(command + more, input: Array("{{ vault:///a }}".utf8), environment: store.environment)
    #expect(piped.status == 0 && piped.output.contains("owned"))
  }

  /// Marks that reorder text, which a label may contain, after characters that only a value may contain: CSI, OSC, DEL, a line separator.
  private static let label = "a\u{202E}b\u{61C}\u{FEFF}é日"
  private static let steering = "\u{9B}2J\u{9D}0;t\u{7F}\u{2028}" + label

  @Test(arguments: ["list", "info", "history", "get"], ["text", "json"])
  func `JSON on a terminal contains no character that could control it`(command: String, name: String) throws {
    let value = name == "json" ? #"{"password":"\#(Self.steering)"}"# : Self.steering
    let options = [
      "--label", Self.label, "-a", "\(Self.label)=\(Self.label)", "--type", name == "json" ? "json" : "string",
    ]
    let set = Transcript(["set", name] + options, input: Array(value.utf8), environment: store.environment)
    try #require(set.status == 0, "\(set.errors)")
    let arguments = command == "list" ? [command, "--json"] : [command, name, "--json"]
    #expect(store.run(arguments, on: terminal).status == 0)
    let shown = terminal.shown()
    // History shows no label.
    #expect(shown.contains("é日") || command == "history")
    for scalar in shown.unicodeScalars where !["\r", "\n"].contains(scalar) {
      #expect(UTF8Text.onOneLine(String(scalar)) == String(scalar), "\(scalar.value)")
    }
    // A program still reads what was set.
    guard command == "get" else { return }
    let told = try readJSON(store.run("get", name, "--json").output)
    #expect((told["value"] as? String ?? (told["value"] as? [String: String])?["password"]) == Self.steering)
  }

  @Test(arguments: [(40, 60), (80, 80), (200, 100)])
  func `help fits the terminal and wraps lines between words`(columns: Int, width: Int) {
    let terminal = PseudoTerminal(columns: UInt16(columns))
    let whole = Transcript(["history", "--help"]).output
    #expect(store.run(["history", "--help"], on: terminal).status == 0)
    let lines = terminal.shown().split(separator: "\r\n")
    #expect(lines.allSatisfy { $0.count <= width })
    #expect(lines.contains { $0.count > width - 8 })
    let words = { (text: String) in text.split(whereSeparator: \.isWhitespace) }
    #expect(words(lines.joined(separator: "\n")) == words(whole))
  }

  @Test func `the usage under an error and the help behind a pipe fit the terminal`() {
    let words = { (text: String) in text.split(whereSeparator: \.isWhitespace) }
    let terminal = PseudoTerminal(columns: 80)
    for command in [["set"], ["history", "--help"]] {
      let told = Transcript(command, environment: store.environment, terminal: terminal.path)
      let text = told.errors + told.output
      let whole = Transcript(command, environment: store.environment)
      #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
      #expect(words(text) == words(whole.errors + whole.output))
    }
    let set = Transcript(["set"], environment: store.environment, terminal: terminal.path).errors
    #expect(set.contains("[--expires WHEN]"))
    for command in NamedCommand.leaves {
      let usage = command.usage(columns: 60)
      #expect(usage.split(separator: "\n").allSatisfy { $0.count <= 60 }, "\(usage)")
      #expect(words(usage) == words("usage: " + command.about.usage))
    }
  }

  @Test func `tables have a header on a terminal`() {
    store.run("set", "a", "--label", "Label", input: "x")
    #expect(store.run(["list"], on: terminal).status == 0)
    #expect(terminal.shown().contains("NAME  LABEL  VERSION  CHANGED "))
  }

  @Test func `an empty list says so on a terminal, and nothing in a pipe or with JSON`() {
    func told(_ arguments: String...) -> String {
      let piped = Transcript(arguments, environment: store.environment)
      #expect(piped.status == 0 && piped.output.isEmpty && piped.errors.isEmpty, "\(piped)")
      let errors = store.run(arguments, on: terminal).errors
      #expect(terminal.shown().isEmpty)
      return errors
    }
    #expect(told("list") == "there is no item in 'default' yet; to store one: vault set NAME\n")
    #expect(told("search", "x") == "there is no item that matches\n")
    #expect(told("expiring") == "no item has expired or will within this time\n")
    #expect(store.run(["list", "--json"], on: terminal).errors.isEmpty)
    #expect(terminal.shown().hasPrefix("[]"))
    store.run("group", "create", "team")
    let others = "; to list all groups: --all\n"
    #expect(
      told("list", "-g", "team") == "there is no item in 'team' yet; to store one: vault set NAME -g team\(others)")
    #expect(told("list", "--all") == "there is no item yet; to store one: vault set NAME\n")
    #expect(told("list", "x") == "there is no item in 'default' that matches\(others)")
    #expect(told("list", "--removed") == "there is no removed item in 'default'\(others)")
    #expect(told("list", "--sort", "expires") == "there is no item in 'default' that matches\(others)")
  }

  /// The lines of a command on a terminal of this width, without their colours.
  private func lines(_ arguments: [String], columns: UInt16) -> [String] {
    let terminal = PseudoTerminal(columns: columns)
    store.environment["NO_COLOR"] = "1"
    #expect(store.run(arguments, on: terminal).status == 0)
    return terminal.shown().split(separator: "\r\n").map(String.init)
  }

  @Test func `the header of a list names the time zone, and on a narrow terminal no time is cut`() {
    store.run("group", "create", "team.for.everybody")
    let name = "servers/production/database"
    store.run(
      "set", name, "-g", "team.for.everybody", "--label", "A rather long label", "--expires", "2099-01-01", input: "x")
    let wide = lines(["list", "-g", "team.for.everybody"], columns: 120)
    #expect(wide[0].contains(/[ ]{2}CHANGED \([A-Z+-][^ ]*\) +EXPIRES \([A-Z+-][^ ]*\)$/), "\(wide)")
    #expect(wide[1].contains(/[ ]{2}\d\d\d\d-\d\d-\d\d \d\d:\d\d +2\d\d\d-\d\d-\d\d \d\d:\d\d$/), "\(wide)")
    for columns in [80, 60, 50] as [UInt16] {
      for command in [["list", "-g", "team.for.everybody"], ["list", "--all"]] {
        let shown = lines(command, columns: columns)
        #expect(shown.count == 2 && shown.allSatisfy { $0.count <= columns }, "\(shown)")
        #expect(!shown[1].contains(/\d-[^ ]*…|:\d?…/), "\(shown)")
        #expect(command[1] != "--all" || shown[1].hasPrefix("team.for.everybody  "), "\(shown)")
      }
    }
    #expect(lines(["list", "-g", "team.for.everybody"], columns: 80)[1].contains(/\d\d\d\d-\d\d-\d\d \d\d:\d\d/))
  }

  @Test func `paths shows on a narrow terminal what each path is, its backup and all of the path`() {
    for columns in [80, 50] as [UInt16] {
      let shown = lines(["paths"], columns: columns)
      #expect(shown[0].hasPrefix("WHAT        BACKUP  PATH"), "\(shown)")
      #expect(shown.contains { $0.hasPrefix("store       yes     ~/store") }, "\(shown)")
      #expect(shown.contains { $0.hasPrefix("key file    apart   ~/key") }, "\(shown)")
      #expect(!shown.contains { $0.contains("…") }, "\(shown)")
    }
  }

  @Test(arguments: [["verify"], ["backup", "copy"]])
  func `a table of groups fits a narrow terminal, with the groups' whole names`(command: [String]) {
    let named = command.map { $0 == "copy" ? store.folder.file("copy") : $0 }
    let shown = lines(named, columns: 50)
    #expect(shown.allSatisfy { $0.count <= 50 } && shown.contains { $0.hasPrefix("vault.owner  ") }, "\(shown)")
    #expect(!shown.contains { $0.contains("…") }, "\(shown)")
  }

  @Test(arguments: [["info", "a"], ["history", "a"], ["status"], ["group", "show", "default"]])
  func `times are in the machine's time zone on a terminal and in UTC elsewhere`(command: [String]) {
    store.run("set", "a", input: "x")
    if command == ["status"] { store.run("backup", store.folder.file("backup")) }
    #expect(Transcript(command, environment: store.environment).output.contains(/\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/))
    #expect(store.run(command, on: terminal).status == 0)
    let shown = terminal.shown()
    #expect(shown.contains(/\d\d\d\d-\d\d-\d\d \d\d:\d\d [A-Z+-]/), "\(shown)")
    #expect(!shown.contains(/\dT\d\d:\d\d:\d\dZ/))
  }

  @Test func `errors and hints are wrapped between words, and commands in them are not`() {
    var environment = store.environment
    environment["NO_COLOR"] = "1"
    let streams = Streams(output: Pipe.nameless(), errors: terminal.descriptor)
    let status = VaultCommands.run(arguments: ["get", "nothing"], environment: environment, streams: streams)
    #expect(status == 10)
    #expect(
      terminal.shown() == """
        vault: error: no such item in 'default'\r
        vault: hint: list the items: vault list; to bring back a removed item:\r
          vault restore NAME\r

        """)
  }

  @Test func `progress is shown from the second second on, and cleared before other output`() throws {
    let streams = Streams(output: Pipe.nameless(), errors: terminal.descriptor)
    let later = SystemClock.monotonic() + .seconds(3_600)
    let young = try Session(arguments: [], environment: [:], streams: streams, started: later)
    young.showProgress("early")
    _ = young.end(with: Failure.readerGone)
    #expect(terminal.shown().isEmpty)
    let old = try Session(arguments: [], environment: [:], streams: streams, started: .zero)
    old.showProgress("1024 items")
    old.showProgress("2048 items")
    let clear = "\r\u{1B}[K"
    #expect(terminal.shown() == "\(clear)1024 items\(clear)2048 items")
    for clearing in [{ old.say("done") }, { _ = old.terminal }, { _ = old.end(with: Failure.usage("no")) }] {
      clearing()
      #expect(terminal.shown().hasPrefix(clear))
      old.showProgress("more")
      #expect(terminal.shown() == "\(clear)more")
    }
    try old.output.write("x")
    #expect(terminal.shown().isEmpty)
    try old.output.flush()
    #expect(terminal.shown() == clear)
  }

  @Test func `a passphrase is asked for twice to make a store and once to open it`() {
    let environment = [
      "VAULT_HOME": store.folder.file("other"), "VAULT_STATE": store.folder.file("other-state"),
      "HOME": store.folder.path,
    ]
    terminal.type("hunter2\nhunter2\n")
    let made = Transcript(["init"], environment: environment, terminal: terminal.path)
    #expect(made.status == 0)
    // The terminal itself may echo input that is typed before the prompt.
    #expect(terminal.shown().hasSuffix("new passphrase of ~/other: \r\nthe same again: \r\n"))
    terminal.type("hunter2\n")
    #expect(Transcript(["list"], environment: environment, terminal: terminal.path).status == 0)
    #expect(terminal.shown().hasSuffix("passphrase of ~/other, for 'vault list': \r\n"))
    terminal.type("hunter3\n")
    let wrong = Transcript(["list"], environment: environment, terminal: terminal.path)
    #expect(wrong.status == 16)
    #expect(!wrong.errors.contains("hunter"))
    #expect(Transcript(["list"], environment: environment).status == 11)
    let piped = Pipe.holding(Array("hunter2\n".utf8))
    #expect(Transcript(["list", "--passphrase-fd", "\(piped)"], environment: environment).status == 0)
  }

  @Test func `two different passphrases make no store`() {
    let environment = ["VAULT_HOME": store.folder.file("other"), "VAULT_STATE": store.folder.file("other-state")]
    terminal.type("one\ntwo\none\ntwo\none\ntwo\n")
    let made = Transcript(["init"], environment: environment, terminal: terminal.path)
    #expect(made.status == 64)
    #expect(made.errors.hasPrefix("vault: error: the two differ\n"))
    #expect(!store.folder.exists("other"))
  }
}
