import KeyedArchives

/// How much decoding may still use, in proportion to the input.
struct Budget {
  private let limits: ArchiveLimits
  private var bytes: Int
  private var comparisons: Int

  init(_ limits: ArchiveLimits, inputBytes: Int) {
    self.limits = limits
    let (product, overflows) = inputBytes.multipliedReportingOverflow(by: max(0, limits.expansion))
    bytes = overflows || product > Int.max - (1 << 20) ? .max : product + (1 << 20)
    comparisons = limits.comparisons
  }

  /// Charges `count` bytes for a string or data.
  mutating func take(bytes count: Int, at path: @autoclosure () -> ArchivePath) throws(ArchiveError) {
    bytes -= count
    guard bytes >= 0 else { throw .overLimit(.expansion, allowed: limits.expansion, at: path()) }
  }

  /// Charges `count` comparisons, a number that may be saturated.
  mutating func take(comparisons count: Int, at path: @autoclosure () -> ArchivePath) throws(ArchiveError) {
    let (left, overflows) = comparisons.subtractingReportingOverflow(count)
    guard !overflows, left >= 0 else { throw .overLimit(.comparisons, allowed: limits.comparisons, at: path()) }
    comparisons = left
  }
}
