import Foundation
import Sealing
import Testing

@testable import GroupFile

@Suite struct AcceptanceTests {
  /// A group whose files were put back to epoch 2 after its witness had seen epoch 5.
  private func rolledBack() throws -> GroupFixture {
    let group = try GroupFixture()
    try group.set(["name": "old"])
    let copy = try group.files()
    for value in ["b", "c", "d"] { try group.set(["name": value]) }
    try group.replace(with: copy)
    return group
  }

  @Test func `an older state that is accepted is signed again above both epochs`() throws {
    let group = try rolledBack()
    #expect(try group.open().accept() == .accepted(epoch: 6))
    #expect(try group.value("name") == "old")
    #expect(group.witness.record?.epoch == 6)
    #expect(group.witness.record?.flags == .acceptedByHand)
    try group.set(["name": "new"])
    #expect(try group.open().verify().epoch == 7)
    #expect(try group.open().accept() == .nothingToAccept)
  }

  @Test func `after an acceptance, a machine that lags behind continues and one that saw the lost states accepts too`()
    throws
  {
    let group = try GroupFixture()
    let ancestor = group.witness.reading
    try group.set(["name": "old"])
    let copy = try group.files()
    for value in ["b", "c", "d"] { try group.set(["name": value]) }
    let lost = group.witness.reading
    try group.replace(with: copy)
    #expect(try group.open().accept() == .accepted(epoch: 6))
    let behind = MemoryWitness(ancestor)
    #expect(try group.open(behind).value("name") == "old")
    #expect(behind.record?.epoch == 6)
    let other = MemoryWitness(lost)
    #expect(failure { try group.open(other).value("name") } == .rolledBack(found: 6, known: 5, reason: .fork))
    #expect(try group.open(other).accept() == .accepted(epoch: 7))
  }

