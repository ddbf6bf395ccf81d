import Glibc
import Testing

@testable import VaultCommands

/// Tests `vault import` with files of other programs.
@Suite struct ForeignImportTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  /// A file made by another program, from the folder of its reader's tests.
  private func vector(_ name: String) -> String {
    let source = #filePath
    let tests = source.prefix(upTo: source.firstRange(of: "/VaultCommandsTests/")?.lowerBound ?? source.endIndex)
    return "\(tests)/ForeignStoresTests/Vectors/\(name)"
  }

  private func bringIn(_ arguments: String..., passphrase: String? = nil, input: String = "") -> Transcript {
    let descriptor = passphrase.map { Pipe.holding(Array("\($0)\n".utf8)) }
    defer { if let descriptor { close(descriptor) } }
    let option = descriptor.map { ["--file-passphrase-fd", String($0)] } ?? []
    return Transcript(
      ["import"] + arguments + option, input: Array(input.utf8), environment: store.environment)
  }

  @Test func `a KeePass database gives logins, former versions and attachments; lost parts are listed`() {
    let done = bringIn(vector("argon2d-aes.kdbx"), "--prefix", "old/", passphrase: "pass wörd")
    #expect(done.status == 0, "\(done.errors)")
    #expect(
      done.errors == """
        imported into 'default': 5 new, 0 replaced, 0 unchanged
        not kept: dates of creation (4 entries)
        not kept: entries in the recycle bin (1 entry)

        """)
    #expect(store.run("read", "vault:///old/Web/GitHub%20(ann)#password").output == "third pw")
    #expect(store.run("read", "vault:///old/Web/GitHub%20(ann)#PIN").output == "1234")
    #expect(store.run("get", "old/Web/GitHub (ann)", "--version", "1").output.contains("first pw"))
    #expect(store.run("get", "old/Web/GitHub (ann)", "--version", "2").output.contains("second pw"))
    #expect(store.run("info", "old/Web/GitHub (ann)", "--json").output.contains(#""tags":"a;b""#))
    #expect(store.run("info", "old/Web/GitHub (ann)/key.bin", "--json").output.contains(#""kind":"bytes""#))
    #expect(store.run("info", "old/Web/Deep & <er>/Mail", "--json").output.contains("2031-01-02T03:04:05"))
    let again = bringIn(vector("argon2d-aes.kdbx"), "--prefix", "old/", passphrase: "pass wörd")
    #expect(again.errors.hasPrefix("imported into 'default': 0 new, 0 replaced, 5 unchanged\n"))
  }

  @Test func `former versions that are more than the group keeps are listed`() {
    store.run("group", "create", "small", "--keep", "2")
    let former = (1...3).map { #"{"lastUsedDate":"2026-01-0\#($0)T00:00:00.000Z","password":"p\#($0)"}"# }
      .joined(separator: ",")
    let export = #"{"items":[{"type":1,"name":"a","login":{"password":"p4"},"passwordHistory":[\#(former)]}]}"#
    let lost = "stdin, item 1: 2 former versions, because the group keeps 2"
    let planned = bringIn("-", "--from", "bitwarden", "-g", "small", "--dry-run", "--json", input: export)
    #expect(planned.output.contains(#""notKept":["\#(lost)"]"#), "\(planned)")
    let done = bringIn("-", "--from", "bitwarden", "-g", "small", input: export)
    #expect(done.errors.hasSuffix("not kept: \(lost)\n"), "\(done.errors)")
    #expect(store.run("history", "a", "-g", "small").output.split(separator: "\n").count == 2)
    #expect(store.run("get", "a", "-g", "small", "--version", "3").output.contains("p3"))
    #expect(!bringIn("-", "--from", "bitwarden", input: export).errors.contains("former"))
  }

  /// A document of KeePass with entries of one title and user.
  private func namesakes(_ entries: [(password: String, tags: String)]) -> String {
    let texts = entries.map { password, tags in
      """
      <Entry><Tags>\(tags)</Tags><String><Key>Title</Key><Value>root</Value></String><String><Key>UserName</Key>\
      <Value>root</Value></String><String><Key>Password</Key><Value>\(password)</Value></String></Entry>
      """
    }
    return "<KeePassFile><Root><Group>\(texts.joined())</Group></Root></KeePassFile>"
  }

  @Test func `entries of one name are told apart by their content, not by the order of the file`() {
    let entries = [("pw-a", "a"), ("pw-b", "")]
    #expect(bringIn("-", "--from", "keepass-xml", input: namesakes(entries)).status == 0)
    let again = bringIn("-", "--from", "keepass-xml", "--replace", input: namesakes(entries.reversed()))
    #expect(again.errors == "imported into 'default': 0 new, 0 replaced, 2 unchanged\n")
    #expect(store.run("read", "vault:///root%20(root)%20(2)#password").output == "pw-b")
    #expect(store.run("info", "root (root)", "--json").output.contains(#""tags":"a""#))
  }

  @Test func `a tag that an entry no longer has is removed, and attributes that KeePass does not know are kept`() {
    #expect(bringIn("-", "--from", "keepass-xml", input: namesakes([("pw", "a")])).status == 0)
    store.run("set", "root", "--keep-value", "-a", "env=prod", "--expires", "2031-01-01")
    let same = bringIn("-", "--from", "keepass-xml", input: namesakes([("pw", "a")]))
    #expect(same.errors == "imported into 'default': 0 new, 0 replaced, 1 unchanged\n")
    let untagged = bringIn("-", "--from", "keepass-xml", "--replace", input: namesakes([("pw", "")]))
    #expect(untagged.errors == "imported into 'default': 0 new, 1 replaced, 0 unchanged\n")
    let shown = store.run("info", "root", "--json").output
    #expect(shown.contains(#""attributes":{"env":"prod"}"#) && shown.contains("2031-01-01"), "\(shown)")
  }

  @Test func `former versions are listed as lost if the item is there without them, even with an equal value`() {
    store.run("group", "create", "other")
    store.run("group", "create", "small", "--keep", "2")
    let former = (1...3).map { #"{"lastUsedDate":"2026-01-0\#($0)T00:00:00.000Z","password":"p\#($0)"}"# }
      .joined(separator: ",")
    let export = #"{"items":[{"type":1,"name":"a","login":{"password":"p4"},"passwordHistory":[\#(former)]}]}"#
    #expect(bringIn("-", "--from", "bitwarden", input: export).status == 0)
    #expect(store.run("copy", "a", "--to", "other").status == 0)
    let unchanged = "0 new, 0 replaced, 1 unchanged\nnot kept: stdin, item 1:"
    let copied = bringIn("-", "--from", "bitwarden", "-g", "other", input: export)
    #expect(copied.errors.hasSuffix("\(unchanged) 3 former versions, because the item exists\n"), "\(copied.errors)")
    #expect(!bringIn("-", "--from", "bitwarden", input: export).errors.contains("former"))
    for _ in 1...2 { _ = bringIn("-", "--from", "bitwarden", "-g", "small", input: export) }
    let again = bringIn("-", "--from", "bitwarden", "-g", "small", input: export)
    #expect(again.errors.hasSuffix("\(unchanged) 2 former versions, because the group keeps 2\n"), "\(again.errors)")
  }

  @Test func `a login whose members were only reordered is the same`() {
    let export = #"{"items":[{"type":1,"name":"a","login":{"username":"ann","password":"p"}}]}"#
    for (value, change) in [
      (#"{ "password":"p", "username":"ann"}"#, "0 replaced, 1 unchanged"),
      (#"{"password":"p","username":"ann","n":1}"#, "1 replaced, 0 unchanged"),
    ] {
      store.run("set", "a", "--type", "json", "--label", "ann", input: value)
      let done = bringIn("-", "--from", "bitwarden", "--replace", input: export)
      #expect(done.errors == "imported into 'default': 0 new, \(change)\n")
    }
  }

  @Test(arguments: [
    "s.env": "A=ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]\nsops_mac=ENC[AES256_GCM,data:a]\nsops_version=3.9.0\n",
    "s.json": #"{"A":"ENC[AES256_GCM,data:a]","sops":{"lastmodified":"2024-01-01T00:00:00Z","mac":"ENC[]"}}"#,
    "s.yaml": "A: ENC[AES256_GCM,data:a]\nsops:\n    lastmodified: \"2024-01-01T00:00:00Z\"\n",
  ]) func `a file that sops encrypted is refused as env file, JSON and YAML without a code`(name: String, text: String)
  {
    let file = store.folder.write(name, Array(text.utf8))
    let refused = bringIn(file)
    #expect(refused.status == 64 && refused.errors.hasPrefix("vault: error: \(file)"), "\(refused.errors)")
    #expect(refused.errors.contains("is encrypted by sops"))
    #expect(store.run("list", "--all").output.isEmpty)
  }

  @Test func `a key file opens a database together with its passphrase`() {
    let file = vector("argon2id-chacha20-keyfile.kdbx")
    let done = bringIn(file, "--file-key", vector("key.keyx"), "--dry-run", passphrase: "pass wörd")
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.output.contains("new\tWeb/GitHub (ann)/key.bin\tbytes\n"))
    #expect(store.run("list").output.isEmpty)
    let without = bringIn(file, passphrase: "pass wörd")
    #expect(without.status == 16)
    #expect(without.errors == "vault: error: \(file): the passphrase or the key file is wrong\n")
  }

  @Test func `a key file alone opens a database, with an empty passphrase or without a terminal to ask for one`() {
    let options = [vector("keyfile-only.kdbx"), "--file-key", vector("key.keyx")]
    let silent = bringIn(options[0], options[1], options[2])
    #expect(silent.status == 0, "\(silent.errors)")
    #expect(store.run("read", "vault:///Site#password").output == "one")
    let empty = bringIn(options[0], options[1], options[2], passphrase: "")
    #expect(empty.status == 0, "\(empty.errors)")
    #expect(bringIn(options[0], options[1], options[2], passphrase: "pw").status == 16)
  }

  @Test func `the passphrase is asked for on the terminal; without a terminal there is an error`() {
    let terminal = PseudoTerminal()
    terminal.type("pw\n")
    let done = store.run(["import", vector("kdbx31.kdbx"), "--json"], on: terminal)
    #expect(done.status == 0, "\(done.errors)")
    #expect(store.run("read", "vault:///Web/Site#password").output == "two")
    let without = bringIn(vector("kdbx31.kdbx"))
    #expect(without.status == 11)
    #expect(without.errors.hasSuffix("vault: hint: --file-passphrase-fd N\n"))
  }

  @Test func `an encrypted export of Bitwarden is opened; an unencrypted one needs no passphrase`() {
    let locked = bringIn(vector("bitwarden-argon2id.json"), "--from", "bitwarden", passphrase: "pass wörd")
    #expect(locked.errors.hasPrefix("imported into 'default': 4 new, 0 replaced, 0 unchanged\n"), "\(locked.errors)")
    #expect(store.run("get", "Work/Web/GitHub", "--version", "1").output.contains(#""password":"first""#))
    let plain = bringIn(vector("bitwarden.json"), "--from", "bitwarden")
    #expect(plain.errors.hasPrefix("imported into 'default': 0 new, 0 replaced, 4 unchanged\n"))
    let wrong = bringIn(vector("bitwarden-pbkdf2.json"), "--from", "bitwarden", passphrase: "other")
    #expect(wrong.status == 16)
    // Bitwarden's own name for the file is enough.
    let path = store.folder.file("bitwarden_export_20261126.json")
    #expect(unsafe symlink(vector("bitwarden.json"), path) == 0)
    let named = bringIn(path)
    #expect(named.errors.hasPrefix("imported into 'default': 0 new, 0 replaced, 4 unchanged\n"), "\(named.errors)")
  }

  @Test(arguments: ["bitwarden.json", "bitwarden-argon2id.json"])
  func `an export of Bitwarden under another name is recognized, and nothing of it is taken for names`(file: String) {
    let path = store.folder.file("bw.json")
    #expect(unsafe symlink(vector(file), path) == 0)
    let refused = bringIn(path)
    #expect(refused.status == 64)
    #expect(
      refused.errors == """
        vault: error: \(path) is an export of Bitwarden
        vault: hint: vault import FILE --from bitwarden

        """)
    #expect(store.run("list").output.isEmpty)
    #expect(bringIn("-", input: #"{"encrypted":"no","data":"x","items":"3"}"#).status == 0)
  }

  @Test func `exports of 1Password and of a Mac's keychain, and YAML, are imported`() {
    #expect(bringIn(vector("export.1pux")).errors.hasPrefix("imported into 'default': 3 new, 0 replaced"))
    #expect(store.run("get", "Personal/GitHub/scan.txt").output == "hello")
    #expect(bringIn(vector("keychain.txt"), "--from", "keychain").errors.hasPrefix("imported into 'default': 4 new"))
    #expect(bringIn("-", "--from", "yaml", input: "db:\n  user: ann\n  port: 5432\n").status == 0)
    #expect(store.run("get", "db/user").output == "ann")
    #expect(store.run("info", "db/port", "--json").output.contains(#""kind":"int""#))
  }

  @Test func `an entry that cannot be imported is named, and only with --strict are the others not imported either`() {
    let long = String(repeating: "n", count: 1_100)
    let export = #"{"items":[{"name":"a","login":{"password":"1"}},{"name":"\#(long)","login":{"password":"s3cret"}}]}"#
    let done = bringIn("-", "--from", "bitwarden", input: export)
    #expect(done.status == 0)
    #expect(
      done.errors == """
        imported into 'default': 1 new, 0 replaced, 0 unchanged, 1 not imported
        not imported: stdin, item 2: more than 1,024 bytes in an item's name

        """)
    #expect(store.run("list").output.hasPrefix("a\t"))
    store.run("remove", "a", "--yes")
    let strict = bringIn("-", "--from", "bitwarden", "--strict", input: export)
    #expect(strict.status == 20)
    #expect(store.run("list").output.isEmpty)
    let json = bringIn("-", "--from", "bitwarden", "--json", input: export)
    #expect(json.output.contains(#""notImported":["stdin, item 2: "#))
  }

  @Test(arguments: [true, false])
  func `an attachment that is too large is named, and with --strict nothing is imported`(hasFields: Bool) {
    // The base64 of 1 MiB and 1 byte.
    let base64 = String(repeating: "A", count: 349_525 * 4) + "AAA="
    let password = hasFields ? "<String><Key>Password</Key><Value>s3cret</Value></String>" : ""
    let file = store.folder.write(
      "att.xml",
      Array(
        """
        <KeePassFile><Root><Group><Entry><String><Key>Title</Key><Value>a</Value></String>\(password)\
        <Binary><Key>f</Key><Value>\(base64)</Value></Binary></Entry></Group></Root></KeePassFile>
        """.utf8))
    let place = "\(file), entry 1"
    for option in [[], ["--dry-run"]] {
      let strict = Transcript(
        ["import", file, "--from", "keepass-xml", "--strict"] + option, environment: store.environment)
      #expect(strict.status == 20)
      #expect(strict.errors == "vault: error: \(place): the attachment 'f' of 'a' has more than 1 MiB\n")
      #expect(store.run("list").output.isEmpty)
    }
    let json = bringIn(file, "--from", "keepass-xml", "--dry-run", "--json")
    #expect(
      json.output.contains(#""notKept":[],"notImported":["\#(place): the attachment 'f' of 'a' has more than 1 MiB"]"#))
    let done = bringIn(file, "--from", "keepass-xml")
    #expect(done.status == 0)
    #expect(
      done.errors == """
        imported into 'default': \(hasFields ? 1 : 0) new, 0 replaced, 0 unchanged, 1 not imported
        not imported: \(place): the attachment 'f' of 'a' has more than 1 MiB

        """)
    #expect(store.run("list").output.isEmpty == !hasFields)
  }

  @Test func `a damaged file changes nothing, and no message shows its content`() throws {
    let damaged = store.folder.write("x.kdbx", Array("hunter2".utf8))
    let refused = bringIn(damaged, passphrase: "pw")
    #expect(refused.status == 13)
    #expect(refused.errors == "vault: error: \(damaged): it is not a database of KeePass\n")
    let json = bringIn("-", "--from", "bitwarden", input: #"{"items":[{"name":"hunter2""#)
    #expect(json.status == 13 && !json.errors.contains("hunter2"))
    #expect(store.run("list").output.isEmpty)
  }

  @Test(.needsClients) func `files made by keepassxc-cli, and by sops with age, are imported`() {
    let path = store.folder.file("made.kdbx")
    var environment = store.environment
    environment["PATH"] = Machine.path
    let made = Executable(
      [
        "-e", "-c",
        """
        keepassxc() { printf '%s\\n' "$words" | keepassxc-cli "$@" >&2; }
        words='pw\npw' keepassxc db-create -q -p -t 100 made.kdbx
        words='pw\none' keepassxc add -q -p -u ann made.kdbx Site
        words='pw\ntwo' keepassxc edit -q -p made.kdbx Site
        """.replacing("made.kdbx", with: path),
      ], program: "/bin/sh", environment: environment
    ).wait()
    #expect(made.status == 0, "\(made.errors)")
    #expect(bringIn(path, passphrase: "pw").status == 0)
    #expect(store.run("read", "vault:///Site#password").output == "two")
    #expect(store.run("get", "Site", "--version", "1").output.contains("one"))
    let sealed = bringIn(vector("sealed.yaml"), "--from", "sops", "--file-key", vector("age.key"))
    #expect(sealed.status == 0, "\(sealed.errors)")
    #expect(store.run("get", "database/password").output == "two\nlines: # ü")
  }

  @Test(.needsClients) func `a key file of sops can be a pipe, even if the file has other recipients`() {
    let done = store.shell(
      #"""
      key=\#(vector("age.key")) sealed=\#(vector("sealed.yaml"))
      age-keygen -o "$folder/other" 2>/dev/null
      other=$(age-keygen -y "$folder/other")
      {
        sed '/^    age:/q' "$sealed"
        echo "        - recipient: $other"
        echo "          enc: |"
        echo secret | age -a -r "$other" | sed 's/^/            /'
        sed '1,/^    age:/d' "$sealed"
      } >"$folder/two.yaml"
      cat "$key" | "$vault" import "$folder/two.yaml" --from sops --file-key /dev/stdin
      """#)
    #expect(done.status == 0, "\(done.errors)")
    #expect(store.run("get", "database/password").output == "two\nlines: # ü")
  }

  @Test func `a key file of more than 1 MiB is refused`() {
    let large = store.folder.write("large", [UInt8](repeating: 0x61, count: 1 << 20 + 1))
    let refused = bringIn(vector("keyfile-only.kdbx"), "--file-key", large)
    #expect(refused.errors.hasPrefix("vault: error: the file's key is larger than 1 MiB"))
  }
}
