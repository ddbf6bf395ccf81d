import Glibc
import Testing

@testable import VaultCommands

/// Tests the formats of `vault export` for other password managers.
@Suite struct ForeignExportTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "web/GitHub", "--type", "json", input: #"{"username":"ann","password":"old","PIN":"1"}"#)
    store.run(
      "set", "web/GitHub", "--type", "json", "--expires", "2031-01-02",
      input: #"{"username":"ann","password":"new","PIN":"12","url":"https://a.test"}"#)
    store.run("set", "web/GitHub/key.bin", "--type", "bytes", input: "\u{1}bytes")
    store.run("set", "token", input: "alone")
  }

  /// Exports the group, and imports the result into a new one.
  private func roundTrip(_ form: String, _ name: String, _ format: String) throws -> (Transcript, group: String) {
    let path = store.folder.file(name)
    let passphrase = (0..<2).map { _ in Pipe.holding(Array("a pass phrase\n".utf8)) }
    defer { for descriptor in passphrase { close(descriptor) } }
    let written = store.run(
      "export", "--to", form, "-g", "default", "--output", path, "--yes-print-secrets", "--file-passphrase-fd",
      String(passphrase[0]))
    #expect(written.status == 0, "\(written.errors)")
    store.run("group", "create", "back.\(form)")
    let read = store.run(
      "import", path, "--from", format, "-g", "back.\(form)", "--file-passphrase-fd", String(passphrase[1]))
    #expect(read.status == 0, "\(read.errors)")
    return (written, "back.\(form)")
  }

  @Test func `an exported KeePass database contains everything and is imported unchanged`() throws {
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(written.errors == "not kept: the kind of 1 value, which becomes a field of an entry\n")
    #expect(
      store.run("get", "web/GitHub", "-g", group).output
        == #"{"username":"ann","password":"new","url":"https://a.test","PIN":"12"}"#)
    #expect(store.run("get", "web/GitHub", "-g", group, "--version", "1").output.contains("old"))
    #expect(store.run("info", "web/GitHub", "-g", group, "--json").output.contains("2031-01-02"))
    #expect(store.run("get", "web/GitHub/key.bin", "-g", group).outputBytes == Array("\u{1}bytes".utf8))
    #expect(store.run("read", "vault://\(group)/token#password").output == "alone")
  }

  @Test func `an exported KeePass database lists what comes back in another form`() throws {
    store.run("set", "labelled", "--label", "Orders", "-a", "host=db1", input: "hunter2")
    store.run("set", "empty", "--allow-empty")
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(
      written.errors == """
        not kept: the kinds of 3 values, which become a field of an entry
        not kept: 1 label, which becomes a field of an entry
        not kept: 1 empty value, whose entry has only a name
        not kept: the attributes of 1 item, which become fields

        """)
    #expect(store.run("get", "labelled", "-g", group).output.contains(#""label":"Orders""#))
    #expect(store.run("get", "empty", "-g", group).status == 10)
  }

  @Test func `an export lists the members of JSON that become text or vanish, and JSON that is no object`() throws {
    let text = #"{"username":"","port":5432,"on":true,"none":null,"o":{"a":1},"password":"p"}"#
    store.run("set", "j", "--type", "json", input: text)
    store.run("set", "array", "--type", "json", input: "[1,2]")
    store.run("set", "former", "--type", "json", input: #"{"n":1}"#)
    store.run("set", "former", "--type", "json", input: #"{"n":"1"}"#)
    store.run("set", "other", "--type", "json", input: "1")
    store.run("set", "other", "--type", "json", input: #"{"n":"1"}"#)
    let lost = """
      not kept: 'former': the kind of 'n', which becomes text
      not kept: 'j': the kind of 'none', 'o', 'on', 'port', which becomes text
      not kept: 'j': 'username', which is empty
      not kept: 'other': the kind of former versions, which become a field of an entry
      not kept: the kinds of 2 values, which become a field of an entry

      """
    #expect(try roundTrip("kdbx", "out.kdbx", "kdbx").0.errors == lost)
    for (form, name) in [("bitwarden", "out.json"), ("csv", "out.csv")] {
      #expect(try roundTrip(form, name, form).0.errors.hasPrefix(lost))
    }
  }

  @Test(arguments: [("kdbx", "out.kdbx"), ("bitwarden", "out.json"), ("csv", "out.csv")])
  func `of members with one name, an export has the last, as a reference does, and lists the others`(
    form: String, name: String
  ) throws {
    store.run("set", "login", "--type", "json", input: #"{"username":"u","password":"OLD","password":"NEW"}"#)
    let (written, group) = try roundTrip(form, name, form)
    #expect(written.errors.contains("not kept: 'login': an earlier value of 'password'\n"), "\(written.errors)")
    #expect(!written.errors.contains("'login': 1 field") && !written.errors.contains("NEW"))
    #expect(store.run("get", "login", "-g", group).output == #"{"username":"u","password":"NEW"}"#)
  }

  @Test func `names of members that no field has are listed with those that they become`() throws {
    store.run("set", "j", "--type", "json", input: "{\"\":\"1\",\"caf\u{E9}\":\"2\",\"cafe\u{301}\":\"3\"}")
    for (form, name) in [("kdbx", "out.kdbx"), ("bitwarden", "out.json")] {
      let (written, group) = try roundTrip(form, name, form)
      #expect(written.errors.contains("not kept: 'j': the name '', which becomes 'field'\n"), "\(written.errors)")
      #expect(
        written.errors.contains("not kept: 'j': the name 'cafe\u{301}', which becomes 'cafe\u{301} (2)'\n"),
        "\(written.errors)")
      #expect(store.run("read", "vault://\(group)/j#field").output == "1")
    }
  }

  @Test func `a database with texts that KeePass replaces causes a warning`() throws {
    let texts = [
      "user": "pa{USERNAME}ss{DT_YEAR}", "url": "https://{username}:{PASSWORD}@db", "own": "x{S:salt}",
      "other": "{REF:P@I:46C9B1FFBD4ABC4BBB260C6190BAD20C}", "part": "{URL:HOST}", "braces": "a{b}{}{USERNAME",
    ]
    for (name, text) in texts { store.run("set", name, input: text) }
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    for (name, text) in texts {
      let warning = "vault: warning: '\(name)' contains a placeholder such as {USERNAME}, which KeePass replaces\n"
      #expect(written.errors.contains(warning) == (name != "braces"), "\(written.errors)")
      #expect(store.run("read", "vault://\(group)/\(name)#password").output == text)
    }
    #expect(try !roundTrip("bitwarden", "out.json", "bitwarden").0.errors.contains("placeholder"))
  }

  @Test(arguments: [("kdbx", "out.kdbx"), ("bitwarden", "out.json"), ("csv", "out.csv")])
  func `a source of codes is written in a form that all programs read alike, which is listed`(
    form: String, name: String
  ) throws {
    let usual = "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"
    for (item, text) in [
      ("sha", #"{"totp":"\#(usual)&algorithm=SHA-256"}"#),
      ("case", #"{"totp":"OTPAUTH://TOTP/x?SECRET=JBSWY3DPEHPK3PXP"}"#), ("field", #"{"otp":"\#(usual)"}"#),
      ("word", #"{"otp":"sometimes","password":"p"}"#),
    ] { store.run("set", item, "--type", "json", input: text) }
    let (written, group) = try roundTrip(form, name, form)
    for item in ["sha", "case"] {
      #expect(written.errors.contains("not kept: '\(item)': the form of 'totp', which becomes a URL"))
    }
    #expect(written.errors.contains("not kept: 'field': the name 'otp', which becomes 'totp'"), "\(written.errors)")
    #expect(store.run("read", "vault://\(group)/sha#totp").output == usual + "&algorithm=SHA256")
    #expect(store.run("read", "vault://\(group)/case#totp").output == usual)
    #expect(store.run("read", "vault://\(group)/field#totp").output == usual)
    #expect(store.run("read", "vault://\(group)/word#totp").status == 10)
  }

  @Test func `what vaultd keeps beside an item is in no export but JSON`() throws {
    store.run("set", "token//kv", "--type", "json", input: "{}")
    for (form, name) in [("kdbx", "out.kdbx"), ("bitwarden", "out.json"), ("csv", "out.csv")] {
      let (written, group) = try roundTrip(form, name, form)
      #expect(written.errors.contains("not kept: 'token//kv': what vaultd keeps beside an item\n"))
      #expect(!store.run("list", "--all", "-g", group).output.contains("token//kv"))
    }
    store.run("remove", "web/GitHub/key.bin", "--yes")
    for (form, isThere) in [("dotenv", false), ("json", true)] {
      let text = store.run("export", "--to", form, "-g", "default", "--yes-print-secrets")
      #expect(text.status == 0 && text.output.contains("token//kv") == isThere, "\(text.errors)")
    }
  }

  @Test func `a value that was set after an import has its own date, and not that of the imported one`() throws {
    let imported =
      #"{"items":[{"name":"Mail","kind":"json","value":"{\"password\":\"old\"}","#
      + #""attributes":{"modified":"2019-01-15T00:00:00Z"}}]}"#
    store.run("import", "-", "--from", "json", input: imported)
    store.run("set", "Mail", "--type", "json", input: #"{"password":"new"}"#)
    store.run("set", "Mail", "--keep-value", "-a", "env=prod")
    let (_, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(store.run("get", "Mail", "-g", group).output == #"{"password":"new","attribute env":"prod"}"#)
    #expect(!store.run("info", "Mail", "-g", group, "--json").output.contains("2019-01-15"))
    #expect(store.run("get", "Mail", "-g", group, "--version", "1").output == #"{"password":"old"}"#)
  }

  @Test func `former versions that are bytes are listed, because an entry has only texts`() throws {
    for value in ["one", "two"] { store.run("set", "former", "--type", "bytes", input: value) }
    store.run("set", "former", input: "three")
    for (form, name) in [("kdbx", "out.kdbx"), ("bitwarden", "out.json"), ("csv", "out.csv")] {
      let (written, group) = try roundTrip(form, name, form)
      #expect(written.errors.hasPrefix("not kept: 'former': 2 former versions that are bytes or an archive\n"))
      #expect(store.run("read", "vault://\(group)/former#password").output == "three")
    }
  }

  @Test func `a field with a name of KeePass and a one-time secret without a URL are listed`() throws {
    store.run("set", "j", "--type", "json", input: #"{"Title":"t","totp":"JBSWY3DP"}"#)
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(
      written.errors.contains(
        "'j': the name 'Title', which becomes 'Title (2)'\nnot kept: 'j': the form of 'totp', which becomes a URL\n"))
    #expect(store.run("get", "j", "-g", group).output.contains(#""Title (2)":"t""#))
  }

  @Test(arguments: [("bitwarden", "out.json"), ("csv", "out.csv")])
  func `Steam's codes are written in Bitwarden's form, if that says all of their source`(
    form: String, name: String
  ) throws {
    let steam = "otpauth://totp/Steam:ann?secret=JBSWY3DPEHPK3PXP&digits=5&period=30&encoder=steam"
    let slow = "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP&period=60&encoder=steam"
    for (item, source) in [
      ("from KeePassXC", steam), ("from Bitwarden", "steam://jbswy3dpehpk3pxp"), ("slow", slow),
      ("usual", "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"),
    ] { store.run("set", item, "--type", "json", input: #"{"username":"ann","totp":"\#(source)"}"#) }
    let (written, group) = try roundTrip(form, name, form)
    #expect(
      written.errors.contains("not kept: 'from KeePassXC': the form of 'totp', which becomes steam://\n"),
      "\(written.errors)")
    let text = String(decoding: store.folder.read(name), as: UTF8.self)
    #expect(text.contains("steam://JBSWY3DPEHPK3PXP") && text.contains("steam://jbswy3dpehpk3pxp"), "\(text)")
    #expect(text.contains(slow) && !text.contains(steam), "\(text)")
    #expect(
      store.run("read", "vault://\(group)/from%20KeePassXC#totp").output == "steam://JBSWY3DPEHPK3PXP")
    #expect(store.run("totp", "from KeePassXC", "-g", group).output.contains(/^[2-9BCDFGHJKMNPQRTVWXY]{5}$/))
    #expect(store.run("read", "vault://\(group)/usual#totp").output == "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP")
  }

  @Test func `fields that an import takes for a source of one-time codes are listed`() throws {
    for (name, text) in [
      ("a", #"{"TOTP Seed":"JBSWY3DP","TOTP Settings":"60;8"}"#), ("b", #"{"TimeOtp-Secret-Base32":"JBSWY3DP"}"#),
      ("c", #"{"TOTP Seed":"on the phone!"}"#),
      ("d", #"{"totp":"otpauth://totp/x?secret=JBSWY3DP","TOTP Seed":"JBSWY3DP"}"#),
    ] { store.run("set", name, "--type", "json", input: text) }
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(
      written.errors == """
        not kept: the kind of 1 value, which becomes a field of an entry
        not kept: 'a': the fields 'TOTP Seed', 'TOTP Settings', which become 'totp'
        not kept: 'b': the field 'TimeOtp-Secret-Base32', which becomes 'totp'

        """)
    #expect(store.run("get", "a", "-g", group).output.hasPrefix(#"{"totp":"otpauth://totp/vault?secret=JBSWY3DP"#))
    for name in ["c", "d"] {
      #expect(store.run("get", name, "-g", group).output == store.run("get", name).output)
    }
  }

  @Test func `names that would be equal in a database, and milliseconds of an expiry, are listed`() throws {
    store.run(
      "set", "j", "--type", "json", "-a", "env=prod", "--expires", "2031-01-02T00:00:00.250Z",
      input: #"{"attribute env":"dev","UserName (2)":"a","UserName":"b","totp":"a note!"}"#)
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(
      written.errors.contains(
        """
        not kept: 'j': the name 'UserName', which becomes 'UserName (3)'
        not kept: 'j': the name 'attribute env', which becomes 'attribute env (2)'
        not kept: 1 expiry, which is cut to whole seconds

        """), "\(written.errors)")
    #expect(
      store.run("get", "j", "-g", group).output
        == #"{"attribute env":"dev","UserName (2)":"a","UserName (3)":"b","totp":"a note!","#
        + #""attribute env (2)":"prod"}"#)
  }

  @Test func `a label that differs from the user's name only in its Unicode form becomes a field`() throws {
    store.run("set", "j", "--type", "json", "--label", "caf\u{E9}", input: "{\"username\":\"cafe\u{301}\"}")
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(written.errors.contains("not kept: 1 label, which becomes a field of an entry\n"), "\(written.errors)")
    #expect(
      store.run("get", "j", "-g", group).output.utf8.elementsEqual(
        "{\"username\":\"cafe\u{301}\",\"label\":\"caf\u{E9}\"}".utf8))
  }

  @Test
  func `an attribute 'modified' that no import would set again becomes a field, and Bitwarden and tables lose it`()
    throws
  {
    for (name, text) in [("exact", "2020-01-02T00:00:00Z"), ("day", "2019-05-05"), ("word", "by-ann")] {
      store.run("set", name, "--type", "json", "-a", "modified=\(text)", input: #"{"password":"p"}"#)
    }
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(
      written.errors.hasSuffix("\nnot kept: the attributes of 2 items, which become fields\n"), "\(written.errors)")
    #expect(store.run("get", "exact", "-g", group).output == #"{"password":"p"}"#)
    #expect(
      store.run("info", "exact", "-g", group, "--json").output.contains(#""modified":"2020-01-02T00:00:00Z""#))
    for (name, text) in [("day", "2019-05-05"), ("word", "by-ann")] {
      #expect(
        store.run("get", name, "-g", group).output == #"{"password":"p","attribute modified":"\#(text)"}"#)
    }
    for (form, name) in [("bitwarden", "out.json"), ("csv", "out.csv")] {
      let errors = try roundTrip(form, name, form).0.errors
      for item in ["exact", "day", "word"] {
        #expect(errors.contains("not kept: '\(item)': attributes\n"), "\(errors)")
      }
    }
  }

  @Test func `a name with characters that XML cannot contain is listed`() throws {
    store.run("set", "j", "--type", "json", input: #"{"a\u0001":"b","c":"\u0001"}"#)
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(written.errors.contains("not kept: the control characters in 1 name, which become \u{FFFD}\n"))
    #expect(store.run("get", "j", "-g", group).output.contains(#""c":"\u0001""#))
  }

  @Test func `an export lists what an attachment loses, its own name included`() throws {
    store.run(
      "set", "web/GitHub/seal", "--type", "bytes", "--label", "L", "-a", "k=v", "--expires", "2031-01-02", input: "1")
    store.run(
      "set", "lone", "--type", "bytes", "--label", "L", "-a", "modified=2020-01-02T00:00:00Z", "--expires",
      "2031-01-02", input: "2")
    let (written, group) = try roundTrip("kdbx", "out.kdbx", "kdbx")
    #expect(
      written.errors == """
        not kept: 'lone': its label
        not kept: 'web/GitHub/seal': its label
        not kept: 'web/GitHub/seal': its attributes
        not kept: 'web/GitHub/seal': its expiry
        not kept: the kind of 1 value, which becomes a field of an entry
        not kept: 'lone': its name, which becomes 'lone/lone'

        """)
    let lone = store.run("info", "lone/lone", "-g", group, "--json").output
    #expect(lone.contains("2031-01-02") && lone.contains(#""modified":"2020-01-02T00:00:00Z""#))
    let (table, _) = try roundTrip("csv", "out.csv", "csv")
    #expect(table.errors.contains("not kept: 'lone': attributes, its expiry\nnot kept: 'lone': its bytes\n"))
    #expect(!table.errors.contains("lone/lone"))
  }

  @Test func `Bitwarden's JSON and a table contain logins, and everything they lack is listed`() throws {
    let (bitwarden, group) = try roundTrip("bitwarden", "out.json", "bitwarden")
    #expect(
      bitwarden.errors.contains(
        "not kept: 'web/GitHub': its expiry, former versions, except their passwords\n"
          + "not kept: 'web/GitHub/key.bin': its bytes\n"))
    #expect(store.run("get", "web/GitHub", "-g", group, "--version", "1").output.contains("old"))
    let (table, other) = try roundTrip("csv", "out.csv", "csv")
    #expect(table.errors.contains("not kept: 'web/GitHub': 1 field, its expiry, former versions\n"))
    #expect(table.errors.contains("not kept: 'web/GitHub/key.bin': its bytes\n"))
    #expect(store.run("read", "vault://\(other)/web/GitHub#password").output == "new")
  }

  @Test func `fields whose names begin like those of addresses keep their names in Bitwarden's JSON`() throws {
    let text = #"{"url":"https://a","url (2)":"https://b","url (home)":"https://c","url (7)":"https://d"}"#
    store.run("set", "j", "--type", "json", input: text)
    let (_, group) = try roundTrip("bitwarden", "out.json", "bitwarden")
    #expect(store.run("get", "j", "-g", group).output == text)
  }

  @Test func `a database that is there already is replaced only on request`() throws {
    _ = try roundTrip("kdbx", "out.kdbx", "kdbx")
    let path = store.folder.file("out.kdbx")
    let before = store.folder.read("out.kdbx")
    let command = ["export", "--to", "json", "-g", "default", "--output", path, "--yes-print-secrets"]
    let refused = Transcript(command, environment: store.environment)
    #expect(refused.status == 22)
    #expect(
      refused.errors == """
        vault: error: the file of --output is a database of KeePass, and all that it holds would be lost
        vault: hint: name another file; to replace the database: --replace

        """)
    #expect(store.folder.read("out.kdbx") == before)
    #expect(Transcript(command + ["--replace"], environment: store.environment).status == 0)
    #expect(store.folder.read("out.kdbx").first == UInt8(ascii: "{"))
  }

  @Test func `a database needs a passphrase, which must not be empty`() {
    let without = store.run("export", "--to", "kdbx", "-g", "default")
    #expect(without.status == 64)
    #expect(without.errors.hasSuffix("vault: hint: --file-passphrase-fd N\n"))
    let empty = Pipe.holding([0x0A])
    defer { close(empty) }
    #expect(store.run("export", "--to", "kdbx", "-g", "default", "--file-passphrase-fd", String(empty)).status == 64)
  }

  @Test(.needsClients) func `keepassxc-cli reads an exported database`() throws {
    // KeePassXC refuses a database with two equal names in an entry.
    store.run(
      "set", "j", "--type", "json", "-a", "env=b", input: #"{"attribute env":"a","UserName":"b","x\u0001":"c"}"#)
    _ = try roundTrip("kdbx", "out.kdbx", "kdbx")
    var environment = store.environment
    environment["PATH"] = Machine.path
    let shown = Executable(
      [
        "-c", #"printf 'a pass phrase\n' | keepassxc-cli show -q -s "$0" -a Password -a PIN web/GitHub"#,
        store.folder.file("out.kdbx"),
      ],
      program: "/bin/sh", environment: environment
    ).wait()
    #expect(shown.output == "new\n12\n", "\(shown.errors)")
  }

  @Test(.needsClients) func `KeePassXC makes the same codes from an exported database, and keeps every former version`()
    throws
  {
    let url = "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP&period=60&algorithm=SHA-256"
    // KeePassXC itself keeps ten former versions.
    store.run("group", "create", "many", "--keep", "20")
    for number in 1...14 {
      let value = #"{"password":"p\#(number)","totp":"\#(url)"}"#
      store.run("set", "code", "-g", "many", "--type", "json", input: value)
    }
    let passphrase = Pipe.holding(Array("a pass phrase\n".utf8))
    defer { close(passphrase) }
    let file = store.folder.file("out.kdbx")
    store.run(
      "export", "--to", "kdbx", "-g", "many", "--output", file, "--file-passphrase-fd", String(passphrase))
    var environment = store.environment
    environment["PATH"] = Machine.path
    func keepassxc(_ command: String) -> Executable.Result {
      Executable(
        ["-c", "printf 'a pass phrase\\nnew\\n' | keepassxc-cli \(command)", file],
        program: "/bin/sh", environment: environment
      ).wait()
    }
    func code() -> String { store.run("totp", "code", "-g", "many").output.filter(\.isNumber) }
    let before = code()
    let shown = keepassxc(#"show -q -t "$0" code"#)
    // The minute may end between the two.
    #expect([before, code()].contains(shown.output.filter(\.isNumber)), "\(shown.output) \(shown.errors)")
    func versions() -> Int { keepassxc(#"export -q "$0""#).output.matches(of: /<Key>otp<\/Key>/).count }
    let count = versions()
    #expect(count == 14)
    let edited = keepassxc(#"edit -q -p "$0" code"#)
    #expect(edited.status == 0, "\(edited.errors)")
    #expect(versions() == count + 1)
  }

  @Test func `vault-exchange writes no database without a passphrase that it can read`() {
    let tooLong = Pipe.holding([UInt8](repeating: 0x78, count: 5_000))
    defer { close(tooLong) }
    for options in [[], ["--passphrase", "3"]] {
      let written = Executable(
        ["write", "kdbx"] + options, program: Executable.path + "-exchange", environment: [:], extra: [tooLong]
      ).wait()
      #expect(written.status == 64 && written.outputBytes.isEmpty)
    }
  }
}
