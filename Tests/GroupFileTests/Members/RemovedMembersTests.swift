import Testing

@testable import GroupFile

/// The list of removed members has limits, and neither keeps a member in.
@Suite struct RemovedMembersTests {
  private let member = "com.example.web"

  /// A group with one reader and a list of removed members.
  private func group(removed: [RemovedMember]) throws -> GroupFixture {
    let group = try GroupFixture()
    try group.set(["a": "a"])
    try group.grant(member, .read)
    try group.forge().changeRoster { $0.removed = removed }
    return group
  }

  private func removed(_ application: String, issue: UInt32 = 1, epoch: UInt64) -> RemovedMember {
    RemovedMember(issue: issue, application: application, lastGeneration: 1, epoch: epoch)
  }

  /// As many removed members as there may be, each of another application; the first was removed first.
  private func full(count: Int = GroupLimits.removedCount) -> [RemovedMember] {
    (0..<count).map { removed("app-\(10_000 + $0)", epoch: $0 == 0 ? 1 : 2) }
  }

  @Test func `a member is removed although the list of removed members is full`() throws {
    let list = full()
    let group = try group(removed: list)
    let roster = try group.revoke(member).roster
    #expect(failure { try group.open(member).value("a") } == .denied(.notAMember))
    #expect(roster.removed.count == GroupLimits.removedCount)
    #expect(roster.removed.contains { $0.application == member })
    #expect(!roster.removed.contains { $0.application == list[0].application })
    #expect(list.dropFirst().allSatisfy(roster.removed.contains))
    #expect(try group.open().exposures()[0].readers.contains { $0.application == member })
    #expect(try group.open().verify().items == 1)
  }

  @Test func `a credential is replaced although the roster is as long as it may be`() throws {
    let group = try group(removed: [])
    let forge = try group.forge()
    // Ids are never so long, but a roster may hold as many bytes.
    let length = 300
    let room = SignedRoster.bodyByteCount - forge.state.roster.body().count
    let count = room / (length + 22)
    let list = (0..<count).map { index in
      let filler = index == 0 ? room - count * (length + 22) : 0
      return removed("\(10_000 + index)" + String(repeating: "x", count: length - 5 + filler), epoch: 1)
    }
    try forge.changeRoster { $0.removed = list }
    let roster = try group.change(RosterChange(reissue: (member, 2))).roster
    #expect(failure { try group.open(member).value("a") } == .denied(.notAMember))
    #expect(try group.open(member, issue: 2).value("a") == "a")
    #expect(roster.removed.contains { $0.application == member && $0.issue == 1 })
    #expect(roster.removed.count == list.count)
    #expect(try group.open().verify().items == 1)
  }

  @Test func `whoever is let in and removed again and again takes one entry of a full list`() throws {
    let repeated = (2...UInt64(GroupLimits.removedCount)).map { removed("app", epoch: $0) }
    let group = try group(removed: repeated + [removed("other", epoch: 1)])
    let roster = try group.revoke(member).roster
    #expect(roster.removed.count == GroupLimits.removedCount)
    #expect(!roster.removed.contains(repeated[0]) && roster.removed.contains(repeated[1]))
    #expect(roster.removed.contains { $0.application == "other" })
  }

  @Test func `the entry that refuses a replaced credential is dropped last`() throws {
    let issues = (1...UInt32(GroupLimits.removedCount)).map { removed("app", issue: $0, epoch: UInt64($0)) }
    let group = try group(removed: issues.dropFirst() + [removed("old", issue: 3, epoch: 1)])
    let roster = try group.revoke(member).roster
    #expect(!roster.removed.contains(issues[1]) && roster.removed.contains(issues[2]))
    #expect(roster.issues["old"] == 3 && roster.issues["app"] == UInt32(GroupLimits.removedCount))
    let older = VaultError.rolledBack(found: 2, known: 3, reason: .olderIssue)
    #expect(failure { try group.grant("old", .read, issue: 2) } == older)
  }

  @Test func `a list that is not full keeps every entry`() throws {
    let list = full(count: GroupLimits.removedCount - 1)
    let roster = try group(removed: list).revoke(member).roster
    #expect(list.allSatisfy(roster.removed.contains) && roster.removed.count == GroupLimits.removedCount)
  }
}
