import Sealing
import TestSupport

@testable import GroupFile

extension GroupCases {
  // MARK: Wrap

  func wrapCases() throws -> [Case] {
    let seed = try MemberSeed(VectorSeeds.personal())
    let slotID = seed.slotID(group: VectorSeeds.groupID, generation: 1)
    let wrap = base.wraps[slotID]!
    func own(_ bytes: [UInt8]) -> Change { .sql("UPDATE wrap SET sealed=x'\(bytes.hex)' WHERE slot=x'\(slotID.hex)'") }
    var flipped = wrap
    flipped[30] ^= 1
    let otherKey = try Key(testing: [UInt8](countingFrom: 9, count: 32))
    let other = try Wrap.seal(
      otherKey, for: seed, groupID: VectorSeeds.groupID, generation: 1, nonce: VectorSeeds.nonce("other wrap"))
    let bound = try GroupDraft.base(deviceKey: VectorSeeds.deviceKey())
    return [
      plain("the owner's wrap is gone", .damaged(17, "wrap"), .sql("DELETE FROM wrap WHERE slot=x'\(slotID.hex)'")),
      plain("somebody who is no member", Refusal(17, "not-a-member"), reader: "stranger"),
      plain("a wrap of 72 bytes", .damaged(18, "wrap"), own(wrap.dropLast())),
      plain("a wrap of another kind", .damaged(18, "wrap"), own([2] + wrap.dropFirst())),
      plain("an altered wrap", .damaged(19, "wrap"), own(flipped)),
      plain("a wrap of another key", .damaged(21, "roster"), own(other)),
      try forged("bound to a device whose key is not here", Refusal(20, "locked")) { $0 = bound },
      try forged("a header that asks for a device key, under a roster that does not", .damaged(20, "roster")) {
        $0.changeHeader = {
          $0.flags = .thisDeviceOnly
          $0.deviceKeyID = [UInt8](countingFrom: 1, count: 16)
        }
      },
    ]
  }

  // MARK: Roster

  private func roster(_ reason: Int, _ name: String, _ change: (inout GroupDraft) throws -> Void) throws -> Case {
    try forged(name, .damaged(reason, "roster"), change)
  }

  private func patched(_ reason: Int, _ name: String, _ offset: Int, _ bytes: [UInt8]) throws -> Case {
    try roster(reason, name) {
      $0.changeRosterBody = { body in Array(body[..<offset]) + bytes + body[(offset + bytes.count)...] }
    }
  }

