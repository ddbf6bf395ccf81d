import Sealing
import Testing

@testable import GroupFile

/// A copy whose roster is older than the one that was seen. Only the owner accepts it, under a newer roster.
@Suite struct OlderRosterTests {
  /// A group put back to its state before `com.example.web` was revoked.
  private func putBack() throws -> GroupFixture {
    let group = try GroupFixture()
    try group.grant("com.example.api", .write)
    try group.grant("com.example.web", .write)
    try group.set(["name": "old"])
    let copy = try group.files()
    try group.revoke("com.example.web")
    try group.set(["name": "new"])
    try group.replace(with: copy)
    return group
  }

  private func acceptance(
    _ group: GroupFixture, revoking application: String = ""
  ) throws -> OwnersAcceptance {
    OwnersAcceptance(authority: try group.authority()) { $0.application == application }
  }

  @Test func `no application can bring a revoked application back`() throws {
    let group = try putBack()
    for application in ["com.example.api", "com.example.web"] {
      let file = try group.open(application, witness: MemoryWitness(group.witness.reading))
      #expect(failure { try file.value("name") } == .rolledBack(found: 4, known: 6, reason: .olderRoster))
      #expect(failure { try file.accept() } == .rolledBack(found: 4, known: 6, reason: .olderRoster))
    }
  }

  @Test func `accepting an older roster makes a newer one with a new key, and first names who returns`() throws {
    let group = try putBack()
    let seen = try #require(group.witness.record)
    var announced: [String] = []
    var roster: UInt64 = 0
    let accepted = try group.open().accept(acceptance(group)) { offered in
      announced = offered.state.roster.members.map(\.application).sorted()
      roster =
        (try? group.peek { try VerifiedState.open($0, as: group.open().context, known: nil) })?.roster.revision ?? 0
      return offered.reason == .olderRoster
    }
    #expect(accepted == .accepted(epoch: 7))
    #expect(announced == ["", "com.example.api", "com.example.web"] && roster == 3)
    let state = try group.open().beginReading().view.state
    #expect(state.roster.revision == seen.rosterRevision + 1 && state.roster.generation == seen.generation + 1)
    #expect(try group.value("name") == "old")
    #expect(try group.open("com.example.web").value("name") == "old")
    #expect(try group.open().verify().items == 1)
    #expect(group.witness.record?.flags == .acceptedByHand)
  }

  @Test func `an older state with the same members also gets a new key when it is accepted`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.api", .read)
    try group.set(["name": "old"])
    let copy = try group.files()
    try group.set(["name": "new"])
    try group.replace(with: copy)
    #expect(try group.open().accept(acceptance(group)) { $0.reason == .older } == .accepted(epoch: 5))
    let state = try group.open().beginReading().view.state
    #expect(state.roster.generation == 2 && state.roster.revision == 3)
    #expect(try group.open("com.example.api").value("name") == "old")
  }

  @Test func `a revoked application stays out if the owner's registry knows of its revocation`() throws {
    let group = try putBack()
    #expect(try group.open().accept(acceptance(group, revoking: "com.example.web")) == .accepted(epoch: 7))
    #expect(failure { try group.open("com.example.web").value("name") } == .denied(.notAMember))
    #expect(try group.open("com.example.api").value("name") == "old")
  }

  @Test func `members who saw the lost states can accept the new one themselves`() throws {
    let group = try putBack()
    let seen = MemoryWitness(group.witness.reading)
    _ = try group.open().accept(acceptance(group, revoking: "com.example.web"))
    let file = try group.open("com.example.api", witness: seen)
    #expect(failure { try file.value("name") } == .rolledBack(found: 7, known: 6, reason: .fork))
    #expect(try file.accept() == .accepted(epoch: 8))
    #expect(try file.value("name") == "old")
  }

  @Test func `a copy that does not verify is not accepted`() throws {
    let group = try putBack()
    try group.tamper { try $0.run("UPDATE item SET nonce = randomblob(24)") }
    #expect(failure { try group.open().accept(acceptance(group)) }?.isDamage == true)
    #expect(group.witness.record?.epoch == 6)
  }
}
