internal import Ground
internal import Vault

/// The argument of `--expires`: a day, a minute or second of it, a length of time from now, or `never`.
///
/// `2027-01-31` · `2027-01-31T12:00Z` · `2027-01-31T12:00:30Z` · `90s` · `15m` · `12h` · `30d` · `never`. All times are
/// UTC, and a day without a time means its start.
enum Expiry: Equatable {
  case never
  /// Milliseconds since 1970.
  case at(Int64)

  static let forms = "2027-01-31, 2027-01-31T12:00Z, 30d, 12h, 15m or never"

  /// - Parameter now: milliseconds since 1970.
  init?(_ text: String, now: Int64) {
    if text == "never" {
      self = .never
    } else if let length = TimeLength.milliseconds(text) {
      let (instant, overflow) = now.addingReportingOverflow(length)
      guard !overflow, instant < Self.end else { return nil }
      self = .at(instant)
    } else if let instant = Self.instant(text) {
      self = .at(instant)
    } else {
      return nil
    }
  }

  /// The first millisecond of the year 10000, which these forms cannot express.
  private static let end: Int64 = 253_402_300_800_000

  private static func instant(_ text: String) -> Int64? {
    guard let moment = UTCDate.moment(text), moment.milliseconds >= 0 else { return nil }
    return moment.milliseconds
  }
}

extension Expiry {
  /// The change that `--expires` makes to an item.
  ///
  /// - Throws: `usage`.
  static func change(_ text: String, now: Timestamp) throws(Failure) -> Change<Timestamp> {
    switch Expiry(text, now: Int64(now.milliseconds)) {
    case .never?: return .remove
    case .at(let instant)?: return .to(Timestamp(milliseconds: UInt64(instant)))
    case nil: throw .usage("an expiry is \(forms)")
    }
  }
}

/// A length of time as people type it: `90s`, `15m`, `12h`, `30d`.
enum TimeLength {
  static func milliseconds(_ text: String) -> Int64? {
    let units: [Character: Int64] = ["s": 1_000, "m": 60_000, "h": 3_600_000, "d": UTCDate.millisecondsPerDay]
    guard let last = text.last, let unit = units[last], let count = Int64(digits: text.dropLast()) else { return nil }
    let (length, overflow) = count.multipliedReportingOverflow(by: unit)
    return overflow ? nil : length
  }
}
