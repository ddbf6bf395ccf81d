import Testing

@testable import VaultCommands

/// Habits that people bring from other tools.
@Suite struct HabitTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("group", "create", "team")
    store.run("set", "db/password", "--label", "Orders", input: "hunter2")
    store.run("set", "db/user", input: "ann")
    store.run("set", "api/key", "-g", "team", "-a", "env=prod", "--expires", "2099-01-01", input: "k")
    store.run(
      "set", "web/mail", "-g", "team", "--type", "json", "--expires", "2098-01-01",
      input: #"{"username":"Ann@Example.org","url":"https://mail.example","password":"github"}"#)
  }

  private func names(_ arguments: String...) -> [String] {
    Transcript(arguments, environment: store.environment).output.split(separator: "\n").map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false).prefix(2).joined(separator: " ")
    }
  }

  @Test(arguments: [
    (["ls"], ["list"]), (["cat", "db/user"], ["get", "db/user"]), (["show", "db/user"], ["get", "db/user"]),
    (["help", "rm"], ["help", "remove"]), (["ls", "--help"], ["list", "--help"]),
  ]) func `an alias does the same as its command`(alias: [String], command: [String]) {
    let (first, second) = (
      Transcript(alias, environment: store.environment), Transcript(command, environment: store.environment)
    )
    #expect(first.status == 0 && first.outputBytes == second.outputBytes && !first.outputBytes.isEmpty)
  }

  @Test func `attributes can be matched by the beginning of their value`() {
    store.run("set", "x", "-a", "env=production", input: "x")
    store.run("set", "y", "-a", "env=test", input: "y")
    for (attribute, found) in [("env=prod*", ["x "]), ("env=*", ["x ", "y "]), ("env=prod", []), ("envy=*", [])] {
      #expect(names("list", "-a", attribute) == found, "\(attribute)")
    }
    #expect(names("search", "k", "-a", "env=pro*") == ["team api/key"])
  }

  @Test func `a group is written as a YAML object of strings`() {
    store.run("set", "y/A", input: "two\nlines\n")
    store.run("set", "y/no", input: "0123")
    let written = store.run("env", "--prefix", "y/", "--shell", "yaml").output
    #expect(written == "A: \"two\\nlines\\n\"\n\"NO\": \"0123\"\n")
  }

  @Test func `a value is drawn as a QR code if it fits`() {
    let drawn = store.run("get", "db/password", "--qr")
    #expect(drawn.status == 0 && drawn.output.hasPrefix(String(repeating: "█", count: 29) + "\n"))
    store.run("set", "long", input: String(repeating: "x", count: 2_954))
    let long = store.run("get", "long", "--qr")
    #expect(long.status == 20 && long.output.isEmpty)
    #expect(store.run("get", "db/password", "--qr", "--json").status == 64)
    let terminal = PseudoTerminal(columns: 20)
    #expect(store.run(["get", "db/password", "--qr"], on: terminal).status == 64)
  }

  @Test func `items can be copied, moved and removed with the short command names`() {
    #expect(store.run("cp", "db/user", "--as", "a").status == 0)
    #expect(store.run("mv", "a", "--as", "b").status == 0)
    #expect(store.run("get", "b").output == "ann")
    #expect(store.run("rm", "b").status == 0)
    #expect(store.run("get", "b").status == 10)
  }

  @Test func `all groups that can be opened are listed and searched`() {
    #expect(
      names("list", "--all") == ["default db/password", "default db/user", "team api/key", "team web/mail"])
    #expect(names("list", "--all", "--match", "ORDERS") == ["default db/password"])
    #expect(names("list", "--all", "-a", "env=prod") == ["team api/key"])
    #expect(names("search", "prod") == ["team api/key"])
    #expect(names("search", "MAIL.EXAMPLE") == ["team web/mail"])
    #expect(names("search", "ann@example") == ["team web/mail"])
    // A search must not find a password.
    #expect(names("search", "github").isEmpty)
    #expect(store.run("list", "--all", "-g", "team").status == 64)
  }

  @Test func `an application searches the groups that it is a member of`() {
    store.run("app", "issue", "web", "--output", store.folder.file("credential"), "--group", "team:read")
    let found = Transcript(
      ["search", "a", "--credential", store.folder.file("credential")], environment: store.environment)
    #expect(found.status == 0, "\(found.errors)")
    #expect(found.output.contains("api/key") && !found.output.contains("db/password"))
  }

  @Test func `a list can be sorted and limited`() {
    #expect(names("list", "--all", "--sort", "expires") == ["team web/mail", "team api/key"])
    #expect(names("list", "--all", "--sort", "changed", "--limit", "1") == ["team web/mail"])
    #expect(names("list", "--all", "--limit", "3") == ["default db/password", "default db/user", "team api/key"])
    #expect(names("list", "--all", "--limit", "1") == ["default db/password"])
    #expect(store.run("list", "--sort", "size").status == 64)
    #expect(store.run("list", "--limit", "0").status == 64)
  }

  @Test func `removed items can be listed`() {
    store.run("remove", "db/user")
    #expect(names("list", "--removed") == ["db/user "])
    #expect(store.run("list", "--removed", "--json").output.contains(#""kind":null"#))
    #expect(names("list") == ["db/password Orders"])
    store.run("restore", "db/user")
    #expect(names("list", "--removed").isEmpty)
    store.run("remove", "db/user", "--destroy", "--yes")
    #expect(names("list", "--removed").isEmpty && store.run("list", "--removed", "--json").output == "[]\n")
  }

  @Test func `a group's name given as a prefix is explained`() {
    let list = store.run("list", "team")
    #expect(list.status == 0 && list.output.isEmpty)
    #expect(
      list.errors == "no item begins with 'team'; to list the group with this name: vault list -g team\n")
  }

  @Test func `a name with spaces that was not quoted is recognized`() {
    let refused = store.run("get", "my", "item")
    #expect(refused.status == 64 && refused.errors.contains("that has spaces: 'my item'"), "\(refused.errors)")
  }

  @Test func `several items are printed as one JSON array`() throws {
    let both = store.run("get", "db/password", "db/user", "--json")
    #expect(
      both.output == """
        [{"name":"db/password","group":"default","version":1,"kind":"string","value":"hunter2"},
        {"name":"db/user","group":"default","version":1,"kind":"string","value":"ann"}]

        """)
    #expect(store.run("get", "-g", "team", "web/mail#username", "api/key", "--json").output.contains("Ann@Example.org"))
    let missing = store.run("get", "db/user", "nothing", "--json")
    #expect(missing.status == 10 && missing.output.isEmpty)
    #expect(store.run("get", "db/password", "db/user").status == 64)
  }

  @Test func `items with a common prefix are removed after a question, all or none`() {
    let refused = store.run("remove", "--prefix", "db/")
    #expect(refused.status == 64)
    #expect(
      refused.errors.hasPrefix(
        "vault: error: 2 items of 'default' would be removed, from 'db/password' to 'db/user'; there is no terminal"
      ))
    #expect(names("list").count == 2)
    #expect(store.run("remove", "--prefix", "db/", "--yes").status == 0)
    #expect(names("list").isEmpty && names("list", "--removed").count == 2)
    #expect(store.run("remove", "--prefix", "db/", "--yes").status == 10)
    #expect(store.run("remove", "--prefix", "", "--yes").status == 64)
  }

  @Test(arguments: [
    (["get", "db/pasword"], "db/password"), (["info", "DB/user"], "db/user"), (["remove", "db/usre"], "db/user"),
    (["get", "db/use"], "db/user"), (["get", "--clip", "db/usre"], "db/user"),
    (["get", "-c", "10s", "db/usre"], "db/user"),
  ]) func `the error for a mistyped name gives the group and the closest name`(arguments: [String], meant: String) {
    let result = Transcript(arguments, environment: store.environment)
    #expect(result.status == 10)
    #expect(
      result.errors == "vault: error: no such item in 'default'\nvault: hint: did you mean '\(meant)'?\n")
  }

  @Test func `the error for a removed item says so and how it comes back, even if another name is close`() {
    store.run("set", "db/gone", "-g", "team", input: "x")
    store.run("set", "db/gone2", "-g", "team", input: "x")
    store.run("remove", "db/gone", "-g", "team")
    for command in [["get"], ["info"], ["remove"], ["get", "--clip"]] {
      let result = Transcript(command + ["db/gone", "-g", "team"], environment: store.environment)
      #expect(result.status == 10)
      #expect(
        result.errors == """
          vault: error: 'db/gone' was removed from 'team'
          vault: hint: any member who may write can bring it back: vault restore NAME -g team

          """)
    }
    #expect(store.run("get", "db/gon", "-g", "team").errors.contains("did you mean 'db/gone2'?"))
    store.run("remove", "db/gone2", "-g", "team", "--destroy", "--yes")
    let destroyed = store.run("get", "db/gone2", "-g", "team").errors
    #expect(destroyed.hasSuffix("was removed from 'team'\nvault: hint: an earlier backup may have it\n"))
    store.run("restore", "db/gone", "-g", "team")
    #expect(store.run("get", "db/gone", "-g", "team").output == "x")
  }

  @Test(arguments: ["lab", "gin", "hexpw", "exx", "user"])
  func `a short name is suggested only if nearly all of it is the same`(typed: String) {
    for name in ["gen", "exp"] { store.run("set", name, "-g", "team", input: "x") }
    let result = store.run("get", typed, "-g", "team")
    let meant = ["gin": "gen", "exx": "exp"][typed]
    #expect(
      result.errors.hasSuffix(
        meant.map { "hint: did you mean '\($0)'?\n" }
          ?? "hint: list the items: vault list -g team; to bring back a removed item: vault restore NAME -g team\n"),
      "\(result.errors)")
    #expect(store.run("get", "unlike", "-g", "team", "--output", "gexn").errors.contains("hint: list the items"))
  }

  @Test func `a destroyed item is named as such and not sent back to the list of removed ones`() {
    store.run("remove", "db/user", "--destroy", "--yes")
    let restored = store.run("restore", "db/user")
    #expect(restored.status == 10)
    #expect(
      restored.errors == """
        vault: error: the item's values were destroyed and cannot be restored
        vault: hint: an earlier backup may have them

        """)
    store.run("group", "create", "short", "--keep", "1")
    store.run("set", "a", "-g", "short", input: "x")
    store.run("remove", "a", "-g", "short")
    #expect(store.run("restore", "a", "-g", "short").errors.contains("the group keeps no value of a removed item\n"))
    #expect(store.run("restore", "db/nothing").errors.contains("vault list --removed"))
    store.run("remove", "db/password")
    #expect(store.run("restore", "db/password").status == 0)
  }

  @Test func `a name that resembles no other is not repeated, and none is suggested`() {
    let result = store.run("get", "s3cret-value")
    #expect(result.status == 10 && !result.errors.contains("s3cret"))
    #expect(result.errors.hasPrefix("vault: error: no such item in 'default'\nvault: hint: list the items"))
  }

  @Test func `the JSON output of env can be imported from a pipe without naming the format`() {
    store.run("set", "odd", input: "a\"b\\c\nd\n")
    let json = store.run("env", "--shell", "json").output
    store.run("group", "create", "copy")
    let imported = store.run("import", "-", "-g", "copy", input: json)
    #expect(imported.status == 0, "\(imported.errors)")
    #expect(store.run("get", "ODD", "-g", "copy").output == "a\"b\\c\nd\n")
    #expect(store.run("env", "-g", "copy", "--shell", "json").output == json)
    let typed = store.run(
      "import", "-", "-g", "copy", "--prefix", "t/",
      input: #"{"n":1,"p":1.10,"d":2.5,"b":true,"o":{"a":[1,"\u00e9"]},"z":null}"#
    )
    #expect(typed.errors.contains("not kept: line 1: 'z' is null"))
    #expect(store.run("get", "t/o", "-g", "copy").output == #"{"a":[1,"é"]}"#)
    #expect(store.run("info", "t/n", "-g", "copy").output.contains("kind: int"))
    #expect(store.run("get", "t/p", "-g", "copy").output == "1.10")
    #expect(store.run("get", "t/p", "-g", "copy", "--json").output.contains(#""value":1.10"#))
    #expect(store.run("import", store.folder.write("x.env", Array("A=1\n".utf8)), "-g", "copy").status == 0)
    #expect(store.run("import", store.folder.write("unknown", Array("A=1\n".utf8)), "-g", "copy").status == 64)
  }

  @Test func `docker and GitHub get every value that their formats can hold`() {
    #expect(store.run("env", "--shell", "docker").output == "DB_PASSWORD=hunter2\nDB_USER=ann\n")
    store.run("set", "key", "--exact", input: "a\nb\n")
    let refused = store.run("env", "--shell", "docker")
    #expect(refused.status == 18 && refused.output.isEmpty)
    let lines = store.run("env", "--prefix", "k", "--shell", "github").output.split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 6 && lines[0].hasPrefix("EY<<vault-"))
    #expect(lines[1...3] == ["a", "b", ""] && lines[0].hasSuffix(lines[4]) && lines[5].isEmpty)
  }

  @Test func `fish gets single quotes with its own escapes`() {
    store.run("set", "q/it", input: #"it's a \ b"#)
    #expect(store.run("env", "--prefix", "q/", "--shell", "fish").output == "set -gx IT 'it\\'s a \\\\ b'\n")
  }

  @Test func `a table shortens names last`() {
    var table = Table(columns: ["NAME", "LABEL", "VERSION"], keeping: "NAME")
    table.add("git/https/github.com/alice/with/a/long/path", String(repeating: "label ", count: 12), "1")
    #expect(table.columnWidths(terminalWidth: 80) == [43, 26, 7])
    #expect(table.columnWidths(terminalWidth: 60) == [43, 8, 0])
    #expect(table.columnWidths(terminalWidth: 40) == [40, 0, 0])
  }

  @Test func `a long name is shortened before the dates of all items go`() {
    let times = ["CHANGED", "EXPIRES"]
    var table = Table(columns: ["NAME", "LABEL"] + times, keeping: "NAME", whole: times)
    table.add(String(repeating: "n", count: 60), "label", "2026-11-26 15:00", "2027-01-01")
    #expect(table.columnWidths(terminalWidth: 80) == [43, 5, 16, 10])
    #expect(table.columnWidths(terminalWidth: 65) == [28, 5, 16, 10])
  }

  @Test func `a table that is too wide loses the columns without any text first`() {
    var table = Table(columns: ["NAME", "LABEL", "EXPIRES", "CHANGED"], keeping: "NAME")
    table.add("a-name-of-20-letters", "", "", "2026-11-26 15:00:00")
    #expect(table.columnWidths(terminalWidth: 80) == [20, 5, 7, 19])
    #expect(table.columnWidths(terminalWidth: 50) == [20, 5, 0, 19])
    #expect(table.columnWidths(terminalWidth: 42) == [20, 0, 0, 19])
    #expect(table.columnWidths(terminalWidth: 40) == [20, 0, 0, 18])
  }
}
