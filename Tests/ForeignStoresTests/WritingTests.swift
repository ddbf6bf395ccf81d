import Testing

@testable import Exchange
@testable import ForeignStores

@Suite struct WritingTests {
  /// Entries with everything that a form may contain.
  static let entries: [Entry] = {
    var login = Entry("Work/Web/GitHub", at: "")
    for (name, text) in [
      ("username", "ann <&>"), ("password", "p\"w,ü\u{1}"), ("url", "https://github.com"), ("notes", "two\r\nlines"),
      ("totp", "otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"), ("PIN", "1234"), ("url (2)", "https://gist.github.com"),
    ] { login.current.add(name, text) }
    login.current.modified = 1_735_689_600_000
    var former = Entry.Version()
    former.add("username", "ann")
    former.add("password", "before")
    former.modified = 1_700_000_000_000
    login.history = [former]
    login.attachments = [Entry.Attachment("key.bin", [0, 0xFF, 1])]
    login.attributes["tags"] = "a;b"
    login.expires = 1_925_089_445_000
    var token = Entry("https://a.test/", at: "")
    token.current.add("password", "alone")
    return [login, token]
  }()

  private let cheap = Gcrypt.Argon2(isArgon2id: true, passes: 1, kibibytes: 64, lanes: 2)

  /// The entries as a database, and those that are read from it.
  private func roundTrip(_ entries: [Entry]) throws -> (file: [UInt8], read: [Entry]) {
    var writer = try KeePassWriter(entries)
    let file = try writer.file(passphrase: Array("pw".utf8), cost: cheap)
    var read: [Entry] = []
    try KeePassFile.read(file, KeePassKey(passphrase: Array("pw".utf8), keyFile: nil)) { line in
      if case .entry(let entry) = line { read.append(entry) }
    }
    return (file, read)
  }

  @Test func `a database keeps the control characters of every value`() throws {
    var entry = Entry("a", at: "")
    let text = "u\u{1}v\u{1B}[0m\0\u{FFFE}\r\n"
    for name in ["username", "password", "url", "notes", "PIN"] { entry.current.add(name, text) }
    entry.history = [entry.current]
    entry.attributes = ["tags": text, "k": text]
    #expect(entry.namesUnfitForXML.isEmpty)
    let read = try #require(try roundTrip([entry]).read.first)
    #expect(read.history.map(\.fields) == [entry.current.fields])
    #expect(read.current.fields.map(\.text) == [String](repeating: text, count: 7))
    entry.current.add("a\u{1}", "b")
    #expect(entry.namesUnfitForXML == ["a\u{1}"])
  }

