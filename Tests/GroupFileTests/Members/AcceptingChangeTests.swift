import Sealing
import Testing

@testable import GroupFile

/// A writer has replaced the group's state with one that this machine refuses. The owner accepts that state and removes the writer
/// in one step, so that the writer cannot act in between.
@Suite struct AcceptingChangeTests {
  private static let thief = RevocationTests.thief

  /// A group in which the thief signed another branch than the one this machine has seen.
  private func forked() throws -> GroupFixture {
    let group = try RevocationTests.group()
    let copy = try group.files()
    try group.set(["item/1": "seen"])
    try group.replace(with: copy)
    try group.open(AcceptingChangeTests.thief).set(["item/1": "other branch"])
    return group
  }

  /// A group that the thief put back to its state before their revocation and then continued.
  private func putBack() throws -> GroupFixture {
    let group = try RevocationTests.group()
    let copy = try group.files()
    try group.revoke(AcceptingChangeTests.thief)
    try group.replace(with: copy)
    try group.open(AcceptingChangeTests.thief).set(["item/1": "other branch"])
    return group
  }

  private func acceptance(
    _ group: GroupFixture, _ confirm: @escaping (OfferedState) -> Bool = { _ in true }
  ) throws -> OwnersAcceptance {
    OwnersAcceptance(authority: try group.authority(), confirm: confirm) { _ in false }
  }

