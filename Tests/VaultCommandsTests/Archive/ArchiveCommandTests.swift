import Foundation
import TestSupport
import Testing

@testable import VaultCommands

@Suite struct ArchiveCommandTests {
  private let folder = TemporaryFolder()

  private static func list(_ objects: String, top: String = reference(1)) -> [UInt8] {
    Array(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key>
      <integer>100000</integer><key>$top</key><dict><key>root</key>\(top)</dict><key>$objects</key>
      <array><string>$null</string>\(objects)</array></dict></plist>
      """.utf8)
  }
  private static func reference(_ number: Int) -> String {
    "<dict><key>CF$UID</key><integer>\(number)</integer></dict>"
  }
  private static func description(_ name: String) -> String {
    "<dict><key>$classname</key><string>\(name)</string></dict>"
  }
  private static func instance(of type: Int, _ fields: String = "") -> String {
    "<dict>\(fields)<key>$class</key>\(reference(type))</dict>"
  }

  private static let person = list(
    instance(of: 3, "<key>name</key>\(reference(2))<key>age</key><integer>41</integer>") + "<string>Ada</string>"
      + description("Person"))

  @Test func `an archive is shown as a tree, as values and as raw objects without a store`() {
    let file = folder.write("person.plist", Self.person)
    #expect(
      Transcript(["archive", "show", file]).output == """
        NSKeyedArchiver 100000, xml property list, 4 objects, 2 deep
        root: Person
          name: "Ada"
          age: 41

        """)
    #expect(
      Transcript(["archive", "show", file, "--json"]).output
        == "{\"root\":{\"$class\":\"Person\",\"name\":\"Ada\",\"age\":41}}\n")
    #expect(
      Transcript(["archive", "show", file, "--raw"]).output == """
        $archiver: "NSKeyedArchiver"
        $version: 100000
        $top: {"root":{"$uid":1}}
        [0] "$null"
        [1] {"name":{"$uid":2},"age":41,"$class":{"$uid":3}}
        [2] "Ada"
        [3] {"$classname":"Person"}

        """)
    let raw = Transcript(["archive", "show", "-", "--raw", "--json"], input: Self.person)
    #expect(
      raw.output
        == #"{"$archiver":"NSKeyedArchiver","$version":100000,"$top":{"root":{"$uid":1}},"$objects":["$null","#
        + #"{"name":{"$uid":2},"age":41,"$class":{"$uid":3}},"Ada",{"$classname":"Person"}]}"# + "\n")
    #expect(raw.status == 0 && raw.errors.isEmpty)
  }

  @Test func `a check lists the classes, or ends with 19 and names the class, its path and the allowed classes`() {
    let file = folder.write("person.plist", Self.person)
    let passed = Transcript(["archive", "check", file, "--allow", "Person", "--allow", "Address"])
    #expect(passed.status == 0 && passed.output == "Person\t1\n" && passed.errors.isEmpty)
    let refused = Transcript(["archive", "check", file, "--allow", "Address"])
    #expect(refused.status == 19 && refused.output.isEmpty)
    #expect(
      refused.errors == """
        vault: error: class 'Person' is not allowed at root; allowed: Address
        vault: hint: if you trust the class, name it with --allow

        """)
  }

  @Test func `a broken archive ends with 13 and names its defect`() {
    for (bytes, message) in [
      ([], "this is neither a binary nor an XML property list"),
      (Array("hello".utf8), "this is neither a binary nor an XML property list"),
      (Array("bplist00".utf8), "broken property list at byte 8: it ends too early"),
      (
        Self.list(Self.instance(of: 9)),
        "broken archive at the archive: a reference points outside the table of objects"
      ),
    ] as [([UInt8], String)] {
      for command in [["show"], ["show", "--raw"], ["check"]] {
        let transcript = Transcript(["archive"] + command + ["-"], input: bytes)
        #expect(transcript.status == 13 && transcript.output.isEmpty)
        #expect(transcript.errors.hasPrefix("vault: error: \(message)\n"), "\(transcript.errors)")
      }
    }
  }

  @Test func `a file over the limit ends with 20 before it is read`() throws {
    let file = folder.write("large", [])
    try #require(unsafe truncate(file, 5 << 30) == 0)
    for path in [file, "/dev/zero"] {
      let transcript = Transcript(["archive", "show", path, "--json"])
      #expect(transcript.status == 20)
      let error = try readJSON(transcript.errors)
      #expect(error["name"] as? String == "over-limit")
      #expect(error["message"] as? String == "the archive has more than 16777216 bytes, at the archive")
    }
  }

  @Test func `the error for an unreadable file gives the reason`() {
    #expect(
      Transcript(["archive", "show", folder.file("none")]).errors.hasPrefix(
        "vault: error: the archive cannot be read: it does not exist\n"))
    let directory = Transcript(["archive", "check", folder.path])
    #expect(directory.status == 64)
    #expect(directory.errors.hasPrefix("vault: error: the archive cannot be read: it is a directory\n"))
  }

  @Test func `an archive's text cannot control the terminal`() {
    // XML allows no other control characters. The code that prints binary archives is the same.
    let name = "A&#x9b;31m&#x202e;"
    let bytes = Self.list(
      Self.instance(of: 2, "<key>k&#x1b;[2J</key><string>&#x1b;]0;title&#x7;</string>") + Self.description(name))
    for arguments in [["show"], ["show", "--json"], ["show", "--raw"], ["show", "--raw", "--json"], ["check"]] {
      let transcript = Transcript(["archive"] + arguments + ["-"], input: bytes)
      let text = transcript.output + transcript.errors
      #expect(transcript.status == (arguments == ["check"] ? 19 : 0))
      #expect(text.contains("u{9b}31m\\u{202e}") || text.contains(#"A\u009b31m\u202e"#))
      #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
      #expect(!text.contains("\u{202E}"))
    }
    #expect(
      Transcript(["archive", "check", "-", "--allow", "A\u{9B}31m\u{202E}"], input: bytes).output
        == "A\\u{9b}31m\\u{202e}\t1\n")
  }

  @Test func `an archive converted to JSON and back keeps its content`() {
    let json = Transcript(["archive", "convert", "-", "--to", "json"], input: Self.person)
    #expect(json.status == 0)
    let input = Array(json.output.utf8)
    for format in ["xml", "json", "binary"] {
      let straight = Transcript(["archive", "convert", "-", "--to", format], input: Self.person)
      let back = Transcript(["archive", "convert", "-", "--from", "json", "--to", format], input: input)
      #expect(back.status == 0 && back.outputBytes == straight.outputBytes)
    }
    let broken = Transcript(["archive", "convert", "-", "--from", "json", "--to", "xml"], input: Array("[1".utf8))
    #expect(broken.status == 13)
    #expect(broken.errors.hasPrefix("vault: error: broken property list at byte 2: it is not the JSON of an archive\n"))
    let other = Transcript(["archive", "convert", "-", "--from", "xml", "--to", "json"], input: Self.person)
    #expect(other.status == 64 && other.errors.hasPrefix("vault: error: there is no such format\n"))
  }

  @Test func `an archive whose output would be far larger than its bytes ends with 20`() {
    let bytes = HostileArchive.sharedText.bytes(100_000)
    for arguments in [
      ["show", "-", "--raw"], ["show", "-", "--json"], ["show", "-", "--raw", "--json"],
      ["convert", "-", "--to", "xml"],
    ] {
      let transcript = Transcript(["archive"] + arguments, input: bytes)
      #expect(transcript.status == 20 && transcript.output.isEmpty, "\(arguments)")
      #expect(transcript.errors.contains("more than 32 bytes for each byte of the archive"))
    }
  }

  @Test func `values of a StructArchiver archive are shown`() {
    func integer(_ number: UInt8) -> [UInt8] { Array("\u{3}Int".utf8) + [number, 0, 0, 0, 0, 0, 0, 0] }
    let bytes = Array("\u{0A}Array<Int>".utf8) + integer(1) + integer(12) + integer(7)
    #expect(Transcript(["archive", "show", "-"], input: bytes).output == "value: Array<Int>\n  [0]: 7\n")
    #expect(Transcript(["archive", "show", "-", "--json"], input: bytes).output == "[7]\n")
    #expect(Transcript(["archive", "show", "-", "--raw", "--json"], input: bytes).status == 13)
  }
}
