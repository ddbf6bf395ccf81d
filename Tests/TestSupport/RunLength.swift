import Foundation

/// How much of a long test is run: all of it with `VAULT_TEST_FULL=1`, otherwise a fixed sample. `VAULT_TEST_SHARE=N`
/// makes the sample N times as large.
package enum RunLength {
  package static let isFull = value("VAULT_TEST_FULL") == "1"
  /// Whether the other programs that some tests need are installed, as `tools/test --with-clients` arranges.
  package static let hasClients = value("VAULT_TEST_CLIENTS") == "1"

  private static let factor = value("VAULT_TEST_SHARE").flatMap { Int($0) } ?? 1

  /// The number of cases to try out of `full`.
  package static func of(_ full: Int, sample: Int) -> Int { isFull ? full : min(full, factor * sample) }

  /// The numbers below `count` to try, in ascending order: all of them, or as many as the sample has.
  package static func positions(in count: Int, sample: Int) -> [Int] {
    let wanted = of(count, sample: sample)
    guard wanted < count else { return Array(0..<count) }
    var generator = SeededGenerator(seed: 0x5EED)
    var chosen: Set<Int> = []
    while chosen.count < wanted { chosen.insert(Int.random(in: 0..<count, using: &generator)) }
    return chosen.sorted()
  }

  private static func value(_ variable: String) -> String? { ProcessInfo.processInfo.environment[variable] }
}

/// SplitMix64: the same random numbers in each run.
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
