import Foundation
import Testing
import Vault

@testable import VaultCommands

@Suite struct ExportCommandTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "PLAIN", input: "s3cret")
    store.run("set", "db/password", "--label", "Orders", "-a", "host=db1", "--expires", "2099-01-01", input: "it's\nso")
    store.run("set", "count", "--type", "int", input: "7")
  }

  private func export(_ arguments: String...) -> Transcript {
    Transcript(["export"] + arguments, environment: store.environment)
  }

  @Test func `an exported env file is imported again unchanged`() {
    let text = export("--to", "dotenv", "-g", "default", "--yes-print-secrets")
    #expect(text.status == 0)
    #expect(text.output == "PLAIN=s3cret\ncount=7\ndb/password=\"it's\nso\"\n")
    let said = text.errors.split(separator: "\n")
    #expect(said.first == "kinds, labels, attributes and expiry are left out: 2 items have some")
    #expect(
      said.count == 2
        && said[1].hasPrefix("vault: warning: the name 'db/password' is not a valid variable name, and a shell"))
    store.run("group", "create", "other")
    #expect(store.run("import", "-", "--from", "dotenv", "-g", "other", input: text.output).status == 0)
    #expect(store.run("get", "db/password", "-g", "other").output == "it's\nso")
    #expect(export("--to", "dotenv", "-g", "other", "--yes-print-secrets").output == text.output)
  }

  @Test func `if one item cannot be opened, nothing is written`() throws {
    // A large value has pages of its own, which begin with the number of the next one.
    let value = String(repeating: "0123456789abcdef", count: 1_280)
    for number in 10..<26 { store.execute("set", "large\(number)", input: value) }
    var file = store.folder.read("store/groups/default/group.vault")
    let late = stride(from: file.count * 3 / 4 / 4_096 * 4_096, to: file.count, by: 4_096)
    let page = try #require(late.first { file[$0] == 0 && file[$0 + 1] == 0 })
    file[page + 2_000] ^= 1
    _ = store.folder.write("store/groups/default/group.vault", file)
    #expect(store.execute("get", "large10").status == 0 && store.execute("list").status == 0)
    for form in ["json", "dotenv", "csv"] {
      let export = store.execute("export", "--to", form, "-g", "default", "--yes-print-secrets")
      #expect(export.status == 13 && export.outputBytes.isEmpty, "\(form): \(export.errors)")
    }
  }

  @Test func `an exported env file warns of values that its readers may change`() {
    store.run("set", "both", input: "$ { $HOME ${HOME}")
    let text = export("--to", "dotenv", "-g", "default", "--yes-print-secrets")
    #expect(text.status == 0 && text.output.contains("both='$ { $HOME ${HOME}'\n"))
    let warned = text.errors.split(separator: "\n").filter { $0.contains("'${'") }
    #expect(warned.count == 1 && warned[0].contains("the value of 'both' contains"))
    store.run("set", "A", input: "it's $x")
    store.run("set", "my key", input: "x")
    let errors = export("--to", "dotenv", "-g", "default", "--yes-print-secrets").errors
    let backslashes = "the value of 'A' has to be written with backslashes: shells and Node.js read it wrongly, and"
    #expect(errors.contains("\(backslashes) shells may read the lines after it wrongly\n"), "\(errors)")
    #expect(
      errors.contains("warning: 2 names such as 'db/password' are not valid variable names, and a shell"), "\(errors)")
  }

  @Test func `an export to JSON has every detail, with bytes in base64`() throws {
    store.run("set", "key", "--file", store.folder.write("key-bytes", [0xFF, 0]))
    let text = export("--to", "json", "-g", "default", "--yes-print-secrets")
    #expect(text.status == 0 && text.errors.isEmpty)
    let object = try readJSON(text.output)
    #expect(object["group"] as? String == "default")
    let items = try #require(object["items"] as? [[String: Any]])
    #expect(items.map { $0["name"] as? String } == ["PLAIN", "count", "db/password", "key"])
    #expect(items.map { $0["kind"] as? String } == ["string", "int", "string", "bytes"])
    #expect(items.map { $0["value"] as? String } == ["s3cret", "7", "it's\nso", nil])
    #expect(items[3]["valueBase64"] as? String == "/wA=")
    #expect(items[2]["label"] as? String == "Orders")
    #expect(items[2]["attributes"] as? [String: String] == ["host": "db1"])
    #expect(items[2]["expires"] as? String == "2099-01-01T00:00:00Z")
  }

  @Test(arguments: [ExportFormat.json, .dotenv, .bitwarden, .csv])
  func `an export that is too large for an import is noticed`(format: ExportFormat) throws {
    let location = try StoreLocation(home: store.folder.file("store"), state: store.folder.file("state"))
    let group = try SecretStore.open(at: location, unlocking: .keyFile(store.keyFile)).group("default")
    let written = export("--to", format.rawValue, "-g", "default", "--yes-print-secrets").outputBytes.count
    for (limit, isExceeded) in [(nil, false), (written, false), (written - 1, true)] {
      var request = try ExportRequest(of: group)
      try request.write(format, to: Output(descriptor: Pipe.nameless()), importLimit: limit)
      #expect(request.exceedsImport == isExceeded)
    }
  }

  @Test func `an item that an env file cannot hold is refused before anything is written`() {
    store.run("set", "key", "--file", store.folder.write("key-bytes", [0xFF, 0]))
    let refused = export("--to", "dotenv", "-g", "default", "--yes-print-secrets")
    #expect(refused.status == 18 && refused.output.isEmpty)
    #expect(refused.errors.hasPrefix("vault: error: 'key' does not fit into an env file: its value is not text\n"))
  }

  @Test func `an export prints nothing unless the user agrees`() {
    let refused = export("--to", "json", "-g", "default")
    #expect(refused.status == 64 && refused.output.isEmpty)
    #expect(
      refused.errors == """
        vault: error: there is no terminal to ask whether to print secrets
        vault: hint: to do it without asking: --yes-print-secrets

        """)
    for (answer, status) in [("no\n", Int32(130)), ("\n", 130), ("y\ny\ny\n", 130), ("y\nyes\n", 0)] {
      let terminal = PseudoTerminal()
      terminal.type(answer)
      let asked = Transcript(
        ["export", "--to", "dotenv", "-g", "default"], environment: store.environment, terminal: terminal.path)
      #expect(asked.status == status)
      #expect(asked.output.isEmpty == (status != 0))
      let question = "print 3 values of 'default', readable by whoever sees them? (yes/no) "
      #expect(terminal.shown().contains(question))
    }
  }

  @Test func `an export needs a group and an existing format`() {
    #expect(export("--to", "json", "--yes-print-secrets").status == 64)
    #expect(export("--to", "yaml", "-g", "default", "--yes-print-secrets").status == 64)
    #expect(export("--to", "json", "-g", "absent", "--yes-print-secrets").status == 10)
  }

  @Test func `an exported file is accessible to its owner alone`() {
    let path = store.folder.file("out.json")
    let written = export("--to", "json", "-g", "default", "--yes-print-secrets", "--output", path)
    #expect(written.status == 0 && written.output.isEmpty)
    #expect(store.folder.mode("out.json") == 0o600)
    #expect(String(decoding: store.folder.read("out.json"), as: UTF8.self).contains("s3cret"))
  }
}
