import Ground
import Testing

@testable import Exchange
@testable import ForeignStores

@Suite struct BitwardenTests {
  private func expectSample(_ imported: ImportedItems) {
    #expect(imported.items.map(\.name) == ["Work/Web/GitHub", "A note", "Card", "Key"])
    let login = imported.items.first
    #expect(
      login?.text
        == #"{"username":"ann","password":"now","url":"https://github.com","url (2)":"https://gist.github.com","#
        + #""totp":"JBSWY3DPEHPK3PXP","notes":"two\nlines","PIN":"1234","on":"true"}"#)
    #expect(login?.attributes == ["modified": "2025-02-01T00:00:00Z"])
    #expect(
      login?.older.map { JSONField.string(of: "password", in: $0.value) ?? [] } == [
        Array("first".utf8), Array("second".utf8),
      ])
    #expect(login?.older.first?.attributes == ["modified": "2025-01-01T00:00:00Z"])
    #expect(
      imported.items.last?.text == #"{"privateKey":"PRIVATE","publicKey":"PUBLIC","keyFingerprint":"SHA256:x"}"#)
    #expect(
      imported.losses == [
        "dates of creation (1 entry)", "entries in the trash (1 entry)", "fields that are links to others (1 entry)",
        "marks of favourites (1 entry)", "rules for matching addresses (1 entry)",
      ])
  }

  @Test func `an unencrypted export gives folders, fields and former passwords`() throws {
    expectSample(try ForeignFile("bitwarden.json").items(as: .bitwarden))
  }

  @Test(arguments: ["bitwarden-pbkdf2.json", "bitwarden-argon2id.json"])
  func `an encrypted export opens only with its passphrase`(_ name: String) throws {
    expectSample(try ForeignFile(name, passphrase: "pass wörd").items(as: .bitwarden))
    #expect(try ForeignFile(name, passphrase: "wrong").fault(as: .bitwarden) == .wrongKey)
    #expect(try ForeignFile(name).fault(as: .bitwarden) == .wrongKey)
  }

  @Test func `fields above the limit are counted as lost`() throws {
    let fields = (1...1_005).map { #"{"name":"f\#($0)","value":"\#($0)","type":0}"# }.joined(separator: ",")
    let former = #"[{"lastUsedDate":"2026-01-01T00:00:00.000Z","password":"old"}]"#
    let export =
      #"{"items":[{"type":1,"name":"a","login":{"password":"p"},"passwordHistory":\#(former),"fields":[\#(fields)]}]}"#
    let imported = try ForeignFile(Array(export.utf8)).items(as: .bitwarden)
    #expect(imported.items.count == 1)
    #expect(imported.losses == ["item 1: 6 fields, of too many"])
  }

  @Test func `an encrypted export with an altered byte is refused`() throws {
    let text = String(decoding: try Vectors.bytes("bitwarden-pbkdf2.json"), as: UTF8.self)
    let start = try #require(text.firstRange(of: #""data": "2."#)).upperBound
    var bytes = Array(text.utf8)
    let place = text.utf8.distance(from: text.startIndex, to: start) + 60
    bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    #expect(ForeignFile(bytes, passphrase: Array("pass wörd".utf8)).fault(as: .bitwarden) == .damaged)
  }

  @Test func `an export that only its account can open, and one with excessive costs, are refused`() throws {
    let account = #"{"encrypted":true,"encKeyValidation_DO_NOT_EDIT":"2.a|b|c","items":[]}"#
    #expect(ForeignFile(Array(account.utf8), passphrase: [1]).fault(as: .bitwarden) == .unsupported)
    let text = String(decoding: try Vectors.bytes("bitwarden-pbkdf2.json"), as: UTF8.self)
    for rounds in ["5000000000", "50000000000000000000000"] {
      let dear = text.replacing("5000", with: rounds)
      #expect(ForeignFile(Array(dear.utf8), passphrase: [1]).fault(as: .bitwarden) == .overLimit)
    }
    let argon2 = String(decoding: try Vectors.bytes("bitwarden-argon2id.json"), as: UTF8.self)
    for memory in ["1048577", "99999999999999999999"] {
      let dear = argon2.replacing(/"kdfMemory": *[0-9]+/, with: "\"kdfMemory\":\(memory)")
      #expect(dear != argon2)
      #expect(ForeignFile(Array(dear.utf8), passphrase: [1]).fault(as: .bitwarden) == .overLimit)
    }
  }

  @Test func `an item of an unknown kind keeps its members, and what has no field is reported`() throws {
    let export = #"""
      {"items":[{"type":6,"name":"Bank","notes":"m","bankAccount":{"accountNumber":"DE89","pin":9,"x":{"a":[1]},"y":null}},
      {"type":1,"name":"Site","login":{"password":"b"},"reprompt":1,"extra":"e","more":[1],"none":null,"empty":[],
      "archivedDate":"2025-02-01T00:00:00.000Z"}]}
      """#
    let imported = try ForeignFile(Array(export.utf8)).items(as: .bitwarden)
    #expect(
      imported.items.map(\.text) == [
        #"{"notes":"m","accountNumber":"DE89","pin":"9","x":"{\"a\":[1]}"}"#, #"{"password":"b"}"#,
      ])
    #expect(
      imported.losses == [
        "dates of archiving (1 entry)", "parts of an unknown kind (2 entries)",
        "requests to ask for the passphrase again (1 entry)",
      ])
  }

  @Test func `former texts of hidden fields stay texts of these fields`() throws {
    let export = #"""
      {"items":[{"type":1,"name":"a","login":{"password":"now"},"fields":[{"name":"PIN","value":"3","type":1},
      {"name":"open","value":"x","type":0},{"name":"password","value":"field","type":1}],"passwordHistory":[
      {"lastUsedDate":"2025-01-01T00:00:00.000Z","password":"PIN: 1: 2"},
      {"lastUsedDate":"2025-01-02T00:00:00.000Z","password":"open: y"},
      {"lastUsedDate":"2025-01-03T00:00:00.000Z","password":"password: z"}]}]}
      """#
    let imported = try ForeignFile(Array(export.utf8)).items(as: .bitwarden)
    // Bitwarden's clients do not keep former texts of fields that are shown, and a field with the name of another one
    // has no name of its own.
    #expect(
      imported.items.first?.older.map { String(decoding: $0.value, as: UTF8.self) } == [
        #"{"password":"now","PIN":"1: 2","open":"x","password (2)":"field"}"#,
        #"{"password":"open: y","PIN":"3","open":"x","password (2)":"field"}"#,
        #"{"password":"password: z","PIN":"3","open":"x","password (2)":"field"}"#,
      ])
  }

  @Test func `an export with any changed byte is read or refused`() throws {
    for bytes in try Vectors.bytes("bitwarden.json").mutations(300) {
      #expect(ForeignFile(bytes).fault(as: .bitwarden).map { $0 == .damaged } != false)
    }
  }
}

@Suite struct OnePasswordTests {
  /// A zip archive of uncompressed files.
  private static func zip(_ files: [(name: String, content: String)]) -> [UInt8] {
    var (archive, directory) = ([UInt8](), [UInt8]())
    func short(_ number: Int) -> [UInt8] { UInt16(number).littleEndianBytes }
    func long(_ number: Int) -> [UInt8] { UInt32(number).littleEndianBytes }
    for (name, content) in files {
      var sum = UInt32.max
      for byte in content.utf8 {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
      }
      let about =
        short(20) + short(0) + short(0) + long(0) + (~sum).littleEndianBytes + long(content.utf8.count)
        + long(content.utf8.count) + short(name.utf8.count) + short(0)
      directory += [0x50, 0x4B, 1, 2] + short(20) + about + short(0) + short(0) + short(0) + long(0)
      directory += long(archive.count) + name.utf8
      archive += [0x50, 0x4B, 3, 4] + about + name.utf8 + content.utf8
    }
    let end = short(files.count) + short(files.count) + long(directory.count) + long(archive.count)
    return archive + directory + [0x50, 0x4B, 5, 6] + long(0) + end + short(0)
  }

  @Test func `an export of 1Password gives vaults, fields, former passwords and attached files`() throws {
    let imported = try ForeignFile("export.1pux").items(as: .onePassword)
    #expect(imported.items.map(\.name) == ["Personal/GitHub", "Personal/GitHub/scan.txt", "Shared/Wifi"])
    #expect(
      imported.items.first?.text
        == #"{"username":"ann","password":"now","url":"https://github.com","notes":"a note","remember":"yes","#
        + #""totp":"otpauth://totp/x?secret=JBSWY3DPEHPK3PXP","PIN":"1234","born":"1970-01-02","#
        + #""home street":"Way 1","home city":"Town","home zip":"1","mail":"a@b.test","until":"203012"}"#)
    #expect(imported.items.first?.attributes == ["modified": "2025-01-01T00:00:00Z", "tags": "a;b"])
    #expect(imported.items.first?.older.map { String(decoding: $0.value, as: UTF8.self).contains("before") } == [true])
    #expect(imported.items[1].text == "hello")
    #expect(imported.items[2].attributes == ["archived": "true"])
    // Fields of the same title are told apart by their sections.
    #expect(
      imported.items[2].text
        == #"{"password":"alone","username":"root","Console username":"guest","Console password":"other"}"#)
    #expect(
      imported.losses == [
        "dates of creation (1 entry)", "marks of favourites (1 entry)", "references to other entries (1 entry)",
      ])
  }

  @Test func `nested values of 1Password are kept as JSON, and everything else that has no field is reported`() throws {
    let data = #"""
      {"accounts":[{"vaults":[{"items":[{"overview":{"title":"T","urls":[{"label":"admin","url":"https://a"}]},
      "details":{"sections":[{"fields":[
      {"title":"sso","value":{"ssoLogin":{"provider":{"name":"g"},"item":"u"}}},
      {"title":"mail","value":{"email":{"email_address":"a@b","provider":"p"}}},
      {"title":"key","value":{"sshKey":{"privateKey":"PRIV","metadata":{"keyType":{"t":1}}}}},
      {"title":"two","value":{"string":"1","concealed":"2"}},
      {"title":"file","value":{"file":{"fileName":"f","documentId":"D1"}}}]}]}}]}]}]}
      """#
    let archive = Self.zip([
      ("export.attributes", "{}"), ("export.data", data), ("files/D1__f", "abc"), ("files/D9__g", "lost"),
    ])
    let imported = try ForeignFile(archive).items(as: .onePassword)
    #expect(
      imported.items.map(\.text) == [
        #"{"url":"https://a","sso provider":"{\"name\":\"g\"}","sso item":"u","mail":"a@b","mail provider":"p","#
          + #""key":"PRIV","key keyType":"{\"t\":1}","two":"1"}"#, "abc",
      ])
    #expect(
      imported.losses == [
        "1 file that no entry names", "further values of fields (1 entry)", "labels of addresses (1 entry)",
      ])
  }

  @Test func `vaults of two accounts with the same name get the names of their accounts`() throws {
    func account(_ name: String, _ vaults: String...) -> String {
      let texts = vaults.map { vault in
        #"{"attrs":{"name":"\#(vault)"},"items":[{"overview":{"title":"T"},"#
          + #""details":{"password":"\#(name)"}}]}"#
      }
      return #"{"attrs":{"accountName":"\#(name)"},"vaults":[\#(texts.joined(separator: ","))]}"#
    }
    let data = #"{"accounts":[\#(account("Ann", "Private", "Web")),\#(account("Work", "Private"))]}"#
    let imported = try ForeignFile(Self.zip([("export.data", data)])).items(as: .onePassword)
    #expect(imported.items.map(\.name) == ["Ann/Private/T", "Web/T", "Work/Private/T"])
  }

  @Test func `an export of 1Password with any changed byte is read or refused`() throws {
    for bytes in try Vectors.bytes("export.1pux").mutations(300) {
      let fault = ForeignFile(bytes).fault(as: .onePassword)
      #expect(fault == nil || [.damaged, .overLimit, .unsupported].contains(fault))
    }
  }
}

@Suite struct KeychainDumpTests {
  @Test func `the output of security for a keychain becomes logins`() throws {
    let imported = try ForeignFile("keychain.txt").items(as: .keychain)
    #expect(imported.items.map(\.name) == ["Wifi", "example.com", "Bytes", "Bytes/data"])
    #expect(
      imported.items.map(\.text).prefix(3) == [
        #"{"username":"Home Network","password":"a \"quoted\" word","service":"AirPort","#
          + #""description":"AirPort network password"}"#,
        #"{"username":"anné","password":"päss\u0000","url":"https://example.com:8443/login"}"#,
        #"{"username":"raw","service":"Bytes"}"#,
      ])
    #expect(imported.items.last?.value == [0xFF, 0, 0xFE])
    #expect(imported.items.first?.attributes == ["modified": "2024-01-02T03:04:05Z"])
    #expect(
      imported.losses == [
        "dates of creation (1 entry)", "keys and certificates (1 entry)", "ways to sign in (1 entry)",
      ])
  }

  @Test func `the realm and an application's own bytes are kept, and other attributes are reported`() throws {
    let dump = """
      keychain: "x"
      class: "inet"
      attributes:
          0x00000008 <blob>=<NULL>
          "crtr"<uint32>="aapl"
          "gena"<blob>=0x534543524554  "SECRET"
          "sdmn"<blob>="My Realm"
          "srvr"<blob>="a.test"
      data:
      "pw"
      keychain: "x"
      class: "genp"
      attributes:
          "acct"<blob>="b"
          "gena"<blob>=0xFF00  "\\377\\000"
      data:
      "pw"
      """
    let imported = try ForeignFile(Array(dump.utf8)).items(as: .keychain)
    #expect(
      imported.items.map(\.text).prefix(2) == [
        #"{"password":"pw","url":"https://a.test","securityDomain":"My Realm","generic":"SECRET"}"#,
        #"{"username":"b","password":"pw"}"#,
      ])
    #expect(imported.items.last.map { "\($0.name) \($0.value)" } == "b/generic [255, 0]")
    #expect(imported.losses == ["attributes of other kinds (1 entry)"])
  }

  @Test func `the output of security may have the line breaks of Windows`() throws {
    let text = String(decoding: try Vectors.bytes("keychain.txt"), as: UTF8.self).replacing("\n", with: "\r\n")
    let imported = try ForeignFile(Array(text.utf8)).items(as: .keychain)
    #expect(try imported == ForeignFile("keychain.txt").items(as: .keychain))
  }

  @Test func `a keychain's protocols become schemes`() throws {
    for (kind, scheme) in ["imps": "imaps", "smtp": "smtp", "ssh ": "ssh", "cifs": "cifs", "????": "https"] {
      let dump = """
        keychain: "x"
        class: "inet"
        attributes:
            "ptcl"<uint32>="\(kind)"
            "srvr"<blob>="a.test"
        data:
        "pw"
        """
      let imported = try ForeignFile(Array(dump.utf8)).items(as: .keychain)
      #expect(imported.items.first?.text == #"{"password":"pw","url":"\#(scheme)://a.test"}"#)
    }
  }

  @Test func `zero bytes of a keychain's texts are kept, and bytes that are no text are reported`() throws {
    let dump = """
      keychain: "x"
      class: "genp"
      attributes:
          "acct"<blob>=0x610062  "a\\000b"
          "icmt"<blob>=0xFF63  "\\377c"
          "svce"<blob>=0x6300  "c\\000"
      data:
      "pw"
      """
    let imported = try ForeignFile(Array(dump.utf8)).items(as: .keychain)
    #expect(imported.items.map(\.name) == ["c"])
    #expect(
      imported.items.first?.text
        == #"{"username":"a\u0000b","password":"pw","service":"c\u0000","notes":"\#u{FFFD}c"}"#)
    #expect(imported.losses == ["bytes that are not UTF-8 (1 entry)"])
  }

  @Test func `a keychain without passwords and any other text are refused`() {
    let bare = "keychain: \"x\"\nclass: \"genp\"\nattributes:\n    \"acct\"<blob>=\"a\"\n"
    #expect(ForeignFile(Array(bare.utf8)).fault(as: .keychain) == .unclear)
    #expect(ForeignFile(Array("anything".utf8)).fault(as: .keychain) == .damaged)
  }

  @Test func `a keychain's text with any changed byte is read or refused`() throws {
    for bytes in try Vectors.bytes("keychain.txt").mutations(300) { _ = ForeignFile(bytes).fault(as: .keychain) }
  }
}
