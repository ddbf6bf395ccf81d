import Foundation
import Sealing
import Testing

@testable import GroupFile

/// Other processes move the witness between two of our looks at it.
@Suite struct WitnessRaceTests {
  /// A witness that says other things from one look to the next, as if other processes were at work.
  final class MovingWitness: Witnessing {
    let stored: MemoryWitness
    private let readings: Locked<[WitnessReading]>

    /// - Parameter readings: what the first looks see; later ones see what is stored.
    init(_ readings: [WitnessReading], stored: MemoryWitness) {
      self.readings = Locked(readings)
      self.stored = stored
    }

    func read() -> WitnessReading {
      readings.withLock { $0.isEmpty ? nil : $0.removeFirst() } ?? stored.read()
    }

    func raise(_ update: (WitnessReading) -> WitnessRecord?) -> Bool { stored.raise(update) }
  }

  /// A group with two forks behind its first state: the second state of one, the third of the other.
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

  @Test func `of two forks that are shown in turn only one raises the witness`() throws {
    let forks = try Forks()
    // Read before another process verified the left fork, raised after.
    let stored = MemoryWitness(forks.left)
    let view = try forks.group.open(MovingWitness([forks.base], stored: stored)).beginReading()
    #expect(view.view.state.manifest.epoch == 3)
    #expect(stored.reading == forks.left)
    #expect(failure { try forks.group.open(stored).beginReading() }?.isRollback == true)
  }

  @Test func `a change does not raise the witness over a fork that another process verified meanwhile`() throws {
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
    // What was shown passed against what was known then; what is known now stays.
    _ = try group.open(MovingWitness([base], stored: stored)).beginReading()
    #expect(stored.reading == newest)
  }

  @Test func `a group that is made or removed between two looks has not vanished`() throws {
    let group = try GroupFixture()
    let known = group.witness.reading
    var removed = try #require(group.witness.record)
    removed.flags = .removed
    let place = try ContainerPlace(folder: group.folder)
    ConnectionPool.closeIdle(at: place)
    try FileManager.default.removeItem(atPath: group.folder)
    // Removed: known when we began, flagged when we look again.
    let removing = MovingWitness([known, known], stored: MemoryWitness(.valid(removed)))
    #expect(throws: GroupFileError.missing) { try group.open(removing).beginReading() }
    // Removed and made again under another id meanwhile.
    var other = try #require(known.record)
    other.groupID = .zero
    let remaking = MovingWitness([known, known], stored: MemoryWitness(.valid(other)))
    #expect(throws: GroupFileError.missing) { try group.open(remaking).beginReading() }
    let vanished = MovingWitness([], stored: MemoryWitness(known))
    #expect(failure { try group.open(vanished).beginReading() } == .rolledBack(found: 0, known: 1, .vanished))
  }
}

extension WitnessReading {
  fileprivate var record: WitnessRecord? {
    if case .valid(let record) = self { record } else { nil }
  }
}
