import Testing

@testable import VaultCommands

/// The answers of cargo's credential provider, line for line.
@Suite struct CargoCredentialCommandTests {
  private let store: TestStore
  private let index = "sparse+https://index.example.com/"
  private let item = "cargo/sparse+https://index.example.com/"

  init() throws { store = try TestStore() }

  /// The answers to requests that each begin with `"kind":`, without the first line of the protocol.
  private func ask(_ requests: String..., options: [String] = [], args: String = "") -> [String] {
    let lines = requests.map { #"{"v":1,"registry":{"index-url":"\#(index)","name":"example"},\#($0)\#(args)}"# + "\n" }
    return answers(lines.joined(), options)
  }

  private func answers(_ input: String, _ options: [String] = []) -> [String] {
    let transcript = Transcript(
      ["credential", "cargo", "--cargo-plugin"] + options, input: Array(input.utf8), environment: store.environment)
    #expect(transcript.status == 0 && transcript.errors.isEmpty, "\(transcript)")
    let lines = transcript.output.split(separator: "\n").map(String.init)
    #expect(lines.first == #"{"v":[1]}"#)
    return Array(lines.dropFirst())
  }

  private let get = #""kind":"get","operation":"read""#
  private let logIn = #""kind":"login","token":"t0ken","login-url":"https://example.com/me""#
  private let notFound = #"{"Err":{"kind":"not-found"}}"#

  @Test func `a token is stored, returned and removed`() {
    #expect(ask(get) == [notFound])
    #expect(ask(logIn) == [#"{"Ok":{"kind":"login"}}"#])
    #expect(
      ask(get) == [#"{"Ok":{"kind":"get","token":"t0ken","cache":"session","operation_independent":true}}"#])
    #expect(store.run("get", item).output == "t0ken")
    #expect(ask(#""kind":"logout""#) == [#"{"Ok":{"kind":"logout"}}"#])
    #expect(ask(#""kind":"logout""#, get) == [notFound, notFound])
    #expect(store.run("restore", item).status == 0)
    #expect(ask(get).first?.contains("t0ken") == true)
  }

  @Test func `cargo gets a token's expiry, and never an expired token`() {
    #expect(store.run("set", item, "--expires", "2099-01-01T00:00:00Z", input: "t0ken").status == 0)
    #expect(
      ask(get) == [
        #"{"Ok":{"kind":"get","token":"t0ken","cache":"expires","expiration":4070908800,"operation_independent":true}}"#
      ])
    #expect(store.run("set", item, "--expires", "2020-01-01", input: "t0ken").status == 0)
    #expect(ask(get) == [notFound])
  }

  @Test func `a group is chosen by an option or by cargo's settings`() {
    store.run("group", "create", "work")
    #expect(ask(logIn, args: #","args":["-g","work"]"#) == [#"{"Ok":{"kind":"login"}}"#])
    #expect(ask(get) == [notFound])
    #expect(ask(get, args: #","args":["--group","work"]"#).first?.contains("t0ken") == true)
    #expect(ask(get, args: #","args":[]"#) == [notFound])
    #expect(ask(get, options: ["-g", "work"]).first?.contains("t0ken") == true)
    #expect(ask(get, args: #","args":["--key-file"]"#).first?.contains(#""Err":{"kind":"other""#) == true)
  }

  @Test func `a request that cannot be answered gets an error of the protocol, without the token`() {
    #expect(ask(#""kind":"later""#) == [#"{"Err":{"kind":"operation-not-supported"}}"#])
    let unknown =
      #"{"Err":{"kind":"other","message":"this is not a request of cargo's protocol, version 1","caused-by":[]}}"#
    let requests = ["hunter2", "{}", #"{"v":2,"registry":{"index-url":"x"},"kind":"get"}"#, "\u{0}"]
    #expect(answers(requests.joined(separator: "\n") + "\n") == requests.map { _ in unknown })
    #expect(ask(#""kind":"login","token":"""#).first?.contains("the token is empty") == true)
    // Without a terminal nobody can be asked.
    #expect(ask(#""kind":"login""#).first?.contains("there is no terminal to ask for the token") == true)
    #expect(ask(get) == [notFound])
    store.environment["VAULT_HOME"] = store.folder.file("nowhere")
    #expect(ask(logIn).first?.contains(#""kind":"other""#) == true)
  }

  @Test func `a line that is longer than any request is answered, and nothing after it is read`() {
    let long = String(repeating: "x", count: (1 << 21) + 1)
    let answers = answers(long + "\n" + #"{"v":1,"registry":{"index-url":"\#(index)"},\#(get)}"# + "\n", [])
    #expect(
      answers == [
        #"{"Err":{"kind":"other","message":"stdin has a line of more than 2097152 bytes","caused-by":[]}}"#
      ])
  }

  @Test func `a token that cargo does not give is asked for on the terminal`() throws {
    let terminal = PseudoTerminal()
    let request = #"{"v":1,"registry":{"index-url":"\#(index)"},"kind":"login","login-url":"https://example.com/me"}"#
    terminal.type("typ3d\n")
    let done = store.run(["credential", "cargo"], on: terminal, input: request + "\n")
    #expect(done.status == 0, "\(done)")
    #expect(store.run("get", item).output == "typ3d")
  }
}
