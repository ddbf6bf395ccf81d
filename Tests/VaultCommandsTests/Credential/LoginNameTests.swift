import Exchange
import Testing
import Vault

@testable import VaultCommands

@Suite struct LoginNameTests {
  private func credential(_ lines: String...) throws -> GitCredential {
    GitCredential(try GitCredentialMessage(Array(lines.joined(separator: "\n").utf8)))
  }

  @Test(arguments: [
    ("protocol=https\nhost=github.com\nusername=alice", "git/https/github.com/alice"),
    ("protocol=https\nhost=h:8443\nusername=a b@c.d", "git/https/h:8443/a b@c.d"),
    ("protocol=https\nhost=[::1]:8443\nusername=a", "git/https/[::1]:8443/a"),
    ("protocol=https\nhost=h\npath=org/repo.git\nusername=a", "git/https/h/org/repo.git/a"),
    ("protocol=https\nhost=h\npath=\nusername=a", "git/https/h//a"),
    ("protocol=https\nhost=h\nusername=", "git/https/h/"),
    ("protocol=https\nhost=h\nusername=a/b%c<d", "git/https/h/a%2Fb%25c%3Cd"),
    ("protocol=cert\nhost=\npath=/a/b.p12\nusername=", "git/cert///a/b.p12/"),
    ("protocol=https\nhost=größe.example\nusername=鍵", "git/https/größe.example/鍵"),
    ("protocol=https\nhost=h\nusername=a\r\u{7F}", "git/https/h/a%0D%7F"),
    ("protocol=https\nhost=h\nusername=u\u{308}", "git/https/h/u%CC%88"),
    ("protocol=https\nhost=h\nusername=/\u{307}", "git/https/h/%2F%CC%87"),
    ("capability[]=authtype\nprotocol=https\nhost=h\nauthtype=Bearer\ncredential=t", "git/https/h/<Bearer>"),
  ])
  func `an item's name describes its credential, and can be parsed back`(lines: String, name: String) throws {
    let credential = try credential(lines)
    #expect(try LoginName.git(credential) == name)
    let read = try #require(LoginName.gitCredential(try Item.Name(name)))
    #expect(read.scheme == credential.scheme && read.host == credential.host && read.path == credential.path)
    #expect(read.username == credential.username)
    #expect(name.utf8.starts(with: LoginName.gitPrefix(credential).utf8))
  }

  @Test(arguments: ["git", "git/https", "git/https/h", "db/password", "gitx/https/h/a", "git/https/h/%", "git/%4/h/a"])
  func `an item with another name is not one of git's`(name: String) throws {
    #expect(LoginName.gitCredential(try Item.Name(name)) == nil)
  }

  @Test func `different credentials have different names, and any bytes can be parsed back`() throws {
    var random = SystemRandomNumberGenerator()
    let pieces = [
      "/", "%", "<", "a", "e", "\u{301}", "é", "ㄱ", "\u{1100}\u{1161}", "\u{0}", "\u{85}", "\u{2028}", "\u{10FFFF}",
    ]
    func text() -> [UInt8] {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        bytes += Array((pieces.randomElement(using: &random) ?? "").utf8)
        if Int.random(in: 0..<8, using: &random) == 0 { bytes.append(.random(in: .min ... .max, using: &random)) }
      }
      return bytes
    }
    var names: [String: GitCredential] = [:]
    for _ in 0..<3_000 {
      var credential = GitCredential()
      (credential.scheme, credential.host, credential.username) = (text(), text(), text())
      if Bool.random(using: &random) { credential.path = text() }
      let name = try LoginName.git(credential)
      #expect(names.updateValue(credential, forKey: name) ?? credential == credential, "\(name)")
      #expect(LoginName.gitCredential(try Item.Name(name)) == credential, "\(name)")
      #expect(name.utf8.starts(with: LoginName.gitPrefix(credential).utf8))
      if let host = credential.host, !host.isEmpty {
        #expect(LoginName.dockerServer(try Item.Name(LoginName.docker(host))) == host)
      }
    }
  }

  @Test(arguments: ["https://index.docker.io/v1/", "registry.example:5000", "http://h/a%20b?c#d", "[::1]:5000"])
  func `a server's name is its URL`(server: String) throws {
    let name = try LoginName.docker(Array(server.utf8))
    #expect(name == "docker/" + server.replacing("%", with: "%25"))
    #expect(LoginName.dockerServer(try Item.Name(name)) == Array(server.utf8))
  }
}
