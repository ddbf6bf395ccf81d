import Testing

@testable import VaultCommands

/// Programs that read user names and passwords from a netrc file in memory.
@Suite struct NetrcTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "api", "--type", "json", input: #"{"username":"ann","password":"s3cret"}"#)
    store.run("set", "odd", "--type", "json", input: #"{"username":"a b","password":"p\"q\\r's"}"#)
    store.run("set", "bare", input: "hunter2")
    store.run("set", "typed", "--type", "json", input: #"{"username":["a"],"password":{}}"#)
  }

  private func output(_ options: [String], _ script: String) -> Executable.Result {
    store.execute(["run"] + options + ["--", "/bin/sh", "-c", script], input: [])
  }

  @Test func `the program gets the path of a file with each host's login`() {
    let result = output(
      ["--netrc", "api.example.com=vault:///api", "--netrc", "b.example.com=vault://default/odd"],
      #"cat "$NETRC"; stat -L -c %a "$NETRC"; ls "$HOME" | grep -c netrc"#)
    #expect(result.errors.isEmpty, "\(result)")
    #expect(
      result.output == #"""
        machine api.example.com login ann password s3cret
        machine b.example.com login "a b" password "p\"q\\r's"
        400
        0

        """#)
  }

  @Test func `the passwords are masked in the program's output`() {
    let result = output(["--mask", "--netrc", "h=vault:///api"], #"cat "$NETRC""#)
    #expect(result.output == "machine h login ann password <concealed by vault>\n")
  }

  @Test(arguments: [
    ("api.example.com", "--netrc needs HOST=vault://GROUP/NAME"),
    ("h=vault:///bare", "--netrc h: the item is not JSON with the fields username and password"),
    ("h=vault:///typed", "--netrc h: the item is not JSON with the fields username and password"),
    ("h=vault:///api#password", "--netrc h: the reference names a field, not a login"),
    ("a b=vault:///api", "--netrc a b: this cannot be a host in a netrc file"),
    ("h=s3cret", "this is not a reference: it does not begin with vault://"),
  ]) func `a login that cannot be written is refused, and the program does not start`(option: String, words: String) {
    let result = output(["--netrc", option], "echo started")
    #expect(result.status == 64 && result.output.isEmpty)
    #expect(result.errors.contains(words) && !result.errors.contains("s3cret"), "\(result.errors)")
  }

  @Test func `a text that would begin another line is refused`() {
    store.run("set", "lines", "--type", "json", input: #"{"username":"a","password":"x\nmachine evil login b"}"#)
    #expect(output(["--netrc", "h=vault:///lines"], "echo started").status == 64)
    #expect(output(["--netrc", "h=vault:///api", "--netrc", "h=vault:///odd"], "echo started").status == 64)
    #expect(output(["--netrc", "h=vault:///absent"], "echo started").status == 10)
  }

  @Test(.needsClients) func `curl and Python read the file`() {
    let result = store.clientWithServer(
      #"""
      "$vault" run --netrc 127.0.0.1=vault:///odd -- sh -c '
        curl --silent --fail --netrc-file "$NETRC" "http://$0/v2/" && echo
        python3 -c "import netrc, os; print(netrc.netrc(os.environ[\"NETRC\"]).authenticators(\"127.0.0.1\"))"
      ' "$host"
      """#, login: #"a b:p"q\r's"#)
    #expect(result.status == 0, "\(result)")
    #expect(result.output == "{}\n('a b', '', 'p\"q\\\\r\\'s')\n")
  }
}
