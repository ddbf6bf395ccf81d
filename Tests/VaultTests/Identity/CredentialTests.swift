import Glibc
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct CredentialTests {
  private func parse(_ bytes: [UInt8]) throws -> Credential { try Credential(parsing: GuardedBytes(testing: bytes)) }

  private func hashed(_ covered: [UInt8]) -> [UInt8] {
    covered + Hash.digest(Label("vault1.cred.hash"), covered).bytes
  }

  private func seed(_ member: MemberSeed) -> [UInt8] { unsafe member.withUnsafeBytes { unsafe Array($0) } }

  @Test func `a credential made by another implementation reads and writes as the same bytes`() throws {
    let credential = try parse(ForeignBytes.credential)
    #expect(credential.issue == 2)
    #expect(credential.ownerKey == (try Identity.testing().ownerKey))
    #expect(credential.application == "com.example.notes")
    #expect(
      try seed(credential.member) == seed(Identity.testing().seed(application: "com.example.notes", issue: 2)))
    #expect(credential.floors.map(\.group) == ["com.example.notes", "team.shared"])
    #expect(credential.floors.map(\.state.rosterRevision) == [10, 20])
    #expect(credential.floors.map(\.state.generation) == [20, 40])
    #expect(credential.floors.map(\.state.epoch) == [30, 60])
    #expect(credential.floors.map(\.state.groupID.bytes.first) == [1, 2])
    #expect(credential.floors.map(\.state.link.bytes.first) == [51, 52])
    #expect(try credential.serialized().testBytes == ForeignBytes.credential)
  }

  @Test func `a credential with a flipped bit is refused`() {
    for bit in 0..<ForeignBytes.credential.count * 8 {
      var altered = ForeignBytes.credential
      altered[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: VaultError.self) { try parse(altered) }
    }
  }

  @Test func `a credential of any other length is refused`() {
    for count in 0..<ForeignBytes.credential.count {
      #expect(throws: VaultError.self) { try parse(Array(ForeignBytes.credential.prefix(count))) }
    }
    #expect(throws: VaultError.self) { try parse(ForeignBytes.credential + [0]) }
  }

  @Test func `a later version number or label is a newer format`() {
    var later = ForeignBytes.credential
    later[17] = 5
    #expect(throws: VaultError.newerFormat(read: nil, write: nil)) { try parse(later) }
    later = ForeignBytes.credential
    later[5] = UInt8(ascii: "2")
    #expect(throws: VaultError.newerFormat(read: nil, write: nil)) { try parse(later) }
  }

  @Test func `an unknown flag is refused`() {
    var covered = Array(ForeignBytes.credential.dropLast(32))
    covered[19] = 1
    #expect(throws: VaultError.damaged(group: nil, level: .credential, detail: "it has an unknown flag")) {
      try parse(hashed(covered))
    }
  }

  @Test func `invalid names, floors out of order and counters out of range are refused`() throws {
    let covered = Array(ForeignBytes.credential.dropLast(32))
    let head = Array(covered[..<88])
    func counted(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }
    func floor(_ name: String, epoch: UInt8 = 0) -> [UInt8] {
      counted(name) + [UInt8](repeating: 9, count: 32) + [UInt8](repeating: 0, count: 16) + [epoch]
        + [UInt8](repeating: 0, count: 7) + [UInt8](repeating: 9, count: 32)
    }
    let right = head + counted("app") + [0, 2] + floor("a") + floor("b")
    #expect(throws: Never.self) { try parse(hashed(right)) }
    for wrong in [
      head + counted("") + [0, 0], head + counted("../app") + [0, 0], head + counted("App") + [0, 0],
      head + counted("app") + [0, 2] + floor("b") + floor("a"),
      head + counted("app") + [0, 2] + floor("a") + floor("a"),
      head + counted("app") + [0, 1] + floor("a") + floor("b"),
      head + counted("app") + [0, 3] + floor("a") + floor("b"),
      head + counted("app") + [0, 1] + floor("a/b"), head + counted("app") + [0, 1] + floor("a", epoch: 0x20),
      head + counted("app") + [1, 1] + (0..<257).flatMap { floor("g\(1000 + $0)") },
    ] {
      #expect(throws: VaultError.damaged(group: nil, level: .credential, detail: "its fields do not follow the format"))
      {
        try parse(hashed(wrong))
      }
    }
  }

  @Test func `floors are written sorted`() throws {
    let floors = ["b", "a", "a.b", "a-b"].map {
      Credential.Floor(
        group: $0,
        state: WitnessRecord(groupID: .zero, ownerKey: .zero, rosterRevision: 1, generation: 1, epoch: 1, link: .zero))
    }
    let credential = Credential(
      issue: 1, ownerKey: .zero, application: "app", member: MemberSeed(try Key.random()), floors: floors)
    #expect(try Credential(parsing: credential.serialized()).floors.map(\.group) == ["a", "a-b", "a.b", "b"])
  }

  // MARK: - Remote

  private func credential(_ remote: Remote?, floors: Int = 2) throws -> Credential {
    Credential(
      issue: 3, ownerKey: .zero, application: "com.example.web", member: MemberSeed(try Key.random()),
      floors: (0..<floors).map {
        Credential.Floor(
          group: "group-\(1_000 + $0)" + String(repeating: "x", count: floors > 2 ? 118 : 0),
          state: WitnessRecord(groupID: .zero, ownerKey: .zero, rosterRevision: 1, generation: 1, epoch: 1, link: .zero)
        )
      }, remote: remote)
  }

  @Test func `a credential with a remote gives the remote again, and the same bytes`() throws {
    for remote in try [RemoteFixture.plain(), RemoteFixture.full()] {
      let bytes = try credential(remote).serialized().testBytes
      #expect(bytes[16...17] == [0, 3])
      let found = try parse(bytes)
      #expect(found.floors.map(\.group) == ["group-1000", "group-1001"])
      #expect(try found.remote?.testBytes() == remote.testBytes())
      #expect(try found.serialized().testBytes == bytes)
    }
  }

  @Test func `a credential without a remote is written in version 1`() throws {
    let bytes = try credential(nil).serialized().testBytes
    #expect(bytes[16...17] == [0, 1])
    #expect(try parse(bytes).remote == nil)
  }

  @Test func `a remote of any other length is refused`() throws {
    let covered = Array(try credential(RemoteFixture.full()).serialized().testBytes.dropLast(32))
    #expect(throws: Never.self) { try parse(hashed(covered)) }
    for count in 90..<covered.count { #expect(throws: VaultError.self) { try parse(hashed(Array(covered[..<count]))) } }
    #expect(throws: VaultError.self) { try parse(hashed(covered + [0])) }
    let count = try RemoteFixture.full().testBytes().count
    for other in [UInt8(1), 3] {
      var miscounted = covered
      miscounted[covered.count - count - 1] ^= other
      #expect(throws: VaultError.self) { try parse(hashed(miscounted)) }
    }
    var plain = covered
    plain[17] = 1
    #expect(throws: VaultError.self) { try parse(hashed(plain)) }
    var bare = Array(try credential(nil).serialized().testBytes.dropLast(32))
    bare[17] = 3
    #expect(throws: VaultError.self) { try parse(hashed(bare)) }
  }

  @Test func `256 groups with the longest names and a remote of 64 KiB fit into a credential`() throws {
    let filling = String(repeating: "#", count: 65_300 - RemoteFixture.certificate.utf8.count)
    let remote = try Remote("office", at: "etcd://n1:2379", authority: RemoteFixture.certificate + filling)
    let bytes = try credential(remote, floors: 256).serialized().testBytes
    #expect(bytes.count > 65_536)
    let found = try parse(bytes)
    #expect(found.floors.count == 256 && found.remote?.authority == remote.authority)
  }

  @Test func `a sealed credential carries the remote`() throws {
    let passphrase = try GuardedBytes(testing: Array("a passphrase".utf8))
    let cost = Passphrase.Cost(passes: 1, memoryKiB: 8_192)
    let sealed = try SealedCredential(credential(RemoteFixture.full()), passphrase: passphrase, cost: cost)
    let bytes = sealed.serialized()
    #expect(bytes[16...17] == [0, 4])
    let opened = try SealedCredential(parsing: GuardedBytes(testing: bytes)).open(passphrase: passphrase)
    #expect(opened.remote?.password()?.exportInsecurelyAsString() == "correct horse")
    #expect(try SealedCredential(credential(nil), passphrase: passphrase, cost: cost).serialized()[16...17] == [0, 2])
  }

  // MARK: - File

  @Test func `a credential file is checked as strictly as a key file`() throws {
    let temporary = TemporaryFolder()
    let path = temporary.write("credential", ForeignBytes.credential, mode: 0o400)
    #expect(try CredentialFile.read(path).application == "com.example.notes")
    temporary.setMode("credential", 0o444)
    #expect(throws: VaultError.locked(.credential(.openToOthers(mode: 0o444)))) { try CredentialFile.read(path) }
    #expect(throws: VaultError.locked(.credential(.missing))) { try CredentialFile.read(temporary.file("gone")) }
    #expect(throws: VaultError.locked(.credential(.wrongKind))) {
      try CredentialFile.read(temporary.makeFIFO("FIFO"))
    }
    #expect(throws: VaultError.locked(.credential(.wrongSize))) {
      try CredentialFile.read(temporary.write("long", [UInt8](repeating: 0, count: 131_073)))
    }
    #expect(throws: VaultError.damaged(group: nil, level: .credential, detail: "it is not a vault credential")) {
      try CredentialFile.read(temporary.write("empty", []))
    }
  }

  @Test func `only a credential that belongs to root may be readable by a Unix group`() throws {
    func check(owner: uid_t, mode: mode_t) throws(FileFault) {
      var status = stat()
      status.st_uid = owner
      status.st_mode = S_IFREG | mode
      try FileTrust.handedOver(user: 1000).check(status)
    }
    try check(owner: 0, mode: 0o440)
    try check(owner: 1000, mode: 0o400)
    #expect(throws: FileFault.openToOthers(mode: 0o440)) { try check(owner: 1000, mode: 0o440) }
    #expect(throws: FileFault.openToOthers(mode: 0o460)) { try check(owner: 0, mode: 0o460) }
    #expect(throws: FileFault.openToOthers(mode: 0o444)) { try check(owner: 0, mode: 0o444) }
    #expect(throws: FileFault.foreignOwner) { try check(owner: 1001, mode: 0o400) }
  }

  @Test func `a link to a credential is followed only if nobody but root and the user can change it`() throws {
    let temporary = TemporaryFolder()
    // A Secret as Kubernetes mounts it.
    _ = temporary.makeFolder("secret")
    _ = temporary.makeFolder("secret/..2026", mode: 0o755)
    _ = temporary.write("secret/..2026/credential", ForeignBytes.credential, mode: 0o400)
    _ = temporary.makeLink("secret/..data", to: "..2026")
    let path = temporary.makeLink("secret/credential", to: "..data/credential")
    for mode: mode_t in [0o1777, 0o755, 0o700] {
      temporary.setMode("secret", mode)
      #expect(try CredentialFile.read(path).application == "com.example.notes")
    }
    for mode: mode_t in [0o777, 0o720, 0o702] {
      temporary.setMode("secret", mode)
      #expect(throws: VaultError.locked(.credential(.link))) { try CredentialFile.read(path) }
    }
    #expect(throws: VaultError.locked(.credential(.link))) {
      try CredentialFile.read(temporary.makeLink("circle", to: "circle"))
    }
    #expect(throws: VaultError.locked(.credential(.missing))) {
      try CredentialFile.read(temporary.makeLink("dangling", to: "nothing"))
    }
  }

  @Test func `a link that somebody else made is not followed`() throws {
    let temporary = TemporaryFolder()
    _ = temporary.write("credential", ForeignBytes.credential, mode: 0o400)
    let path = temporary.makeLink("link", to: "credential")
    // As seen by a user who is neither root nor the maker of the link.
    if geteuid() != 0 {
      #expect(throws: FileFault.link) { try CanonicalPath.followingLinks(path, user: geteuid() + 1) }
    } else {
      #expect(unsafe lchown(path, 12_345, 12_345) == 0)
      #expect(throws: FileFault.link) { try CanonicalPath.followingLinks(path, user: 1000) }
    }
  }
}
