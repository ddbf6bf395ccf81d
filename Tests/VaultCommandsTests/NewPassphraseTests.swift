import Ground
import TestSupport
import Testing

@testable import VaultCommands

@Suite struct NewPassphraseTests {
  @Test func `without a terminal each command names the options that work without one`() throws {
    let store = try TestStore()
    func hint(_ arguments: String...) -> String? {
      let result = Transcript(arguments, environment: store.environment)
      #expect(result.status == 11, "\(arguments): \(result.errors)")
      return result.errors.split(separator: "\n").last.map(String.init)
    }
    let new = "vault: hint: without a terminal: --new-passphrase-fd N"
    #expect(hint("passphrase", "change") == new)
    #expect(hint("slot", "add", "passphrase") == new)
    #expect(hint("app", "issue", "api", "--output", store.folder.file("api"), "--passphrase") == new)
    #expect(
      hint("remote", "add", "office", "etcds://n.example:2379", "--user", "web")
        == "vault: hint: without a terminal: --password-fd N")
    #expect(hint("remote", "provision", "office") == "vault: hint: without a terminal: --root-password-fd N")
    #expect(store.run("backup", store.folder.file("backup")).status == 0)
    let descriptor = String(Pipe.holding(Array("a new one\n".utf8)))
    #expect(store.run("passphrase", "change", "--new-passphrase-fd", descriptor).status == 0)
    #expect(store.run("slot", "remove", "1", "--yes").status == 0)
    let opens = "vault: hint: name what opens it: --passphrase-fd N, --key-file FILE or --recovery-fd N"
    #expect(hint("unlock") == opens)
    #expect(hint("list")?.hasSuffix("or unlock it for a time: vault unlock") == true)
    store.environment["VAULT_HOME"] = store.folder.file("new")
    #expect(hint("init") == "vault: hint: without a terminal: --key-file FILE or --passphrase-fd N")
    #expect(hint("init", "--recover", store.folder.file("backup")) == opens)
  }

  private func isCommon(_ text: String) -> Bool {
    unsafe Array(text.utf8).withUnsafeBytes { unsafe CommonPassphrase.isOne($0) }
  }

  @Test(arguments: [
    "password", "Password1!", "qwertz", "123456", "20010911", "a", "aaaaaaaa", "abababab", "letmein2026", "lkjhgf", "",
    "correct horse battery staple", "1qaz2wsx", "Passw0rd",
  ]) func `passphrases that attackers try first are recognized`(text: String) { #expect(isCommon(text)) }

  @Test(arguments: ["hunter2", "a new one", "orange", "wrap stapler moon", "1234567890123", "Pässwort-für-mich"])
  func `other passphrases are accepted`(text: String) { #expect(!isCommon(text)) }

  private func descriptor(_ text: String) -> String { String(Pipe.holding(Array(text.utf8))) }

  @Test func `a common passphrase is refused without an explicit option`() throws {
    let store = try TestStore()
    let refused = store.run("slot", "add", "passphrase", "--new-passphrase-fd", descriptor("letmein\n"))
    #expect(refused.status == 64)
    #expect(refused.errors.contains("--common-passphrase") && !refused.errors.contains("letmein"))
    #expect(!store.run("slot", "list").output.contains("passphrase"))
    let new = ["VAULT_HOME": store.folder.file("new"), "VAULT_STATE": store.folder.file("new-state")]
    #expect(Transcript(["init", "--passphrase-fd", descriptor("letmein\n")], environment: new).status == 64)
    #expect(!store.folder.exists("new"))
    let meant = ["passphrase", "change", "--common-passphrase", "--new-passphrase-fd", descriptor("letmein\n")]
    #expect(Transcript(meant, environment: store.environment).status == 0)
    #expect(store.run("list", "--passphrase-fd", descriptor("letmein\n")).status == 0)
  }

  @Test func `on a terminal a common passphrase needs confirmation or another one is asked for`() throws {
    let store = try TestStore()
    let terminal = PseudoTerminal()
    terminal.type("letmein\nletmein\nno\nbetter words\nbetter words\n")
    #expect(store.run(["slot", "add", "passphrase"], on: terminal).status == 0)
    #expect(terminal.shown().contains("this is one of the passphrases that attackers try first"))
    #expect(store.run("list", "--passphrase-fd", descriptor("better words\n")).status == 0)
  }

  @Test func `a passphrase that is typed again at the question about a common one is not shown`() throws {
    let store = try TestStore()
    let terminal = PseudoTerminal()
    let echoes = Locked<[Bool]>([])
    onThreads(2) { thread in
      guard thread == 0 else {
        #expect(store.run(["slot", "add", "passphrase"], on: terminal).status == 0)
        return
      }
      let answers = [("store: ", "letmein"), ("again: ", "letmein"), ("(yes/no) ", "letmein"), ("yes or no: ", "yes")]
      for (prompt, answer) in answers {
        #expect(terminal.waitUntilShown(prompt))
        echoes.withLock { $0.append(terminal.showsWhatIsTyped) }
        terminal.type(answer + "\n")
      }
    }
    #expect(echoes.withLock { $0 } == [false, false, false, false])
  }
}
