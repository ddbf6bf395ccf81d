import Foundation
import Glibc
import Sealing
import Testing

@testable import GroupFile

/// Other processes move the witness while this one reads the group.
@Suite struct WitnessRaceTests {
  /// A witness that changes between two reads, as if other processes were at work.
  final class MovingWitness: Witnessing {
    let stored: MemoryWitness
    private let readings: Locked<[WitnessReading]>

    /// - Parameter readings: the results of the first reads. Later reads return the stored record.
    init(_ readings: [WitnessReading], stored: MemoryWitness) {
      self.readings = Locked(readings)
      self.stored = stored
    }

    func read() -> WitnessReading {
      readings.withLock { $0.isEmpty ? nil : $0.removeFirst() } ?? stored.read()
    }

    func raise(durably isDurable: Bool, _ update: (WitnessReading) -> WitnessRecord?) -> Bool { stored.raise(update) }
  }

  /// A group that forks after its first state: `left` continues for one state, `right` for two.
  private struct Forks {
    let group = try! GroupFixture()
    let base: WitnessReading
    let left: WitnessReading
    let right: GroupFiles

    init() throws {
      base = group.witness.reading
      let copy = try group.files()
      try group.set(["name": "left"])
      left = group.witness.reading
      try group.replace(with: copy)
      group.witness.reading = base
      for value in ["right", "right again"] { try group.set(["name": value]) }
      right = try group.files()
    }
  }

  @Test func `only one of two forks shown in turn raises the witness`() throws {
    let forks = try Forks()
    // The witness was read before another process verified the left fork, and is raised after it.
    let stored = MemoryWitness(forks.left)
    let view = try forks.group.open(MovingWitness([forks.base], stored: stored)).beginReading()
    #expect(view.view.state.manifest.epoch == 3)
    #expect(stored.reading == forks.left)
    #expect(failure { try forks.group.open(stored).beginReading() }?.isRollback == true)
  }

  @Test func `of files that others may write, a contradiction counts only if it is found twice`() throws {
    let forks = try Forks()
    try forks.group.share(.shared(UnixGroup(number: getegid())))
    let witness = MovingWitness([forks.left], stored: forks.group.witness)
    #expect(try forks.group.open(witness).beginReadingAlone().state.manifest.epoch == 3)
    let lasting = MovingWitness([], stored: MemoryWitness(forks.left))
    #expect(failure { try forks.group.open(lasting).beginReadingAlone() }?.isRollback == true)
  }

  @Test func `a change does not replace a witness that another process raised to another fork`() throws {
    let forks = try Forks()
    let stored = MemoryWitness(forks.left)
    let transaction = try forks.group.open(MovingWitness([forks.base], stored: stored)).beginWriting()
    try transaction.put("name", "newest")
    try transaction.commit()
    #expect(stored.reading == forks.left)
  }

  @Test func `a witness that another process raised along the same chain is raised further`() throws {
    let group = try GroupFixture()
    let base = group.witness.reading
    try group.set(["name": "old"])
    let middle = group.witness.reading
    try group.set(["name": "new"])
    let newest = group.witness.record
    let stored = MemoryWitness(middle)
    #expect(try group.open(MovingWitness([base], stored: stored)).value("name") == "new")
    #expect(stored.record?.link == newest?.link)
  }

  @Test func `a witness that another process raised further is never lowered`() throws {
    let group = try GroupFixture()
    let base = group.witness.reading
    try group.set(["name": "old"])
    let copy = try group.files()
    try group.set(["name": "new"])
    let newest = group.witness.reading
    try group.replace(with: copy)
    let stored = MemoryWitness(newest)
    // The state passed against the witness as it was first read. The newer witness must stay.
    _ = try group.open(MovingWitness([base], stored: stored)).beginReading()
    #expect(stored.reading == newest)
  }

  @Test func `a group that is made or removed while it is read has not vanished`() throws {
    let group = try GroupFixture()
    let known = group.witness.reading
    var removed = try #require(group.witness.record)
    removed.flags = .removed
    let place = try ContainerPlace(folder: group.folder)
    ConnectionPool.closeIdle(at: place)
    try FileManager.default.removeItem(atPath: group.folder)
    // Removed: the witness knew the group at first and is marked as removed at the second read.
    let removing = MovingWitness([known, known], stored: MemoryWitness(.valid(removed)))
    #expect(throws: VaultError.notFound(.group)) { try group.open(removing).beginReading() }
    // Removed and meanwhile made again under another id.
    var other = try #require(known.record)
    other.groupID = .zero
    let remaking = MovingWitness([known, known], stored: MemoryWitness(.valid(other)))
    #expect(throws: VaultError.notFound(.group)) { try group.open(remaking).beginReading() }
    let vanished = MovingWitness([], stored: MemoryWitness(known))
    #expect(failure { try group.open(vanished).beginReading() } == .rolledBack(found: 0, known: 1, reason: .vanished))
  }
}

extension WitnessReading {
  fileprivate var record: WitnessRecord? {
    if case .valid(let record) = self { record } else { nil }
  }
}