  @Test func `no two fields of a written entry have the same name, whatever their names become`() throws {
    var entry = Entry("a", at: "")
    let names = ["attribute env", "UserName (2)", "UserName", "x\u{1}", "x\u{2}"]
    for name in names { entry.current.add(name, "text of \(name)") }
    entry.attributes = ["env": "prod", "tags": "t"]
    let (file, read) = try roundTrip([entry])
    let key = KeePassKey(passphrase: Array("pw".utf8), keyFile: nil)
    let document = String(decoding: try KeePassFile(file, key).document, as: UTF8.self)
    let written = document.matches(of: /<Key>([^<]*)<\/Key>/).map { String($0.1) }
    #expect(
      Array(written.drop { $0 != "attribute env" }) == [
        "attribute env", "UserName (2)", "UserName (3)", "x\u{FFFD}", "x\u{FFFD} (2)", "attribute env (2)",
      ])
    #expect(Set(written).count == written.count)
    #expect(read.first?.current.fields.map(\.text) == names.map { "text of \($0)" } + ["prod"])
  }

  @Test func `entries that differ only in tags or in their expiry are both kept, and equal ones are not`() throws {
    let differences: [(String?, UInt64?)] = [("a", 1), ("b", 1), ("b", 2), ("b", 2)]
    let lines = differences.enumerated().flatMap { number, difference in
      var entry = Entry("a", at: "entry \(number + 1)")
      entry.current.add("password", "p")
      (entry.attributes["tags"], entry.expires) = (difference.0, difference.1)
      return EntryLine.entry(entry).json + [0x0A]
    }
    let imported = try ImportedItems(lines: lines + EntryLine.end.json)
    #expect(imported.losses == ["entry 4: it is the same as entry 3"] && imported.items.count == 3)
  }

  @Test func `a table has quotes around what KeePassXC takes for a comment`() {
    var entry = Entry("#1 server", at: "")
    entry.current.add("password", "p#")
    var export = EntryExport([entry])
    #expect(String(decoding: export.table(), as: UTF8.self).hasSuffix("\r\n\"#1 server\",,,p#,,\r\n"))
  }

  @Test func `texts for which Bitwarden's server refuses the whole file are listed`() {
    func losses(_ count: Int, _ name: String) -> [String] {
      var entry = Entry("a", at: "")
      entry.current.add("password", "p")
      entry.current.add(name, String(repeating: "x", count: count))
      var export = EntryExport([entry])
      _ = export.bitwarden()
      return export.losses
    }
    for (name, limit) in [("username", 687), ("notes", 7_439), ("PIN", 3_695)] {
      #expect(losses(limit, name) == [])
      #expect(
        losses(limit + 1, name) == [
          "'a': '\(name)', which is too long for Bitwarden's server: it refuses the whole file"
        ])
    }
  }

  @Test func `entries whose attachments differ only in the Unicode form of their names are both kept`() throws {
    let lines = ["caf\u{E9}", "cafe\u{301}"].flatMap { name in
      var entry = Entry("a", at: "an entry")
      entry.current.add("password", "p")
      entry.attachments = [Entry.Attachment(name, [1])]
      return EntryLine.entry(entry).json + [0x0A]
    }
    let imported = try ImportedItems(lines: lines + EntryLine.end.json)
    #expect(imported.losses.isEmpty && imported.items.count == 4, "\(imported.losses)")
  }

  @Test(arguments: [
    ("JBSW-Y3DP ehpk3pxp", "otpauth://totp/vault?secret=JBSWY3DPehpk3pxp"), ("steam://JBSWY3DPEHPK3PXP#x", nil),
    ("steam://JBSWY3DP", "otpauth://totp/Steam?secret=JBSWY3DP&digits=5&period=30&encoder=steam"),
    ("OTPAUTH://TOTP/X?SECRET=MY", "otpauth://totp/X?secret=MY"), ("a note!", nil),
    ("otpauth://totp/x?issuer=I&secret=MY&algorithm=SHA-256", "otpauth://totp/x?issuer=I&secret=MY&algorithm=SHA256"),
    ("otpauth://totp/x?secret=MY&secret=mz%58q&digits=06", "otpauth://totp/x?secret=MZXQ&digits=6"),
    ("otpauth://totp/Shop #1:ann?secret=MY", "otpauth://totp/Shop %231:ann?secret=MY"),
    ("otpauth://totp/x?secret=my&algorithm=sha1#f", "otpauth://totp/x?secret=my&algorithm=sha1"),
    ("otpauth://hotp/x?SECRET=MY", "otpauth://hotp/x?SECRET=MY"),
  ]) func `only a source of one-time codes becomes one of KeePass`(text: String, url: String?) throws {
    var entry = Entry("a", at: "")
    entry.current.add("totp", text)
    let (file, read) = try roundTrip([entry])
    #expect(read.first?.current.fields == [Entry.Field("totp", url ?? text)])
    let key = KeePassKey(passphrase: Array("pw".utf8), keyFile: nil)
    let document = String(decoding: try KeePassFile(file, key).document, as: UTF8.self)
    #expect(document.contains("<Key>otp</Key>") == (url != nil))
    // All former versions are kept when KeePassXC edits the entry.
    #expect(document.contains("<HistoryMaxItems>-1</HistoryMaxItems><HistoryMaxSize>-1</HistoryMaxSize>"))
  }

  @Test func `a database that is too large to be read is written, and its writer knows`() throws {
    var entry = Self.entries[0]
    func write() throws -> (isReadable: Bool, file: [UInt8]) {
      var writer = try KeePassWriter([entry])
      let file = try writer.file(passphrase: Array("pw".utf8), cost: cheap)
      return (writer.isReadable, file)
    }
    #expect(try write().isReadable)
    let mebibyte = [UInt8](repeating: 0, count: 1 << 20)
    entry.attachments = (0...KeePassFile.limit >> 20).map { Entry.Attachment(String($0), mebibyte) }
    let (isReadable, file) = try write()
    #expect(!isReadable)
    #expect(ForeignFile(file, passphrase: Array("pw".utf8)).fault(as: .kdbx) == .overLimit)
  }

  @Test(.timeLimit(.minutes(1))) func `many fields with one name get numbers that are not taken`() {
    var versions: [Entry.Version] = []
    for _ in 0..<50 {
      var version = Entry.Version()
      version.add("a (2)", "taken")
      for _ in 1..<Entry.Version.mostFields { version.add("a", "text") }
      versions.append(version)
    }
    #expect(Set(versions[0].fields.map(\.name)).count == Entry.Version.mostFields)
    #expect(versions[0].fields.prefix(4).map(\.name) == ["a (2)", "a", "a (3)", "a (4)"])
    // Equal fields make equal versions, whatever names were wished for.
    var (wished, named) = (Entry.Version(), Entry.Version())
    for name in ["a", "a"] { wished.add(name, "text") }
    for name in ["a", "a (2)"] { named.add(name, "text") }
    #expect(wished == named)
  }

  @Test func `a written database is read back completely`() throws {
    var (file, read) = try roundTrip(Self.entries)
    read.sort { $0.name > $1.name }
    #expect(read.map(\.name) == ["https://a.test/", "Work/Web/GitHub"])
    let (login, written) = (read[1], Self.entries[0])
    #expect(
      login.current.fields.sorted { $0.name < $1.name } == written.current.fields.sorted { $0.name < $1.name })
    #expect(login.current.modified == written.current.modified)
    #expect(login.history == written.history)
    #expect(login.attachments == written.attachments)
    #expect(login.attributes == written.attributes && login.expires == written.expires)
    #expect(ForeignFile(file, passphrase: Array("PW".utf8)).fault(as: .kdbx) == .wrongKey)
  }

  @Test func `entries written for Bitwarden are read back, and losses are reported`() throws {
    var export = EntryExport(Self.entries)
    let imported = try ForeignFile(export.bitwarden()).items(as: .bitwarden)
    #expect(imported.items.map(\.name) == ["Work/Web/GitHub", "https://a.test/"])
    #expect(
      imported.items[0].text
        == #"{"username":"ann <&>","password":"p\"w,ü\u0001","url":"https://github.com","url (2)":"https://gist.github.com","#
        + #""totp":"otpauth://totp/x?secret=JBSWY3DPEHPK3PXP","notes":"two\r\nlines","PIN":"1234"}"#)
    #expect(imported.items[0].older.map { String(decoding: $0.value, as: UTF8.self).contains("before") } == [true])
    #expect(
      export.losses == [
        "'Work/Web/GitHub': attributes, its expiry, former versions, except their passwords",
        "'Work/Web/GitHub/key.bin': its bytes",
      ])
  }

  @Test func `of former versions Bitwarden keeps only passwords, and everything else is reported`() {
    func losses(_ former: [(String, String)], _ current: [(String, String)]) -> [String] {
      var entry = Entry("a", at: "")
      for (name, text) in current { entry.current.add(name, text) }
      entry.history = [Entry.Version()]
      for (name, text) in former { entry.history[0].add(name, text) }
      var export = EntryExport([entry])
      _ = export.bitwarden()
      return export.losses
    }
    #expect(losses([("password", "1"), ("notes", "n")], [("notes", "n"), ("password", "2")]) == [])
    #expect(losses([("notes", "n")], [("notes", "n")]) == [])
    let partly = ["'a': former versions, except their passwords"]
    #expect(losses([("username", "ann"), ("password", "1")], [("username", "bob"), ("password", "1")]) == partly)
    #expect(losses([("password", "1"), ("notes", "n")], [("password", "2")]) == partly)
    #expect(losses([("notes", "1")], [("notes", "2")]) == ["'a': former versions"])
    #expect(losses([("password", "1"), ("notes", "n")], [("notes", "n")]) == ["'a': former versions"])
    #expect(losses([("username", "ann")], [("username", "ann"), ("password", "1")]) == ["'a': former versions"])
  }

  @Test func `a written table is read back, and losses are reported`() throws {
    var export = EntryExport(Self.entries)
    let imported = try CSVItems.items(of: String(decoding: export.table(), as: UTF8.self))
    #expect(imported.items.map(\.name) == ["Work/Web/GitHub", "https://a.test/"])
    #expect(
      imported.items[0].text
        == #"{"username":"ann <&>","password":"p\"w,ü\u0001","url":"https://github.com","notes":"two\r\nlines","#
        + #""totp":"otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"}"#)
    #expect(
      export.losses == [
        "'Work/Web/GitHub': 2 fields, attributes, its expiry, former versions", "'Work/Web/GitHub/key.bin': its bytes",
      ])
  }
}
