import Testing

@testable import VaultCommands

/// The answers of git's helper, message by message.
@Suite struct GitCredentialCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  @discardableResult
  private func ask(_ operation: String, _ lines: String...) -> Transcript {
    store.run("credential", "git", operation, input: lines.joined(separator: "\n") + "\n")
  }

  private func expectQuiet(_ transcript: Transcript, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(
      transcript.status == 0 && transcript.output.isEmpty && transcript.errors.isEmpty,
      "\(transcript)", sourceLocation: sourceLocation)
  }

  private var names: [String] {
    store.run("list", "git/", "--json").output.split(separator: "\"name\":\"").dropFirst().map {
      String($0.prefix { $0 != "\"" })
    }
  }

  private func versions(of name: String) -> Int {
    store.run("history", name, "--json").output.split(separator: "\n").count
  }

  private let alice = "protocol=https\nhost=github.com\nusername=alice\npassword=hunter2"

  @Test func `a stored login is returned for a matching description, and its fields can be read`() {
    expectQuiet(ask("store", alice))
    #expect(ask("get", "protocol=https", "host=github.com").output == "username=alice\npassword=hunter2\n")
    #expect(ask("get", "protocol=https", "host=github.com", "username=alice").output.contains("password=hunter2\n"))
    #expect(names == ["git/https/github.com/alice"])
    #expect(store.run("read", "vault://default/git/https/github.com/alice#password").output == "hunter2")
    #expect(store.run("read", "vault://default/git/https/github.com/alice#username").output == "alice")
    for other in [
      "protocol=http\nhost=github.com", "protocol=https\nhost=github.com:443", "protocol=https\nhost=GitHub.com",
    ] {
      expectQuiet(ask("get", other))
    }
    expectQuiet(ask("get", "protocol=https", "host=github.com", "username=bob"))
    expectQuiet(ask("get", "protocol=https", "host=github.com", "path=a"))
  }

  @Test func `an incomplete description gets no answer and changes nothing`() {
    ask("store", alice)
    for little in ["", "protocol=https", "host=github.com", "username=alice", "path=a"] {
      expectQuiet(ask("get", little))
      expectQuiet(ask("erase", little))
    }
    for little in [
      "protocol=https\nhost=h\nusername=u", "protocol=https\nhost=h\npassword=p",
      "host=h\nusername=u\npassword=p", "protocol=https\nusername=u\npassword=p",
      "protocol=https\nhost=h\nauthtype=Bearer\ncredential=c",
    ] {
      expectQuiet(ask("store", little))
    }
    #expect(names == ["git/https/github.com/alice"])
  }

  @Test func `storing the same login again makes no version, and another password makes one`() {
    ask("store", alice)
    expectQuiet(ask("store", alice))
    #expect(versions(of: "git/https/github.com/alice") == 1)
    ask("store", alice + "2")
    #expect(versions(of: "git/https/github.com/alice") == 2)
    #expect(ask("get", "protocol=https", "host=github.com").output.contains("password=hunter22\n"))
  }

  @Test func `a new password leaves the fields that git does not know`() {
    let name = "git/https/github.com/alice"
    store.run(
      "set", name, "--type", "json",
      input: #"{"notes":"n","password":"old","oauth_refresh_token":"r","totp":"JBSWY3DP","pin":7}"#)
    expectQuiet(ask("store", alice))
    #expect(
      store.run("get", name).output
        == #"{"notes":"n","password":"hunter2","totp":"JBSWY3DP","pin":7,"username":"alice"}"#)
    let bytes = Array("protocol=https\nhost=github.com\nusername=alice\npassword=".utf8) + [0xFF, 0x0A]
    expectQuiet(Transcript(["credential", "git", "store"], input: bytes, environment: store.environment))
    #expect(
      store.run("get", name).output
        == #"{"notes":"n","totp":"JBSWY3DP","pin":7,"username":"alice","passwordBase64":"/w=="}"#)
    // Other values are replaced as a whole.
    for (kind, value) in [("string", "token"), ("json", "[1]")] {
      store.run("set", name, "--type", kind, "--replace-fields", input: value)
      expectQuiet(ask("store", alice))
      #expect(store.run("get", name).output == #"{"username":"alice","password":"hunter2"}"#)
    }
  }

  @Test func `erase keeps a login with another password, and without a user name erases every match`() {
    ask("store", alice)
    ask("store", "protocol=https", "host=github.com", "username=bob", "password=other")
    ask("store", "protocol=https", "host=gitlab.com", "username=alice", "password=hunter2")
    expectQuiet(ask("erase", "protocol=https", "host=github.com", "username=alice", "password=old"))
    expectQuiet(ask("erase", "protocol=https", "host=github.com", "path=x"))
    #expect(names.count == 3)
    expectQuiet(ask("erase", "protocol=https", "host=github.com", "password=hunter2"))
    #expect(names == ["git/https/github.com/bob", "git/https/gitlab.com/alice"])
    ask("store", alice)
    expectQuiet(ask("erase", "protocol=https", "host=github.com"))
    #expect(names == ["git/https/gitlab.com/alice"])
    #expect(store.run("restore", "git/https/github.com/alice").status == 0)
    expectQuiet(ask("erase", "protocol=https", "host=absent"))
  }

  @Test func `a request with a path gets the login for that path`() {
    for repository in ["a.git", "b/c.git"] {
      ask("store", "protocol=https", "host=h", "path=\(repository)", "username=u", "password=\(repository)")
    }
    #expect(ask("get", "protocol=https", "host=h", "path=b/c.git").output == "username=u\npassword=b/c.git\n")
    #expect(ask("get", "protocol=https", "host=h", "path=a.git", "username=u").output.contains("password=a.git\n"))
    expectQuiet(ask("get", "protocol=https", "host=h", "path=b"))
    expectQuiet(ask("get", "protocol=https", "host=h", "path=c.git"))
    // A request without a path gets any login, but prefers one for the whole host.
    #expect(ask("get", "protocol=https", "host=h", "username=u").output.contains("username=u\npassword="))
    ask("store", "protocol=https", "host=h", "username=u", "password=whole")
    ask("store", "protocol=https", "host=h", "path=z", "username=z", "password=z")
    #expect(ask("get", "protocol=https", "host=h").output == "username=u\npassword=whole\n")
    ask("erase", "protocol=https", "host=h", "path=a.git")
    #expect(names == ["git/https/h/b/c.git/u", "git/https/h/u", "git/https/h/z/z"])
  }

  @Test func `the newest of several logins is returned`() {
    for user in ["zoe", "ann", "bob"] {
      ask("store", "protocol=https", "host=h", "username=\(user)", "password=of \(user)")
    }
    #expect(ask("get", "protocol=https", "host=h").output == "username=bob\npassword=of bob\n")
    ask("store", "protocol=https", "host=h", "username=ann", "password=new")
    #expect(ask("get", "protocol=https", "host=h").output == "username=ann\npassword=new\n")
  }

  @Test func `an expired password is not returned, but another login is`() {
    ask("store", "protocol=https", "host=h", "username=ann", "password=a", "password_expiry_utc=4102444800")
    #expect(
      ask("get", "protocol=https", "host=h").output == "username=ann\npassword=a\npassword_expiry_utc=4102444800\n")
    #expect(store.run("list").output.contains("2100-01-01"))
    ask("store", "protocol=https", "host=h", "username=old", "password=b", "password_expiry_utc=1000000000")
    expectQuiet(ask("get", "protocol=https", "host=h", "username=old"))
    #expect(ask("get", "protocol=https", "host=h").output.hasPrefix("username=ann\n"))
    // A new password does not inherit the old one's expiry.
    ask("store", "protocol=https", "host=h", "username=old", "password=c")
    #expect(ask("get", "protocol=https", "host=h", "username=old").output == "username=old\npassword=c\n")
    for odd in ["soon", "0", "99999999999999999999", "9223372036854775807"] {
      ask("store", "protocol=https", "host=odd", "username=u\(odd)", "password=p", "password_expiry_utc=\(odd)")
      #expect(
        ask("get", "protocol=https", "host=odd", "username=u\(odd)").output == "username=u\(odd)\npassword=p\n",
        "\(odd)")
    }
  }

  @Test func `a password that is stored again has no expiry unless git sends one`() {
    ask("store", alice, "password_expiry_utc=1000000000")
    expectQuiet(ask("get", "protocol=https", "host=github.com"))
    ask("store", alice, "password_expiry_utc=1000000000")
    #expect(versions(of: "git/https/github.com/alice") == 1)
    ask("store", alice)
    #expect(ask("get", "protocol=https", "host=github.com").output == "username=alice\npassword=hunter2\n")
    #expect(versions(of: "git/https/github.com/alice") == 2)
    ask("store", alice, "password_expiry_utc=1000000000")
    expectQuiet(ask("get", "protocol=https", "host=github.com"))
    // Git reads only the digits at the start of a number.
    ask("store", alice, "password_expiry_utc=4102444800abc")
    #expect(ask("get", "protocol=https", "host=github.com").output.hasSuffix("\npassword_expiry_utc=4102444800\n"))
  }

  @Test func `a request without a host is ignored, and an empty host is a host`() {
    let certificate = "username=/a\npassword=p"
    expectQuiet(ask("store", "protocol=cert", "path=/a", certificate))
    #expect(names.isEmpty)
    expectQuiet(ask("store", "protocol=cert", "host=", "path=/a", certificate))
    #expect(ask("get", "protocol=cert", "host=", "path=/a").output == certificate + "\n")
    expectQuiet(ask("get", "protocol=cert", "host=", "path=/b"))
    for little in ["protocol=cert\npath=/a", "protocol=cert\npath=/b"] {
      expectQuiet(ask("get", little))
      expectQuiet(ask("erase", little))
    }
    #expect(names.count == 1)
  }

  @Test func `git's helper sends no control characters to a terminal`() {
    ask("store", "protocol=https", "host=h", "username=u", "password=a\u{1B}]0;b")
    let terminal = PseudoTerminal()
    let refused = store.run(["credential", "git", "get"], on: terminal, input: "protocol=https\nhost=h\n")
    #expect(refused.status == 64 && refused.errors.contains("is not written to a terminal"))
    #expect(terminal.shown().isEmpty)
    ask("store", "protocol=https", "host=h", "username=u", "password=größe")
    #expect(store.run(["credential", "git", "get"], on: terminal, input: "protocol=https\nhost=h\n").status == 0)
    #expect(terminal.shown() == "username=u\r\npassword=größe\r\n")
  }

  @Test func `fields that an older git omits stay as long as the password is the same`() {
    ask(
      "store", "protocol=https", "host=h", "username=u", "password=p", "oauth_refresh_token=r",
      "password_expiry_utc=4102444800")
    let whole = "username=u\npassword=p\npassword_expiry_utc=4102444800\noauth_refresh_token=r\n"
    #expect(ask("get", "protocol=https", "host=h").output == whole)
    ask("store", "protocol=https", "host=h", "username=u", "password=p")
    #expect(ask("get", "protocol=https", "host=h").output == whole)
    #expect(versions(of: "git/https/h/u") == 1)
    ask("store", "protocol=https", "host=h", "username=u", "password=other")
    #expect(ask("get", "protocol=https", "host=h").output == "username=u\npassword=other\n")
  }

  @Test func `authtype and state are returned only with their capabilities`() {
    let place = "protocol=https\nhost=git.example.com"
    let capable = "capability[]=authtype\ncapability[]=state\n" + place
    ask("store", capable, "authtype=Bearer", "credential=token", "state[]=vault.a", "state[]=vault.b")
    #expect(names == ["git/https/git.example.com/<Bearer>"])
    #expect(
      ask("get", capable).output == """
        capability[]=authtype
        capability[]=state
        authtype=Bearer
        credential=token
        state[]=vault.a
        state[]=vault.b

        """)
    #expect(
      ask("get", "capability[]=authtype", place).output
        == "capability[]=authtype\nauthtype=Bearer\ncredential=token\n")
    expectQuiet(ask("get", place))
    ask("store", capable, "username=foo", "authtype=Bearer", "credential=other")
    #expect(
      ask("get", "capability[]=authtype", place, "username=foo").output
        == "capability[]=authtype\nusername=foo\nauthtype=Bearer\ncredential=other\n")
    expectQuiet(ask("get", place, "username=foo"))
    ask("erase", "capability[]=authtype", place, "authtype=Bearer", "credential=stale")
    #expect(names.count == 2)
    // Without the capability nothing is compared, so nothing is erased.
    expectQuiet(ask("erase", place, "authtype=Bearer", "credential=token"))
    #expect(names.count == 2)
    ask("erase", "capability[]=authtype", place, "authtype=Bearer", "credential=token")
    #expect(names == ["git/https/git.example.com/foo"])
  }

  @Test func `an ephemeral credential is never stored`() {
    let place = "capability[]=authtype\nprotocol=https\nhost=h\n"
    expectQuiet(ask("store", place + "authtype=Bearer\ncredential=c\nephemeral=1"))
    expectQuiet(ask("store", place + "username=u\npassword=p\nephemeral=1"))
    expectQuiet(ask("store", "protocol=https\nhost=h\nusername=u\npassword=p\nephemeral=true"))
    #expect(names.isEmpty)
  }

  @Test func `empty and odd names and passwords are returned unchanged`() {
    let odd = ["", " ", "a=b", "größe 鍵", "u\u{308}", "a\rb\r", "\u{1}\u{7F}\u{85}", "a/b", "%2F", "<x>", "\\\"'"]
    for (index, text) in odd.enumerated() {
      expectQuiet(ask("store", "protocol=https", "host=h\(index):8443", "username=\(text)", "password=\(text)"))
      #expect(
        ask("get", "protocol=https", "host=h\(index):8443").outputBytes
          == Array("username=\(text)\npassword=\(text)\n".utf8), "\(text)")
    }
    expectQuiet(ask("store", "protocol=https", "host=[2001:db8::1]:8443", "username=u", "password=p"))
    #expect(ask("get", "protocol=https", "host=[2001:db8::1]:8443").output == "username=u\npassword=p\n")
    #expect(names.contains("git/https/[2001:db8::1]:8443/u"))
  }

  @Test func `bytes that are not text are returned unchanged`() {
    let message = Array("protocol=https\nhost=h\nusername=\u{FF}".utf8) + [0xFF, 0x0A]
    let password = Array("password=".utf8) + [0xC3, 0x28, 0x80, 0x0A]
    let stored = Transcript(
      ["credential", "git", "store"], input: message + password, environment: store.environment)
    expectQuiet(stored)
    let found = Transcript(["credential", "git", "get"], input: message, environment: store.environment)
    #expect(found.outputBytes == message.dropFirst("protocol=https\nhost=h\n".utf8.count) + password)
  }

  @Test func `a line of 65,535 bytes is kept whole, and the end of a longer one is not read as another key`() {
    let password = String(repeating: "p", count: 65_535 - "password=\n".utf8.count)
    ask("store", "protocol=https", "host=h", "username=u", "password=\(password)")
    #expect(ask("get", "protocol=https", "host=h").output == "username=u\npassword=\(password)\n")
    ask("store", "protocol=https", "host=good.example", "username=u", "password=good")
    ask("store", "protocol=https", "host=evil.example", "username=u", "password=hunter2")
    for length in [65_525, 65_526, 65_535, 65_536, 131_071] {
      let header = String(repeating: "x", count: length - "wwwauth[]=".utf8.count) + "host=evil.example"
      #expect(
        ask("get", "protocol=https", "host=good.example", "wwwauth[]=\(header)").output == "username=u\npassword=good\n"
      )
      let split = String(repeating: "x", count: length - "wwwauth[]=".utf8.count) + "\nhost=evil.example"
      #expect(ask("get", "protocol=https", "host=good.example", "wwwauth[]=\(split)").output.contains("hunter2"))
    }
    #expect(ask("get", "protocol=https\nhost=h\nwwwauth[]=\(String(repeating: "x", count: 1 << 20))").status == 20)
    let long = String(repeating: "u", count: 2_000)
    expectQuiet(ask("get", "protocol=https", "host=h", "username=\(long)"))
    expectQuiet(ask("get", "protocol=https", "host=\(long)"))
    #expect(ask("store", "protocol=https", "host=h", "username=\(long)", "password=hunter2").status == 20)
  }

  @Test func `a value stored by hand is a password if git's protocol can carry it`() {
    store.run("set", "git/https/h/alice", input: "hunter2\n")
    #expect(ask("get", "protocol=https", "host=h").output == "username=alice\npassword=hunter2\n")
    expectQuiet(ask("store", "protocol=https", "host=h", "username=alice", "password=hunter2"))
    #expect(versions(of: "git/https/h/alice") == 1)
    store.run("set", "git/https/h/alice", input: "hunter2\nhost=evil")
    expectQuiet(ask("get", "protocol=https", "host=h"))
    for odd in ["{}", "[]", #"{"username":"x"}"#, "null"] {
      store.run("set", "git/https/h/alice", "--type", "json", input: odd)
      expectQuiet(ask("get", "protocol=https", "host=h"))
    }
    store.run("set", "git/https/h/alice", "--type", "json", input: #"{"password":"a\nhost=b"}"#)
    expectQuiet(ask("get", "protocol=https", "host=h"))
    store.run("set", "git/https/h/bob", "--type", "json", input: #"{"password":"p\u00e9"}"#)
    #expect(ask("get", "protocol=https", "host=h").output == "username=bob\npassword=pé\n")
  }

  @Test func `an unknown operation is ignored, and a malformed message is an error`() {
    #expect(ask("capability").output == "version 0\ncapability authtype\ncapability state\n")
    for operation in ["list", "fill", "Get", "quit"] { expectQuiet(ask(operation, alice)) }
    expectQuiet(ask("get", "protocol=https", "host=h", "quit=1", "unknown=x", "unknown[]=y"))
    for (text, line) in [("s3cret", 1), ("protocol=https\ns3cret", 2), ("protocol=https\nhost=a\u{0}s3cret", 2)] {
      let refused = ask("get", text)
      #expect(refused.status == 64 && refused.errors.contains("line \(line)") && refused.output.isEmpty)
      #expect(!refused.errors.contains("s3cret"))
    }
    #expect(store.run("credential", "git").status == 64)
  }

  @Test func `the helper uses the group that is named`() {
    store.run("group", "create", "work")
    store.run("credential", "git", "store", "-g", "work", input: alice)
    expectQuiet(ask("get", "protocol=https", "host=github.com"))
    store.environment["VAULT_GROUP"] = "work"
    #expect(ask("get", "protocol=https", "host=github.com").output.hasPrefix("username=alice\n"))
  }

  @Test func `if nothing opens the store, one line says so and git continues`() {
    ask("store", alice)
    store.environment["VAULT_KEY_FILE"] = store.folder.file("absent")
    for operation in ["get", "store", "erase"] {
      let locked = ask(operation, alice)
      #expect(locked.status == 11 && locked.output.isEmpty)
      #expect(locked.errors.hasPrefix("vault: error: locked: ") && locked.errors.split(separator: "\n").count == 1)
      #expect(!locked.errors.contains("hunter2"))
    }
    store.environment["VAULT_HOME"] = store.folder.file("nowhere")
    #expect(ask("get", alice).status == 21)
    #expect(ask("capability").status == 0)
  }
}
