import Testing

@testable import VaultCommands

@Suite struct NewPassphraseTests {
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
}
