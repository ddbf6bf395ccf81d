import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct SignedRosterTests {
  private let keys = try! GroupKeys(
    groupKey: Key(testing: [UInt8](countingFrom: 0, count: 32)),
    groupID: GroupID([UInt8](countingFrom: 1, count: 32))!, generation: 2, deviceKey: nil)
  // Signs as the owner.
  private let signing = try! MemberSeed(Key(testing: [UInt8](countingFrom: 9, count: 32))).signingKey()
  private static let binding = Label("vault1.meta.ros")

  private func signed() -> SignedRoster {
    var roster = RosterTests.roster()
    roster.ownerKey = signing.publicKey
    return SignedRoster(roster, by: signing)
  }

  /// Seals any content as an honest writer would.
  private func opening(_ content: [UInt8]) -> VaultError? {
    failure {
      try SignedRoster(
        opening: keys.sealMeta(content, SignedRosterTests.binding, nonce: Nonce()), with: keys,
        ownerKey: signing.publicKey)
    }
  }

  private func content() throws -> [UInt8] {
    try #require(keys.openMeta(signed().sealed(with: keys), SignedRosterTests.binding))
  }

  @Test func `a signed roster opens again and is padded to a multiple of 256`() throws {
    let signed = signed()
    #expect(try SignedRoster(opening: signed.sealed(with: keys), with: keys, ownerKey: signing.publicKey) == signed)
    let content = try content()
    #expect(content.count % 256 == 0)
    let count = signed.roster.body().count + 64
    #expect(Array(content[..<4]) == [0, 0, UInt8(count >> 8), UInt8(count & 255)])
    #expect(content[(4 + count)...].allSatisfy { $0 == 0 })
    let hashed = Array(content[4..<4 + count])
    #expect(signed.digest == Hash.digest(Label("vault1.ros.hash"), hashed))
    #expect(opening(content) == nil)
  }

  @Test func `a roster with a flipped bit in its stored form is refused`() throws {
    let stored = signed().sealed(with: keys)
    for bit in RunLength.positions(in: stored.count * 8, sample: 400) {
      var changed = stored
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: VaultError.damaged(.roster, "seal")) {
        try SignedRoster(opening: changed, with: keys, ownerKey: signing.publicKey)
      }
    }
    for count in [0, 1, 23, 24, 25, 39, 40, stored.count - 1] {
      #expect(throws: VaultError.damaged(.roster, "seal")) {
        try SignedRoster(opening: Array(stored.prefix(count)), with: keys, ownerKey: signing.publicKey)
      }
    }
  }

  @Test func `other padding is refused`() throws {
    let content = try content()
    let refused = VaultError.damaged(.roster, "padding")
    #expect(opening(content + [UInt8](repeating: 0, count: 256)) == refused)
    #expect(opening(Array(content.dropLast())) == refused)
    #expect(opening(content + [0]) == refused)
    #expect(opening(Array(content.dropLast()) + [1]) == refused)
    #expect(opening([]) == refused)
    #expect(opening([UInt8](repeating: 0, count: 256)) == refused)
    #expect(opening([0xFF, 0xFF, 0xFF, 0xFF] + content[4...]) == refused)
    // A count that makes zeros of the padding part of the body.
    var longer = content
    longer[3] += 1
    #expect(opening(longer)?.isDamage == true)
  }

  @Test func `a roster with a flipped bit under its signature is refused`() throws {
    let content = try content()
    let count = 4 + signed().roster.body().count + 64
    for bit in RunLength.positions(in: (count - 4) * 8, sample: 400) {
      var changed = content
      changed[4 + bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(opening(changed) == .damaged(.roster, "signature"))
    }
  }

  @Test func `a signature of another owner or with another label is refused`() throws {
    let other = try SigningKey(seed: Key.random())
    let stored = signed().sealed(with: keys)
    #expect(throws: VaultError.damaged(.roster, "signature")) {
      try SignedRoster(opening: stored, with: keys, ownerKey: other.publicKey)
    }
    let elsewhere = keys.sealMeta(try content(), Label("vault1.meta.man"), nonce: Nonce())
    #expect(throws: VaultError.damaged(.roster, "seal")) {
      try SignedRoster(opening: elsewhere, with: keys, ownerKey: signing.publicKey)
    }
  }
}
