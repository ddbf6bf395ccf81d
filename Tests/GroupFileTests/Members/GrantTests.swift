import Sealing
import Testing

@testable import GroupFile

@Suite struct GrantTests {
  @Test func `a reader reads existing and later items and cannot write`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    let state = try group.grant("com.example.api", .read)
    #expect(state.roster.revision == 2 && state.roster.generation == 1 && state.manifest.epoch == 3)
    let reader = try group.open("com.example.api")
    #expect(try reader.value("name") == "value")
    try group.set(["name": "new"])
    #expect(try reader.value("name") == "new")
    #expect(failure { try reader.set(["name": "mine"]) } == .denied(.readOnly))
    #expect(
      failure { try reader.changeRoster(RosterChange(rotates: true), by: group.authority()) } == .denied(.ownerOnly))
    #expect(try group.open().verify().items == 1)
  }

  @Test func `all members read a writer's change and see who made it`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.web", .write)
    try group.open("com.example.web").set(["name": "value"])
    #expect(try group.value("name") == "value")
    let writer = try group.open().beginReading().present("name").attributes.writer
    #expect(writer == Writer(kind: .application, issue: 1, application: "com.example.web"))
  }

  @Test func `a non-member learns only that they are not a member`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    try group.grant("com.example.api", .read)
    let stranger = try group.open("com.example.web")
    #expect(failure { try stranger.value("name") } == .denied(.notAMember))
    #expect(failure { try stranger.value("nothing") } == .denied(.notAMember))
    #expect(failure { try stranger.set(["name": "mine"]) } == .denied(.notAMember))
    #expect(failure { try stranger.verify() } == .denied(.notAMember))
    #expect(failure { try stranger.accept() } == .denied(.notAMember))
  }

  @Test func `an issue below the one that the roster names is refused, for members and for removed ones`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.api", .read)
    try group.grant("com.example.api", .read, issue: 3)
    let older = VaultError.rolledBack(found: 2, known: 3, reason: .olderIssue)
    #expect(failure { try group.grant("com.example.api", .read, issue: 2) } == older)
    #expect(failure { try group.change(RosterChange(reissue: ("com.example.api", 2))) } == older)
    try group.revoke("com.example.api")
    #expect(failure { try group.grant("com.example.api", .read, issue: 2) } == older)
    #expect(try group.grant("com.example.api", .read, issue: 3).roster.members.count == 2)
  }

  @Test func `a change of rights makes a new roster under the same key`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.api", .write)
    let state = try group.grant("com.example.api", .read)
    #expect(state.roster.generation == 1 && state.roster.revision == 3 && state.roster.removed.isEmpty)
    #expect(failure { try group.open("com.example.api").set(["name": "mine"]) } == .denied(.readOnly))
    #expect(try group.grant("com.example.api", .read).roster.revision == 3)
  }

  @Test func `lower rights need no new key and let nobody in`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.api", .write)
    var change = RosterChange(reissue: ("com.example.api", 1))
    change.reissuedRights = .read
    let state = try group.change(change)
    #expect(state.roster.generation == 1 && state.roster.revision == 3)
    #expect(state.roster.members.first { $0.application == "com.example.api" }?.rights == .read)
    let revoked = try group.revoke("com.example.api").roster
    #expect(try group.change(change).roster == revoked)
  }

  @Test func `only the first manifest under a roster must be signed by the owner`() throws {
    let group = try GroupFixture()
    let state = try group.grant("com.example.web", .write)
    #expect(state.manifest.epoch == state.roster.firstEpoch)
    #expect(try state.manifest.writerKey == group.seed.signingPublicKey)
    try group.open("com.example.web").set(["name": "value"])
    #expect(try group.open().verify().epoch == state.roster.firstEpoch + 1)
  }

  @Test func `a grant over a damaged roster, wrap or header is refused and changes nothing`() throws {
    for damage: @Sendable (Connection) throws -> Void in [
      { try $0.run("UPDATE wrap SET sealed = zeroblob(length(sealed))") },
      { try $0.run("UPDATE state SET bytes = zeroblob(length(bytes)) WHERE part = 2") },
    ] {
      let group = try GroupFixture()
      try group.tamper(damage)
      #expect(failure { try group.grant("com.example.api", .read) }?.isDamage == true)
    }
  }

  @Test func `a member who was given another key than the others refuses the file`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.api", .read)
    let seed = try group.seed("com.example.api")
    let forged = try Wrap.seal(Key.random(), for: seed, groupID: group.groupID, generation: 1)
    let slotID = seed.slotID(group: group.groupID, generation: 1)
    try group.tamper { try $0.run("UPDATE wrap SET sealed = ? WHERE slot = ?", forged, slotID) }
    #expect(failure { try group.open("com.example.api").value("name") }?.isDamage == true)
    #expect(failure { try group.open().verify() }?.isDamage == true)
  }

  @Test func `a change after which nobody could read the roster is refused, and changes nothing`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    let state = try group.grant("com.example.api", .read)
    let grants = (0..<4_095).map { RosterChange.Grant(application: "app\($0)", issue: 1, rights: .read) }
    #expect(throws: VaultError.overLimit("4096 members")) {
      _ = try RosterPlan(RosterChange(grants: grants), on: state.roster, group.authority())
    }
    let last: UInt64 = 1 << 53 - 1
    for above in [
      RosterChange.Numbers(revision: last), RosterChange.Numbers(generation: last), RosterChange.Numbers(epoch: last),
    ] {
      #expect(throws: VaultError.overLimit("2^53 states")) {
        try group.change(RosterChange(rotates: true, above: above))
      }
    }
    // The seeds of another store would make a wrap that its member cannot open.
    let other = try GroupFixture(owner: group.owner.copy())
    #expect(throws: VaultError.damaged(.roster, "member's key")) {
      try group.open().changeRoster(RosterChange(rotates: true), by: other.authority())
    }
    #expect(try group.open("com.example.api").value("name") == "value")
    #expect(try group.open().beginReading().state.link == state.link)
  }
}
