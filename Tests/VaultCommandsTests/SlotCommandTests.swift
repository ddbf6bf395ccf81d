import Foundation
import Testing

@testable import VaultCommands

@Suite struct SlotCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private func descriptor(_ text: String) -> String { String(Pipe.holding(Array(text.utf8))) }

  private func code(_ arguments: String...) throws -> String {
    let made = Transcript(arguments, environment: store.environment)
    try #require(made.status == 0, "\(made.errors)")
    #expect(made.output.wholeMatch(of: /([0-9A-Z]{5}-){7}[0-9A-Z]{5}\n/) != nil)
    return String(made.output.dropLast())
  }

  @Test func `slots are listed with their costs and without secrets`() throws {
    #expect(store.run("slot", "add", "passphrase", "--new-passphrase-fd", descriptor("orange\n")).status == 0)
    try FileManager.default.removeItem(atPath: store.keyFile)
    #expect(store.run("slot", "list").output == "1\tkey file\t\n2\tpassphrase\t3 passes over 256 MiB\n")
    #expect(
      store.run("slot", "list", "--json").output == """
        [{"number":1,"kind":"key file"},
        {"number":2,"kind":"passphrase","passes":3,"memoryKiB":262144}]

        """)
    let status = try readJSON(store.run("status", "--json").output)
    #expect((status["slots"] as? [[String: Any]])?.map { $0["kind"] as? String } == ["key file", "passphrase"])
  }

  @Test func `the identity is shown, whether or not the store is locked`() throws {
    try FileManager.default.removeItem(atPath: store.keyFile)
    let shown = try readJSON(store.run("identity", "show", "--json").output)
    let owner = try #require(shown["owner"] as? String)
    #expect(owner.count == 64)
    #expect(shown["name"] as? String == String(owner.prefix(32)))
    #expect((shown["slots"] as? [[String: Any]])?.count == 1)
    let places = try #require(shown["places"] as? [[String: Any]])
    #expect(places.contains { $0["what"] as? String == "store" && $0["path"] as? String == store.folder.file("store") })
    let text = store.run("identity", "show").output
    #expect(text.hasPrefix("owner: \(owner)\nname: \(owner.prefix(32))\nslot 1: key file\nstore: /"))
  }

  @Test func `an added key file opens the store when it is named`() {
    let path = store.folder.file("second")
    let added = store.run("slot", "add", "key-file", "--new-key-file", path)
    #expect(added.status == 0)
    #expect(added.errors == "the key file opens slot 2\n")
    #expect(store.folder.mode("second") == 0o600 && store.folder.read("second").count == 32)
    #expect(store.run("list", "--key-file", path).status == 0)
    #expect(store.run("slot", "list", "--key-file", path).output == "1\tkey file\t\t\n2\tkey file\t\topens it\n")
    #expect(
      store.run("slot", "list", "--key-file", store.keyFile, "--json").output == """
        [{"number":1,"kind":"key file","opensWithNamedKey":true},
        {"number":2,"kind":"key file","opensWithNamedKey":false}]

        """)
    #expect(store.run("slot", "add", "key-file", "--new-key-file", path).status == 22)
    #expect(store.run("slot", "remove", "2", "--yes").status == 0)
    #expect(store.run("list", "--key-file", path).status == 16)
    #expect(store.run("slot", "list", "--key-file", path).status == 16)
    #expect(store.run("slot", "add", "key-file", "--new-key-file", store.folder.file("store/key")).status == 11)
    #expect(store.run("slot", "add", "key-file").status == 64)
  }

  @Test func `a recovery code is printed once and opens the store`() throws {
    let made = store.run("recovery", "create")
    #expect(
      made.errors
        == "write this code down, and keep it apart from the store: it opens slot 2 and is not shown again\n")
    let code = made.output
    store.run("set", "a", input: "value")
    try FileManager.default.removeItem(atPath: store.keyFile)
    #expect(store.run("get", "a").status == 11)
    #expect(store.run("get", "a", "--recovery-fd", descriptor(code)).output == "value")
    #expect(store.run("get", "a", "--recovery-fd", descriptor(code.lowercased())).output == "value")
    let changed = store.run(
      "passphrase", "change", "--recovery-fd", descriptor(code), "--new-passphrase-fd", descriptor("new\n"))
    #expect(changed.status == 0, "\(changed.errors)")
    #expect(store.run("get", "a", "--passphrase-fd", descriptor("new\n")).output == "value")
    #expect(store.run("slot", "remove", "1", "--yes", "--recovery-fd", descriptor(code)).status == 0)
    #expect(store.run("get", "a", "--recovery-fd", descriptor(code), "--key-file", store.keyFile).status == 64)
  }

  @Test func `a mistyped code names its group, a wrong code is an error, and neither is repeated`() throws {
    let code = try code("slot", "add", "recovery")
    var groups = code.split(separator: "-").map(String.init)
    groups[2] = String(groups[2].dropFirst()) + "U"
    var result = store.run("list", "--recovery-fd", descriptor(groups.joined(separator: "-")))
    #expect(result.status == 16)
    #expect(result.errors.hasPrefix("vault: error: group 3 of the recovery code is mistyped\nvault: hint: "))
    #expect(!groups.contains { result.errors.contains($0) })
    groups = code.split(separator: "-").map(String.init)
    groups.swapAt(0, 6)
    result = store.run("list", "--recovery-fd", descriptor(groups.joined(separator: "-")))
    #expect(result.status == 16)
    #expect(result.errors.hasPrefix("vault: error: groups 1 and 7 of the recovery code are in the wrong order\n"))
    #expect(store.run("slot", "remove", "2", "--yes").status == 0)
    _ = try self.code("slot", "add", "recovery")
    result = store.run("status", "--recovery-fd", descriptor(code), "--json")
    #expect(result.status == 16)
    #expect(try readJSON(result.errors)["message"] as? String == "wrong recovery code")
    #expect(!result.errors.contains(code))
  }

  @Test func `an older code stays valid, or is removed once the new one is written`() throws {
    let first = try code("recovery", "create")
    let second = store.run("recovery", "create")
    #expect(second.errors.hasSuffix("the code made before (slot 2) stays valid; to remove one: vault slot remove 2\n"))
    #expect(store.run("list", "--recovery-fd", descriptor(first)).status == 0)
    let marked = store.run("slot", "list", "--recovery-fd", descriptor(second.output))
    #expect(marked.output == "1\tkey file\t\t\n2\trecovery code\t\t\n3\trecovery code\t\topens it\n")
    #expect(store.run("slot", "list", "--credential", "some.credential").status == 64)
    let third = store.run("slot", "add", "recovery", "--replace")
    #expect(third.errors.hasSuffix("the codes made before (slot 2, 3) are removed\n"))
    #expect(store.run("list", "--recovery-fd", descriptor(first)).status == 16)
    #expect(store.run("list", "--recovery-fd", descriptor(second.output)).status == 16)
    #expect(store.run("list", "--recovery-fd", descriptor(third.output)).status == 0)
  }

  @Test func `if the code cannot be written, no slot is added and the old code stays`() throws {
    let old = try code("recovery", "create")
    for script in [
      #""$vault" recovery create --replace >/dev/full; echo $? >&2"#,
      #"""
      mkfifo "$folder/pipe"; true <"$folder/pipe" & exec 4>"$folder/pipe"; wait
      "$vault" recovery create --replace >&4; echo $? >&2
      """#,
    ] {
      let errors = store.shell(script).errors
      #expect(errors.hasPrefix("vault: error: ") && errors.hasSuffix("\n23\n"), "\(errors)")
      #expect(store.run("slot", "list").output == "1\tkey file\t\n2\trecovery code\t\n")
    }
    #expect(store.run("list", "--recovery-fd", descriptor(old)).status == 0)
  }

  @Test func `a systemd key opens the store from the place where systemd puts it`() throws {
    #expect(store.run("slot", "add", "systemd").status == 64)
    let path = store.folder.file("vault")
    #expect(store.run("slot", "add", "systemd", "--output", path).status == 0)
    #expect(store.folder.read("vault").count == 32 && store.folder.mode("vault") == 0o600)
    #expect(store.run("slot", "add", "systemd", "--output", path).status == 22)
    store.run("set", "a", input: "value")
    try FileManager.default.removeItem(atPath: store.keyFile)
    store.environment["CREDENTIALS_DIRECTORY"] = store.folder.path
    #expect(store.run("get", "a").output == "value")
  }

  @Test func `the last slot cannot be removed`() {
    let before = store.folder.read("store/identity/identity")
    let last = store.run("slot", "remove", "1", "--yes")
    #expect(last.status == 18)
    #expect(last.errors == "vault: error: the last slot cannot be removed: nothing would open the store\n")
    #expect(
      store.run("slot", "remove", "7").errors
        == "vault: error: there is no slot 7\nvault: hint: list the slots: vault slot list\n")
    #expect(store.run("slot", "remove", "7").status == 10)
    #expect(store.folder.read("store/identity/identity") == before)
  }

  @Test func `a new passphrase is asked for twice`() {
    let terminal = PseudoTerminal()
    terminal.type("one\ntwo\none\ntwo\none\ntwo\n")
    #expect(store.run(["slot", "add", "passphrase"], on: terminal).status == 64)
    terminal.type("one\none\n")
    #expect(store.run(["slot", "add", "passphrase"], on: terminal).status == 0)
    #expect(store.run("list", "--passphrase-fd", descriptor("one\n")).status == 0)
    let again = store.run("slot", "add", "passphrase", "--new-passphrase-fd", descriptor("two\n"))
    #expect(again.status == 22)
    #expect(again.errors == "vault: error: a passphrase slot already exists\n")
    #expect(store.run("slot", "add", "passphrase").status == 11)
  }

  @Test func `concurrent slot changes by many processes are all kept`() {
    let processes = (0..<8).flatMap { number in
      [
        ["slot", "add", "key-file", "--new-key-file", store.folder.file("k\(number)")],
        ["recovery", "create"], ["slot", "add", "systemd", "--output", store.folder.file("s\(number)")],
      ]
    }.map { Executable($0, environment: store.environment) }
    let results = processes.map { $0.wait() }
    #expect(results.allSatisfy { $0.status == 0 }, "\(results.map(\.errors))")
    let kinds = store.run("slot", "list").output.split(separator: "\n").map { $0.split(separator: "\t")[1] }
    #expect(kinds.count == 25)
    for (kind, count) in [("key file", 9), ("recovery code", 8), ("systemd credential", 8)] {
      #expect(kinds.count { $0 == kind } == count)
    }
    for result in results where !result.output.isEmpty {
      #expect(store.run("list", "--recovery-fd", descriptor(result.output)).status == 0)
    }
    for number in 0..<8 { #expect(store.run("list", "--key-file", store.folder.file("k\(number)")).status == 0) }
    let removals = (2...25).map { Executable(["slot", "remove", String($0), "--yes"], environment: store.environment) }
    #expect(removals.map { $0.wait().status } == [Int32](repeating: 0, count: 24))
    #expect(store.run("slot", "list").output == "1\tkey file\t\n")
  }
}
