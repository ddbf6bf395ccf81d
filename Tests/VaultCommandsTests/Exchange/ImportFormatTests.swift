import Foundation
import Testing

@testable import VaultCommands

/// The import of each format, and a marked secret in each of them.
@Suite struct ImportFormatTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private func bringIn(_ text: String, _ format: String, _ options: String...) -> Transcript {
    Transcript(
      ["import", "-", "--from", format] + options, input: Array(text.utf8), environment: store.environment)
  }

  private static let archive = """
    <plist><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>\
    <key>$top</key><dict><key>root</key><dict><key>CF$UID</key><integer>1</integer></dict></dict><key>$objects</key>\
    <array><string>$null</string><dict><key>$class</key><dict><key>CF$UID</key><integer>2</integer></dict></dict>\
    <dict><key>$classname</key><string>Person</string><key>$classes</key><array><string>Person</string></array></dict>\
    </array></dict></plist>
    """

  @Test(arguments: ["A=s3cret\n", "name,value\na,s3cret\n", "[1]"])
  func `standard input of another format says that JSON was expected, and names the formats`(text: String) {
    let refused = Transcript(["import", "-"], input: Array(text.utf8), environment: store.environment)
    let hint = "vault: hint: stdin is read as JSON unless --from names another format: dotenv, csv, "
    #expect(refused.status == 64 && refused.errors.contains(hint), "\(refused.errors)")
    #expect(!refused.errors.contains("s3cret"))
    #expect(!bringIn("s3cret", "csv").errors.contains("--from"))
  }

  @Test func `an imported login can be referenced and makes one-time codes`() {
    let table = """
      Group,Title,Username,Password,URL,Notes,TOTP,Icon,Last Modified,Created
      Root/Web,Site,ann,pw,https://a.test,"two
      lines",otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ,0,1,2
      """
    let done = bringIn(table, "csv")
    #expect(done.status == 0)
    #expect(
      done.errors == """
        imported into 'default': 1 new, 0 replaced, 0 unchanged
        not kept: column 8 ('Icon'): 1 value
        not kept: column 9 ('Last Modified'): 1 value
        not kept: column 10 ('Created'): 1 value

        """)
    #expect(store.run("read", "vault:///Web/Site#username").output == "ann")
    #expect(store.run("read", "vault:///Web/Site#notes").output == "two\nlines")
    #expect(store.run("totp", "Web/Site").output.contains(/^\d{6}$/))
    #expect(store.run("list").output.hasPrefix("Web/Site\tann\t1\t"))
  }

  @Test func `imported preferences keep their types, and archives stay archives`() throws {
    let data = Data(Self.archive.utf8).base64EncodedString()
    let preferences = """
      <plist><dict><key>size</key><dict><key>w</key><integer>7</integer></dict>
      <key>owner</key><data>\(data)</data><key>when</key><date>2027-01-31T12:00:00Z</date></dict></plist>
      """
    let shown = bringIn(preferences, "plist", "--dry-run")
    #expect(shown.output == "new\tsize/w\tint\nnew\towner\tarchive of Person\nnew\twhen\tdate\n")
    #expect(bringIn(preferences, "plist").status == 0)
    #expect(store.run("get", "size/w").output == "7")
    let owner = try readJSON(store.run("get", "owner", "--json").output)
    #expect(owner["kind"] as? String == "archive" && owner["type"] as? String == "Person")
    let alone = bringIn(Self.archive, "plist")
    #expect(alone.status == 64 && alone.errors.contains("it is one keyed archive, not preferences"))
    #expect(bringIn("<plist><dict><key>a</key></dict></plist>", "plist").status == 13)
    #expect(
      bringIn("<plist><dict><key>a/b</key><true/><key>a</key><dict><key>b</key><true/></dict></dict></plist>", "plist")
        .errors.contains("stdin, 'a' > 'b': has the same name as 'a/b'"))
  }

  @Test func `a JSON export is imported again unchanged`() {
    store.run("set", "a", "--type", "int", "--label", "L", "-a", "k=v", "--expires", "90d", input: "7")
    store.run("set", "b", "--file", store.folder.write("bytes", [0xFF, 0]))
    store.run("set", "c", "--type", "json", input: #" {"a": "\u00e9"} "#)
    store.run("set", "d", "--archive", "-", "--allow", "Person", input: Self.archive)
    store.run("set", "e", input: "line\r\n\u{1}")
    let export = ["export", "--to", "json", "--yes-print-secrets", "-g"]
    let text = Transcript(export + ["default"], environment: store.environment).output
    store.run("group", "create", "other")
    let done = bringIn(text, "json", "-g", "other")
    #expect(done.errors == "imported into 'other': 5 new, 0 replaced, 0 unchanged\n")
    let again = Transcript(export + ["other"], environment: store.environment).output
    #expect(again.replacing(#""group":"other""#, with: #""group":"default""#) == text)
    #expect(bringIn(text, "json").errors == "imported into 'default': 0 new, 0 replaced, 5 unchanged\n")
  }

  @Test func `an import of an export removes the labels and attributes that the file does not have`() {
    store.run("set", "a", input: "1")
    let text = store.run("export", "--to", "json", "-g", "default", "--yes-print-secrets").output
    store.run("set", "a", "--keep-value", "--label", "L", "-a", "env=prod")
    #expect(bringIn(text, "json").status == 22)
    #expect(bringIn(text, "json", "--replace").errors == "imported into 'default': 0 new, 1 replaced, 0 unchanged\n")
    #expect(store.run("export", "--to", "json", "-g", "default", "--yes-print-secrets").output == text)
    // The value is the same, so that it keeps its expiry.
    store.run("set", "a", "--keep-value", "--label", "L", "--expires", "2031-01-01")
    #expect(bringIn(text, "json").errors.contains("1 item exists with a different value or other details; nothing"))
    #expect(bringIn(text, "json", "--replace").errors == "imported into 'default': 0 new, 1 replaced, 0 unchanged\n")
    let shown = store.run("info", "a", "--json").output
    #expect(shown.contains(#""expires":"2031-01-01"#) && !shown.contains(#""label":"L""#), "\(shown)")
    // A file that says nothing of them keeps them.
    store.run("set", "a", "--keep-value", "--label", "L", "-a", "env=prod")
    let bare = #"{"items":[{"name":"a","value":"1"}]}"#
    #expect(bringIn(bare, "json").errors == "imported into 'default': 0 new, 0 replaced, 1 unchanged\n")
  }

  @Test func `an account keeps its item's name when another account of the site comes or goes`() {
    let header = "name,username,password\n"
    #expect(bringIn(header + "a.test,ann,p1\n", "csv", "--prefix", "web/").status == 0)
    let both = bringIn(header + "a.test,ann,p1CHANGED\na.test,bob,p2\n", "csv", "--prefix", "web/", "--replace")
    #expect(both.errors == "imported into 'default': 1 new, 1 replaced, 0 unchanged\n")
    #expect(store.run("read", "vault:///web/a.test#password").output == "p1CHANGED")
    #expect(store.run("read", "vault:///web/a.test%20(bob)#password").output == "p2")
    let bob = bringIn(header + "a.test,bob,p3\n", "csv", "--prefix", "web/", "--replace")
    #expect(bob.errors == "imported into 'default': 0 new, 1 replaced, 0 unchanged\n")
    #expect(store.run("read", "vault:///web/a.test#password").output == "p1CHANGED")
    #expect(store.run("read", "vault:///web/a.test%20(bob)#password").output == "p3")
  }

  @Test(arguments: [false, true])
  func `accounts of one user and name are told apart by their addresses`(isReversed: Bool) {
    let rows = ["Mail,https://a.example,ann,pw-a", "Mail,https://z.example,ann,pw-z"]
    func table(_ rows: [String]) -> String {
      (["name,url,username,password"] + (isReversed ? rows.reversed() : rows)).joined(separator: "\n") + "\n"
    }
    func field(_ reference: String) -> String { store.run("read", "vault:///\(reference)").output }
    #expect(bringIn(table([rows[1]]), "csv").status == 0)
    let both = bringIn(table(rows), "csv")
    #expect(both.errors == "imported into 'default': 1 new, 0 replaced, 1 unchanged\n")
    #expect(field("Mail#password") == "pw-z" && field("Mail%20(ann)#password") == "pw-a")
    let changed = bringIn(table([rows[0], rows[1] + "2"]), "csv", "--replace")
    #expect(changed.errors == "imported into 'default': 0 new, 1 replaced, 1 unchanged\n")
    #expect(field("Mail#password") == "pw-z2" && field("Mail%20(ann)#password") == "pw-a")
    // Each of both alone, and one that the group does not have.
    store.run("group", "create", "other")
    #expect(bringIn(table(rows), "csv", "-g", "other").status == 0)
    for row in rows {
      let one = bringIn(table([row]), "csv", "--replace", "-g", "other")
      #expect(one.errors == "imported into 'other': 0 new, 0 replaced, 1 unchanged\n")
    }
    let third = bringIn(table(["Mail,https://b.example,ann,pw-b"]), "csv", "--replace", "-g", "other")
    #expect(third.errors == "imported into 'other': 1 new, 0 replaced, 0 unchanged\n")
    #expect(store.run("read", "vault://other/Mail#password").output == "pw-b")
    // The first one is gone, and a new one comes before it.
    store.run("remove", "Mail", "-g", "other")
    store.run("remove", "Mail (ann)", "-g", "other")
    let late = bringIn(table(rows), "csv", "-g", "other")
    #expect(late.errors == "imported into 'other': 1 new, 0 replaced, 1 unchanged\n")
  }

  @Test func `objects with many members in another order are compared quickly`() {
    let members = (0..<10_000).map { #""m\#($0)":"\#($0)""# }
    func object(_ members: [String]) -> String { "{\(members.joined(separator: ","))}" }
    #expect(store.run("set", "a", "--type", "json", input: object(members)).status == 0)
    let value = object(members.reversed()).replacing("\"", with: "\\\"")
    let start = ContinuousClock.now
    let done = bringIn(#"{"items":[{"name":"a","kind":"json","value":"\#(value)"}]}"#, "json")
    #expect(done.errors == "imported into 'default': 0 new, 0 replaced, 1 unchanged\n")
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test func `the store's own export of a value that stands for another one loses nothing`() {
    store.run("set", "a", input: "vault://a/b")
    let text = store.run("export", "--to", "json", "-g", "default", "--yes-print-secrets").output
    #expect(bringIn(text, "json").errors == "imported into 'default': 0 new, 0 replaced, 1 unchanged\n")
  }

  @Test func `values that stand for another one are kept as they are written, and listed`() {
    let done = bringIn("A=vault:///db/pw\nB='ENC[AES256_GCM,data:a]'\nC=x\n", "dotenv")
    #expect(
      done.errors == """
        imported into 'default': 3 new, 0 replaced, 0 unchanged
        not kept: stdin, line 1: what the value that begins with 'vault://' stands for; it is kept as it is written
        not kept: stdin, line 2: what the value that begins with 'ENC[AES256_GCM,' stands for; it is kept as it is \
        written

        """)
  }

  @Test func `a name as vaultd gives it to what it keeps beside an item gets another ending`() {
    let done = bringIn("name,url,username,password\nhttps://kv,https://kv,ann,p1\n", "csv")
    #expect(done.errors.hasSuffix("\nnot kept: line 2: its name, which becomes 'https://kv/'\n"), "\(done.errors)")
    #expect(store.run("list").output.hasPrefix("https://kv/\t"))
    #expect(bringIn(#"{"items":[{"name":"a//kv","kind":"json","value":"{}"}]}"#, "json").status == 0)
    #expect(store.run("get", "a//kv").output == "{}")
  }

  @Test func `a value that does not fit its kind is refused`() {
    for (kind, value, status) in [("int", "s3cret", Int32(64)), ("json", "{s3cret", 64), ("archive", "s3cret", 13)] {
      let refused = bringIn(#"{"items":[{"name":"a","kind":"\#(kind)","value":"\#(value)"}]}"#, "json")
      #expect(refused.status == status && refused.errors.contains("item 1 ('a'): "), "\(refused.errors)")
      #expect(!refused.errors.contains("s3cret"))
    }
    #expect(store.run("list").output.isEmpty)
  }

  @Test func `no import leaks a marked secret, whether it succeeds or fails`() {
    let texts = [
      "dotenv": ["A=s3cret\nB='s3cret'\n", "A=s3cret\ns3cret", "A='s3cret"],
      "csv": [
        "name,value\na,s3cret\n", "s3cret,s3cret\n", "name,value\na,s3cret,s3cret\n", "name,value\na,\"s3cret\n",
        "name,username,password,other\na,,s3cret,s3cret\nb,,s3cret,s3cret\n", "name,value\n,s3cret\n", "s3cret",
      ],
      "plist": [
        "<plist><dict><key>a</key><string>s3cret</string></dict></plist>", "<plist>s3cret", "s3cret",
        "<plist><dict><key>a</key><integer>s3cret</integer></dict></plist>", "<plist><string>s3cret</string></plist>",
      ],
      "json": [
        #"{"items":[{"name":"a","value":"s3cret"}]}"#, #"{"items":["s3cret"]}"#, "s3cret",
        #"{"items":[{"s3cret":"s3cret"}]}"#,
        #"{"items":[{"name":"a","kind":"int","value":"s3cret"}]}"#, #"{"items":[{"name":"a","valueBase64":"s3cret"}]}"#,
      ],
    ]
    store.run("set", "a", input: "other")
    for (format, texts) in texts {
      for text in texts {
        for options in [["--dry-run"], ["--dry-run", "--json"], ["--json"], [], ["--replace"], ["--prefix", "\u{7}"]] {
          let done = Transcript(
            ["import", "-", "--from", format] + options, input: Array(text.utf8), environment: store.environment)
          #expect(!done.output.contains("s3cret") && !done.errors.contains("s3cret"), "\(format) \(options) \(text)")
        }
      }
    }
    // The store's files are sealed, and no other file is written.
    let found = Executable(
      ["-c", "grep -rl s3cret '\(store.folder.path)'; find '\(store.folder.path)' -name '*.tmp'"], program: "/bin/sh",
      environment: ["PATH": Machine.path]
    ).wait()
    #expect(found.output.isEmpty)
  }
}
