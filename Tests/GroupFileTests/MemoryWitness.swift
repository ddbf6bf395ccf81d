import Sealing

@testable import GroupFile

/// A witness that lives as long as the test and returns what the test stored in it.
final class MemoryWitness: Witnessing {
  private let state: Locked<WitnessReading>

  init(_ reading: WitnessReading = .absent) { state = Locked(reading) }

  /// The reading that it returns now.
  var reading: WitnessReading {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  var record: WitnessRecord? {
    if case .valid(let record) = reading { record } else { nil }
  }

  func read() -> WitnessReading { reading }

  func raise(_ update: (WitnessReading) -> WitnessRecord?) -> Bool {
    state.withLock { reading in
      if case .unavailable = reading { return false }
      if let new = update(reading) { reading = .valid(new) }
      return true
    }
  }
}
