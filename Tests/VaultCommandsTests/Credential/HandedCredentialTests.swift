import Testing

@testable import VaultCommands

/// Tests sealed credentials, and credentials from a descriptor.
@Suite struct HandedCredentialTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("group", "create", "team")
    store.run("set", "a", "-g", "team", input: "s3cret")
  }

  private var file: String { store.folder.file("ann.credential") }

  private func descriptor(_ text: String) -> String { String(Pipe.holding(Array(text.utf8))) }

  private func issue(_ options: String...) -> Transcript {
    Transcript(
      ["app", "issue", "ann", "--output", file, "--group", "team:read"] + options, environment: store.environment)
  }

  @Test func `a sealed credential opens with its passphrase, from a descriptor or the terminal`() {
    #expect(issue("--new-passphrase-fd", descriptor("for Ann alone\n")).status == 0)
    let opened = store.run(
      "get", "a", "-g", "team", "--credential", file, "--passphrase-fd", descriptor("for Ann alone\n"))
    #expect(opened.status == 0 && opened.output == "s3cret")
    let terminal = PseudoTerminal()
    terminal.type("for Ann alone\n")
    let (status, _) = store.run(["get", "a", "-g", "team", "--credential", file], on: terminal)
    let shown = terminal.shown()
    #expect(status == 0 && shown.contains("passphrase of ~/ann.credential: ") && shown.contains("s3cret"))
  }

  @Test func `a wrong passphrase is refused; without a terminal the credential stays locked`() {
    #expect(issue("--new-passphrase-fd", descriptor("for Ann alone\n")).status == 0)
    let wrong = store.run(
      "get", "a", "-g", "team", "--credential", file, "--passphrase-fd", descriptor("for Bob alone\n"))
    #expect(wrong.status == 16 && wrong.output.isEmpty)
    let asked = store.run("get", "a", "-g", "team", "--credential", file)
    #expect(asked.status == 11 && asked.errors.contains("no terminal"))
  }

  @Test func `the new passphrase is asked for twice`() {
    let terminal = PseudoTerminal()
    terminal.type("for Ann alone\nfor Ann alone\n")
    let (status, _) = store.run(["app", "issue", "ann", "--output", file, "--passphrase"], on: terminal)
    #expect(status == 0 && terminal.shown().contains("new passphrase of the credential: "))
    #expect(store.run("get", "a", "--credential", file).status == 11)
  }

  @Test func `an unsealed credential opens without a passphrase`() {
    #expect(issue().status == 0)
    #expect(store.run("get", "a", "-g", "team", "--credential", file).output == "s3cret")
  }

  @Test func `a credential is read from a descriptor`() {
    #expect(issue().status == 0)
    let bytes = store.folder.read("ann.credential")
    func fromDescriptor(_ options: String...) -> Transcript {
      Transcript(
        ["get", "a", "-g", "team", "--credential-fd", String(Pipe.holding(bytes))] + options,
        environment: store.environment)
    }
    #expect(fromDescriptor().output == "s3cret")
    #expect(fromDescriptor("--credential", file).status == 64)
    #expect(fromDescriptor("--key-file", store.keyFile).status == 64)
    let nonsense = store.run("get", "a", "--credential-fd", descriptor("nonsense"))
    #expect(nonsense.status == 13)
  }
}
