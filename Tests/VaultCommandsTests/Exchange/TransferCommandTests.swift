import Testing
import Vault

@testable import VaultCommands

@Suite struct TransferCommandTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("group", "create", "team.shared")
    store.run(
      "set", "a", "--type", "int", "--label", "Label", "-a", "k=v", "--expires", "2099-01-01", input: "7")
  }

  private func info(_ name: String, _ group: String) throws -> [String: Any] {
    try readJSON(store.run("info", name, "-g", group, "--json").output)
  }

  private func epoch(_ group: String) -> String {
    String(store.run("group", "show", group, "--json").output.firstMatch(of: /"epoch":(\d+)/)?.1 ?? "")
  }

  @Test func `a copy has all details of the item`() throws {
    #expect(store.run("copy", "a", "--to", "team.shared", "--as", "b").status == 0)
    let (old, new) = (try info("a", "default"), try info("b", "team.shared"))
    for key in ["label", "kind", "expires"] { #expect(new[key] as? String == old[key] as? String, "\(key)") }
    #expect(new["attributes"] as? [String: String] == ["k": "v"])
    #expect(store.run("get", "b", "-g", "team.shared").output == "7")
  }

  @Test func `an archive keeps the name of its type`() throws {
    let archive = """
      <plist><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>
      <key>$top</key><dict><key>root</key><dict><key>CF$UID</key><integer>1</integer></dict></dict><key>$objects</key>
      <array><string>$null</string><dict><key>$class</key><dict><key>CF$UID</key><integer>2</integer></dict></dict>
      <dict><key>$classname</key><string>Person</string><key>$classes</key><array><string>Person</string></array></dict>
      </array></dict></plist>
      """
    let made = store.run("set", "p", "--archive", "-", "--allow", "Person", input: archive)
    #expect(made.status == 0, "\(made.errors)")
    #expect(store.run("copy", "p", "--to", "team.shared").status == 0)
    #expect(try info("p", "team.shared")["type"] as? String == "Person")
  }

  @Test func `an existing item is replaced only on request, and keeps none of its details`()
    throws
  {
    store.run("set", "a", "-g", "team.shared", "-a", "other=1", "--label", "Other", input: "old")
    for command in ["copy", "move"] {
      let refused = store.run(command, "a", "--to", "team.shared")
      #expect(refused.status == 22)
      #expect(
        refused.errors
          == "vault: error: an item with this name exists\nvault: hint: to give it a new version: --replace\n")
    }
    #expect(store.run("get", "a", "-g", "team.shared").output == "old")
    #expect(store.run("get", "a").output == "7")
    #expect(store.run("copy", "a", "--to", "team.shared", "--replace").status == 0)
    let copy = try info("a", "team.shared")
    #expect(copy["attributes"] as? [String: String] == ["k": "v"])
    #expect(copy["label"] as? String == "Label" && copy["version"] as? Int == 2)
    store.run("set", "plain", input: "x")
    #expect(store.run("copy", "plain", "--to", "team.shared", "--as", "a", "--replace").status == 0)
    #expect(try info("a", "team.shared")["label"] is String == false)
    #expect(try info("a", "team.shared")["expires"] is String == false)
  }

  @Test func `a moved item leaves only its history behind`() {
    #expect(store.run("move", "a", "--to", "team.shared").status == 0)
    #expect(store.run("get", "a").status == 10)
    #expect(store.run("get", "a", "-g", "team.shared").output == "7")
    #expect(store.run("restore", "a").status == 0)
    #expect(store.run("move", "a", "-g", "team.shared", "--to", "default", "--as", "b").status == 0)
    #expect(store.run("get", "b").output == "7")
  }

  @Test func `a move within a group is one transaction`() throws {
    let before = try #require(Int(epoch("default")))
    #expect(store.run("move", "a", "--as", "b").status == 0)
    #expect(Int(epoch("default")) == before + 1)
    #expect(store.run("get", "a").status == 10)
    #expect(store.run("get", "b").output == "7")
    #expect(store.run("move", "b", "--to", "default", "--as", "c").status == 0)
    #expect(Int(epoch("default")) == before + 2)
    store.run("set", "d", input: "x")
    #expect(store.run("move", "c", "--as", "d").status == 22)
    #expect(store.run("get", "c").output == "7")
  }

  @Test func `the new name may be an argument, as for mv and cp`() {
    #expect(store.run("copy", "a", "b").status == 0)
    #expect(store.run("move", "b", "c/d").status == 0)
    #expect(store.run("get", "a").output == "7" && store.run("get", "c/d").output == "7")
    #expect(store.run("get", "b").status == 10)
    #expect(store.run("move", "a", "b", "--to", "team.shared").status == 0)
    #expect(store.run("get", "b", "-g", "team.shared").output == "7")
    #expect(store.run("copy", "c/d", "e", "--as", "f").status == 64)
    #expect(store.run("copy", "c/d", "e", "f").errors.contains("only one item is copied at a time"))
  }

  @Test func `a new name says where the former versions are, and a copy answers no prompts`() {
    #expect(store.run("move", "a", "b").errors.isEmpty)
    store.run("set", "b", "--attribute", "askpass=Password:", input: "8")
    #expect(
      store.run("move", "b", "c").errors
        == "its former versions stay under the old name: vault history 'b'\n")
    #expect(store.run("history", "b").output.split(separator: "\n").count == 3)
    #expect(store.run("copy", "c", "d").errors == "the copy answers no prompt; see: vault askpass list\n")
    #expect(store.run("askpass", "list").output == "Password:\tc\tpassword\n")
  }

  @Test func `copying an item onto itself, without a target or without an item is an error`() {
    #expect(store.run("copy", "a").status == 64)
    #expect(store.run("copy", "a", "--to", "default").status == 64)
    #expect(store.run("move", "a", "--as", "a").status == 64)
    #expect(store.run("move", "absent", "--to", "team.shared").status == 10)
    #expect(store.run("move", "absent", "--as", "b").status == 10)
    #expect(store.run("copy", "a", "--to", "absent").status == 10)
    #expect(store.run("copy", "a", "--as", "\u{7}").status == 64)
  }

  @Test func `a copy whose original was not removed is reported correctly`() {
    let gone = "the item was copied; somebody else removed it from its old place meanwhile"
    #expect(Transfer.leftBehind(.notFound(.item)) == Failure(.notFound, gone))
    #expect(Transfer.leftBehind(.conflict(expected: 1, present: 0)) == Failure(.conflict, gone))
    let kept = Transfer.leftBehind(.storage(.full)).message
    #expect(kept == "the item was copied and is still in its old place: the disk is full")
  }

  @Test func `a member who can read one group and write another can copy but not move`() {
    store.run("group", "create", "out.shared")
    let credential = store.folder.file("credential")
    store.run(
      "app", "issue", "com.example.a", "--output", credential, "--group", "team.shared:read", "--group",
      "out.shared:write")
    store.run("set", "s", "-g", "team.shared", input: "x")
    func done(_ arguments: [String]) -> Transcript {
      Transcript(arguments + ["--credential", credential], environment: store.environment)
    }
    func act(_ arguments: String...) -> Int32 { done(arguments).status }
    for arguments in [
      ["move", "s", "-g", "team.shared", "--to", "out.shared"],
      ["copy", "s", "-g", "out.shared", "--to", "team.shared", "--as", "t"],
    ] {
      store.run("set", "s", "-g", "out.shared", input: "x")
      #expect(done(arguments).errors.hasPrefix("vault: error: 'team.shared': this member may only read\n"))
      store.run("remove", "s", "-g", "out.shared")
    }
    #expect(act("move", "s", "-g", "team.shared", "--to", "out.shared") == 12)
    #expect(store.run("get", "s", "-g", "out.shared").status == 10)
    #expect(act("copy", "s", "-g", "team.shared", "--to", "out.shared") == 0)
    #expect(store.run("get", "s", "-g", "out.shared").output == "x")
    #expect(act("copy", "s", "-g", "team.shared", "--as", "t") == 12)
    #expect(act("copy", "s", "-g", "out.shared", "--to", "team.shared", "--as", "t") == 12)
    #expect(act("copy", "s", "-g", "team.shared", "--to", "default") == 12)
  }
}
