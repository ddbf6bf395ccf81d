import Testing

@testable import VaultCommands

/// `NAME#FIELD` in `set`, `generate`, `get` and `edit`, and changes that would lose fields.
@Suite struct FieldCommandTests {
  private let store: TestStore
  private static let login = #"{"username":"ann", "password":"old","port":5432,"totp":"otpauth://totp/x?secret=AA"}"#

  init() throws {
    store = try TestStore()
    let set = store.run("set", "web/GitHub", "--type", "json", "--expires", "90d", input: Self.login)
    try #require(set.status == 0, "\(set.errors)")
  }

  @Test func `setting one field of a login leaves every other byte unchanged`() {
    #expect(store.run("set", "web/GitHub#password", input: "n\"ew\n").status == 0)
    #expect(
      store.run("get", "web/GitHub").output
        == Self.login.replacing(#""password":"old""#, with: #""password":"n\"ew""#))
    #expect(store.run("get", "web/GitHub#password").output == "n\"ew")
    #expect(store.run("info", "web/GitHub").output.contains("expires: "))
    #expect(store.run("list").output.split(separator: "\n").count == 1)
  }

  @Test func `input that is empty replaces a field only on request`() {
    #expect(store.run("set", "web/GitHub#password", input: "").status == 18)
    #expect(store.run("get", "web/GitHub#password").output == "old")
    #expect(store.run("set", "web/GitHub#new", input: "").status == 0)
    #expect(store.run("set", "web/GitHub#password", "--allow-empty", input: "").status == 0)
    #expect(store.run("get", "web/GitHub#password").output.isEmpty)
  }

  @Test func `setting a missing field adds it`() {
    #expect(store.run("set", "web/GitHub#notes", input: "zwei\nZeilen").status == 0)
    #expect(store.run("get", "web/GitHub#notes").output == "zwei\nZeilen")
    #expect(store.run("set", "e", "--type", "json", input: " { } ").status == 0)
    #expect(store.run("set", "e#a", input: "1").status == 0)
    #expect(store.run("get", "e").output == #" { "a":"1"} "#)
  }

  @Test func `a number stays a number unless a type is named`() {
    #expect(store.run("set", "web/GitHub#port", input: "5433").status == 0)
    #expect(store.run("get", "web/GitHub").output.contains(#""port":5433,"#))
    let refused = store.run("set", "web/GitHub#port", input: "s3cret word")
    #expect(refused.status == 64 && !refused.errors.contains("s3cret"))
    #expect(store.run("set", "web/GitHub#port", "--type", "string", input: "5434").status == 0)
    #expect(store.run("get", "web/GitHub").output.contains(#""port":"5434","#))
  }

  @Test func `generate can set one field`() {
    #expect(store.run("generate", "web/GitHub#password", "--length", "20").status == 0)
    #expect(store.run("get", "web/GitHub#password").output.count == 20)
    #expect(store.run("get", "web/GitHub#username").output == "ann")
  }

  @Test func `get prints one field, also as JSON and from an older version`() throws {
    #expect(store.run("get", "web/GitHub#username").output == "ann")
    #expect(store.run("get", "web/GitHub", "--field", "port").output == "5432")
    #expect(
      store.run("get", "web/GitHub#username", "--json").output
        == #"{"name":"web/GitHub","field":"username","group":"default","version":1,"value":"ann"}"# + "\n")
    store.run("set", "web/GitHub#username", input: "bob")
    #expect(store.run("get", "web/GitHub#username", "--version", "1").output == "ann")
    #expect(store.run("get", "web/GitHub#nothing").status == 10)
  }

  @Test func `an item with the whole name takes precedence over a field`() {
    #expect(store.run("set", "C#", "--field", "", input: "sharp").status == 0)
    #expect(store.run("set", "web/GitHub#x", "--field", "", input: "whole").status == 0)
    #expect(store.run("get", "C#").output == "sharp")
    #expect(store.run("get", "web/GitHub#x").output == "whole")
    #expect(store.run("set", "web/GitHub#x", input: "again").status == 0)
    #expect(store.run("get", "web/GitHub#x").output == "again")
    #expect(store.run("get", "web/GitHub").output == Self.login)
  }

  @Test(arguments: ["get", "set", "generate"])
  func `a name that is both an item and a field is refused`(command: String) {
    store.run("set", "web/GitHub#password", "--field", "", input: "whole")
    let result = store.run(command, "web/GitHub#password", input: "x")
    #expect(result.status == 18)
    #expect(result.errors.contains("'web/GitHub#password'") && result.errors.contains("'web/GitHub'"))
    #expect(store.run("get", "web/GitHub#password", "--field", "").output == "whole")
    #expect(store.run("get", "web/GitHub", "--field", "password").output == "old")
  }

  @Test func `creating an item with a number sign in its name needs an explicit option`() {
    let refused = store.run("set", "a#b", input: "s3cret")
    #expect(refused.status == 10)
    #expect(refused.errors.contains("a new item with '#' in its name needs --field ''"))
    store.run("set", "a", input: "text")
    #expect(store.run("set", "a#b", input: "s3cret").status == 18)
    #expect(store.run("generate", "a#b").status == 18)
    #expect(store.run("get", "a").output == "text")
    #expect(store.run("set", "a#b", "--field", "", input: "s3cret").status == 0)
    #expect(store.run("get", "a#b").output == "s3cret")
  }

  @Test(arguments: [["set"], ["set", "--type", "string"], ["generate"]])
  func `replacing JSON by text is refused without an explicit option`(command: [String]) {
    let run = { (more: [String]) in
      Transcript(
        command + ["web/GitHub"] + more, input: Array("new".utf8), environment: store.environment)
    }
    let refused = run([])
    #expect(refused.status == 18)
    #expect(refused.errors.contains("NAME#FIELD") && refused.errors.contains("--replace-fields"))
    #expect(store.run("get", "web/GitHub").output == Self.login)
    #expect(run(["--replace-fields"]).status == 0)
    #expect(store.run("info", "web/GitHub").output.contains("kind: string"))
  }

  @Test func `JSON replaced by a JSON object stays JSON`() {
    #expect(store.run("set", "web/GitHub", input: #"{"password":"jq"}"# + "\n").status == 0)
    #expect(store.run("get", "web/GitHub#password").output == "jq")
  }

  @Test(arguments: ["yes", "no"]) func `on a terminal the command asks before fields are lost`(answer: String) {
    let terminal = PseudoTerminal()
    terminal.type(answer + "\n")
    let result = store.run(["set", "web/GitHub"], on: terminal, input: "new")
    #expect(terminal.shown().contains("'web/GitHub' is JSON; replace it and all its fields? (yes/no) "))
    #expect(result.status == (answer == "yes" ? 0 : 130))
    #expect(store.run("get", "web/GitHub").output == (answer == "yes" ? "new" : Self.login))
  }

  @Test func `two programs that change different fields of a login lose neither change`() async throws {
    await withTaskGroup(of: Void.self) { group in
      for field in ["password", "notes"] {
        group.addTask { [store = store.environment] in
          for number in 1...5 {
            let set = Transcript(
              ["set", "web/GitHub#\(field)"], input: Array("\(field)\(number)".utf8), environment: store)
            #expect(set.status == 0)
          }
        }
      }
    }
    #expect(store.run("get", "web/GitHub#password").output == "password5")
    #expect(store.run("get", "web/GitHub#notes").output == "notes5")
  }

  @Test func `a field that was not there is named when it is added, and no other`() {
    let added = store.run("set", "web/GitHub#pasword", input: "new")
    #expect(added.errors == "'pasword' is a new field of 'web/GitHub', beside username, password, port, totp\n")
    #expect(store.run("generate", "web/GitHub#pin").errors.hasPrefix("'pin' is a new field of 'web/GitHub', beside "))
    for arguments in [["set", "web/GitHub#password"], ["generate", "web/GitHub#pin"]] {
      let run = Transcript(arguments, input: Array("x".utf8), environment: store.environment)
      #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    }
  }

  @Test func `fields that a removed application could read are listed on request until each is changed`() {
    store.run("set", "db", "--type", "json", input: #"{"user":"me","password":"p1","totp":"t1","note":"","on":true}"#)
    store.run("app", "issue", "api", "--output", store.folder.file("credential"), "--group", "default:read")
    store.run("set", "db#totp", input: "t2")
    store.run("revoke", "default", "api")
    func listed() -> [String] {
      store.run("exposure", "--fields").output.split(separator: "\n").map { String($0.split(separator: "\t")[1]) }
    }
    #expect(listed() == ["db", "web/GitHub"])
    store.run("set", "db#password", input: "p2")
    let short = store.run("exposure")
    #expect(short.output.contains("web/GitHub") && !short.output.contains("db"))
    #expect(
      short.errors
        == "2 fields of changed values are still the same; to list them: vault exposure --fields\n"
    )
    #expect(listed() == ["web/GitHub", "db#totp", "db#user"])
    #expect(!store.run("exposure", "--json").output.contains("db"))
    #expect(store.run("exposure", "--fields", "--json").output.contains(#""name":"db","field":"totp","version":3"#))
    for (field, value) in ["user": "you", "totp": "t3"] { store.run("set", "db#" + field, input: value) }
    #expect(listed() == ["web/GitHub"] && store.run("exposure").errors.isEmpty)
    // Older versions could be read as well.
    store.run("set", "db#totp", input: "t1")
    #expect(listed() == ["web/GitHub", "db#totp"])
  }
}
