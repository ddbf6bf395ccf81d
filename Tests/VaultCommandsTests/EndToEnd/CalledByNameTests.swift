import Glibc
import Testing

@testable import VaultCommands

/// The executable under the helper names that git and docker use.
@Suite struct CalledByNameTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.linkHelpers()
    store.linkHelpers(named: "keyvault")
  }

  private let login = "protocol=https\nhost=h\nusername=u\npassword=p\n"

  @Test(arguments: ["vault", "keyvault"]) func `the executable's name decides which helper it is`(name: String) {
    #expect(store.client("git-credential-\(name) store", input: login).status == 0)
    let found = store.client("git-credential-\(name) get", input: "protocol=https\nhost=h\n")
    #expect(found.output == "username=u\npassword=p\n" && found.errors.isEmpty)
    #expect(store.client("git-credential-\(name) later", input: login).status == 0)
    let stored = store.client(
      "docker-credential-\(name) store", input: #"{"ServerURL":"s","Username":"u","Secret":"p"}"#)
    #expect(stored.status == 0 && stored.output.isEmpty)
    #expect(store.client("docker-credential-\(name) list").output == #"{"s":"u"}"# + "\n")
    #expect(store.client("docker-credential-\(name) get", input: "x").status == 1)
  }

  @Test func `a helper prompts on the terminal and reads its message from stdin`() throws {
    let terminal = PseudoTerminal()
    store.environment["VAULT_HOME"] = store.folder.file("other")
    store.environment["VAULT_STATE"] = store.folder.file("other-state")
    let passphrase = Pipe.holding(Array("hunter2\n".utf8))
    defer { close(passphrase) }
    let made = Executable(["init", "--passphrase-fd", "3"], environment: store.environment, extra: [passphrase]).wait()
    try #require(made.status == 0, "\(made.errors)")
    _ = store.folder.write("message", Array(login.utf8))
    let process = Executable(
      ["-c", #""$folder/bin/git-credential-vault" store <"$folder/message""#], program: "/bin/sh",
      environment: store.scriptEnvironment, terminal: terminal)
    try #require(terminal.waitUntilShown(", for git: "))
    terminal.type("hunter2\n")
    let stored = process.wait()
    #expect(stored.status == 0 && stored.output.isEmpty && stored.errors.isEmpty, "\(stored)")
    // Without a terminal, one line says what to do.
    let locked = store.client("git-credential-vault get", input: login)
    #expect(locked.status == 11 && locked.output.isEmpty)
    #expect(
      locked.errors
        == "vault: error: locked: there is no terminal to ask for the passphrase; first: vault unlock\n")
    let docker = store.client("docker-credential-vault get", input: "x")
    #expect(docker.output == "locked: there is no terminal to ask for the passphrase; first: vault unlock\n")
    let cargo = store.client(
      "cargo-credential-vault --cargo-plugin",
      input: #"{"v":1,"kind":"get","operation":"read","registry":{"index-url":"sparse+https://r.test/"},"args":[]}"#
        + "\n")
    #expect(cargo.output.contains("; first: vault unlock"), "\(cargo)")
  }

  @Test func `a helper has the options, help and errors of its command`() {
    store.execute("group", "create", "work")
    #expect(store.client("git-credential-vault -g work store", input: login).status == 0)
    #expect(store.client("git-credential-vault get", input: "protocol=https\nhost=h\n").output.isEmpty)
    #expect(
      store.client("git-credential-vault get --group work", input: "protocol=https\nhost=h\n").output.hasPrefix("u"))
    #expect(store.client("git-credential-vault --help").output.contains("USAGE: vault credential git"))
    let bare = store.client("git-credential-vault")
    #expect(bare.status == 64 && bare.errors.contains("usage: vault credential git"))
    for arguments in ["", " get list"] {
      let misused = store.client("docker-credential-vault" + arguments)
      #expect(misused.status == 1 && misused.errors.isEmpty)
      #expect(misused.output.hasPrefix("Usage: docker-credential-vault "))
    }
  }
}
