import Foundation
import Glibc
import Testing

@testable import VaultCommands

/// Transcripts: the input, the output and the exit status.
@Suite struct ItemCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  @Test func `a value is returned as it was stored`() {
    let set = store.run("set", "db/password", input: "s3cret\n")
    #expect(set.status == 0)
    #expect(set.output.isEmpty && set.errors.isEmpty)
    let get = store.run("get", "db/password")
    #expect(get.status == 0)
    #expect(get.output == "s3cret")
    #expect(get.errors.isEmpty)
  }

  @Test func `input that is empty replaces a value only on request`() {
    #expect(store.run("set", "a", input: "").status == 0)
    #expect(store.run("set", "a", input: "one").status == 0)
    let refused = store.run("set", "a", input: "\n")
    #expect(refused.status == 18 && refused.errors.contains("--allow-empty"))
    #expect(store.run("set", "a", "--file", "/dev/null").status == 18)
    #expect(store.run("set", "a", "--type", "string", input: "").status == 18)
    #expect(store.run("get", "a").output == "one")
    #expect(store.run("set", "a", "--allow-empty", input: "").status == 0)
    #expect(store.run("get", "a").output.isEmpty)
  }

  @Test func `nothing typed replaces a value only on request`() {
    func type(_ keys: String, _ options: String...) -> (status: Int32, errors: String) {
      let terminal = PseudoTerminal()
      let typist = Typist(terminal, keys)
      defer { typist.wait() }
      let streams = Streams(
        input: terminal.descriptor, output: Pipe.nameless(), errors: Pipe.nameless(), terminal: terminal.path)
      let status = run(arguments: ["set", "a"] + options, environment: store.environment, streams: streams)
      return (status, String(decoding: Pipe.contents(of: streams.errors), as: UTF8.self))
    }
    #expect(type("one\r").status == 0)
    let refused = type("\r")
    #expect(refused.status == 18 && refused.errors.contains("nothing was typed"), "\(refused.errors)")
    #expect(store.run("get", "a").output == "one")
    #expect(type("\r", "--allow-empty").status == 0)
    #expect(store.run("get", "a").output.isEmpty)
  }

  @Test func `a dash is standard output or input, never a file of that name`() {
    let template = store.folder.write("template", Array("{{ vault:///a }}".utf8))
    #expect(store.run("set", "a", "--file", "-", input: "one").status == 0)
    for command in [
      ["get", "a", "--output", "-"], ["inject", "-i", template, "-o", "-"],
      ["export", "--to", "dotenv", "-g", "default", "--output", "-", "--yes-print-secrets"],
    ] {
      let written = Transcript(command, environment: store.environment)
      #expect(written.status == 0 && written.output.contains("one"), "\(command): \(written.errors)")
    }
    #expect(unsafe access("-", F_OK) != 0)
  }

  @Test func `exact keeps the newline of a value`() {
    store.run("set", "a", "--exact", input: "line\n")
    #expect(store.run("get", "a").output == "line\n")
  }

  @Test func `a file's bytes are returned exactly`() {
    let bytes = (0...255).map { UInt8($0) } + [0x0A]
    let path = store.folder.write("value", bytes)
    #expect(store.run("set", "a", "--file", path).status == 0)
    #expect(store.run("get", "a").outputBytes == bytes)
  }

  @Test func `an overwritten value can be read by its version`() throws {
    store.run("set", "a", input: "one")
    let set = store.run("set", "a", "--json", input: "two")
    #expect(set.output == "{\"name\":\"a\",\"group\":\"default\",\"version\":2}\n")
    #expect(store.run("get", "a").output == "two")
    #expect(store.run("get", "a", "--version", "1").output == "one")
    let missing = store.run("get", "a", "--version", "3")
    #expect(missing.status == 10)
    #expect(missing.output.isEmpty)
  }

  @Test func `JSON has text as text and bytes as base64`() {
    store.run("set", "text", input: "a\"\\\u{1}é\n")
    #expect(
      store.run("get", "text", "--json").output
        == "{\"name\":\"text\",\"group\":\"default\",\"version\":1,\"kind\":\"string\",\"value\":\"a\\\"\\\\\\u0001é\"}\n"
    )
    let path = store.folder.write("value", [0xFF, 0x00])
    store.run("set", "bytes", "--file", path)
    #expect(
      store.run("get", "bytes", "--json").output
        == "{\"name\":\"bytes\",\"group\":\"default\",\"version\":1,\"kind\":\"bytes\",\"valueBase64\":\"/wA=\"}\n")
  }

  private func result(of command: [String], _ input: String) -> Transcript {
    Transcript(command, input: Array(input.utf8), environment: store.environment)
  }

  @Test func `a new value does not take over an expiry, and a new field does; both are said`() {
    let lost =
      "vault: warning: the former value's expiry (2001-09-09 00:00) does not apply to the new one; to set one: --expires\n"
    for command in [
      ["set", "a"], ["generate", "a"], ["rotate-value", "a", "--", "/bin/sh", "-c", "cat > /dev/null"],
    ] {
      store.run("set", "a", "--expires", "2001-09-09", input: "old")
      #expect(result(of: command, "new").errors.hasSuffix(lost), "\(command)")
      #expect(result(of: command, "newer").errors.isEmpty)
    }
    for command in [
      ["set", "j#f"], ["generate", "j#f"], ["rotate-value", "j#f", "--", "/bin/sh", "-c", "cat > /dev/null"],
    ] {
      store.run("set", "j", "--type", "json", "--expires", "2001-09-09", input: #"{"f":"old"}"#)
      #expect(result(of: command, "new").errors.hasSuffix("'j' has expired: vault info shows when\n"))
    }
    #expect(store.run("generate", "a", "--expires", "2001-09-09").status == 0)
    #expect(store.run("info", "a", "--json").output.contains("2001-09-09"))
  }

  @Test func `an object that is stored as a text is told how to get fields`() {
    let text = store.run("set", "j", input: #"{"f":1}"#)
    #expect(text.status == 0 && text.errors.contains("to store it as JSON with fields, like a login: --type json"))
    #expect(
      store.run("set", "j#f", input: "2").errors.contains(
        "to store it as one: vault get NAME | vault set NAME --type json"))
    #expect(store.run("set", "t", input: "{not json}").errors.isEmpty)
    #expect(store.run("set", "t#f", input: "2").errors.contains("--field ''"))
  }

  @Test func `reading an expired value succeeds with a warning`() throws {
    store.run("set", "a", "--expires", "2001-09-09", input: "old")
    let get = store.run("get", "a")
    #expect(get.status == 0)
    #expect(get.output == "old")
    #expect(get.errors == "vault: warning: 'a' has expired: vault info shows when\n")
    #expect(
      store.run("get", "a", "--json").output
        == "{\"name\":\"a\",\"group\":\"default\",\"version\":1,\"expired\":true,\"kind\":\"string\",\"value\":\"old\"}\n"
    )
    #expect(store.run("info", "a").output.contains("expires: 2001-09-09T00:00:00Z (expired)\n"))
  }

  @Test func `a past expiry and a name that is probably a mistake are said`() {
    let past = store.run("set", "a", "--expires", "2001-09-09", input: "x")
    #expect(past.errors == "vault: warning: the value has expired already: 2001-09-09 00:00 is past\n")
    #expect(store.run("set", "a", "--expires", "2099-09-09", input: "x").errors.isEmpty)
    #expect(
      store.run("set", "name=s3cret", input: "x").errors.contains("typed, piped or read with --file"))
    for name in [" b", "b "] {
      #expect(store.run("set", name, input: "x").errors.contains("begins or ends with a space"))
      #expect(store.run("set", name, input: "y").errors.isEmpty)
    }
  }

  @Test func `setting a new value clears the expiry and keeps label and attributes`() throws {
    store.run("set", "a", "--label", "Label", "-a", "x=1", "-a", "y=2", "--expires", "30d", input: "one")
    store.run("set", "a", "-a", "x=3", "-a", "y=", input: "two")
    let info = try readJSON(store.run("info", "a", "--json").output)
    #expect(info["label"] as? String == "Label")
    #expect(info["attributes"] as? [String: String] == ["x": "3"])
    #expect(info["version"] as? Int == 2)
    #expect(info["expires"] is String == false)
    #expect(info["expired"] as? Bool == false)
  }

  @Test func `a reference is no name of an item, and a hint says how to read it`() {
    store.run("set", "db/password", input: "a")
    for command in [
      ["set", "vault:///db/password"], ["generate", "vault:///b"], ["copy", "db/password", "vault:///b"],
      ["move", "db/password", "vault:///b"],
    ] {
      let refused = Transcript(command, input: [1], environment: store.environment)
      #expect(refused.status == 64 && refused.errors.contains("a reference cannot be an item's name"))
    }
    let missing = store.run("get", "vault:///db/password")
    #expect(
      missing.status == 10 && missing.errors.contains("hint: to read what a reference names: vault read REFERENCE"))
    #expect(store.run("list").output.split(separator: "\n").count == 1)
  }

  @Test func `a whole group gives a program no login of git, docker or cargo`() {
    store.run("set", "db/password", input: "a")
    store.run("set", "docker/password", input: "b")
    let logins = [
      "git/https/github.com/ann", "docker/https://index.docker.io/v1/", "cargo/sparse+https://index.crates.io/",
    ]
    for name in logins { store.run("set", name, input: "{}") }
    let whole = store.run("env", "-g", "default")
    #expect(whole.status == 0 && whole.output == "export DB_PASSWORD='a'\nexport DOCKER_PASSWORD='b'\n")
    #expect(store.run("env", "--prefix", "git/").output == "export HTTPS_GITHUB_COM_ANN='{}'\n")
  }

  @Test func `a prefix without a slash is said when items are imported`() throws {
    let file = store.folder.file("a.env")
    try Data("A=b\n".utf8).write(to: URL(filePath: file))
    #expect(store.run("import", file, "--prefix", "shop", "--dry-run").errors.contains("for a folder, end it with '/'"))
    #expect(store.run("import", file, "--prefix", "shop/", "--dry-run").errors.contains("end it with") == false)
  }

  @Test func `the subcommands that list have the short name of the command that lists`() {
    for family in ["group", "slot", "app", "ssh", "askpass", "remote"] {
      let (short, long) = (store.run(family, "ls"), store.run(family, "list"))
      #expect(short.status == 0 && short.output == long.output)
    }
    let clip = store.run("get", "a", "10", "--clip")
    #expect(clip.status == 64 && clip.errors.contains("--clip=10s"))
    #expect(store.run("totp", "a", "--clip", "--json").status == 64)
  }

  @Test func `keep-value changes only the named details`() throws {
    store.run("set", "a", "--expires", "2099-01-01", input: "one")
    #expect(store.run("set", "a", "--keep-value", "--label", "New").status == 0)
    #expect(store.run("get", "a").output == "one")
    let info = try readJSON(store.run("info", "a", "--json").output)
    #expect(info["label"] as? String == "New")
    #expect(info["expires"] as? String == "2099-01-01T00:00:00Z")
    #expect(store.run("set", "b", "--keep-value", "--label", "New").status == 10)
  }

  @Test func `a set that is repeated for its request is made once`() {
    for _ in 0..<2 {
      let result = store.run("set", "a", "--request-id", "deploy-7", "--json", input: "once")
      #expect(result.output.contains(#""version":1"#), "\(result.errors)")
    }
    let next = store.run("set", "a", "--request-id", "deploy-8", "--json", input: "twice")
    #expect(next.output.contains(#""version":2"#))
    #expect(store.run("set", "a", "--request-id", "deploy 7", input: "twice").status == 64)
  }

  @Test func `if-version accepts exactly the expected version`() {
    #expect(store.run("set", "a", "--if-version", "1", input: "x").status == 18)
    #expect(store.run("set", "a", "--if-version", "0", input: "one").status == 0)
    #expect(store.run("set", "a", "--if-version", "0", input: "x").status == 18)
    #expect(store.run("set", "a", "--if-version", "1", input: "two").status == 0)
    #expect(store.run("get", "a").output == "two")
  }

  @Test func `list shows the requested items sorted by name`() {
    store.run("set", "db/b", "--label", "Second", "-a", "env=prod", input: "s3cret")
    store.run("set", "db/a", "-a", "env=test", input: "s3cret")
    store.run("set", "web", "--label", "third", input: "s3cret")
    func names(_ arguments: String...) -> [String] {
      let list = Transcript(["list"] + arguments, environment: store.environment)
      #expect(list.status == 0)
      #expect(!list.output.contains("s3cret"))
      return list.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }
    #expect(names() == ["db/a", "db/b", "web"])
    #expect(names("db/") == ["db/a", "db/b"])
    #expect(names("-a", "env=prod") == ["db/b"])
    #expect(names("--match", "SECOND") == ["db/b"])
    #expect(names("--match", "WE") == ["web"])
    #expect(names("nothing").isEmpty)
  }

  @Test func `vaultd's companion items are listed only on request`() {
    for name in ["a", "a//kv", "//kv"] { store.run("set", name, input: "x") }
    #expect(store.run("list").output.split(separator: "\n").map { $0.prefix { $0 != "\t" } } == ["a"])
    #expect(store.run("list", "--all").output.split(separator: "\n").count == 3)
    #expect(store.run("list", "a//").output.hasPrefix("a//kv\t"))
  }

  @Test func `list in JSON is an array of objects, even if it is empty`() throws {
    #expect(store.run("list", "--json").output == "[]\n")
    store.run("set", "a", "--label", "L", "-a", "k=v", input: "x")
    let text = store.run("list", "--json").output
    let item = try readJSON(String(text.dropFirst().dropLast(2)))
    #expect(item["name"] as? String == "a")
    #expect(item["label"] as? String == "L")
    #expect(item["version"] as? Int == 1)
    #expect(item["attributes"] as? [String: String] == ["k": "v"])
    #expect((item["changed"] as? String)?.hasSuffix("Z") == true)
  }

  @Test func `a removed item can be restored, and a destroyed one cannot`() {
    store.run("set", "a", input: "one")
    store.run("set", "a", input: "two")
    #expect(store.run("remove", "a").status == 0)
    #expect(store.run("get", "a").status == 10)
    #expect(store.run("remove", "a").status == 10)
    #expect(store.run("history", "a").output.hasPrefix("3\tremoved\t"))
    #expect(store.run("restore", "a").status == 0)
    #expect(store.run("get", "a").output == "two")
    #expect(store.run("restore", "a", "--version", "1").status == 0)
    #expect(store.run("get", "a").output == "one")
    #expect(store.run("restore", "a").status == 18)
    #expect(store.run("remove", "a", "--destroy", "--yes").status == 0)
    #expect(store.run("restore", "a").status == 10)
  }

  @Test func `history lists the versions, newest first`() throws {
    store.run("set", "a", input: "one")
    store.run("set", "a", input: "two")
    let lines = store.run("history", "a").output.split(separator: "\n").map { $0.split(separator: "\t") }
    #expect(lines.map { $0[0] } == ["2", "1"])
    #expect(lines.allSatisfy { $0[1] == "present" && $0[3] == "owner" })
    #expect(
      store.run("history", "a", "--json").output.hasPrefix("[{\"version\":2,\"state\":\"present\",\"changed\":\""))
    #expect(store.run("history", "b").status == 10)
  }

  @Test func `an error over a limit names the limit`() {
    #expect(store.run("set", String(repeating: "n", count: 1_025), input: "x").status == 20)
    #expect(store.run("set", String(repeating: "n", count: 1_024), input: "x").status == 0)
    #expect(store.run("set", "a", input: String(repeating: "x", count: 1_048_577)).status == 20)
    #expect(store.run("set", "a", input: String(repeating: "x", count: 1_048_576) + "\n").status == 0)
    #expect(store.run("get", "a").outputBytes.count == 1_048_576)
    let attributes = (0..<65).flatMap { ["-a", "k\($0)=v"] }
    #expect(Transcript(["set", "b"] + attributes, environment: store.environment).status == 20)
  }

  @Test func `the group comes from the option, then the environment, then is default`() {
    store.run("group", "create", "team.shared")
    store.run("set", "a", "-g", "team.shared", input: "team")
    store.run("set", "a", input: "mine")
    #expect(store.run("get", "a", "-g", "team.shared").output == "team")
    #expect(store.run("get", "a").output == "mine")
    store.environment["VAULT_GROUP"] = "team.shared"
    #expect(store.run("get", "a").output == "team")
    #expect(store.run("get", "a", "-g", "default").output == "mine")
    #expect(store.run("get", "a", "-g", "absent").status == 10)
    #expect(store.run("get", "a", "-g", "Bad Name").status == 64)
    #expect(store.run("get", "group/default", "-g", "vault.owner").status == 64)
  }

  @Test func `the hint of an item that is not there names the group, and what vault restore can bring back`() {
    store.run("group", "create", "team")
    for command in [
      ["get", "nope", "-g", "team"], ["read", "vault://team/nope"], ["copy", "nope", "other", "-g", "team"],
    ] {
      let absent = Transcript(command, environment: store.environment)
      #expect(absent.errors.contains("list the items: vault list -g team;"), "\(absent.errors)")
    }
    #expect(store.run("get", "nope").errors.contains("list the items: vault list;"))
    let restored = store.run("restore", "gone")
    #expect(
      restored.errors
        == "vault: error: no such item in 'default'\nvault: hint: list what can be brought back: vault list --removed\n"
    )
  }
}