  /// Revokes the thief although this machine refuses the group's state.
  private func expectPutOut(
    _ group: GroupFixture, _ reason: AcceptanceReason, droppingUnproved: Bool = false
  ) throws -> (state: VerifiedState, left: GroupRepair) {
    let seen = group.witness.record
    #expect(
      failure { try group.forceRevocation(of: AcceptingChangeTests.thief, droppingUnproved: droppingUnproved) } != nil)
    #expect(try group.open(AcceptingChangeTests.thief).value("item/1") == "other branch")
    var offers: [OfferedState] = []
    let outcome = try group.forceRevocation(
      of: AcceptingChangeTests.thief, droppingUnproved: droppingUnproved,
      accepting: acceptance(group) { offered in
        offers.append(offered)
        return true
      })
    let offered = try #require(offers.last)
    #expect(offers.allSatisfy { $0.reason == reason && $0.known == seen && $0.state.link == offered.state.link })
    #expect(failure { try group.open(AcceptingChangeTests.thief).value("item/1") } == .denied(.notAMember))
    #expect(try group.open("com.example.api").value("item/1") == "other branch")
    let state = try group.open().beginReading().view.state
    #expect(state.manifest.generation > max(offered.state.manifest.generation, seen?.generation ?? 0))
    #expect(state.roster.revision > max(offered.state.roster.revision, seen?.rosterRevision ?? 0))
    #expect(state.manifest.epoch > max(offered.state.manifest.epoch, seen?.epoch ?? 0))
    _ = try group.open().verify()
    try group.set(["item/1": "new"])
    return outcome
  }

  @Test func `a member who signed another branch is removed in the step that accepts it`() throws {
    let outcome = try expectPutOut(forked(), .older)
    #expect(outcome.left == GroupRepair(), "\(outcome.left)")
  }

  @Test func `a member who put back an older roster is removed in the step that accepts it`() throws {
    let outcome = try expectPutOut(putBack(), .olderRoster)
    #expect(outcome.left == GroupRepair(), "\(outcome.left)")
  }

  @Test func `a refused and damaged state is accepted and salvaged in the step that removes its writer`()
    throws
  {
    for make in [forked, putBack] {
      let group = try make()
      try group.tamper { try $0.run("DELETE FROM item WHERE token = (SELECT min(token) FROM item WHERE place = 2)") }
      let reason: AcceptanceReason = group.witness.record?.generation == 2 ? .olderRoster : .older
      let outcome = try expectPutOutOfDamage(group, reason)
      #expect(outcome.left.lost == 1 && outcome.left.isKeptAside)
    }
  }

  private func expectPutOutOfDamage(
    _ group: GroupFixture, _ reason: AcceptanceReason
  ) throws -> (state: VerifiedState, left: GroupRepair) {
    // Lost items are dropped only on request, whether or not the state is accepted.
    #expect(
      failure { try group.forceRevocation(of: AcceptingChangeTests.thief, accepting: acceptance(group)) }
        == .unproved(items: 1, versions: 0))
    return try expectPutOut(group, reason, droppingUnproved: true)
  }

  @Test(arguments: [false, true])
  func `a state is not accepted if the witness cannot be written, and nothing is changed`(damaged: Bool) throws {
    let group = try forked()
    if damaged { try group.tamper { try $0.run("DELETE FROM item WHERE version = 1 AND place = 2") } }
    let files = try group.files()
    group.witness.limit(writes: 0)
    #expect(
      failure {
        try group.forceRevocation(
          of: AcceptingChangeTests.thief, droppingUnproved: true, accepting: acceptance(group))
      } == .storage(.stateFolder))
    let after = try group.files()
    #expect(after.main == files.main && after.log == files.log)
  }

  @Test(arguments: [false, true])
  func `an accepted change that the witness could not follow is done, and says so`(damaged: Bool) throws {
    let group = try forked()
    if damaged { try group.tamper { try $0.run("DELETE FROM item WHERE version = 1 AND place = 2") } }
    // A file that cannot be changed in place is found to be damaged after the witness was tried.
    group.witness.limit(writes: damaged ? 2 : 1)
    let outcome = try group.forceRevocation(
      of: AcceptingChangeTests.thief, droppingUnproved: true, accepting: acceptance(group))
    #expect(outcome.left.isUnwitnessed)
    #expect(failure { try group.open(AcceptingChangeTests.thief).value("item/1") } == .denied(.notAMember))
  }

  @Test(arguments: [false, true])
  func `a removal that the witness could not follow is done, and says so`(damaged: Bool) throws {
    let group = try GroupFixture()
    try group.set(["a": "a", "b": "b"])
    try group.grant("com.example.api", .read)
    if damaged { try group.tamper { try $0.run("DELETE FROM node") } }
    group.witness.limit(writes: 0)
    let outcome = try group.forceRevocation(of: "com.example.api")
    #expect(outcome.left.isUnwitnessed)
    group.witness.limit(writes: nil)
    #expect(failure { try group.open("com.example.api").value("a") } == .denied(.notAMember))
    try group.grant("com.example.web", .read)
    #expect(try !group.forceRevocation(of: "com.example.web").left.isUnwitnessed)
  }

  @Test func `a state that the owner declines is not changed`() throws {
    for damaged in [false, true] {
      let group = try forked()
      if damaged { try group.tamper { try $0.run("DELETE FROM item WHERE version = 1 AND place = 2") } }
      let (files, witness) = (try group.files(), group.witness.reading)
      #expect(
        failure {
          try group.forceRevocation(
            of: AcceptingChangeTests.thief, droppingUnproved: true, accepting: acceptance(group) { _ in false })
        } == .declined)
      #expect(try group.files().main == files.main && group.files().log == files.log)
      #expect(group.witness.reading == witness)
    }
  }

  @Test func `a state that agrees with the witness needs no acceptance`() throws {
    for damaged in [false, true] {
      let group = try RevocationTests.group()
      if damaged { try group.tamper { try $0.run("DELETE FROM item WHERE version = 1 AND place = 2") } }
      try group.forceRevocation(
        of: AcceptingChangeTests.thief, droppingUnproved: true,
        accepting: acceptance(group) { _ in
          Issue.record("nothing was to be accepted")
          return false
        })
      #expect(failure { try group.open(AcceptingChangeTests.thief).value("item/1") } == .denied(.notAMember))
      #expect(group.witness.record?.flags == [])
    }
  }

  @Test func `an application that the registry shows as revoked is removed together with the thief`() throws {
    let group = try forked()
    var acceptance = try acceptance(group)
    acceptance.revokes = { $0.application == "com.example.api" }
    try group.forceRevocation(of: AcceptingChangeTests.thief, accepting: acceptance)
    for application in [AcceptingChangeTests.thief, "com.example.api"] {
      #expect(failure { try group.open(application).value("item/1") } == .denied(.notAMember))
    }
  }

  @Test func `a change of members does not accept another group`() throws {
    for damaged in [false, true] {
      let group = try RevocationTests.group()
      if damaged { try group.tamper { try $0.run("DELETE FROM item WHERE version = 1 AND place = 2") } }
      var acceptance = try acceptance(group)
      let other = try #require(GroupID(Randomness.bytes(32)))
      acceptance.registration = .present(other)
      let before = try group.files()
      var record = try #require(group.witness.record)
      record.groupID = other
      group.witness.reading = .valid(record)
      #expect(
        failure {
          try group.forceRevocation(of: AcceptingChangeTests.thief, droppingUnproved: true, accepting: acceptance)
        } == .anotherGroup(""))
      #expect(try group.files().main == before.main)
    }
  }

  @Test func `a damaged witness does not block a revocation`() throws {
    let group = try RevocationTests.group()
    group.witness.reading = .invalid
    var reasons: [AcceptanceReason] = []
    try group.forceRevocation(
      of: AcceptingChangeTests.thief,
      accepting: acceptance(group) { offered in
        reasons.append(offered.reason)
        return offered.known == nil
      })
    #expect(reasons == [.older])
    #expect(failure { try group.open(AcceptingChangeTests.thief).value("item/1") } == .denied(.notAMember))
    #expect(group.witness.record?.flags == .acceptedByHand)
  }

  @Test func `a state that only a salvage finds is not changed if the owner declines it`() throws {
    let group = try forked()
    try group.tamper { try $0.run("DELETE FROM state WHERE part=1") }
    let (files, witness) = (try group.files(), group.witness.reading)
    var reasons: [AcceptanceReason] = []
    #expect(
      failure {
        try group.forceRevocation(
          of: AcceptingChangeTests.thief, droppingUnproved: true,
          accepting: acceptance(group) { offered in
            reasons.append(offered.reason)
            return false
          })
      } == .declined)
    #expect(reasons == [.older])
    #expect(try group.files().main == files.main && group.files().log == files.log)
    #expect(group.witness.reading == witness)
  }
}
