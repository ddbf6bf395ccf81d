import Sealing
import Testing

@testable import GroupFile

/// The mark in a witness record: the member who opens the group has verified the signatures of these bytes before.
@Suite final class MarkTests {
  private let group: GroupFixture
  private let forge: GroupForge
  private let thief: Key

  init() throws {
    group = try GroupFixture()
    try group.set(["item": "one"])
    forge = try GroupForge(group)
    thief = try Key.random()
  }

  /// Puts a state with the wrong signature of `level` in the place of the honest one, of which only the bytes differ.
  private func store(_ level: VerificationLevel) throws -> VerifiedState {
    let state = forge.state
    let stranger = MemberSeed(thief.copy())
    guard level == .roster else {
      let sealed = try SignedManifest.seal(state.manifest, by: stranger.signingKey(), with: forge.keys)
      try group.tamper { try $0.storePart(.manifest, sealed) }
      return VerifiedState(
        keys: forge.keys, signedRoster: state.signedRoster, manifest: state.manifest, member: state.member,
        sealedManifest: sealed, sealedRoster: state.sealedRoster, as: group.seed)
    }
    let signed = try forge.storeRoster(by: thief.copy()) { _ in }
    try forge.storeManifest(roster: signed) { _ in }
    let (roster, manifest) = try group.peek { (try $0.part(.roster), try $0.part(.manifest)) }
    let opened = try SignedManifest.open(manifest, with: forge.keys) { _ in signed }
    return VerifiedState(
      keys: forge.keys, signedRoster: signed, manifest: opened, member: state.member, sealedManifest: manifest,
      sealedRoster: roster, as: group.seed)
  }

  private func witness(_ state: VerifiedState, mark: Digest? = nil) {
    var record = state.witnessRecord()
    if let mark { record.mark = mark }
    group.witness.reading = .valid(record)
  }

  @Test(arguments: [VerificationLevel.roster, .manifest])
  func `a mark takes the place of a signature for reading alone`(level: VerificationLevel) throws {
    witness(try store(level))
    let file = try group.open()
    #expect(try file.value("item") == "one")
    let refused = VaultError.damaged(level, "signature")
    #expect(throws: refused) { try file.beginWriting() }
    #expect(throws: refused) { try file.verify() }
    #expect(throws: refused) { try group.open().beginWriting() }
    #expect(try file.value("item") == "one")
  }

  @Test(arguments: [VerificationLevel.roster, .manifest])
  func `without the member's seed nobody can make a mark`(level: VerificationLevel) throws {
    let state = try store(level)
    let stranger = MemberSeed(thief.copy())
    let foreign = stranger.mark(
      owner: state.roster.ownerKey, header: state.header, roster: state.sealedRoster, manifest: state.sealedManifest)
    for mark in [foreign, .zero, forge.state.mark] {
      witness(state, mark: mark)
      #expect(throws: VaultError.damaged(level, "signature")) { try group.open().value("item") }
    }
  }

  @Test func `a roster that only a mark proves is verified before the next state is signed under it`() throws {
    let state = try store(.roster)
    witness(state)
    let file = try group.open()
    #expect(try file.value("item") == "one")
    try GroupForge(group, from: state).storeManifest { _ in }
    #expect(try file.value("item") == "one")
    #expect(throws: VaultError.damaged(.roster, "signature")) { try file.beginWriting() }
  }

  @Test func `each commit notes its mark, and a record without one counts as before`() throws {
    #expect(group.witness.record?.mark == forge.state.mark && forge.state.mark != .zero)
    witness(forge.state, mark: .zero)
    #expect(try group.value("item") == "one")
    try group.set(["item": "two"])
    #expect(try group.witness.record?.mark == GroupForge(group).state.mark)
  }
}
