import GroupFile
import Sealing
import TestSupport
import Testing

@Suite struct MemberSeedTests {
  // Seed 00 … 1f, group id 64 … 83, generation 7; computed with Python's hashlib and PyNaCl.
  static let group = GroupID([UInt8](countingFrom: 100, count: 32))!

  private func member() throws -> MemberSeed { MemberSeed(try Key(testing: [UInt8](countingFrom: 0, count: 32))) }

  @Test func `the signing key is derived from the seed`() throws {
    let member = try member()
    #expect(
      try member.signingPublicKey.bytes.hex == "4b61a4fbe3a5bc79836bd96ecf25aa574af8c0a1679e43977be8c93502b89bc2")
    #expect(try member.signingPublicKey.verifies(member.signingKey().sign([1, 2]), of: [1, 2]))
  }

  @Test func `the wrap key and the slot id are derived from the seed, the group and the generation`() throws {
    let member = try member()
    #expect(
      try member.wrapKey(group: Self.group, generation: 7).testBytes.hex
        == "1e0b92af66e0faa018a0884ccd043ede6cdc887862d5294dff3500508c4c84eb")
    #expect(member.slotID(group: Self.group, generation: 7).hex == "23a4c4f5cbec7aed4d5f257e0579c389")
    #expect(member.slotID(group: Self.group, generation: 8) != member.slotID(group: Self.group, generation: 7))
    #expect(member.slotID(group: .zero, generation: 7) != member.slotID(group: Self.group, generation: 7))
  }

  @Test func `a seed lends its bytes unchanged`() throws {
    #expect(unsafe try member().withUnsafeBytes { unsafe Array($0) } == [UInt8](countingFrom: 0, count: 32))
  }
}
