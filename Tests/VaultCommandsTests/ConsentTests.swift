import Testing

@testable import VaultCommands

/// Commands whose losses cannot be undone ask first.
@Suite struct ConsentTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("group", "create", "team")
    for value in ["1", "2"] { store.run("set", "a", "-g", "team", input: value) }
    store.run("set", "b", "-g", "team", input: "value")
    store.run("remove", "b", "-g", "team")
    store.run("slot", "add", "recovery")
    store.run("app", "issue", "web", "--output", store.folder.file("credential"), "--lifetime", "purged")
  }

  /// The question, and whether the command was carried out.
  private static let commands: [([String], String)] = [
    (
      ["group", "remove", "team"], "the group 'team' would be lost with its 1 item, and only a backup brings it back"
    ),
    (["group", "compact", "team"], "1 removed item of 'team' would be deleted with all versions"),
    (
      ["remove", "a", "-g", "team", "--destroy"],
      "the item 'a' would be lost with its 2 versions, and only a backup brings it back"
    ),
    (["slot", "remove", "1"], "only a recovery code would open the store then"),
    (["slot", "remove", "2"], "only slot 1 (key file) would open the store then"),
    (["app", "uninstall", "web"], "'web' would be lost with all items, and only a backup brings them back"),
  ]

  /// The bytes of every file that holds content of the store.
  private var state: [String] {
    let slots = store.run("slot", "list", "--key-file", store.keyFile).output
    let groups = store.run("group", "list").output
    return [
      slots, groups, store.run("history", "a", "-g", "team").output, store.run("history", "b", "-g", "team").output,
    ]
  }

  @Test(arguments: commands) func `without a terminal nothing is destroyed`(
    arguments: [String], question: String
  ) {
    let before = state
    let refused = Transcript(arguments, environment: store.environment)
    #expect(refused.status == 64)
    #expect(
      refused.errors
        == "vault: error: \(question); there is no terminal to ask\nvault: hint: to do it without asking: --yes\n"
    )
    #expect(state == before)
  }

  @Test(arguments: commands) func `answering no keeps everything`(arguments: [String], question: String) {
    let before = state
    let terminal = PseudoTerminal(columns: 200)
    terminal.type("no\n")
    #expect(store.run(arguments, on: terminal).status == 130)
    #expect(terminal.shown().contains("\(question). Continue? (yes/no) "))
    #expect(state == before)
  }

  @Test(arguments: commands) func `an unclear answer is asked for again`(arguments: [String], question: String) {
    let before = state
    let terminal = PseudoTerminal(columns: 200)
    terminal.type("y\nsure\nno\n")
    #expect(store.run(arguments, on: terminal).status == 130)
    #expect(terminal.shown().contains("please type yes or no: please type yes or no: "))
    #expect(state == before)
    let other = PseudoTerminal(columns: 200)
    other.type("y\nYes\n")
    #expect(store.run(arguments, on: other).status == 0)
  }

  @Test(arguments: commands) func `yes on the terminal, or the option, is enough`(arguments: [String], _: String)
    throws
  {
    let terminal = PseudoTerminal()
    terminal.type("yes\n")
    #expect(store.run(arguments, on: terminal).status == 0)
    let other = try TestStore()
    other.run("group", "create", "team")
    for value in ["1", "2"] { other.run("set", "a", "-g", "team", input: value) }
    other.run("slot", "add", "recovery")
    other.run("app", "issue", "web", "--output", other.folder.file("credential"), "--lifetime", "purged")
    #expect(Transcript(arguments + ["--yes"], environment: other.environment).status == 0)
  }

  @Test func `nothing is asked if nothing would be lost`() {
    store.run("slot", "add", "passphrase", "--new-passphrase-fd", String(Pipe.holding(Array("a phrase\n".utf8))))
    #expect(store.run("slot", "remove", "2").status == 0)
    #expect(store.run("group", "compact", "default").status == 0)
    #expect(store.run("app", "issue", "kept", "--output", store.folder.file("kept")).status == 0)
    #expect(store.run("app", "uninstall", "kept").status == 0)
    #expect(store.run("remove", "a", "-g", "team").status == 0)
    #expect(store.run("group", "remove", "nothing").status == 10)
  }
}
