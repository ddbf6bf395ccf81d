import Sealing

@testable import GroupFile

/// A witness that lives as long as the test and returns what the test stored in it.
final class MemoryWitness: Witnessing {
  private let state: Locked<WitnessReading>

  /// How often it can still be written; `nil` for no limit.
  private let writes: Locked<Int?>

  init(_ reading: WitnessReading = .absent, writes: Int? = nil) {
    state = Locked(reading)
    self.writes = Locked(writes)
  }

  func limit(writes limit: Int?) { writes.withLock { $0 = limit } }

  /// The reading that it returns now.
  var reading: WitnessReading {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  var record: WitnessRecord? {
    if case .valid(let record) = reading { record } else { nil }
  }

  func read() -> WitnessReading { reading }

  func raise(durably isDurable: Bool, _ update: (WitnessReading) -> WitnessRecord?) -> Bool {
    let isStuck = writes.withLock { writes in
      defer { writes = writes.map { max($0 - 1, 0) } }
      return writes == 0
    }
    guard !isStuck else { return false }
    return state.withLock { reading in
      if case .unavailable = reading { return false }
      if let new = update(reading) { reading = .valid(new) }
      return true
    }
  }
}
