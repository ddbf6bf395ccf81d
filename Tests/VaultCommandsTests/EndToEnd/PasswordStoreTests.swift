import Glibc
import Testing

@testable import VaultCommands

/// Entries written by the real pass with the real gpg.
@Suite(.needsClients) struct PasswordStoreTests {
  private let store: TestStore
  private let entries: String

  init() throws {
    store = try TestStore()
    entries = store.folder.file("entries")
    store.environment["PATH"] = Machine.path
    store.environment["GNUPGHOME"] = store.folder.file("gnupg")
    store.environment["PASSWORD_STORE_DIR"] = entries
    let made = run(
      """
      mkdir -m 700 "$GNUPGHOME"
      gpg --batch --quiet --passphrase '' --quick-generate-key ann@example.com default default never
      pass init ann@example.com
      pass git init
      printf 's3cret\\n' | pass insert -m one
      printf 's3cret2\\nlogin: ann\\nurl: https://a.test\\nPIN: 7\\n' | pass insert -m 'web/a b'
      printf 'otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ\\n' | pass insert -m web/code
      """)
    try #require(made.status == 0, "\(made.errors)")
  }

  @discardableResult
  private func run(_ script: String) -> Executable.Result {
    Executable(["-e", "-c", script], program: "/bin/sh", environment: store.environment).wait()
  }

  private func bringIn(_ options: String...) -> Executable.Result {
    store.execute(["import", "--from", "pass"] + options, input: [])
  }

  @Test func `every entry becomes an item named by its path`() {
    let shown = bringIn("--dry-run")
    #expect(shown.output == "new\tone\tstring\nnew\tweb/a b\tjson\nnew\tweb/code\tstring\n")
    let done = bringIn("--prefix", "pass/")
    #expect(done.status == 0)
    #expect(done.errors == "imported into 'default': 3 new, 0 replaced, 0 unchanged\n")
    #expect(store.run("get", "pass/one").output == "s3cret")
    #expect(store.run("read", "vault:///pass/web/a%20b#username").output == "ann")
    #expect(store.run("read", "vault:///pass/web/a%20b#password").output == "s3cret2")
    #expect(store.run("read", "vault:///pass/web/a%20b#notes").output == "PIN: 7")
    #expect(store.run("totp", "pass/web/code").output.count == 6)
    #expect(bringIn("--prefix", "pass/").errors.hasSuffix("0 new, 0 replaced, 3 unchanged\n"))
  }

  @Test func `the folder of a password store is recognized`() throws {
    let folder = try #require(store.environment["PASSWORD_STORE_DIR"])
    let named = store.execute(["import", folder, "--dry-run"], input: [])
    #expect(named.status == 0 && named.output == bringIn("--dry-run").output)
    #expect(store.execute(["import", folder + "/web", "--dry-run"], input: []).status == 64)
  }

  @Test func `hidden entries are imported, and the files of pass and git are not`() {
    run("printf 's3cret\\n' | pass insert -m .hidden/.one; cd \"$PASSWORD_STORE_DIR\"; : >.stray; : >.gitattributes")
    let done = bringIn()
    #expect(done.errors.hasPrefix("imported into 'default': 4 new, 0 replaced, 0 unchanged\n"))
    #expect(done.errors.hasSuffix("unchanged\nnot kept: '.stray': not an entry of pass\n"))
    #expect(store.run("get", ".hidden/.one").output == "s3cret")
  }

  @Test(arguments: [nil, "", "not a tty", "/dev/other"])
  func `gpg is told about the terminal unless a path was named`(named: String?) {
    _ = store.folder.write("gpg", Array("#!/bin/sh\ncat >/dev/null; printf %s \"$GPG_TTY\"\n".utf8), mode: 0o755)
    let terminal = PseudoTerminal()
    var environment = store.environment.merging(["PATH": "\(store.folder.path):\(Machine.path)"]) { $1 }
    environment["GPG_TTY"] = named
    let done = Executable(["import", "--from", "pass"], environment: environment, terminal: terminal).wait()
    #expect(done.status == 0, "\(done.errors)")
    #expect(store.run("get", "one").output == (named == "/dev/other" ? "/dev/other" : terminal.path))
  }

