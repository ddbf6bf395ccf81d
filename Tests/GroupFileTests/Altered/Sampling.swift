import Foundation

/// Which of many cases a run tries: all of them with `VAULT_TEST_FULL=1`, otherwise the same few each time.
enum Sampling {
  static let isFull = ProcessInfo.processInfo.environment["VAULT_TEST_FULL"] == "1"

  /// Numbers below `count`, rising: all, or `sample` of them.
  static func positions(in count: Int, sample: Int) -> [Int] {
    guard !isFull, sample < count else { return Array(0..<count) }
    var generator = SeededGenerator(seed: 0x5EED)
    var chosen: Set<Int> = []
    while chosen.count < sample { chosen.insert(Int.random(in: 0..<count, using: &generator)) }
    return chosen.sorted()
  }
}

/// SplitMix64: random numbers that are the same in each run.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