  func rosterCases() throws -> [Case] {
    let members = base.roster.members
    // The offsets of the first member and of the owner's entry.
    let start = 190 + 2 + VectorSeeds.groupName.utf8.count + 4
    return [
      try roster(21, "an altered roster") { $0.changeRosterContent = { Array($0.dropLast()) + [1] } }.resealed(
        flipping: 2),
      try roster(22, "a roster with a block too many") {
        $0.changeRosterContent = { $0 + [UInt8](repeating: 0, count: 256) }
      },
      try roster(22, "a byte behind the roster is not zero") { $0.changeRosterContent = { $0.dropLast() + [1] } },
      try roster(22, "a roster that is no multiple of 256 bytes") { $0.changeRosterContent = { Array($0.dropLast()) } },
      try roster(22, "a roster of no bytes") {
        $0.changeRosterContent = { _ in [UInt8](repeating: 0, count: 256) }
      },
      try roster(23, "a roster that a member signed") {
        $0.rosterSigner = { try SigningKey(seed: VectorSeeds.personal()) }
      },
      try roster(24, "a roster with a byte left over") { $0.changeRosterBody = { $0 + [0] } },
      try roster(24, "a roster that ends early") { $0.changeRosterBody = { Array($0.dropLast()) } },
      try patched(24, "a roster under another label", 7, [UInt8(ascii: "R")]),
      try patched(24, "a roster of revision 2^53", 80, [0, 0x20]),
      try patched(24, "a group name that is not UTF-8", 192, [255]),
      try patched(25, "a roster of revision 0", 87, [0]),
      try patched(25, "a roster of generation 0", 95, [0]),
      try patched(25, "a roster of first epoch 0", 167, [0]),
      try patched(25, "a roster with an unknown flag", 171, [4]),
      try patched(25, "a roster with a flag above its versions", 168, [1]),
      try patched(25, "a roster that keeps no version", 188, [0, 0]),
      try patched(25, "a roster that keeps 1,001 versions", 188, [3, 0xE9]),
      try roster(25, "a second roster that follows none") { $0.roster.previous = .zero },
      try roster(25, "a first roster that follows another") { $0.roster.revision = 1 },
      try patched(25, "a device key without flag 2", 187, [1]),
      try patched(26, "a member of an unknown kind", start, [2]),
      try patched(26, "a member without a known right", start + 1, [3]),
      try roster(26, "no member is the owner") { $0.roster.members.removeAll { $0.kind == .owner } },
      try roster(26, "two members are the owner") {
        $0.roster.members[0].becomeOwner()
        $0.roster.members[1].becomeOwner()
        $0.roster.members[2].becomeOwner()
      },
      try roster(26, "members out of order") { $0.roster.members = members.reversed() },
      try roster(26, "a member twice") { $0.roster.members.append(members[2]) },
      try roster(26, "the owner may only read") { draft in
        draft.roster.members[draft.ownerIndex].rights = .read
      },
      try roster(26, "the owner has an issue") { draft in draft.roster.members[draft.ownerIndex].issue = 1 },
      try roster(26, "the owner has an application id") { draft in
        draft.roster.members[draft.ownerIndex].application = "a"
      },
      try roster(26, "an application without an id") { draft in
        draft.roster.members[draft.applicationIndex].application = ""
      },
      try roster(26, "an application without an issue") { draft in
        draft.roster.members[draft.applicationIndex].issue = 0
      },
      try roster(27, "a removed member twice") { $0.roster.removed += $0.roster.removed },
      try roster(27, "removed members out of order") {
        $0.roster.removed.append(RemovedMember(issue: 1, application: "a", lastGeneration: 1, epoch: 1))
      },
      try patched(28, "a roster that names another owner", 48, [0, 1, 2]),
      try roster(29, "a header with another flag than the roster") {
        $0.changeHeader = { $0.flags = .purgedAtUninstall }
      },
      try roster(30, "a roster of another group") { $0.roster.groupName = "team.others" },
      try roster(31, "a roster for another key") { $0.roster.keyCommitment = VectorSeeds.bytes("commitment") },
      try roster(32, "a roster without the reader's key") {
        $0.roster.members[$0.ownerIndex].signingKey = VectorSeeds.bytes("signing key")
        $0.roster.members.sort { $0.signingKey < $1.signingKey }
      },
      try roster(32, "a roster with another slot for the reader") {
        $0.roster.members[$0.ownerIndex].slotID = [UInt8](repeating: 1, count: 16)
      },
      try roster(32, "a roster with another wrap for the reader") {
        $0.roster.members[$0.ownerIndex].wrapDigest = VectorSeeds.bytes("wrap")
      },
      plain("an application that opens as the owner", .damaged(32, "roster"), reader: "reader as the owner"),
      plain("the owner who opens as an application", .damaged(32, "roster"), reader: "owner as an application"),
    ]
  }

  // MARK: Manifest

  private func manifest(_ reason: Int, _ name: String, _ change: (inout GroupDraft) throws -> Void) throws -> Case {
    try forged(name, .damaged(reason, "manifest"), change)
  }

