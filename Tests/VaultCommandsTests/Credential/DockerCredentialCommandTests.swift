import Testing

@testable import VaultCommands

/// The answers of docker's helper, word for word.
@Suite struct DockerCredentialCommandTests {
  private let store: TestStore
  private let hub = "https://index.docker.io/v1/"

  init() throws { store = try TestStore() }

  private func ask(_ operation: String, _ input: String = "") -> Transcript {
    store.run("credential", "docker", operation, input: input)
  }

  private func login(_ server: String, _ user: String, _ secret: String) -> Transcript {
    ask("store", #"{"ServerURL":"\#(server)","Username":"\#(user)","Secret":"\#(secret)"}"# + "\n")
  }

  private func expect(
    _ transcript: Transcript, _ status: Int32, _ output: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      transcript.status == status && transcript.output == output && transcript.errors.isEmpty, "\(transcript)",
      sourceLocation: sourceLocation)
  }

  @Test func `a login is stored, returned, listed and erased`() {
    expect(login(hub, "alice", "hunter2"), 0, "")
    expect(login("registry.example:5000", "<token>", "identity"), 0, "")
    expect(ask("get", hub), 0, #"{"ServerURL":"\#(hub)","Username":"alice","Secret":"hunter2"}"# + "\n")
    expect(ask("get", " \(hub)\r\n"), 0, #"{"ServerURL":"\#(hub)","Username":"alice","Secret":"hunter2"}"# + "\n")
    expect(
      ask("get", "registry.example:5000\n"), 0,
      #"{"ServerURL":"registry.example:5000","Username":"<token>","Secret":"identity"}"# + "\n")
    expect(ask("list", "unused"), 0, #"{"\#(hub)":"alice","registry.example:5000":"<token>"}"# + "\n")
    #expect(store.run("read", "vault://default/docker/\(hub)#password").output == "hunter2")
    expect(ask("erase", hub + "\n"), 0, "")
    expect(ask("get", hub), 1, "credentials not found in native keychain\n")
    expect(ask("list"), 0, #"{"registry.example:5000":"<token>"}"# + "\n")
    #expect(store.run("restore", "docker/\(hub)").status == 0)
    expect(ask("erase", "registry.example:5000"), 0, "")
    expect(ask("list"), 0, #"{"\#(hub)":"alice"}"# + "\n")
  }

  @Test func `errors of docker's helper use docker's words, on stdout and with status 1`() {
    expect(ask("get", "absent"), 1, "credentials not found in native keychain\n")
    expect(ask("get", hub + "x"), 1, "credentials not found in native keychain\n")
    expect(ask("erase", "absent"), 0, "")
    for empty in ["", "\n", " \t\r\n"] {
      expect(ask("get", empty), 1, "no credentials server URL\n")
      expect(ask("erase", empty), 1, "no credentials server URL\n")
    }
    expect(login("", "u", "s"), 1, "no credentials server URL\n")
    expect(ask("store", "{}"), 1, "no credentials server URL\n")
    expect(login("h", "", "s"), 1, "no credentials username\n")
    for text in ["", "hunter2", #"{"ServerURL":"h""#, #"{"ServerURL":"h","Username":"u","Secret":"hunter2"} x"#] {
      expect(ask("store", text), 1, "stdin is not JSON\n")
    }
    let long = String(repeating: "h", count: 2_000)
    expect(ask("get", long), 1, "credentials not found in native keychain\n")
    expect(ask("erase", long), 0, "")
    for odd in ["null", "7", "{}", "[\"h\"]", "true", "\" \""] {
      expect(ask("store", #"{"ServerURL":\#(odd),"Username":"u","Secret":"s"}"#), 1, "no credentials server URL\n")
    }
    for odd in ["null", "7", "{}", "[\"h\"]", "true"] {
      expect(ask("store", #"{"ServerURL":"h","Username":\#(odd),"Secret":"s"}"#), 1, "no credentials username\n")
      expect(ask("store", #"{"ServerURL":"h","Username":"u","Secret":\#(odd)}"#), 1, "the secret is not a string\n")
    }
    let usage = "Usage: docker-credential-vault <store|get|erase|list|version>\n"
    expect(store.run("credential", "docker"), 1, usage)
    expect(store.run("credential", "docker", "-g", "default"), 1, usage)
    expect(store.run("credential", "docker", "get", "list"), 1, usage)
    expect(ask("login"), 1, "docker-credential-vault: unknown action\n")
    expect(ask("list"), 0, "{}\n")
    expect(ask("version"), 0, "docker-credential-vault (vault) v\(Versions.vault)\n")
  }

  @Test func `storing the same login again makes no version, and an empty secret is stored`() {
    for _ in 0..<2 { expect(login(hub, "alice", "hunter2"), 0, "") }
    #expect(store.run("history", "docker/\(hub)", "--json").output.split(separator: "\n").count == 1)
    expect(login(hub, "bob", ""), 0, "")
    #expect(store.run("history", "docker/\(hub)", "--json").output.split(separator: "\n").count == 2)
    expect(ask("get", hub), 0, #"{"ServerURL":"\#(hub)","Username":"bob","Secret":""}"# + "\n")
  }

  @Test func `a new login leaves the fields that docker does not know`() {
    store.run(
      "set", "docker/h", "--type", "json",
      input: #"{"username":"u","password":"p","notes":{"a":[1]},"state":"CA"}"#)
    expect(login("h", "u", "p"), 0, "")
    #expect(store.run("history", "docker/h", "--json").output.split(separator: "\n").count == 1)
    expect(login("h", "v", "new"), 0, "")
    #expect(
      store.run("get", "docker/h").output == #"{"username":"v","password":"new","notes":{"a":[1]},"state":"CA"}"#)
  }

  @Test func `any server and any text are returned unchanged`() throws {
    for text in [#"a \"b\" \\ \/"#, "größe 鍵", #"\u0000\u001f\n\u007f"#, #"\ud83d\udd11"#, "u\u{308}", "a%2Fb?c#d"] {
      let decoded = try #require(readJSON(#"{"text":"\#(text)"}"#)["text"] as? String)
      expect(login(text, text, text), 0, "")
      let answer = ask("get", decoded)
      #expect(answer.status == 0, "\(answer)")
      let login = try readJSON(answer.output).compactMapValues { $0 as? String }
      #expect(login == ["ServerURL": decoded, "Username": decoded, "Secret": decoded], "\(text)")
      expect(ask("erase", decoded), 0, "")
    }
    let secret = String(repeating: "s", count: 500_000)
    expect(login(hub, "alice", secret), 0, "")
    #expect(try readJSON(ask("get", hub).output)["Secret"] as? String == secret)
  }

  @Test func `white space around a server is ignored`() {
    expect(login(" \(hub)\\n", "alice", "hunter2"), 0, "")
    expect(ask("list"), 0, #"{"\#(hub)":"alice"}"# + "\n")
    expect(ask("get", " \(hub)\n"), 0, #"{"ServerURL":"\#(hub)","Username":"alice","Secret":"hunter2"}"# + "\n")
  }

  @Test func `docker's helper sends no control characters to a terminal`() {
    expect(login("h", "alice", "a\u{9B}31mb"), 0, "")
    let terminal = PseudoTerminal()
    let refused = store.run(["credential", "docker", "get"], on: terminal, input: "h")
    #expect(refused.status == 1 && refused.errors.isEmpty)
    #expect(terminal.shown() == "the value is not text and is not written to a terminal\r\n")
    #expect(store.run(["credential", "docker", "list"], on: terminal).status == 0)
    #expect(terminal.shown() == #"{"h":"alice"}"# + "\r\n")
  }

  @Test func `an item stored by hand that is not a login is not returned`() {
    store.run("set", "docker/h", input: "hunter2")
    expect(ask("get", "h"), 1, "no credentials username\n")
    expect(ask("list"), 0, "{}\n")
    store.run("set", "docker/h", "--type", "json", input: #"{"username":"u","password":"p"}"#)
    expect(ask("list"), 0, #"{"h":"u"}"# + "\n")
    store.run("set", "docker/h", "--keep-value", "--expires", "2020-01-01")
    expect(ask("get", "h"), 1, "credentials not found in native keychain\n")
    expect(ask("list"), 0, "{}\n")
  }

  @Test func `a locked store is reported on stdout in one line`() {
    expect(login(hub, "alice", "hunter2"), 0, "")
    store.environment["VAULT_KEY_FILE"] = store.folder.file("absent")
    for transcript in [ask("get", hub), ask("erase", hub), ask("list"), login(hub, "alice", "hunter2")] {
      #expect(transcript.status == 1 && transcript.errors.isEmpty)
      #expect(transcript.output.hasPrefix("locked: ") && transcript.output.split(separator: "\n").count == 1)
    }
    expect(ask("version"), 0, "docker-credential-vault (vault) v\(Versions.vault)\n")
  }
}
