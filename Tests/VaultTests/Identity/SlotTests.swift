import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct SlotTests {
  private func bytes(_ slot: Slot) -> [UInt8] {
    var writer = ByteWriter()
    slot.write(to: &writer)
    return writer.bytes
  }

  private func parsed(_ bytes: [UInt8]) throws -> Slot {
    var reader = ByteReader(bytes)
    let slot = try Slot(from: &reader)
    try reader.finish()
    return slot
  }

  @Test func `a slot is written to and read from 116 bytes`() throws {
    let identity = try Identity.random()
    for slot in [
      try Slot(number: 1, passphrase: passphrase("open"), cost: cheap, sealing: identity),
      try Slot(number: 2, key: key(1), use: .keyFile, sealing: identity),
      try Slot(number: 3, key: key(1), use: .recoveryCode, sealing: identity),
      try Slot(number: 65_535, key: key(1), use: .systemdCredential, sealing: identity),
    ] {
      #expect(bytes(slot).count == Slot.byteCount)
      #expect(try parsed(bytes(slot)) == slot)
    }
  }

  @Test func `a new passphrase slot has moderate costs`() throws {
    let slot = try Slot(number: 1, passphrase: passphrase("open"), sealing: Identity.random())
    #expect(slot.stretching == .moderate)
  }

  @Test func `only its passphrase opens a slot`() throws {
    let identity = try Identity.random()
    let slot = try Slot(number: 1, passphrase: passphrase("open"), cost: cheap, sealing: identity)
    #expect(try slot.open(passphrase: passphrase("open"), ownerKey: identity.ownerKey).testSeed == identity.testSeed)
    for wrong in ["", "Open", "open "] {
      #expect(throws: VaultError.wrongKey(.passphrase)) {
        try slot.open(passphrase: passphrase(wrong), ownerKey: identity.ownerKey)
      }
    }
  }

  @Test func `only its key opens a slot`() throws {
    let identity = try Identity.random()
    let slot = try Slot(number: 1, key: key(1), use: .systemdCredential, sealing: identity)
    #expect(try slot.open(key: key(1), ownerKey: identity.ownerKey).testSeed == identity.testSeed)
    #expect(throws: VaultError.wrongKey(.systemdCredential)) { try slot.open(key: key(2), ownerKey: identity.ownerKey) }
  }

  @Test func `a slot of another owner is reported as a wrong key`() throws {
    let slot = try Slot(number: 1, key: key(1), use: .keyFile, sealing: Identity.random())
    #expect(throws: VaultError.wrongKey(.keyFile)) { try slot.open(key: key(1), ownerKey: .zero) }
  }

  /// A change before the nonce alters the slot's key or its check, so it looks like a wrong key. A change from the nonce on is damage,
  /// because the check has shown that the key is right.
  @Test(arguments: 2..<Slot.byteCount)
  func `a changed slot is reported as a wrong key or as damage`(offset: Int) throws {
    let identity = try Identity.testing()
    var altered = bytes(try Slot(number: 1, key: key(1), use: .keyFile, sealing: identity))
    altered[offset] ^= 0x10
    if (4..<12).contains(offset) {
      // A key's slot has zero costs.
      #expect(throws: ByteReader.Failure.self) { try parsed(altered) }
      return
    }
    let slot = try parsed(altered)
    let expected: VaultError =
      offset < 44
      ? .wrongKey(.keyFile) : .damaged(.slot, "the key is right, but the slot does not open the owner's seed")
    #expect(throws: expected) { try slot.open(key: key(1), ownerKey: identity.ownerKey) }
  }

  @Test func `another owner's seed in a slot signs nothing and is sealed in no other slot`() throws {
    let slot = try Slot.holding(Identity.testing(), opening: key(1), ownerKey: .zero)
    let identity = try slot.open(key: key(1), ownerKey: .zero)
    let refused = VaultError.damaged(.slot, "the seed in it is another owner's")
    #expect(throws: refused) { try identity.confirmOwner() }
    #expect(throws: refused) { try identity.rosterSigningKey() }
    #expect(throws: refused) { try Slot(number: 2, key: key(2), use: .keyFile, sealing: identity) }
  }

  @Test(arguments: [(0, 2), (0, 3), (1, 1), (1, 0), (1, 5)] as [(Int, UInt8)])
  func `an unknown kind or use is a newer format`(offset: Int, byte: UInt8) throws {
    let slot = try Slot(number: 1, key: key(1), use: .keyFile, sealing: Identity.testing())
    var altered = bytes(slot)
    altered[offset] = byte == altered[offset] ? 1 : byte
    #expect(throws: VaultError.newerFormat(read: nil, write: nil)) { try parsed(altered) }
  }

  @Test(arguments: [(0, 8192), (17, 8192), (1, 8191), (1, 1 << 21), (16, 1 << 20)] as [(UInt32, UInt32)])
  func `costs outside the limits are refused`(passes: UInt32, memoryKiB: UInt32) throws {
    let identity = try Identity.testing()
    var writer = ByteWriter()
    writer.write(passes)
    writer.write(memoryKiB)
    var altered = bytes(try Slot(number: 1, passphrase: passphrase("open"), cost: cheap, sealing: identity))
    altered.replaceSubrange(4..<12, with: writer.bytes)
    let slot = try parsed(altered)
    #expect(throws: VaultError.overLimit("the costs of a passphrase, or its length")) {
      try slot.open(passphrase: passphrase("open"), ownerKey: identity.ownerKey)
    }
    #expect(throws: VaultError.overLimit("the costs of a passphrase, or its length")) {
      let cost = Passphrase.Cost(passes: passes, memoryKiB: memoryKiB)
      _ = try Slot(number: 1, passphrase: passphrase("open"), cost: cost, sealing: identity)
    }
  }

  @Test(arguments: [0, 1, 115]) func `a truncated slot is malformed`(count: Int) throws {
    let slot = try Slot(number: 1, key: key(1), use: .keyFile, sealing: Identity.testing())
    #expect(throws: ByteReader.Failure.self) { try parsed(Array(bytes(slot).prefix(count))) }
  }
}