  func manifestCases() throws -> [Case] {
    [
      try manifest(33, "an altered manifest") { $0.changeManifestContent = { $0.dropLast() + [1] } }.resealed(
        flipping: 3),
      try manifest(33, "a manifest of 64 bytes") {
        $0.changeManifestContent = { _ in [UInt8](repeating: 0, count: 64) }
      },
      try manifest(34, "a manifest under another label") {
        $0.changeManifestBody = { Array($0[..<7]) + [UInt8(ascii: "M")] + $0[8...] }
      },
      try manifest(34, "a manifest with a byte left over") { $0.changeManifestBody = { $0 + [0] } },
      try manifest(34, "a manifest that ends early") { $0.changeManifestBody = { Array($0.dropLast()) } },
      try manifest(35, "a manifest of a higher read version than the roster's") {
        $0.changeManifest = { $0.version = FormatVersion(read: 2, write: 2) }
      },
      try manifest(35, "a manifest of a higher read version than the roster's, and a file that says the same") {
        $0.changeManifest = { $0.version = FormatVersion(read: 2, write: 2) }
        $0.userVersion = "0x00020002"
      },
      try manifest(35, "a manifest of a higher write version than the roster's") {
        $0.changeManifest = { $0.version.write = 2 }
        $0.userVersion = "0x00010002"
      },
      try manifest(35, "a manifest of read version 0") { $0.changeManifest = { $0.version.read = 0 } },
      try manifest(35, "a manifest of write version 0") { $0.changeManifest = { $0.version.write = 0 } },
      try manifest(36, "a manifest with a flag") {
        $0.changeManifestBody = { Array($0[..<23]) + [1] + $0[24...] }
      },
      try manifest(37, "a manifest of 2^53 items") { $0.changeManifest = { $0.itemCount = 1 << 53 } },
      try manifest(37, "a manifest of epoch 0") { $0.changeManifest = { $0.epoch = 0 } },
      try manifest(37, "a manifest of epoch 3 that follows none") { $0.changeManifest = { $0.previousLink = .zero } },
      try manifest(38, "a manifest of another group") { $0.changeManifest = { $0.groupID = .zero } },
      try manifest(38, "a manifest under another roster") { $0.changeManifest = { $0.rosterDigest = .zero } },
      try manifest(38, "a manifest under another roster revision") { $0.changeManifest = { $0.rosterRevision = 1 } },
      try manifest(38, "a manifest of another generation") { $0.changeManifest = { $0.generation = 2 } },
      try manifest(39, "a manifest before its roster's first epoch") { $0.roster.firstEpoch = 4 },
      try manifest(40, "a manifest of a member who may only read") { $0.writer = { try GroupDraft.readerSeed() } },
      try manifest(40, "a manifest of somebody who is no member") {
        $0.writer = { try MemberSeed(Key(testing: [UInt8](countingFrom: 7, count: 32))) }
      },
      try manifest(40, "a first manifest under a roster that an application signed") {
        $0.roster.firstEpoch = 3
        $0.writer = { try GroupDraft.writerSeed() }
      },
      try forged("a manifest of an application that may write", nil) { $0.writer = { try GroupDraft.writerSeed() } },
      try manifest(41, "a manifest of one member in another's name") {
        let owner = try MemberSeed(VectorSeeds.personal()).signingPublicKey
        $0.writer = { try GroupDraft.writerSeed() }
        $0.changeManifest = { $0.writerKey = owner }
      },
      try forged("a roster of a higher read version", Refusal(42, "newer-format")) {
        $0.sign(FormatVersion(read: 2, write: 2))
      },
      try forged(
        "a roster of a higher read version, behind whose flags nobody knows what there is", Refusal(42, "newer-format")
      ) {
        $0.sign(FormatVersion(read: 2, write: 2))
        $0.roster.flags.formUnion(Roster.Flags(rawValue: 0x40))
        $0.changeRosterBody = { Array($0[..<172]) + [1, 2, 3] }
      },
      try forged("a roster of a higher write version, for a writer", Refusal(42, "newer-format"), ask: "write") {
        $0.sign(FormatVersion(read: 1, write: 3))
      },
      try forged("a roster of a higher write version, for a reader", nil) {
        $0.sign(FormatVersion(read: 1, write: 3))
      },
    ]
  }
}

extension GroupDraft {
  /// Has the owner, and every writer after them, sign that the group needs `version`.
  fileprivate mutating func sign(_ version: FormatVersion) {
    roster.flags = Roster.Flags(rawValue: UInt32(version.read - 1) << 8 | UInt32(version.write - 1) << 16)
    userVersion = "\(UInt32(version.read) << 16 | UInt32(version.write))"
  }

  fileprivate var ownerIndex: Int { roster.members.firstIndex { $0.kind == .owner }! }
  fileprivate var applicationIndex: Int { roster.members.firstIndex { $0.kind == .application }! }
}

extension Member {
  fileprivate mutating func becomeOwner() {
    kind = .owner
    rights = .write
    issue = 0
    application = ""
  }
}

extension GroupVectors.Case {
  /// The same case with a changed tag: the last digit of the part that it replaces is another one.
  fileprivate func resealed(flipping part: Int) -> Self {
    var copy = self
    for (index, change) in copy.changes.enumerated() {
      guard let sql = change.sql, sql.hasPrefix("REPLACE INTO state VALUES(\(part),") else { continue }
      let digits = sql.dropLast(2)
      copy.changes[index].sql = digits.dropLast() + (digits.last == "0" ? "1" : "0") + "')"
    }
    return copy
  }
}
