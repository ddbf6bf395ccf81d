import Foundation
import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// The machine is lost; only a backup and a code on paper are left.
@Suite struct RecoveryCommandTests {
  private let store: TestStore
  /// A machine without a store.
  private let new: [String: String]
  private let code: String

  init() throws {
    store = try TestStore()
    #expect(store.run("group", "create", "team.shared").status == 0)
    for (name, group) in [("a", "default"), ("b", "team.shared")] {
      #expect(store.run("set", name, "-g", group, input: "old").status == 0)
      #expect(store.run("set", name, "-g", group, input: "value of \(name)").status == 0)
    }
    let made = store.run("recovery", "create")
    try #require(made.status == 0)
    code = made.output
    let backup = store.run("backup", store.folder.file("backup"))
    try #require(backup.status == 0, "\(backup.errors)")
    new = ["VAULT_HOME": store.folder.file("new/store"), "VAULT_STATE": store.folder.file("new/state")]
  }

  private func descriptor(_ text: String) -> String { String(Pipe.holding(Array(text.utf8))) }

  private func run(_ arguments: String..., terminal: String = "/nonexistent") -> Transcript {
    Transcript(arguments, environment: new, terminal: terminal)
  }

  private func recover(_ code: String? = nil, from backup: String = "backup", key: String = "new-key") -> Transcript {
    run(
      "init", "--recover", store.folder.file(backup), "--key-file", store.folder.file(key), "--recovery-fd",
      descriptor(code ?? self.code))
  }

  @Test func `after a forgotten passphrase the terminal takes the code, and then a new passphrase`() {
    let terminal = PseudoTerminal()
    let process = Executable(
      ["passphrase", "change", "--recovery-fd", "0"], environment: store.environment, terminal: terminal)
    let passphrase = "a new one for this\n"
    for (prompt, answer) in [
      ("recovery code: ", code), ("new passphrase of ~/store: ", passphrase), ("the same again: ", passphrase),
    ] {
      #expect(terminal.waitUntilShown(prompt), "\(terminal.shown())")
      terminal.type(answer)
    }
    #expect(process.wait().status == 0, "\(terminal.shown())")
    #expect(!terminal.shown().contains(code.dropLast()))
    #expect(store.run("get", "a", "--passphrase-fd", descriptor(passphrase)).output == "value of a")
  }

  private func expectEverything() {
    #expect(run("get", "a").output == "value of a")
    #expect(run("get", "b", "-g", "team.shared").output == "value of b")
    #expect(run("get", "b", "-g", "team.shared", "--version", "1").output == "old")
    let verify = run("verify")
    #expect(verify.status == 0, "\(verify.errors)")
    #expect(run("group", "list").output == "default\nteam.shared\n")
  }

  @Test func `a recovery restores everything for the same owner`() throws {
    let before = try readJSON(store.run("identity", "show", "--json").output)
    let recovered = recover()
    #expect(recovered.status == 0, "\(recovered.errors)")
    expectEverything()
    let after = try readJSON(run("identity", "show", "--json").output)
    #expect(before["owner"] as? String == after["owner"] as? String)
    #expect(run("slot", "list").output == "2\trecovery code\t\n3\tkey file\t\n")
    #expect(run("list", "--recovery-fd", descriptor(code)).status == 0)
    #expect(run("list", "--key-file", store.keyFile).status == 16)
    #expect(store.folder.read("backup/identity/identity") == store.folder.read("store/identity/identity"))
    #expect(run("set", "c", "--file", store.keyFile).status == 0)
    #expect(run("backup", store.folder.file("second")).status == 0)
  }

