import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct RosterTests {
  static func member(_ first: UInt8, _ kind: Member.Kind = .application) -> Member {
    Member(
      kind: kind, rights: .write, issue: kind == .owner ? 0 : 3, application: kind == .owner ? "" : "com.example.notes",
      signingKey: PublicKey([UInt8](countingFrom: first, count: 32))!,
      slotID: [UInt8](countingFrom: first, count: 16), wrapDigest: Digest([UInt8](countingFrom: first, count: 32))!)
  }

  static func roster() -> Roster {
    Roster(
      groupID: GroupID([UInt8](countingFrom: 1, count: 32))!,
      ownerKey: PublicKey([UInt8](countingFrom: 2, count: 32))!, revision: 7, generation: 2,
      keyCommitment: Digest([UInt8](countingFrom: 3, count: 32))!,
      previous: Digest([UInt8](countingFrom: 4, count: 32))!, firstEpoch: 40, flags: [],
      deviceKeyID: [UInt8](repeating: 0, count: 16), keep: 10, groupName: "team.shared",
      members: [member(10), member(20, .owner), member(30)],
      removed: [
        RemovedMember(issue: 1, application: "com.example.a", lastGeneration: 1, epoch: 12),
        RemovedMember(issue: 1, application: "com.example.a", lastGeneration: 1, epoch: 13),
        RemovedMember(issue: 2, application: "com.example.a", lastGeneration: 1, epoch: 5),
        RemovedMember(issue: 1, application: "com.example.b", lastGeneration: 1, epoch: 12),
      ])
  }

  @Test func `the body has the documented layout`() {
    let body = RosterTests.roster().body()
    #expect(body[..<16].elementsEqual("vault1.roster\0\0\0".utf8))
    #expect(Array(body[16..<48]) == [UInt8](countingFrom: 1, count: 32))
    #expect(Array(body[48..<80]) == [UInt8](countingFrom: 2, count: 32))
    #expect(Array(body[80..<96]).hex == "00000000000000070000000000000002")
    #expect(Array(body[96..<128]) == [UInt8](countingFrom: 3, count: 32))
    #expect(Array(body[128..<160]) == [UInt8](countingFrom: 4, count: 32))
    #expect(Array(body[160..<190]).hex == "0000000000000028" + "00000000" + String(repeating: "00", count: 16) + "000a")
    #expect(Array(body[190..<203]) == [0, 11] + Array("team.shared".utf8))
    #expect(Array(body[203..<207]).hex == "00000003")
    #expect(Array(body[207..<213]).hex == "010200000003")
  }

  @Test func `a roster reads back as it was written, or is refused`() throws {
    try Canonical.check(RosterTests.roster().body()) { try Roster(parsing: $0).body() }
  }

  @Test func `no group is made that keeps no version, or more than 1,000`() {
    for keep: UInt16 in [0, 1_001, .max] {
      #expect(throws: VaultError.overLimit("1 to 1,000 versions")) { try GroupFixture(keep: keep) }
    }
  }

  @Test func `a roster of more members than a group may have, present or removed, is refused`() throws {
    var roster = RosterTests.roster()
    roster.members = (0..<4_097).map { number in
      var member = RosterTests.member(10, number == 0 ? .owner : .application)
      member.signingKey = PublicKey([UInt8](repeating: 0, count: 30) + [UInt8(number >> 8), UInt8(number & 0xFF)])!
      return member
    }
    roster.removed = (0..<4_097).map { number in
      RemovedMember(issue: 1, application: "com.example.a", lastGeneration: 1, epoch: UInt64(number))
    }
    func refusal(members: Int, removed: Int) -> VaultError? {
      var cut = roster
      (cut.members, cut.removed) = (Array(roster.members.prefix(members)), Array(roster.removed.prefix(removed)))
      return failure { _ = try Roster(parsing: cut.body()) }
    }
    #expect(refusal(members: 4_096, removed: 4_096) == nil)
    #expect(refusal(members: 4_097, removed: 0) == .damaged(.roster, "number of members"))
    #expect(refusal(members: 1, removed: 4_097) == .damaged(.roster, "number of removed members"))
  }

  @Test func `a roster of 200 members reads back`() throws {
    var roster = RosterTests.roster()
    roster.members = (0..<200).map { RosterTests.member($0) }
    roster.members[7] = RosterTests.member(7, .owner)
    #expect(try Roster(parsing: roster.body()) == roster)
  }

  @Test(arguments: [
    Broken("revision 0") { $0.revision = 0 },
    Broken("revision 2^53") { $0.revision = 1 << 53 },
    Broken("generation 0") { $0.generation = 0 },
    Broken("generation 2^53") { $0.generation = 1 << 53 },
    Broken("first epoch 0") { $0.firstEpoch = 0 },
    Broken("first epoch 2^53") { $0.firstEpoch = 1 << 53 },
    Broken("the first one with one before") { $0.revision = 1 },
    Broken("a later one with none before") { $0.previous = .zero },
    Broken("an unknown flag") { $0.flags = Roster.Flags(rawValue: 4) },
    Broken("a device without its id") { $0.flags = .thisDeviceOnly },
    Broken("a device's id without the flag") { $0.deviceKeyID[15] = 1 },
    Broken("no version kept") { $0.keep = 0 },
    Broken("1,001 versions kept") { $0.keep = 1_001 },
    Broken("no members") { $0.members = [] },
    Broken("no owner") { $0.members.remove(at: 1) },
    Broken("two owners") { $0.members[0] = RosterTests.member(10, .owner) },
    Broken("members that do not rise") { $0.members.swapAt(0, 1) },
    Broken("a member twice") { $0.members.insert($0.members[0], at: 0) },
    Broken("an owner who may only read") { $0.members[1].rights = .read },
    Broken("an owner with an issue") { $0.members[1].issue = 1 },
    Broken("an owner with an application") { $0.members[1].application = "com.example.notes" },
    Broken("an application without an id") { $0.members[0].application = "" },
    Broken("an application without an issue") { $0.members[0].issue = 0 },
    Broken("removed members that do not rise by application") { $0.removed.swapAt(0, 3) },
    Broken("removed members that do not rise by issue") { $0.removed.swapAt(1, 2) },
    Broken("removed members that do not rise by epoch") { $0.removed.swapAt(0, 1) },
    Broken("a removed member twice") { $0.removed.insert($0.removed[0], at: 0) },
    Broken("a removed member's generation 2^53") { $0.removed[0].lastGeneration = 1 << 53 },
    Broken("a removed member's epoch 2^53") { $0.removed[3].epoch = 1 << 53 },
  ])
  func `a broken field is refused`(_ broken: Broken) {
    var roster = RosterTests.roster()
    broken.change(&roster)
    guard case .damaged(_, .roster, _) = failure({ try Roster(parsing: roster.body()) }) else {
      Issue.record("taken: \(broken)")
      return
    }
  }

  @Test(
    arguments: [
      (203, [0xFF, 0xFF, 0xFF, 0xFF]), (203, [0, 0, 0x10, 1]), (207, [2]), (208, [0]), (208, [3]), (190, [0xFF, 0xFF]),
      (192, [0xFF]), (0, [0]),
    ] as [(Int, [UInt8])])
  func `bytes that no roster serializes to are refused`(_ offset: Int, _ bytes: [UInt8]) {
    var body = RosterTests.roster().body()
    body.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    #expect(failure { try Roster(parsing: body) }?.isDamage == true)
  }

  /// A roster with one error.
  struct Broken: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let change: @Sendable (inout Roster) -> Void

    init(_ description: String, _ change: @escaping @Sendable (inout Roster) -> Void) {
      testDescription = description
      self.change = change
    }
  }
}
