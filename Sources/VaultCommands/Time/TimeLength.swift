internal import KeyedArchives

/// A length of time as people type it: `90s`, `15m`, `12h`, `30d`.
enum TimeLength {
  static func milliseconds(_ text: String) -> Int64? {
    let units: [Character: Int64] = ["s": 1_000, "m": 60_000, "h": 3_600_000, "d": UTCDate.millisecondsPerDay]
    guard let last = text.last, let unit = units[last], let count = number(text.dropLast()) else { return nil }
    let (length, overflow) = count.multipliedReportingOverflow(by: unit)
    return overflow ? nil : length
  }

  /// Only digits are accepted; `Int64("+7")` would be a number too.
  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
  }
}
