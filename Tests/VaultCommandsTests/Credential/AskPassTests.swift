import Testing

@testable import VaultCommands

/// The prompts of ssh, git and sudo, and the items that answer them.
@Suite struct AskPassTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "web", input: "s3cret")
  }

  private func add(_ name: String, _ prompt: String, _ more: String...) {
    #expect(Transcript(["askpass", "add", name, prompt] + more, environment: store.environment).status == 0)
  }

  @Test func `an item answers exactly the prompts of its rules`() {
    add("web", "[sudo] password for ann: ")
    #expect(store.run("askpass", "[sudo] password for ann: ").output == "s3cret\n")
    #expect(store.run("askpass", "[sudo] password for ann:").output == "s3cret\n")
    for other in ["[sudo] password for bob: ", "[sudo] password for ann", "x [sudo] password for ann: ", ""] {
      let refused = store.run("askpass", other)
      #expect(refused.status == 11 && refused.output.isEmpty && refused.errors.contains("no terminal to ask"))
    }
    #expect(store.run("askpass", "list").output == "[sudo] password for ann:\tweb\tpassword\n")
    #expect(
      store.run("askpass", "list", "--json").output
        == #"[{"prompt":"[sudo] password for ann:","item":"web","field":"password"}]"# + "\n")
    add("web", "")
    #expect(store.run("askpass", "[sudo] password for ann: ").status == 11)
    #expect(store.run("askpass", "list").output.isEmpty)
  }

  @Test func `a login answers with its password or, on request, its user name`() {
    store.run("set", "git", "--type", "json", input: #"{"username":"ann","password":"t0ken"}"#)
    add("git", "Password for 'https://ann@host': ")
    add("git", "Username for 'https://host': ", "--username")
    #expect(store.run("askpass", "Password for 'https://ann@host': ").output == "t0ken\n")
    #expect(store.run("askpass", "Username for 'https://host': ").output == "ann\n")
    add("web", "Username for 'https://other': ", "--username")
    #expect(store.run("askpass", "Username for 'https://other': ").status == 18)
  }

  @Test func `a prompt with two matching items, or an expired one, is shown on the terminal`() {
    add("web", "Password: ")
    store.run("set", "other", "--attribute", "askpass=Password:", input: "else")
    let terminal = PseudoTerminal()
    terminal.type("typed\n")
    let asked = store.run(["askpass", "Password: "], on: terminal)
    #expect(asked.status == 0 && asked.errors.contains("more than one item answers the prompt"))
    #expect(terminal.shown().contains("typed") && !terminal.shown().contains("s3cret"))
    let unasked = store.run("askpass", "Password: ")
    #expect(unasked.status == 11 && unasked.errors.contains("more than one item answers the prompt 'Password: '"))
    store.run("set", "other", "--attribute", "askpass=", "--expires", "2001-01-01", input: "else")
    store.run("set", "web", "--attribute", "askpass=", input: "x")
    store.run("set", "late", "--attribute", "askpass=Password:", "--expires", "2001-01-01", input: "old")
    let expired = store.run("askpass", "Password: ")
    #expect(expired.status == 11 && expired.errors.contains("expired"))
  }

  @Test(arguments: ["one\ntwo", "one\rtwo", "\u{1B}c", "tab\t", "\u{7F}"])
  func `a value with control characters answers nothing`(value: String) {
    store.run("set", "web", "--attribute", "askpass=Password:", input: value)
    let refused = store.run("askpass", "Password:")
    #expect(refused.status == 18 && refused.output.isEmpty && refused.errors.contains("control characters"))
  }

  @Test func `an error shows the beginning of a long prompt`() {
    let refused = store.run("askpass", String(repeating: "p", count: 5_000))
    #expect(refused.status == 11 && refused.errors.contains("'\(String(repeating: "p", count: 200))…'"))
  }

  @Test func `a yes-or-no question is answered by a person, even if an item has a rule for it`() {
    add("web", "Allow use of key?")
    store.environment["SSH_ASKPASS_PROMPT"] = "confirm"
    for (typed, status) in [("yes", 0), ("no", 12), ("", 12)] {
      let terminal = PseudoTerminal()
      terminal.type(typed + "\n")
      #expect(store.run(["askpass", "Allow use of key?"], on: terminal).status == status)
      #expect(!terminal.shown().contains("s3cret"))
    }
    let unasked = store.run("askpass", "Allow use of key?")
    #expect(unasked.status == 11 && unasked.errors.contains("no terminal") && !unasked.errors.contains("no item"))
    store.environment["SSH_ASKPASS_PROMPT"] = "none"
    let told = store.run("askpass", "Confirm user presence")
    #expect(told.status == 0 && told.output.isEmpty && told.errors == "Confirm user presence\n")
  }

  @Test(arguments: [
    "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
    "Please type 'yes', 'no' or the fingerprint: ",
  ])
  func `ssh's questions about a host's key are answered by a person`(_ prompt: String) {
    #expect(store.run("askpass", "add", "web", prompt).status == 64)
    store.run("set", "evil", "--attribute", "askpass=\(AskPassRule.text(of: prompt))", input: "aye")
    let unasked = store.run("askpass", prompt)
    #expect(unasked.status == 11 && unasked.output.isEmpty && unasked.errors.contains("a person has to answer"))
    let terminal = PseudoTerminal()
    terminal.type("no\n")
    let asked = store.run(["askpass", prompt], on: terminal)
    #expect(asked.status == 0 && asked.errors.isEmpty && !terminal.shown().contains("aye"))
  }

  @Test func `a prompt cannot steer the terminal`() {
    let terminal = PseudoTerminal()
    terminal.type("x\n")
    #expect(store.run(["askpass", "a\u{1B}[2J\nb: "], on: terminal).status == 0)
    #expect(!terminal.shown().contains("\u{1B}"))
  }

  @Test func `git and ssh-keygen get their answers from the executable's own name`() {
    store.linkHelpers()
    store.run("set", "key", "--attribute", "askpass=Enter passphrase:", input: "a phrase")
    store.run("set", "git", "--attribute", "askpass=Password for 'https://ann@example.com':", input: "t0ken")
    let result = store.client(
      """
      ssh-keygen -q -t ed25519 -N 'a phrase' -f "$folder/id" &&
      SSH_ASKPASS="$folder/bin/vault-askpass" SSH_ASKPASS_REQUIRE=force ssh-keygen -y -f "$folder/id" | cut -c 1-11
      GIT_ASKPASS="$folder/bin/vault-askpass" git -c credential.helper= credential fill | grep password
      """, input: "url=https://ann@example.com\n")
    #expect(result.output == "ssh-ed25519\npassword=t0ken\n", "\(result)")
  }
}
