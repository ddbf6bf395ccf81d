import Foundation
import Sealing
import Testing

@testable import GroupFile

/// What the storage shows of a group, compared with what this machine remembers.
@Suite struct WitnessRuleTests {
  private func rollback(
    _ group: GroupFixture, _ kind: RollbackReason, found: UInt64, known: UInt64,
    _ sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let expected = VaultError.rolledBack(found: found, known: known, reason: kind)
    #expect(failure { try group.value("name") } == expected, "reading", sourceLocation: sourceLocation)
    #expect(failure { try group.set(["name": "new"]) } == expected, "writing", sourceLocation: sourceLocation)
    #expect(failure { try group.open().verify() } == expected, "verifying", sourceLocation: sourceLocation)
    #expect(failure { try group.open().compact() } == expected, "compacting", sourceLocation: sourceLocation)
  }

  @Test func `a file put back as a whole is a rollback that names both epochs`() throws {
    let group = try GroupFixture()
    try group.set(["name": "old"])
    let copy = try group.files()
    for value in ["new", "newer"] { try group.set(["name": value]) }
    let newest = try group.files()
    try group.replace(with: copy)
    rollback(group, .olderState, found: 2, known: 4)
    #expect(try group.files().main == copy.main && group.files().log == copy.log, "nothing was written")
    try group.replace(with: newest)
    #expect(try group.value("name") == "newer")
  }

  @Test func `a long-running process notices that the file was put back`() throws {
    let group = try GroupFixture()
    let file = try group.open()
    try group.set(["name": "old"])
    let copy = try group.files()
    try group.set(["name": "new"])
    #expect(try file.value("name") == "new")
    try group.replace(with: copy)
    #expect(failure { try file.value("name") } == .rolledBack(found: 2, known: 3, reason: .olderState))
    #expect(failure { try file.beginWriting() } == .rolledBack(found: 2, known: 3, reason: .olderState))
  }

  @Test func `two states with the same epoch are a fork, whichever was seen first`() throws {
    let group = try GroupFixture()
    let copy = try group.files()
    try group.set(["name": "left"])
    let seen = group.witness.reading
    try group.replace(with: copy)
    group.witness.reading = .absent
    try group.set(["name": "right"])
    #expect(group.witness.record?.epoch == 2)
    group.witness.reading = seen
    rollback(group, .fork, found: 2, known: 2)
  }

  @Test func `a later state that does not descend from the known one is a fork`() throws {
    let group = try GroupFixture()
    let copy = try group.files()
    try group.set(["name": "left"])
    let seen = group.witness.reading
    let left = try group.files()
    try group.replace(with: copy)
    group.witness.reading = .absent
    for value in ["right", "right again", "and again"] { try group.set(["name": value]) }
    group.witness.reading = seen
    rollback(group, .fork, found: 4, known: 2)
    // Entries of the known fork inserted into the chain of the other do not connect the two.
    let chain = try GroupFixture.tampering(with: left) { try $0.chain(after: 0) }
    for row in chain {
      try group.tamper { try $0.replaceRest(of: row.epoch, with: row.rest) }
    }
    rollback(group, .fork, found: 4, known: 2)
  }

  @Test func `a state is refused if a chain link is missing, however much later it is`() throws {
    let group = try GroupFixture()
    try group.set(["name": "old"])
    let seen = group.witness.reading
    for value in ["new", "newer", "newest"] { try group.set(["name": value]) }
    group.witness.reading = seen
    for sql: StaticString in [
      "DELETE FROM chain WHERE epoch=4", "DELETE FROM chain WHERE epoch=5", "DELETE FROM chain WHERE epoch=3",
      "UPDATE chain SET rest=zeroblob(32) WHERE epoch=4", "INSERT INTO chain VALUES(9, zeroblob(32))",
    ] {
      let before = try group.files()
      try group.tamper { try $0.run(sql) }
      let error = failure { try group.value("name") }
      if sql.description.hasPrefix("INSERT") {
        #expect(error == nil, "a link beyond the newest state says nothing about it")
        group.witness.reading = seen
      } else {
        rollback(group, .fork, found: 5, known: 2)
      }
      try group.replace(with: before)
    }
    #expect(try group.value("name") == "newest")
    #expect(group.witness.record?.epoch == 5)
  }

