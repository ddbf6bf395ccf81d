import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct IdentityFileTests {
  private let identity: Identity
  private var file: IdentityFile

  init() throws {
    identity = try Identity.testing()
    file = IdentityFile(
      ownerKey: identity.ownerKey,
      first: try Slot(number: 1, passphrase: passphrase("open"), cost: cheap, sealing: identity))
    try file.add(try Slot(number: 2, key: key(2), use: .keyFile, sealing: identity))
    try file.add(try Slot(number: 3, key: key(3), use: .keyFile, sealing: identity))
  }

  /// Appends a correct hash to altered bytes.
  private func hashed(_ covered: [UInt8]) -> [UInt8] {
    covered + Hash.digest(Label("vault1.id.hash"), covered).bytes
  }

  private func relabelled(_ label: String) -> [UInt8] {
    Array(label.utf8) + [UInt8](repeating: 0, count: 16 - label.utf8.count) + file.serialized().dropFirst(16)
  }

  // MARK: - Bytes

  @Test func `an identity made by another implementation opens with passphrase and key`() throws {
    let file = try IdentityFile(parsing: ForeignBytes.identity)
    #expect(file.serialized() == ForeignBytes.identity)
    #expect(file.ownerKey == identity.ownerKey)
    #expect(file.slots.map(\.number) == [1, 3])
    #expect(file.slots.map(\.kind) == [.passphrase, .keyFile])
    #expect(try file.unlock(passphrase: passphrase("correct horse")).identity.testSeed == identity.testSeed)
    #expect(try file.unlock(key: key(7), use: .keyFile).identity.testSeed == identity.testSeed)
  }

  @Test func `an identity reads back as it was written`() throws {
    #expect(try IdentityFile(parsing: file.serialized()) == file)
  }

  @Test func `an identity with a flipped bit is refused`() {
    let bytes = file.serialized()
    for bit in 0..<bytes.count * 8 {
      var altered = bytes
      altered[bit / 8] ^= 1 << (bit % 8)
      // Some flipped bits raise the format's number in the label.
      let isNewer = bit / 8 == 5 && (UInt8(ascii: "2")...UInt8(ascii: "9")).contains(altered[5])
      let expected: VaultError =
        isNewer
        ? .newerFormat(read: nil, write: nil) : .damaged(.identity, "it is not a vault identity, or was altered")
      #expect(throws: expected) { try IdentityFile(parsing: altered) }
    }
  }

  @Test func `a file of any other length is refused`() {
    let bytes = file.serialized()
    for count in 0..<bytes.count {
      #expect(throws: VaultError.self) { try IdentityFile(parsing: Array(bytes.prefix(count))) }
    }
    #expect(throws: VaultError.self) { try IdentityFile(parsing: bytes + [0]) }
  }

  @Test(arguments: ["vault2.identity", "vault10.identity"])
  func `a later label is a newer format`(label: String) {
    #expect(throws: VaultError.newerFormat(read: nil, write: nil)) { try IdentityFile(parsing: relabelled(label)) }
  }

  @Test(arguments: ["vault0.identity", "vaultx.identity", "vault.identity", "vault2.app.cred", "fault2.identity"])
  func `any other label is not an identity`(label: String) {
    #expect(
      throws: VaultError.damaged(group: nil, level: .identity, detail: "it is not a vault identity, or was altered")
    ) {
      try IdentityFile(parsing: relabelled(label))
    }
  }

  @Test func `an unknown kind of slot is a newer format`() {
    var covered = Array(file.serialized().dropLast(32))
    covered[50] = 3
    #expect(throws: VaultError.newerFormat(read: nil, write: nil)) { try IdentityFile(parsing: hashed(covered)) }
  }

  @Test func `unsorted slots, missing slots and two passphrase slots are refused`() {
    let covered = Array(file.serialized().dropLast(32))
    let first = covered[50..<166]
    let second = covered[166..<282]
    let third = covered[282..<398]
    func list(_ slots: [ArraySlice<UInt8>], count: Int? = nil) -> [UInt8] {
      hashed(Array(covered.prefix(48)) + [0, UInt8(count ?? slots.count)] + slots.joined())
    }
    #expect(throws: Never.self) { try IdentityFile(parsing: list([first, second, third])) }
    var passphraseAgain = first
    passphraseAgain[passphraseAgain.startIndex + 3] = 9
    for bytes in [
      list([second, first]), list([first, first]), list([second, second]), list([]), list([first, passphraseAgain]),
      list([first, second], count: 3), list([first, second], count: 1), list([first, second], count: 0),
    ] {
      #expect(throws: VaultError.self) { try IdentityFile(parsing: bytes) }
    }
  }

  @Test func `a key's slot has zero costs`() {
    var covered = Array(file.serialized().dropLast(32))
    covered[166 + 7] = 1
    #expect(throws: VaultError.damaged(group: nil, level: .identity, detail: "its fields do not follow the format")) {
      try IdentityFile(parsing: hashed(covered))
    }
  }

  // MARK: - Opening

  @Test func `every slot opens the same seed`() throws {
    #expect(try file.unlock(passphrase: passphrase("open")).identity.testSeed == identity.testSeed)
    #expect(try file.unlock(key: key(2), use: .keyFile).identity.testSeed == identity.testSeed)
    #expect(try file.unlock(key: key(3), use: .keyFile).identity.testSeed == identity.testSeed)
  }

  @Test func `a wrong key and a missing slot have different errors`() throws {
    #expect(throws: VaultError.wrongKey(.passphrase)) { try file.unlock(passphrase: passphrase("shut")).identity }
    #expect(throws: VaultError.wrongKey(.keyFile)) { try file.unlock(key: key(9), use: .keyFile).identity }
    #expect(throws: VaultError.locked(.noSlot(.systemdCredential))) {
      try file.unlock(key: key(2), use: .systemdCredential).identity
    }
    let other = IdentityFile(
      ownerKey: identity.ownerKey, first: try Slot(number: 1, key: key(1), use: .keyFile, sealing: identity))
    #expect(throws: VaultError.locked(.noSlot(.passphrase))) { try other.unlock(passphrase: passphrase("open")) }
  }

  // MARK: - Changing

  @Test mutating func `a new passphrase rewrites its slot and changes no other byte except the hash`() throws {
    let before = file.serialized()
    try file.setPassphrase(try passphrase("new"), cost: cheap, of: identity)
    let after = file.serialized()
    #expect(before.count == after.count)
    #expect(before[..<54] == after[..<54])
    #expect(before[54..<166] != after[54..<166])
    #expect(before[166..<398] == after[166..<398])
    #expect(try file.unlock(passphrase: passphrase("new")).identity.testSeed == identity.testSeed)
    #expect(throws: VaultError.wrongKey(.passphrase)) { try file.unlock(passphrase: passphrase("open")).identity }
  }

  @Test mutating func `a passphrase can be added only if there is none`() throws {
    try file.remove(number: 1)
    try file.setPassphrase(try passphrase("first"), cost: cheap, of: identity)
    #expect(file.slots.map(\.number) == [2, 3, 4])
    let second = try Slot(number: 5, passphrase: passphrase("second"), cost: cheap, sealing: identity)
    #expect(throws: VaultError.exists(.passphraseSlot)) { try file.add(second) }
    #expect(try IdentityFile(parsing: file.serialized()) == file)
  }

  @Test mutating func `the last slot cannot be removed`() throws {
    #expect(throws: VaultError.notFound(.slot(9))) { try file.remove(number: 9) }
    try file.remove(number: 2)
    try file.remove(number: 1)
    #expect(throws: VaultError.contradiction(.lastSlot)) { try file.remove(number: 3) }
    #expect(file.slots.map(\.number) == [3])
  }

  @Test mutating func `there are at most 64 slots`() throws {
    while file.slots.count < 64 {
      try file.add(try Slot(number: file.nextNumber(), key: key(1), use: .systemdCredential, sealing: identity))
    }
    #expect(throws: VaultError.overLimit("64 slots")) { try file.nextNumber() }
    #expect(file.serialized().count == IdentityFile.byteLimit)
    #expect(try IdentityFile(parsing: file.serialized()) == file)
  }

  @Test func `no slot is numbered above what the format can hold`() throws {
    let last = try Slot(number: 65_535, key: key(2), use: .keyFile, sealing: identity)
    let file = try IdentityFile(parsing: IdentityFile(ownerKey: identity.ownerKey, first: last).serialized())
    #expect(throws: VaultError.overLimit("64 slots")) { try file.nextNumber() }
  }
}