  @Test func `without a store, restoring a backup names the command that makes the store from it`() {
    let backup = store.folder.file("backup")
    let restored = run("restore-backup", backup)
    #expect(restored.status == 21)
    #expect(
      restored.errors.hasSuffix(
        "hint: make the store from the backup: vault init --recover \(backup); or, if it is elsewhere, set VAULT_HOME\n"
      )
    )
    #expect(run("restore-backup", "s3cret").errors.contains("the backup: vault init --recover DIR; or"))
    #expect(run("list").errors.contains("make one: vault init;"))
  }

  @Test func `a group that is damaged in the backup is repaired in the recovered store`() throws {
    for number in 1...40 { store.run("set", "item \(number)", "-g", "team.shared", input: "value") }
    let backup = store.folder.file("damaged")
    #expect(store.run("backup", backup).status == 0)
    let page = #"dd if=/dev/urandom of="$folder/damaged/groups/team.shared/group.vault" bs=4096 count=1 seek=5"#
    #expect(store.shell(page + " conv=notrunc 2>&1").status == 0)
    let recovered = recover(from: "damaged")
    #expect(recovered.status == 13)
    let commands = try #require(recovered.errors.split(separator: "keep what is proved of this one: ").last)
    #expect(commands.hasPrefix("cp -a \(backup)/groups/team.shared "), "\(recovered.errors)")
    let repaired = store.shell(
      #"export VAULT_HOME="$folder/new/store" VAULT_STATE="$folder/new/state" VAULT_KEY_FILE="$folder/new-key""#
        + "\nvault() { \"$vault\" \"$@\"; }\n" + commands)
    #expect(repaired.status == 0, "\(repaired.errors)")
    #expect(run("get", "b", "-g", "team.shared").output == "value of b")
    #expect(run("verify").status == 0)
  }

  @Test func `a recovery asks for the code and a new passphrase`() {
    let terminal = PseudoTerminal()
    terminal.type(code.lowercased().replacing("-", with: " "))
    terminal.type("new one\nnew one\n")
    let recovered = run("init", "--recover", store.folder.file("backup"), terminal: terminal.path)
    #expect(recovered.status == 0, "\(recovered.errors)")
    #expect(terminal.shown().contains("recovery code of "))
    #expect(run("get", "a", "--passphrase-fd", descriptor("new one\n")).output == "value of a")
    #expect(run("slot", "list").output == "2\trecovery code\t\n3\tpassphrase\t3 passes over 256 MiB\n")
  }

  @Test func `a key file that opens the backup recovers everything and opens the new store`() {
    let recovered = run("init", "--recover", store.folder.file("backup"), "--key-file", store.keyFile)
    #expect(recovered.status == 0, "\(recovered.errors)")
    #expect(recovered.errors.contains("there is no recovery code; make a new one: vault recovery create\n"))
    expectEverything()
    #expect(run("slot", "list").output == "1\tkey file\t\n")
  }

  @Test(arguments: [
    (#"cp key unfit && chmod 644 unfit"#, "is open to other users (mode 644)"),
    (#"head -c 31 key >unfit && chmod 600 unfit"#, "has the wrong size"),
    (#"mkdir -m 700 unfit"#, "is not the kind of file"),
    (#"ln -s key unfit"#, "is a symbolic link"),
  ])
  func `a key file that is unfit ends the recovery before anybody is asked for a code`(making: String, words: String) {
    #expect(store.shell(#"cd "$folder" && "# + making).status == 0)
    let terminal = PseudoTerminal()
    let refused = run(
      "init", "--recover", store.folder.file("backup"), "--key-file", store.folder.file("unfit"),
      terminal: terminal.path)
    #expect(refused.status == 11)
    #expect(refused.errors.hasPrefix("vault: error: locked: the key file \(words)"), "\(refused.errors)")
    #expect(!terminal.shown().contains("recovery code") && !store.folder.exists("new"))
  }

  @Test func `the backup's passphrase recovers everything, from a descriptor or typed`() {
    #expect(store.run("slot", "add", "passphrase", "--new-passphrase-fd", descriptor("old phrase\n")).status == 0)
    #expect(store.run("slot", "remove", "2", "--yes").status == 0)
    let backup = store.folder.file("codeless")
    #expect(store.run("backup", backup).status == 0)
    let wrong = run("init", "--recover", backup, "--passphrase-fd", descriptor("another phrase\n"))
    #expect(wrong.status == 11)
    #expect(!store.folder.exists("new"))
    let recovered = run("init", "--recover", backup, "--passphrase-fd", descriptor("old phrase\n"))
    #expect(recovered.status == 0, "\(recovered.errors)")
    #expect(run("get", "a", "--passphrase-fd", descriptor("old phrase\n")).output == "value of a")
    try? FileManager.default.removeItem(atPath: store.folder.file("new"))
    let terminal = PseudoTerminal()
    terminal.type("old phrase\n")
    let typed = run("init", "--recover", backup, terminal: terminal.path)
    #expect(typed.status == 0, "\(typed.errors)")
    #expect(terminal.shown().contains("passphrase of "))
    #expect(run("slot", "list").output == "3\tpassphrase\t3 passes over 256 MiB\n")
  }

  @Test func `whoever has no code at hand is told how to use the backup's passphrase`() {
    #expect(store.run("slot", "add", "passphrase", "--new-passphrase-fd", descriptor("old phrase\n")).status == 0)
    let backup = store.folder.file("both")
    #expect(store.run("backup", backup).status == 0)
    let terminal = PseudoTerminal()
    terminal.type("\nold phrase\n")
    let typed = run("init", "--recover", backup, "--key-file", store.folder.file("k"), terminal: terminal.path)
    #expect(typed.status == 0, "\(typed.errors)")
    #expect(terminal.shown().contains("both (press Enter to use its passphrase instead): "))
  }

  @Test func `a store without its identity is not taken for a damaged backup, and nobody is asked for a code`() {
    #expect(recover().status == 0)
    let backup = store.folder.file("backup")
    let home = store.folder.file("new/store")
    _ = store.shell(#"rm -r "$folder/new/store/identity""#)
    let terminal = PseudoTerminal()
    terminal.type(code + "new one\nnew one\n")
    let refused = run("init", "--recover", backup, terminal: terminal.path)
    #expect(refused.status == 13)
    #expect(
      refused.errors == """
        vault: error: damaged or altered (identity: the store lacks it, but has groups)
        vault: hint: restore the folder identity from a backup: cp -a \(backup)/identity \(home)/; the groups stay as they are

        """)
    #expect(!terminal.shown().contains("recovery code"))
    // The identity of the backup will do.
    _ = store.shell(#"cp -a "$folder/backup/identity" "$folder/new/store/""#)
    #expect(run("get", "a", "--recovery-fd", descriptor(code)).output == "value of a")
  }

  @Test func `a copy of a store without its logs is recovered with a warning`() {
    #expect(store.shell(#"cp -a "$folder/store" "$folder/copy""#).status == 0)
    let words: [(String, String?)] = [
      ("nothing", nil), ("group.vault-wal", "'default' came back without its newest changes: they were in"),
      ("group.vault-shm", "the newest changes of 'default' may be missing: this copy"),
    ]
    for (file, warning) in words {
      #expect(store.shell(#"rm -rf "$folder/new" "$folder"/copy/groups/default/\#(file)"#).status == 0)
      let recovered = run("init", "--recover", store.folder.file("copy"), "--key-file", store.keyFile)
      #expect(recovered.status == 0, "\(recovered.errors)")
      #expect(recovered.errors.contains("group.vault-wal") == (warning != nil), "\(recovered.errors)")
      if let warning { #expect(recovered.errors.contains(warning), "\(recovered.errors)") }
      #expect(!recovered.errors.contains("'team.shared'"))
    }
    let restored = run("restore-backup", store.folder.file("copy"), "default", "--replace")
    #expect(restored.status == 0, "\(restored.errors)")
    _ = store.shell(#"rm -rf "$folder/new""#)
    #expect(!recover().errors.contains("group.vault-wal"))
  }

  @Test func `a wrong code makes no store and is not repeated`() {
    var groups = code.dropLast().split(separator: "-").map(String.init)
    groups[5] = "UUUUU"
    let mistyped = recover(groups.joined(separator: "-"))
    #expect(mistyped.status == 16)
    #expect(mistyped.errors.hasPrefix("vault: error: group 6 of the recovery code is mistyped\n"))
    let other = store.run("recovery", "create").output
    let wrong = recover(other)
    #expect(wrong.status == 16)
    #expect(wrong.errors.hasPrefix("vault: error: wrong recovery code\n"))
    #expect(!groups.contains { (mistyped.errors + wrong.errors).contains($0) })
    #expect(run("init", "--recover", store.folder.file("backup"), "--key-file", store.folder.file("k")).status == 11)
    #expect(!store.folder.exists("new") && !store.folder.exists("new-key") && !store.folder.exists("k"))
  }

  @Test func `a folder that is not a backup, a backup without a code and contradicting options are refused`() {
    _ = store.folder.write("file", [1])
    for folder in ["nowhere", "file", "state"] { #expect(recover(from: folder).status == 13, "\(folder)") }
    #expect(store.run("slot", "remove", "2", "--yes").status == 0)
    #expect(store.run("backup", store.folder.file("codeless")).status == 0)
    #expect(store.run("backup", store.folder.file("codeless-too")).errors.contains("there is no recovery code"))
    let codeless = recover(from: "codeless")
    #expect(codeless.status == 11)
    #expect(codeless.errors.hasPrefix("vault: error: locked: the store has no slot for a recovery code\n"))
    #expect(run("init", "--recovery-fd", descriptor(code)).status == 64)
    let backup = store.folder.file("backup")
    #expect(run("init", "--recover", backup, "--key-file", "/k", "--passphrase-fd", descriptor("x")).status == 64)
    #expect(run("init", "--recover", backup, "--credential", "/c", "--recovery-fd", descriptor(code)).status == 64)
    #expect(!store.folder.exists("new"))
  }

  @Test func `a recovery does not touch an existing store`() {
    #expect(run("init", "--key-file", store.folder.file("other-key")).status == 0)
    let identity = store.folder.read("new/store/identity/identity")
    let again = recover()
    #expect(again.status == 22)
    #expect(
      again.errors == """
        vault: error: a store already exists
        vault: hint: it was not touched; to bring its groups back: vault restore-backup \(store.folder.file("backup")); to make the store elsewhere, set VAULT_HOME

        """)
    let plain = run("init", "--key-file", store.folder.file("other-key"))
    #expect(plain.status == 22)
    #expect(plain.errors.hasSuffix("hint: it was not touched; to make another one, set VAULT_HOME\n"))
    #expect(store.folder.read("new/store/identity/identity") == identity)
    #expect(run("group", "list").output == "default\n")
    #expect(!store.folder.exists("new-key"))
    let own = store.run(
      "init", "--recover", store.folder.file("backup"), "--key-file", store.keyFile, "--recovery-fd", descriptor(code))
    #expect(own.status == 22)
    #expect(store.run("get", "a").output == "value of a")
  }

  @Test func `an interrupted recovery can be finished with another key, and blocks making another store`() {
    #expect(recover().status == 0)
    // The state after a process was killed once the first group was restored.
    _ = store.folder.write("new/store/identity/recovering", [], mode: 0o600)
    for group in ["default", "vault.owner"] {
      try? FileManager.default.removeItem(atPath: store.folder.file("new/store/groups/\(group)"))
    }
    try? FileManager.default.removeItem(atPath: store.folder.file("new/state"))
    let list = run("list", "--key-file", store.folder.file("new-key"))
    #expect(list.status == 18)
    #expect(
      list.errors == """
        vault: error: the recovery of this store was not finished
        vault: hint: run it again: vault init --recover DIR

        """)
    #expect(run("slot", "add", "recovery", "--key-file", store.folder.file("new-key")).status == 18)
    let other = run("init", "--key-file", store.folder.file("new-key"))
    #expect(other.status == 22)
    #expect(
      other.errors == """
        vault: error: a store whose recovery was begun already exists
        vault: hint: finish the recovery: vault init --recover DIR

        """)
    let finished = recover(key: "newer-key")
    #expect(finished.status == 0, "\(finished.errors)")
    expectEverything()
    #expect(run("list", "--key-file", store.folder.file("new-key")).status == 16)
    #expect(!store.folder.exists("new/store/identity/recovering"))
    #expect(recover().status == 22)
  }

  @Test func `a recovery killed at any time is finished by the same command`() {
    for delay in RunLength.positions(in: 400, sample: 5) {
      try? FileManager.default.removeItem(atPath: store.folder.file("new"))
      let arguments = [
        "init", "--recover", store.folder.file("backup"), "--key-file", store.folder.file("new-key"), "--recovery-fd",
        "3",
      ]
      let first = Pipe.holding(Array(code.utf8))
      let process = Executable(arguments, environment: new, extra: [first])
      usleep(UInt32(delay) * 1_000)
      process.send(SIGKILL)
      let killed = process.wait()
      close(first)
      let again = recover()
      // It may have finished before it was killed.
      #expect(
        (killed.status == 0 ? [22] : [0, 22]).contains(again.status),
        "after \(delay) ms: \(killed.status), \(again.errors)")
      expectEverything()
      #expect(!store.folder.exists("new/store/identity/recovering"))
    }
  }

  @Test func `of two recoveries at the same time one succeeds and the other reports it`() {
    let codes = (0..<2).map { _ in Pipe.holding(Array(code.utf8)) }
    let both = codes.indices.map { number in
      Executable(
        [
          "init", "--recover", store.folder.file("backup"), "--key-file", store.folder.file("key\(number)"),
          "--recovery-fd", "3",
        ], environment: new, extra: [codes[number]])
    }
    let results = both.map { $0.wait() }
    for code in codes { close(code) }
    #expect(results.count { $0.status == 0 } == 1, "\(results)")
    #expect(results.allSatisfy { [0, 15, 22].contains($0.status) }, "\(results)")
    expectEverything()
  }

  @Test func `an application with a newly issued credential opens what it had`() throws {
    let app = "com.example.notes"
    let issued = store.run(
      "app", "issue", app, "--output", store.folder.file("credential"), "--group", "team.shared:write")
    #expect(issued.status == 0, "\(issued.errors)")
    var environment = store.environment
    environment["VAULT_CREDENTIAL"] = store.folder.file("credential")
    #expect(Transcript(["set", "own"], input: Array("mine".utf8), environment: environment).status == 0)
    #expect(store.run("backup", store.folder.file("later")).status == 0)
    #expect(recover(from: "later").status == 0)
    let again = run("app", "issue", app, "--output", store.folder.file("again"), "--again")
    #expect(again.status == 0, "\(again.errors)")
    environment = new
    environment["VAULT_CREDENTIAL"] = store.folder.file("again")
    #expect(Transcript(["get", "own"], environment: environment).output == "mine")
    let shared = Transcript(["get", "b", "-g", "team.shared"], environment: environment)
    #expect(shared.output == "value of b", "\(shared.errors)")
  }
}