  @Test func `a gap within the chain's length is refused, and a longer one is accepted with a notice`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    let seen = group.witness.reading
    let limit = GroupLimits.chainLength
    for (distance, isTaken) in [(limit - 1, false), (limit, false), (limit + 1, true), (3 * limit, true)] {
      let before = try group.files()
      try group.forge().storeManifest { $0.epoch = 2 + distance }
      // Nothing leads from the state that was seen to this one.
      try group.tamper { try $0.replaceRest(of: 2 + distance, with: nil) }
      group.witness.reading = seen
      if isTaken {
        let view = try group.open().beginReading().view
        #expect(view.notices == [.gap(group: "team.shared", from: 2, to: 2 + distance)])
        #expect(group.witness.record?.epoch == 2 + distance)
        #expect(group.witness.record?.flags == .gapSeen)
        #expect(try group.open().beginReading().view.notices.isEmpty)
      } else {
        rollback(group, .fork, found: 2 + distance, known: 2)
      }
      try group.replace(with: before)
    }
  }

  @Test func `an epoch may jump if the chain shows the jump`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    try group.forge().storeManifest { $0.epoch = 1_000 }
    #expect(try group.value("name") == "value")
    try group.set(["name": "new"])
    #expect(group.witness.record?.epoch == 1_001)
    #expect(try group.open().verify().epoch == 1_001)
  }

  @Test func `the chain keeps the last 4,096 links`() throws {
    let group = try GroupFixture()
    let limit = GroupLimits.chainLength
    try group.forge().storeManifest { $0.epoch = limit }
    #expect(try group.peek { try $0.chain(after: 0).map(\.epoch) } == [1, limit])
    try group.set(["name": "value"])
    #expect(try group.peek { try $0.chain(after: 0).map(\.epoch) } == [limit, limit + 1])
    #expect(try group.open().verify().epoch == limit + 1)
  }

  // MARK: Rosters

  @Test func `an older roster is a rollback under any epoch`() throws {
    let group = try GroupFixture()
    let forge = try group.forge()
    try forge.changeRoster { $0.keep = 5 }
    #expect(try group.open().beginReading().view.state.roster.keep == 5)
    let old = try forge.storeRoster { _ in }
    try forge.storeManifest(roster: old) { $0.epoch = 50 }
    rollback(group, .olderRoster, found: 50, known: 2)
  }

  @Test func `a different roster with the same revision is a fork even though the owner signed both`() throws {
    let group = try GroupFixture()
    let forge = try group.forge()
    let other = try forge.storeRoster { $0.keep = 3 }
    try forge.storeManifest(roster: other) { $0.epoch = 2 }
    rollback(group, .fork, found: 2, known: 1)
    #expect(failure { try group.open().accept() } == .rolledBack(found: 2, known: 1, reason: .olderRoster))
  }

  @Test func `an older generation is a rollback`() throws {
    let group = try GroupFixture()
    var record = try #require(group.witness.record)
    record.generation = 2
    record.link = .zero
    group.witness.reading = .valid(record)
    rollback(group, .olderKey, found: 1, known: 1)
    #expect(failure { try group.open().accept() } == .rolledBack(found: 1, known: 1, reason: .olderKey))
  }

  // MARK: Missing and restored groups

  @Test func `a group that vanished is a rollback, whether its file, its folder or the whole store is gone`() throws {
    for path in ["/group.vault", ""] {
      let group = try GroupFixture()
      try group.set(["name": "value"])
      let file = try group.open()
      #expect(try file.value("name") == "value")
      let place = try ContainerPlace(folder: group.folder)
      ConnectionPool.closeIdle(at: place)
      try FileManager.default.removeItem(atPath: group.folder + path)
      for file in [file, try group.open()] {
        for error in [
          failure { try file.beginReading() }, failure { try file.beginWriting() }, failure { try file.verify() },
          failure { try file.compact() },
        ] { #expect(error == .rolledBack(found: 0, known: 2, reason: .vanished)) }
      }
      #expect(try file.accept() == .removal)
      #expect(throws: VaultError.notFound(.group)) { try file.beginReading() }
      #expect(throws: VaultError.notFound(.group)) { try file.accept() }
    }
  }

  @Test func `a group that is neither known nor present is missing`() throws {
    let group = try GroupFixture()
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    try FileManager.default.removeItem(atPath: group.folder)
    group.witness.reading = .absent
    #expect(throws: VaultError.notFound(.group)) { try group.open().beginReading() }
    #expect(throws: VaultError.notFound(.group)) { try group.open().accept() }
    group.witness.reading = .invalid
    #expect(failure { try group.open().beginReading() }?.isDamage == true)
  }

  @Test func `restoring a removed group is a rollback until it is accepted`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    let copy = try group.files()
    try group.remove()
    #expect(!FileManager.default.fileExists(atPath: group.folder))
    #expect(group.witness.record?.flags == .removed)
    #expect(throws: VaultError.notFound(.group)) { try group.open().beginReading() }
    try copy.put(into: group.folder)
    rollback(group, .broughtBack, found: 2, known: 2)
    #expect(try group.open().accept() == .accepted(epoch: 3))
    #expect(try group.value("name") == "value")
  }

  // MARK: An unusable witness

  @Test func `with an invalid witness, reading gives a notice and nothing is written or verified`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    group.witness.reading = .invalid
    let view = try group.open().beginReading()
    #expect(view.view.notices == [.witnessInvalid(group: "team.shared")])
    #expect(try view.present("name").row.version == 1)
    let refused = VaultError.damaged(.witness, "neither record is valid")
    #expect(failure { try group.set(["name": "new"]) } == refused)
    #expect(failure { try group.open().compact() } == refused)
    #expect(failure { try group.open().verify() } == refused)
    #expect(group.witness.reading == .invalid, "reading does not replace it")
    #expect(try group.open().accept() == .accepted(epoch: 2))
    try group.set(["name": "new"])
    #expect(try group.open().verify().epoch == 3)
  }

  @Test func `without a state folder, reading and writing give a notice and verifying fails`() throws {
    let group = try GroupFixture()
    group.witness.reading = .unavailable(reason: "cannot be read")
    let transaction = try group.open().beginWriting()
    try transaction.put("name", "value")
    try transaction.commit()
    #expect(transaction.view.notices.contains(.witnessUnavailable(reason: "cannot be read")))
    #expect(try group.open().beginReading().view.notices == [.witnessUnavailable(reason: "cannot be read")])
    guard case .witnessUnavailable = failure({ try group.open().verify() }) else {
      Issue.record("verified without a witness")
      return
    }
  }

  @Test func `verifying a group for the first time makes its witness`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    let record = try #require(group.witness.record)
    group.witness.reading = .absent
    #expect(try group.value("name") == "value")
    #expect(group.witness.record?.epoch == record.epoch)
    #expect(group.witness.record?.link == record.link)
  }
}

extension GroupFixture {
  /// Opens a copy of the files in a folder of its own.
  fileprivate static func tampering<Result>(
    with files: GroupFiles, _ body: (Connection) throws -> Result
  ) throws -> Result {
    let folder = NSTemporaryDirectory() + "vault-group-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try files.put(into: folder)
    let connection = try Connection(folder: folder, access: .reading)
    defer { connection.close() }
    return try body(connection)
  }
}