  @Test func `accepting a current state changes nothing`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    let before = try group.files()
    #expect(try group.open().accept() == .nothingToAccept)
    group.witness.reading = .absent
    #expect(try group.open().accept() == .nothingToAccept)
    let after = try group.files()
    #expect(before.main == after.main && before.log == after.log)
  }

  /// The witness of a machine that was shown a state as far ahead as a writer may sign.
  private func far(_ group: GroupFixture) throws -> MemoryWitness {
    var record = try #require(group.witness.record)
    record.epoch = try group.open().beginReading().view.state.roster.firstEpoch + GroupLimits.epochsPerRoster
    return MemoryWitness(.valid(record))
  }

  @Test func `a writer who was shown a state far ahead can continue with the current one`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.web", .write)
    try group.set(["name": "value"])
    let witness = try far(group)
    let file = try group.open("com.example.web", witness: witness)
    #expect(failure { try file.set(["name": "new"]) }?.isRollback == true)
    #expect(try file.accept() == .accepted(epoch: 3))
    try file.set(["name": "new"])
    #expect(try group.value("name") == "new")
  }

  @Test func `an owner who was shown a state far ahead starts a new roster, so that writers can continue`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.web", .write)
    let witness = try far(group)
    let epoch = try #require(witness.record?.epoch)
    let owner = OwnersAcceptance(authority: try group.authority()) { _ in false }
    #expect(try group.open(witness).accept(owner) == .accepted(epoch: epoch + 1))
    #expect(try group.open().beginReading().view.state.roster.firstEpoch == epoch + 1)
    try group.open("com.example.web").set(["name": "new"])
  }

  @Test func `a fork is accepted like a rollback`() throws {
    let group = try GroupFixture()
    let copy = try group.files()
    try group.set(["name": "left"])
    let seen = group.witness.reading
    try group.replace(with: copy)
    group.witness.reading = .absent
    try group.set(["name": "right"])
    group.witness.reading = seen
    #expect(try group.open().accept() == .accepted(epoch: 3))
    #expect(try group.value("name") == "right")
  }

  @Test func `a state that does not verify is not accepted`() throws {
    let group = try rolledBack()
    let witness = group.witness.reading
    try group.tamper { try $0.run("UPDATE state SET bytes=zeroblob(length(bytes)) WHERE part=3") }
    let before = try group.files()
    #expect(failure { try group.open().accept() }?.isDamage == true)
    let after = try group.files()
    #expect(before.main == after.main && before.log == after.log)
    #expect(group.witness.reading == witness)
  }

  @Test func `an older roster is not accepted, because it would bring removed members back`() throws {
    let group = try GroupFixture()
    let copy = try group.files()
    try group.forge().changeRoster { $0.keep = 5 }
    #expect(try group.open().beginReading().view.state.roster.revision == 2)
    try group.replace(with: copy)
    let witness = group.witness.reading
    #expect(failure { try group.open().accept() } == .rolledBack(found: 1, known: 2, reason: .olderRoster))
    #expect(group.witness.reading == witness)
  }

  @Test func `a read-only member who accepts a state replaces only their own witness`() throws {
    let group = try GroupFixture()
    let reader = MemberSeed(try Key.random())
    try group.forge().addMember(reader, .read)
    try group.set(["name": "old"])
    let copy = try group.files()
    try group.set(["name": "new"])
    try group.replace(with: copy)
    let own = MemoryWitness(group.witness.reading)
    #expect(try group.open(as: reader, witness: own).accept() == .accepted(epoch: 3))
    #expect(own.record?.flags == .acceptedByHand)
    let after = try group.files()
    #expect(after.main == copy.main && after.log == copy.log)
  }

  @Test func `a folder that cannot be read is not taken for a missing one`() throws {
    // Root can read every folder.
    guard geteuid() != 0 else { return }
    let group = try GroupFixture()
    let witness = group.witness.reading
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: group.folder)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: group.folder) }
    #expect(failure { try group.open().accept() } == .denied(.permissions("entering '\(group.folder)'")))
    #expect(group.witness.reading == witness)
  }

  @Test func `a file in place of the folder is not taken for a missing folder`() throws {
    let group = try GroupFixture()
    let witness = group.witness.reading
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    try FileManager.default.removeItem(atPath: group.folder)
    try Data([1]).write(to: URL(fileURLWithPath: group.folder))
    #expect(failure { try group.open().accept() }?.isDamage == true)
    #expect(group.witness.reading == witness)
  }

  @Test(arguments: [false, true])
  func `a state that the witness cannot take is not signed again`(byOwner: Bool) throws {
    let group = try rolledBack()
    let before = try group.files()
    group.witness.limit(writes: 0)
    let owner = OwnersAcceptance(authority: try group.authority()) { _ in false }
    #expect(failure { try byOwner ? group.open().accept(owner) : group.open().accept() } == .storage(.stateFolder))
    let after = try group.files()
    #expect(before.main == after.main && before.log == after.log)
  }

  @Test func `accepting fails if the witness cannot be written`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    try FileManager.default.removeItem(atPath: group.folder)
    let stuck = StuckWitness(group.witness.reading)
    #expect(throws: VaultError.storage(.stateFolder)) { try group.open(stuck).accept() }
  }

  /// A witness that can be read but not written.
  private struct StuckWitness: Witnessing {
    let reading: WitnessReading

    init(_ reading: WitnessReading) { self.reading = reading }

    func read() -> WitnessReading { reading }
    func raise(durably isDurable: Bool, _ update: (WitnessReading) -> WitnessRecord?) -> Bool { false }
  }

  @Test func `a removal is accepted although the witness is invalid`() throws {
    let group = try GroupFixture()
    try FileManager.default.removeItem(atPath: group.folder + "/group.vault")
    group.witness.reading = .invalid
    #expect(failure { try group.value("a") } == .damaged(.witness, "neither record is valid"))
    #expect(try group.open().accept() == .removal)
    #expect(group.witness.record?.flags.contains(.removed) == true)
    #expect(failure { try group.value("a") } == .notFound(.group))
  }
}
