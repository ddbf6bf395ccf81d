import Sealing
import Testing

@testable import GroupFile

/// What a machine without a witness accepts, given the floor in its credential (format article, reason 54).
@Suite struct FloorTests {
  /// A group with an application, an old copy of its files, and the floor of its newest state.
  private func aged() throws -> (group: GroupFixture, copy: GroupFiles, floor: WitnessRecord) {
    let group = try GroupFixture()
    try group.grant("com.example.api", .write)
    try group.set(["name": "old"])
    let copy = try group.files()
    try group.set(["name": "new"])
    return (group, copy, try floor(of: group))
  }

  private func floor(of group: GroupFixture) throws -> WitnessRecord {
    var record = try group.open().beginReading().state.witnessRecord()
    // A credential does not have it.
    record.rosterDigest = .zero
    return record
  }

  @Test func `an older state is refused at first use`() throws {
    let (group, copy, floor) = try aged()
    #expect(try group.open("com.example.api", floor: floor).value("name") == "new")
    try group.replace(with: copy)
    #expect(try group.open("com.example.api").value("name") == "old")
    let error = failure { try group.open("com.example.api", floor: floor).value("name") }
    #expect(error == .rolledBack(found: 3, known: 4, reason: .olderState))
    let unusable = MemoryWitness(.unavailable(reason: "gone"))
    #expect(failure { try group.open("com.example.api", witness: unusable, floor: floor).value("name") } == error)
  }

  @Test func `a missing group is refused at first use`() throws {
    let (group, _, floor) = try aged()
    try group.remove()
    let file = try group.open("com.example.api", floor: floor)
    #expect(failure { try file.value("name") } == .rolledBack(found: 0, known: 4, reason: .vanished))
    #expect(try file.accept() == .removal)
    #expect(failure { try file.value("name") } == .notFound(.group))
  }

  @Test func `a fork of the floor's state and another group are refused at first use`() throws {
    let (group, copy, floor) = try aged()
    try group.replace(with: copy)
    group.witness.reading = .absent
    try group.set(["name": "fork"])
    #expect(
      failure { try group.open("com.example.api", floor: floor).value("name") }
        == .rolledBack(found: 4, known: 4, reason: .fork))
    try group.set(["name": "longer fork"])
    #expect(
      failure { try group.open("com.example.api", floor: floor).value("name") }
        == .rolledBack(found: 5, known: 4, reason: .fork))
    let other = WitnessRecord(
      groupID: GroupID(Randomness.bytes(32))!, ownerKey: floor.ownerKey, rosterRevision: 2, generation: 1, epoch: 1,
      link: .zero)
    #expect(failure { try group.open("com.example.api", floor: other).value("name") }?.isDamage == true)
  }

  @Test func `a witness whose roster is as new as the floor's takes precedence`() throws {
    let (group, copy, floor) = try aged()
    let witness = MemoryWitness()
    #expect(try group.open("com.example.api", witness: witness, floor: floor).value("name") == "new")
    #expect(witness.record?.epoch == 4)
    try group.replace(with: copy)
    let file = try group.open("com.example.api", witness: witness, floor: floor)
    #expect(try file.accept() == .accepted(epoch: 5))
    #expect(try file.value("name") == "old")
  }

  @Test func `a witness with an older roster does not lower the floor`() throws {
    let (group, _, _) = try aged()
    let copy = try group.files()
    let witness = MemoryWitness()
    _ = try group.open("com.example.api", witness: witness).value("name")
    try group.grant("com.example.web", .read)
    let floor = try floor(of: group)
    try group.replace(with: copy)
    guard
      case .rolledBack(_, _, 5, .olderRoster) = failure({
        try group.open("com.example.api", witness: witness, floor: floor).value("name")
      })
    else {
      Issue.record("the floor did not count")
      return
    }
    #expect(
      failure { try group.open("com.example.api", witness: witness, floor: floor).accept() }
        == .rolledBack(found: 4, known: 5, reason: .olderRoster))
  }

  @Test func `a member with a newer credential can accept a state that this machine's witness contradicts`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.api", .read)
    try group.set(["name": "old"])
    let copy = try group.files()
    try group.set(["name": "lost"])
    let seen = MemoryWitness(group.witness.reading)
    try group.replace(with: copy)
    group.witness.reading = .absent
    try group.change(RosterChange(rotates: true, above: .init(epoch: 100)))
    let floor = try group.open().beginReading().view.state.witnessRecord()
    let file = try group.open("com.example.api", witness: seen, floor: floor)
    #expect(failure { try file.value("name") }?.isRollback == true)
    #expect(try file.accept() == .accepted(epoch: floor.epoch))
    #expect(try file.value("name") == "old")
  }
}
