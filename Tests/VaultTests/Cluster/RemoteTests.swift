import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct RemoteTests {
  private func parse(_ bytes: [UInt8]) throws -> Remote {
    try unsafe bytes.withUnsafeBytes { try unsafe Remote(parsing: $0, orThrow: .damaged(.credential, "a remote")) }
  }

  @Test(arguments: [
    ("etcd://127.0.0.1:2379", "etcd://127.0.0.1:2379"), ("etcds://a.example:2379", "etcds://a.example:2379"),
    ("etcd://n1:1,n2:65535,[::1]:2379", "etcd://n1:1,n2:65535,[::1]:2379"), ("etcd://h:02379", "etcd://h:2379"),
  ])
  func `an address names endpoints`(text: String, address: String) throws {
    #expect(try Remote("r", at: text).address == address)
  }

  @Test func `endpoints keep their order and IPv6 addresses lose their brackets`() throws {
    let remote = try Remote("r", at: "etcd://n2:2379,[fd00::1]:2380,n1:2379")
    #expect(remote.endpoints.map(\.host) == ["n2", "fd00::1", "n1"])
    #expect(remote.endpoints.map(\.port) == [2_379, 2_380, 2_379])
    #expect(!remote.usesTLS)
  }

  @Test(arguments: [
    "", "etcd://", "n1:2379", "http://n1:2379", "etcd://n1", "etcd://n1:", "etcd://n1:0", "etcd://n1:65536",
    "etcd://n1:+1", "etcd://n1:2379,", "etcd://n1:2379,n1:2379", "etcd://n1:2379/", "etcd://a b:2379", "etcd://:2379",
    "etcd://::1:2379", "etcd://[n1]:2379", "etcd://[::1:2379", "etcd://user@n1:2379", "etcd://-n1:2379",
    "etcd://é:2379", "ETCD://n1:2379", "etcd://[::g]:2379",
  ])
  func `any other address is refused`(text: String) {
    #expect(throws: VaultError.self) { try Remote("r", at: text) }
  }

  @Test func `a remote has at most 64 endpoints`() throws {
    let list = { (count: Int) in "etcd://" + (1...count).map { "n\($0):2379" }.joined(separator: ",") }
    #expect(try Remote("r", at: list(64)).endpoints.count == 64)
    #expect(throws: VaultError.self) { try Remote("r", at: list(65)) }
  }

  @Test(arguments: ["", "A", "a/b", "a..b", "-a", "ä"])
  func `a name that no group could have is refused`(name: String) {
    #expect(throws: VaultError.self) { try Remote(name, at: "etcd://n1:2379") }
  }

  @Test func `certificates mean TLS`() throws {
    #expect(try Remote("r", at: "etcd://n1:2379", authority: RemoteFixture.certificate).usesTLS)
    #expect(try Remote("r", at: "etcd://n1:2379", authority: RemoteFixture.certificate).address == "etcds://n1:2379")
  }

  @Test func `a private key in the place of a certificate is refused`() {
    #expect(throws: VaultError.self) { try Remote("r", at: "etcd://n1:2379", authority: RemoteFixture.key) }
    #expect(throws: VaultError.self) {
      try Remote("r", at: "etcd://n1:2379", authority: RemoteFixture.certificate + RemoteFixture.key)
    }
  }

  @Test func `an incomplete login or certificate is refused`() throws {
    #expect(throws: VaultError.self) { try Remote("r", at: "etcd://n1:2379", user: "u") }
    #expect(throws: VaultError.self) { try Remote("r", at: "etcd://n1:2379", password: Secret("p")) }
    #expect(throws: VaultError.self) {
      try Remote("r", at: "etcd://n1:2379", certificate: RemoteFixture.certificate)
    }
    #expect(throws: VaultError.self) { try Remote("r", at: "etcd://n1:2379", key: Secret(RemoteFixture.key)) }
  }

  @Test func `a password that is not text, empty or too long is refused`() {
    for bytes in [[], [0xFF], [UInt8](repeating: 0x61, count: 1_025)] {
      #expect(throws: VaultError.self) { try Remote("r", at: "etcd://n1:2379", user: "u", password: Secret(bytes)) }
    }
  }

  @Test func `a key with a passphrase is refused`() {
    let key = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n-----END ENCRYPTED PRIVATE KEY-----\n"
    #expect(throws: VaultError.self) {
      try Remote("r", at: "etcd://n1:2379", certificate: RemoteFixture.certificate, key: Secret(key))
    }
  }

  @Test func `more than 64 KiB in all are refused`() {
    let long = RemoteFixture.certificate + String(repeating: "#", count: 65_536)
    #expect(throws: VaultError.overLimit("64 KiB of a remote in all")) {
      try Remote("r", at: "etcd://n1:2379", authority: long)
    }
  }

  // MARK: Bytes

  @Test func `a remote is read back from its bytes, and written as the same bytes`() throws {
    for remote in try [RemoteFixture.plain(), RemoteFixture.full()] {
      let bytes = try remote.testBytes()
      let again = try parse(bytes)
      #expect(again.name == remote.name && again.endpoints == remote.endpoints && again.usesTLS == remote.usesTLS)
      #expect(again.authority == remote.authority && again.certificate == remote.certificate)
      #expect(again.user == remote.user)
      #expect(again.password()?.exportInsecurelyAsString() == remote.password()?.exportInsecurelyAsString())
      #expect(again.key()?.exportInsecurelyAsString() == remote.key()?.exportInsecurelyAsString())
      #expect(try again.testBytes() == bytes)
    }
  }

  @Test func `bytes of any other length are refused`() throws {
    let bytes = try RemoteFixture.full().testBytes()
    for count in 0..<bytes.count { #expect(throws: VaultError.self) { try parse(Array(bytes.prefix(count))) } }
    #expect(throws: VaultError.self) { try parse(bytes + [0]) }
  }

  @Test func `altered bytes are refused or are the bytes of another remote`() throws {
    let bytes = try RemoteFixture.full().testBytes()
    for place in bytes.indices {
      for bit in 0..<8 {
        var altered = bytes
        altered[place] ^= 1 << bit
        guard let remote = try? parse(altered) else { continue }
        #expect(try remote.testBytes() == altered)
      }
    }
  }

  @Test func `a field that a newer version added is a newer format`() throws {
    let bytes = try RemoteFixture.plain().testBytes()
    let count = Int(bytes[3])
    var later = bytes
    later.insert(contentsOf: [9, 0], at: 4 + count)
    later[3] += 2
    #expect(throws: VaultError.newerFormat(read: nil, write: nil)) { try parse(later) }
  }

  @Test func `a time of zero seconds is refused`() {
    #expect(throws: VaultError.self) { try Remote("r", at: "etcd://n1:2379", maxAge: 0) }
    #expect(throws: VaultError.self) { try Remote("r", at: "etcd://n1:2379", heartbeat: 0) }
  }

  @Test func `a count beyond the bytes is refused`() {
    #expect(throws: VaultError.self) { try parse([0xFF, 0xFF, 0xFF, 0xFF]) }
    #expect(throws: VaultError.self) { try parse([UInt8](repeating: 0, count: 12)) }
  }

  @Test func `printing a remote shows neither its password nor its key`() throws {
    let remote = try RemoteFixture.full()
    var text = "\(remote) \(String(reflecting: remote))"
    dump(remote, to: &text)
    #expect(!text.contains("correct horse") && !text.contains("PRIVATE"))
  }
}

enum RemoteFixture {
  static let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
  static let key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"

  static func plain(_ name: String = "office") throws -> Remote { try Remote(name, at: "etcd://127.0.0.1:2379") }

  static func full(_ name: String = "office") throws -> Remote {
    try Remote(
      name, at: "etcds://n1.example:2379,n2.example:2379", authority: certificate, certificate: certificate,
      key: Secret(key), user: "web", password: Secret("correct horse"), maxAge: 300, heartbeat: 60)
  }
}

extension Remote {
  func testBytes() throws -> [UInt8] { try unsafe serialized().withUnsafeBytes { unsafe Array($0) } }
}
