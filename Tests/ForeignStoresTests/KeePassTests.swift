import Ground
import Testing

@testable import Exchange
@testable import ForeignStores

@Suite struct KeePassTests {
  private let github =
    #"{"username":"ann","password":"third pw","url":"https://github.com/login","#
    + #""notes":"line 1\nline 2 ü","PIN":"1234","Hint":"plain"}"#

  private func expectSample(_ imported: ImportedItems) {
    #expect(
      imported.items.map(\.name).sorted() == [
        "Web/Deep & <er>/Mail", "Web/GitHub (ann)", "Web/GitHub (ann)/key.bin", "Web/GitHub (eve)", "entry 6",
      ])
    func item(_ name: String) -> ImportedItem? { imported.items.first { $0.name == name } }
    #expect(item("Web/GitHub (ann)")?.text == github)
    #expect(item("Web/GitHub (ann)")?.label == "ann")
    #expect(item("Web/GitHub (ann)")?.attributes["tags"] == "a;b")
    #expect(
      item("Web/GitHub (ann)")?.older.map { String(decoding: $0.value, as: UTF8.self).contains("first pw") }
        == [true, false])
    #expect(item("Web/GitHub (ann)/key.bin")?.value == Array("attached ".utf8) + [0, 0xFF] + Array(" bytes".utf8))
    #expect(item("Web/Deep & <er>/Mail")?.expires == 1_925_089_445_000)
    #expect(
      item("Web/Deep & <er>/Mail")?.text
        == #"{"username":"bob","password":"p<&>\"'ä","totp":"otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"}"#)
    #expect(imported.losses == ["dates of creation (4 entries)", "entries in the recycle bin (1 entry)"])
  }

  @Test func `a database of version 4 gives folders, fields, histories and attachments`() throws {
    expectSample(try ForeignFile("argon2d-aes.kdbx", passphrase: "pass wörd").items(as: .kdbx))
  }

  @Test func `a database with a key file, Argon2id and ChaCha20 is read`() throws {
    let key = try Vectors.bytes("key.keyx")
    expectSample(
      try ForeignFile("argon2id-chacha20-keyfile.kdbx", passphrase: "pass wörd", keyFile: key).items(as: .kdbx))
  }

  private func expectSite(_ imported: ImportedItems) {
    #expect(imported.items.map(\.name) == ["Web/Site", "Web/Site/note.txt"])
    #expect(
      imported.items.first?.text
        == #"{"username":"ann","password":"two","url":"https://x.test","notes":"hello"}"#)
    #expect(imported.items.first?.older.map { String(decoding: $0.value, as: UTF8.self).contains("one") } == [true])
    #expect(imported.items.last?.text == "hello\n")
    #expect(imported.losses == ["dates of creation (1 entry)"])
  }

  @Test func `a database of version 3 is read`() throws {
    expectSite(try ForeignFile("kdbx31.kdbx", passphrase: "pw").items(as: .kdbx))
  }

  @Test func `an XML export of KeePassXC is read`() throws {
    expectSite(try ForeignFile("exported.xml").items(as: .keepassXML))
  }

  @Test(arguments: [("bmV3", false), ("b2xk", true)])
  func `an older content of an attachment is reported as lost`(older: String, isLost: Bool) throws {
    func entry(_ base64: String, _ history: String) -> String {
      "<Entry><String><Key>Title</Key><Value>t</Value></String>"
        + "<Binary><Key>f</Key><Value>\(base64)</Value></Binary>\(history)</Entry>"
    }
    let document =
      "<KeePassFile><Root><Group>" + entry("bmV3", "<History>\(entry(older, ""))</History>")
      + "</Group></Root></KeePassFile>"
    let imported = try ForeignFile(Array(document.utf8)).items(as: .keepassXML)
    #expect(imported.items.map(\.text) == ["new"])
    #expect(imported.losses == (isLost ? ["entry 1: a content of an attachment that only former versions had"] : []))
  }

  @Test func `an attachment counts once, however many former versions share it`() throws {
    var base64: [UInt8] = []
    Base64.append(encoding: [UInt8](repeating: 7, count: 1 << 20), to: &base64)
    let attached = "<Binary><Key>f</Key><Value Ref=\"0\"/></Binary>"
    let former = String(repeating: "<Entry>\(attached)</Entry>", count: KeePassDocument.attachmentLimit >> 20)
    let shared = String(decoding: base64, as: UTF8.self)
    let document =
      "<KeePassFile><Meta><Binaries><Binary ID=\"0\">\(shared)</Binary></Binaries></Meta>"
      + "<Root><Group><Entry><String><Key>Title</Key><Value>t</Value></String>\(attached)<History>\(former)</History>"
      + "</Entry></Group></Root></KeePassFile>"
    let imported = try ForeignFile(Array(document.utf8)).items(as: .keepassXML)
    #expect(imported.items.map(\.value.count) == [1 << 20] && imported.losses.isEmpty)
  }

  @Test func `what only former versions of an entry had is reported as lost`() throws {
    func entry(_ title: String, _ rest: String, _ history: String = "") -> String {
      "<Entry><String><Key>Title</Key><Value>\(title)</Value></String>"
        + "<String><Key>Password</Key><Value>\(title)</Value></String>\(rest)<History>\(history)</History></Entry>"
    }
    let times = "<Times><ExpiryTime>2027-01-31T12:00:00Z</ExpiryTime><Expires>True</Expires></Times>"
    let document =
      "<KeePassFile><Root><Group>"
      + entry("a", "<IconID>3</IconID>", entry("a", "<IconID>4</IconID>"))
      + entry("b", "<Tags>x</Tags>", entry("old", "<IconID>4</IconID><Tags>y</Tags>\(times)") + entry("b", ""))
      + "</Group></Root></KeePassFile>"
    let imported = try ForeignFile(Array(document.utf8)).items(as: .keepassXML)
    #expect(imported.items.map(\.name) == ["a", "b"])
    #expect(
      imported.losses == [
        "former dates of expiry (1 entry)", "former tags (1 entry)", "former titles (1 entry)", "icons (1 entry)",
        "in former versions: icons (1 entry)",
      ])
  }

  @Test func `an entry whose former versions have no fields either is listed, and one that was emptied keeps them`()
    throws
  {
    func entry(_ title: String, _ fields: String, _ history: String) -> String {
      "<Entry><String><Key>Title</Key><Value>\(title)</Value></String>\(fields)<History>\(history)</History></Entry>"
    }
    let password = "<String><Key>Password</Key><Value>pw</Value></String>"
    let document =
      "<KeePassFile><Root><Group>" + entry("bare", "", entry("bare", "", ""))
      + entry("emptied", "", entry("emptied", password, "")) + "</Group></Root></KeePassFile>"
    let imported = try ForeignFile(Array(document.utf8)).items(as: .keepassXML)
    #expect(imported.items.map(\.name) == ["emptied"])
    #expect(imported.items.first?.older.map(\.value) == [Array(#"{"password":"pw"}"#.utf8)])
    #expect(imported.losses == ["entry 1: it has only a name"])
  }

  @Test(arguments: [
    (
      [("TOTP Seed", "JBSW Y3DP-ehpk3pxp"), ("TOTP Settings", "60;8"), ("PIN", "1")],
      #"{"totp":"otpauth://totp/vault?secret=JBSWY3DPehpk3pxp&period=60&digits=8","PIN":"1"}"#
    ),
    (
      [("TOTP Seed", "JBSWY3DP"), ("TOTP Settings", "30;S")],
      #"{"totp":"otpauth://totp/vault?secret=JBSWY3DP&period=30&digits=5&encoder=steam"}"#
    ),
    ([("TOTP Seed", "JBSWY3DP====")], #"{"totp":"otpauth://totp/vault?secret=JBSWY3DP&period=30&digits=6"}"#),
    (
      [("TOTP Seed", "JBSWY3DP"), ("TOTP Settings", "30;6;https://t")],
      #"{"totp":"otpauth://totp/vault?secret=JBSWY3DP&period=30&digits=6","TOTP Settings":"30;6;https://t"}"#
    ),
    (
      [("otp", "key=JBSWY3DP&size=8&step=60&otpHashMode=Sha256")],
      #"{"totp":"otpauth://totp/vault?secret=JBSWY3DP&period=60&digits=8&algorithm=SHA256"}"#
    ),
    (
      [("TOTP Seed", "otpauth://totp/GitHub:ann?secret=JBSWY3DP&period=60"), ("PIN", "1")],
      #"{"totp":"otpauth://totp/GitHub:ann?secret=JBSWY3DP&period=60","PIN":"1"}"#
    ),
    (
      [
        ("TimeOtp-Secret-Base32", "JBSWY3DP"), ("TimeOtp-Period", "60"), ("TimeOtp-Length", "8"),
        ("TimeOtp-Algorithm", "HMAC-SHA-256"),
      ], #"{"totp":"otpauth://totp/vault?secret=JBSWY3DP&period=60&digits=8&algorithm=SHA256"}"#
    ),
  ])
  func `the fields of one-time codes become their source`(fields: [(String, String)], value: String) throws {
    #expect(try item(fields).text == value)
  }

  @Test(arguments: [
    [("TimeOtp-Secret-Base32", "{REF:S@I:46C9B1FFBD4ABC4BBB260C6190BAD20C}")],
    [("TimeOtp-Secret-Base32", "JBSWY3DP"), ("TimeOtp-Period", "60s")],
    [("TimeOtp-Secret-Base32", "JBSWY3DP"), ("TimeOtp-Length", "12")],
    [("TimeOtp-Secret-Base32", "JBSWY3DP"), ("TimeOtp-Algorithm", "SHA1&digits=8")],
    [("TimeOtp-Secret-Base32", "JBSWY3DP&period=60")], [("TOTP Seed", "it is on the phone!")],
    [("otp", "key=JBSWY3DP&type=Hotp&counter=1")], [("otp", "key=JBSWY3DP&other=1")], [("otp", "key=1&size=6")],
    [("TOTP Seed", "JBSWY3DP"), ("TOTP Settings", "30;X")], [("TOTP Seed", "JBSWY3DP"), ("TOTP Settings", "0;6")],
    [("TOTP Seed", "otpauth://hotp/x?secret=JBSWY3DP&counter=1")],
  ])
  func `fields of one-time codes that cannot become a source stay as they are`(fields: [(String, String)]) throws {
    let members = fields.map { #""\#($0.0)":"\#($0.1)""# }
    #expect(try item(fields).text == "{\(members.joined(separator: ","))}")
  }

  @Test(arguments: [
    "{USERNAME}-{S:salt}", "https://{userName}@a.test", "{REF:P@I:46C9}", "x{dt_Year}", "{URL:HOST}", "{{PASSWORD}}",
    "{}", "{USERNAME", "USERNAME}", "{name}", "{\"url\":\"a\"}",
  ]) func `a text with a part that KeePass replaces is kept, and listed`(text: String) throws {
    let document = """
      <KeePassFile><Root><Group><Entry><String><Key>Password</Key><Value>\(text)</Value></String></Entry></Group>\
      </Root></KeePassFile>
      """
    let imported = try ForeignFile(Array(document.utf8)).items(as: .keepassXML)
    let fields = imported.items.first.map { JSONField.string(of: "password", in: $0.value) }
    #expect(fields == Array(text.utf8))
    let isListed = text.lowercased().contains(/{(username|ref:.*|dt_year|url:host|password)}/)
    #expect(
      imported.losses
        == (isListed
          ? ["what placeholders such as {USERNAME} and {REF:…} stand for; the text is kept as it is written (1 entry)"]
          : []))
  }

  @Test func `what folders have besides their names is listed as lost`() throws {
    let document = """
      <KeePassFile><Meta><CustomData><Item><Key>k</Key></Item></CustomData></Meta><Root><Group><Group><Name>a</Name>\
      <Notes>n</Notes><Tags>t</Tags><Times><Expires>True</Expires></Times><CustomData><Item><Key>k</Key></Item>\
      </CustomData><Entry><String><Key>Title</Key><Value>t</Value></String><String><Key>Password</Key><Value>p</Value>\
      </String></Entry></Group></Group></Root></KeePassFile>
      """
    let imported = try ForeignFile(Array(document.utf8)).items(as: .keepassXML)
    #expect(imported.items.map(\.name) == ["a/t"])
    #expect(
      imported.losses == [
        "data of plug-ins for folders (1 entry)", "dates of expiry of folders (1 entry)", "notes of folders (1 entry)",
        "tags of folders (1 entry)",
      ])
  }

  /// The only item of a document whose only entry has these fields.
  private func item(_ fields: [(String, String)]) throws -> ImportedItem {
    let texts = fields.map { name, text in
      "<String><Key>\(name)</Key><Value>\(text.exchanging("&", for: "&amp;"))</Value></String>"
    }
    let document = "<KeePassFile><Root><Group><Entry>\(texts.joined())</Entry></Group></Root></KeePassFile>"
    let imported = try ForeignFile(Array(document.utf8)).items(as: .keepassXML)
    #expect(imported.items.count == 1)
    return try #require(imported.items.first)
  }

  @Test func `passwords that differ only in their Unicode form are different`() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    func entry(_ title: String, _ password: String, _ history: String = "") -> String {
      "<Entry><String><Key>Title</Key><Value>\(title)</Value></String>"
        + "<String><Key>Password</Key><Value>\(password)</Value></String><History>\(history)</History></Entry>"
    }
    let document =
      "<KeePassFile><Root><Group>" + entry("a", composed) + entry("a", decomposed)
      + entry("b", composed, entry("b", decomposed)) + "</Group></Root></KeePassFile>"
    let imported = try ForeignFile(Array(document.utf8)).items(as: .keepassXML)
    #expect(imported.items.count == 3 && imported.losses.isEmpty)
    let passwords = imported.items.flatMap { [$0.value] + $0.older.map(\.value) }
    #expect(
      passwords == [composed, decomposed, composed, decomposed].map { Array(#"{"password":"\#($0)"}"#.utf8) })
  }

  @Test(arguments: ["argon2d-aes.kdbx", "kdbx31.kdbx"])
  func `a wrong passphrase and damage have different errors`(_ name: String) throws {
    #expect(try ForeignFile(name, passphrase: "wrong").fault(as: .kdbx) == .wrongKey)
    #expect(try ForeignFile(name).fault(as: .kdbx) == .wrongKey)
    var bytes = try Vectors.bytes(name)
    bytes.removeLast(40)
    let file = ForeignFile(bytes, passphrase: Array((name == "kdbx31.kdbx" ? "pw" : "pass wörd").utf8))
    #expect(file.fault(as: .kdbx) == .damaged || name == "kdbx31.kdbx")
  }

  @Test func `a database with an altered byte never gives wrong content`() throws {
    let bytes = try Vectors.bytes("argon2d-aes.kdbx")
    for place in stride(from: 0, to: bytes.count, by: 7) {
      var altered = bytes
      altered[place] ^= 0x10
      let fault = ForeignFile(altered, passphrase: Array("pass wörd".utf8)).fault(as: .kdbx)
      #expect(fault != nil, "byte \(place)")
    }
  }

  @Test func `a key file of every kind is read`() throws {
    let key = [UInt8](50..<82)
    let digits = "32333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f5051"
    let base64 = "MjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5PUFE="
    let version1 = "<KeyFile><Meta><Version>1.00</Version></Meta><Key><Data>\(base64)</Data></Key></KeyFile>"
    #expect(try KeePassKey.key(inFile: key) == key)
    #expect(try KeePassKey.key(inFile: Array(digits.utf8)) == key)
    #expect(try KeePassKey.key(inFile: Array(version1.utf8)) == key)
    #expect(try KeePassKey.key(inFile: Vectors.bytes("key.keyx")) == key)
    #expect(try KeePassKey.key(inFile: Array("any file".utf8)) == Gcrypt.sha256(Array("any file".utf8)))
    let altered = try Vectors.bytes("key.keyx").map { $0 == UInt8(ascii: "A") ? UInt8(ascii: "B") : $0 }
    #expect(throws: ImportFault.self) { try KeePassKey.key(inFile: altered) }
  }

  @Test func `excessive costs of a key derivation are refused before it starts`() {
    #expect(throws: Gcrypt.Argon2(passes: 1, kibibytes: 1 << 21, lanes: 1).fault(.overLimit)) {
      try Gcrypt.Argon2(passes: 1, kibibytes: 1 << 21, lanes: 1).check()
    }
    #expect(throws: Gcrypt.Argon2(passes: 1 << 40, kibibytes: 1 << 16, lanes: 1).fault(.overLimit)) {
      try Gcrypt.Argon2(passes: 1 << 40, kibibytes: 1 << 16, lanes: 1).check()
    }
    #expect(throws: ImportFault("its key derivation has more than 65536 lanes", .overLimit)) {
      try Gcrypt.Argon2(passes: 1, kibibytes: 1 << 20, lanes: 1 << 17).check()
    }
    #expect(throws: ImportFault.self) {
      try KeePassTransformation.aes(seed: [UInt8](repeating: 0, count: 32), rounds: 1 << 40)
        .applied(to: [UInt8](repeating: 0, count: 32))
    }
  }

  @Test func `AES in CBC over zeros equals repeated AES`() throws {
    let key = [UInt8](repeating: 7, count: 32)
    var block = [UInt8](0..<16)
    let fast = try Cipher.repeatedAES(block, key: key, rounds: 5_000)
    for _ in 0..<5_000 { block = try Cipher.repeatedAES(block, key: key, rounds: 1) }
    #expect(fast == block)
  }

  @Test func `a document with any changed byte is read or refused`() throws {
    for document in try Vectors.bytes("exported.xml").mutations(300) {
      _ = ForeignFile(document).fault(as: .keepassXML)
    }
  }

  @Test func `the content of a database with any changed byte is read or refused`() throws {
    let key = KeePassKey(passphrase: Array("pass wörd".utf8), keyFile: nil)
    let opened = try KeePassFile(Vectors.bytes("argon2d-aes.kdbx"), key)
    let stream = try #require(try opened.innerStream.cipher())
    for document in opened.document.mutations(300) {
      var reader = KeePassDocument(document, opened.binaries, stream: stream)
      do throws(ImportFault) { try reader.read { _ in } } catch { #expect(error.kind != .wrongKey) }
    }
  }

  @Test(arguments: [
    ("encoding=\"windows-1252\"", [0x63] as [UInt8], true), ("encoding = 'ISO-8859-1' standalone='yes'", [0x63], true),
    ("encoding=\"utf-8\"", [0xE9], true), ("", [0xE9], true), ("encoding='UTF-8'", [0xC3, 0xA9], false),
    ("", [0x63], false),
  ])
  func `a document in another encoding than UTF-8 is refused`(encoding: String, text: [UInt8], isRefused: Bool) {
    let start = "<?xml version=\"1.0\" \(encoding)?><KeePassFile><Root><Entry><String><Key>Password</Key><Value>"
    let document = start.utf8 + text + "</Value></String></Entry></Root></KeePassFile>".utf8
    #expect(ForeignFile(Array(document)).fault(as: .keepassXML) == (isRefused ? .damaged : nil))
  }

  @Test func `a protected text that is not UTF-8 is refused`() throws {
    let start = "<KeePassFile><Root><Entry><String><Key>Password</Key><Value Protected=\"True\">"
    let key = [UInt8](repeating: 7, count: 64)
    for (text, isRefused) in [([0xC3, 0xA9], false), ([0xE9], true)] as [([UInt8], Bool)] {
      let stream = try #require(try KeePassFile.InnerStream.chacha20(key: key).cipher())
      var hidden = text
      try stream.encrypt(&hidden)
      var base64: [UInt8] = []
      Base64.append(encoding: hidden, to: &base64)
      let bytes = start.utf8 + base64 + "</Value></String></Entry></Root></KeePassFile>".utf8
      let reading = try #require(try KeePassFile.InnerStream.chacha20(key: key).cipher())
      var document = KeePassDocument(Array(bytes), [], stream: reading)
      var fault: ImportFault?
      do throws(ImportFault) { try document.read { _ in } } catch { fault = error }
      #expect(fault == (isRefused ? ImportFault("a protected text is not UTF-8", .damaged) : nil))
    }
  }

  @Test func `compressed content that grows beyond the limit is refused`() throws {
    let packed = try Inflate.gzipped([UInt8](repeating: 0, count: 2 << 20))
    #expect(try Inflate.bytes(packed, limit: 2 << 20).count == 2 << 20)
    #expect(throws: ImportFault("it holds more than 1 MiB when it is unpacked", .overLimit)) {
      try Inflate.bytes(packed, limit: 1 << 20)
    }
  }

  @Test func `a document with its own declarations, or nested too deep, is refused`() {
    let entities = "<!DOCTYPE a [<!ENTITY x \"y\">]><KeePassFile>&x;</KeePassFile>"
    #expect(ForeignFile(Array(entities.utf8)).fault(as: .keepassXML) == .damaged)
    let deep = "<KeePassFile><Root>" + String(repeating: "<Group>", count: 300)
    #expect(ForeignFile(Array(deep.utf8)).fault(as: .keepassXML) == .damaged)
  }
}

extension Gcrypt.Argon2 {
  fileprivate func fault(_ kind: ImportFault.Kind) -> ImportFault {
    ImportFault("its key derivation costs too much: at most 1 GiB of memory, and 128 GiB written", kind)
  }
}
