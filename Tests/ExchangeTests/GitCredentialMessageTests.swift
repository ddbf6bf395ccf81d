import Testing

@testable import Exchange

@Suite struct GitCredentialMessageTests {
  private func read(_ text: String) throws -> GitCredentialMessage { try GitCredentialMessage(Array(text.utf8)) }

  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func `lines are read up to a blank line or the end`() throws {
    let message = try read("protocol=https\nhost=example.com:8443\nusername=\npassword=a=b c\r\n\nhost=other\n")
    #expect(message.value(of: "protocol") == bytes("https"))
    #expect(message.value(of: "host") == bytes("example.com:8443"))
    #expect(message.value(of: "username") == [])
    #expect(message.value(of: "password") == bytes("a=b c\r"))
    #expect(message.value(of: "path") == nil)
    #expect(try read("host=a").value(of: "host") == bytes("a"))
    #expect(try read("").lines.isEmpty)
    #expect(try read("\nhost=a\n").lines.isEmpty)
  }

  @Test func `the last line of a key counts, a list keeps its order, and an empty line clears it`() throws {
    #expect(try read("host=a\nhost=b\n").value(of: "host") == bytes("b"))
    let message = try read(
      "wwwauth[]=Negotiate\nstate[]=1\nwwwauth[]=Basic realm=\"a\"\nwwwauth[]=\nwwwauth[]=Bearer\n")
    #expect(message.list(of: "wwwauth") == [bytes("Bearer")])
    #expect(message.list(of: "state") == [bytes("1")])
    #expect(message.list(of: "capability") == [])
    #expect(try read("a[]=1\na[]=2\na[]=3\n").list(of: "a") == [bytes("1"), bytes("2"), bytes("3")])
    #expect(try read("a[]=1\na[]=\n").list(of: "a") == [])
  }

  @Test(arguments: [
    ("host\n", 1), ("host=a\nx\n", 2), ("host=a\n \nb=c\n", 2), ("host=a\np=b\u{0}c\n", 2), ("\r\n", 1),
  ])
  func `a line that is not a key and a value is refused`(text: String, line: Int) {
    #expect(throws: GitCredentialMessage.Fault.malformed(line: line)) { try read(text) }
  }

  @Test(arguments: [65_520, 65_534, 65_535, 70_000, 200_000]) func `the end of a long line is not read as another key`(
    count: Int
  ) throws {
    // A reader that takes pieces of 65,535 bytes would find `host=evil` at the start of one.
    for distance in [count, 65_535 - "wwwauth[]=".count] {
      let header = String(repeating: "x", count: distance) + "host=evil.example"
      let message = try read("protocol=https\nhost=good.example\nwwwauth[]=\(header)\n")
      #expect(message.value(of: "host") == bytes("good.example"))
      #expect(message.list(of: "wwwauth") == [bytes(header)])
    }
  }

  @Test func `a line of up to 65,535 bytes is written, and a longer one is refused`() throws {
    var message = GitCredentialMessage()
    let longest = [UInt8](repeating: 0x61, count: 65_535 - "password=\n".utf8.count)
    try message.add("password", longest)
    #expect(message.bytes.count == 65_535)
    #expect(try GitCredentialMessage(message.bytes) == message)
    #expect(throws: GitCredentialMessage.Fault.unfit) { try message.add("password", longest + [0x61]) }
    #expect(message.lines.count == 1)
  }

  @Test(arguments: ["a\nhost=evil", "\n", "a\u{0}b"]) func `a value with a line feed or a zero byte is refused`(
    value: String
  ) {
    var message = GitCredentialMessage()
    #expect(throws: GitCredentialMessage.Fault.unfit) { try message.add("password", value.utf8) }
    #expect(throws: GitCredentialMessage.Fault.unfit) { try message.add(value, "x".utf8) }
    #expect(throws: GitCredentialMessage.Fault.unfit) { try message.add("a=b", "x".utf8) }
    #expect(message.lines.isEmpty)
  }

  @Test func `random messages are read back unchanged`() throws {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      var message = GitCredentialMessage()
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        let keys = ["host", "path", "state[]", "wwwauth[]", "", "größe", "\u{1}\r"]
        var value: [UInt8] = []
        for _ in 0..<Int.random(in: 0...40, using: &random) { value.append(.random(in: .min ... .max, using: &random)) }
        value.removeAll { $0 == 0 || $0 == 0x0A }
        try message.add(keys.randomElement(using: &random) ?? "", value)
      }
      #expect(try GitCredentialMessage(message.bytes) == message)
      #expect(try GitCredentialMessage(message.bytes + [0x0A] + message.bytes) == message)
    }
  }

  @Test func `random bytes are read or refused without a crash`() {
    var random = SystemRandomNumberGenerator()
    let pieces = [
      "host=", "\n", "=", "capability[]=authtype\n", "[]=", "\u{0}", "\r", "path=a/b\n", "password_expiry_utc=-1\n",
    ]
    for _ in 0..<2_000 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...10, using: &random) {
        if Bool.random(using: &random) {
          bytes += (pieces.randomElement(using: &random) ?? "").utf8
        } else {
          bytes.append(.random(in: .min ... .max, using: &random))
        }
      }
      guard let message = try? GitCredentialMessage(bytes) else { continue }
      let credential = GitCredential(message)
      #expect(credential.isMeant(by: credential))
      _ = (message.list(of: "host"), try? credential.answer([.authtype, .state]))
    }
  }
}