  @Test func `entries that gpg cannot open are named, and nothing is changed`() throws {
    _ = store.folder.write("entries/web/broken.gpg", Array("s3cret".utf8))
    run(
      "gpg --batch --quiet --passphrase '' --symmetric --pinentry-mode loopback -o \"$PASSWORD_STORE_DIR/z.gpg\" /dev/null"
    )
    for options in [[], ["--json"]] {
      let refused = store.execute(["import", "--from", "pass"] + options, input: [])
      #expect(refused.status == 11 && refused.output.isEmpty)
      #expect(refused.errors.contains("gpg cannot open 'web/broken'"))
      #expect(!refused.errors.contains("s3cret") && !refused.errors.contains("gpg: "))
    }
    #expect(store.run("list").output.isEmpty)
  }

  @Test func `links out of the folder are refused, and links inside it are followed`() {
    run("cd \"$PASSWORD_STORE_DIR\"; ln -s one.gpg two.gpg; ln -s web site")
    let inside = bringIn()
    #expect(inside.status == 0)
    #expect(
      inside.errors.contains("not kept: 'site': a link to a folder in the store, whose entries are imported anyway"))
    #expect(store.run("get", "two").output == "s3cret")
    run("cd \"$PASSWORD_STORE_DIR\"; mv web/code.gpg ..; ln -s ../../code.gpg web/code.gpg")
    let outside = bringIn("--prefix", "x/")
    #expect(outside.status == 12)
    #expect(outside.errors == "vault: error: 'web/code.gpg' is a link that leads out of the password store\n")
    #expect(store.run("list", "x/").output.isEmpty)
  }

  @Test func `entries of gopass keep their fields, and age opens the entries encrypted for it`() {
    let made = run(
      """
      cd "$HOME" && mkdir -p gopass/web && age-keygen -o identities
      printf 's3cret\\nuser: ann\\nPIN: 7\\nfree text\\n' | age -r "$(age-keygen -y identities)" -o gopass/web/site.age
      cp "$PASSWORD_STORE_DIR/one.gpg" gopass/one.gpg
      : > gopass/.age-recipients
      """)
    #expect(made.status == 0, "\(made.errors)")
    let (folder, identities) = (store.folder.file("gopass"), store.folder.file("identities"))
    let done = store.execute(["import", folder, "--from", "gopass", "--file-key", identities], input: [])
    #expect(done.errors == "imported into 'default': 2 new, 0 replaced, 0 unchanged\n")
    #expect(
      store.run("get", "web/site").output
        == #"{"username":"ann","password":"s3cret","notes":"free text","PIN":"7"}"#)
    let closed = store.execute(["import", folder, "--from", "gopass"], input: [])
    #expect(closed.status == 11 && closed.errors.contains("gpg or age cannot open 'web/site'"))
    // A pipe can be read only once.
    run("cp \"$HOME/gopass/web/site.age\" \"$HOME/gopass/web/other.age\"")
    let piped = store.shell(
      #"""
      cd "$folder"
      cat identities | "$vault" import gopass --from gopass --prefix x/ --file-key /dev/fd/5 5<&0
      """#)
    #expect(piped.errors == "imported into 'default': 3 new, 0 replaced, 0 unchanged\n")
    let absent = store.execute(["import", folder, "--from", "gopass", "--file-key", folder + "/absent"], input: [])
    #expect(absent.errors == "vault: error: the file's key cannot be read: it does not exist\n")
  }

  @Test func `a missing password store and a missing gpg are errors`() {
    store.environment["PATH"] = store.folder.path
    let without = bringIn()
    #expect(without.status == 64)
    #expect(without.errors == "vault: error: gpg was not found\nvault: hint: install GnuPG\n")
    store.environment["PASSWORD_STORE_DIR"] = store.folder.file("absent")
    #expect(bringIn().status == 64)
    #expect(bringIn().errors.hasPrefix("vault: error: there is no password store\n"))
  }
}
