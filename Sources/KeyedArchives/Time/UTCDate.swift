/// Converts between milliseconds since 1970 and ISO 8601 text in UTC: `2027-01-31T12:00:00Z`.
///
/// Foundation is not used for this, because it would take a fifth of the time of a whole `get`.
package enum UTCDate {
  package static let millisecondsPerDay: Int64 = 86_400_000

  /// Days from 1970-01-01 to 2001-01-01, the epoch of archives.
  static let daysTo2001: Int64 = 11_323

  /// The text for a number of seconds since 2001, with enough digits to read back the same number. A number beyond the
  /// range of the calendar is printed as a number.
  package static func text(secondsSince2001 seconds: Double) -> String {
    guard seconds.magnitude < 2e11 else { return "\(seconds)" }
    var (whole, fraction) = DecimalFraction.parts(of: seconds.magnitude)
    if seconds < 0 {
      whole = fraction.isZero ? -whole : -whole - 1
      fraction = fraction.complement
    }
    let text = text(whole * 1_000 + daysTo2001 * millisecondsPerDay)
    return fraction.isZero ? text : "\(text.dropLast()).\(fraction.digits)Z"
  }

  /// The text to the second. Nothing here writes years after 9999; they are shown with as many digits as they have.
  package static func text(_ milliseconds: Int64) -> String {
    var text = DateText(milliseconds, between: UInt8(ascii: "T"))
    text.append(UInt8(ascii: ":"))
    text.appendPair(text.second % 60)
    text.append(UInt8(ascii: "Z"))
    return text.string
  }

  /// The day and minute, as tables show it.
  package static func shortText(_ milliseconds: Int64) -> String {
    DateText(milliseconds, between: UInt8(ascii: " ")).string
  }

  /// Day and minute, written as bytes for speed: a list has a date in each of its lines.
  private struct DateText {
    private var bytes: [UInt8] = []
    /// The second of the day.
    let second: Int64

    init(_ milliseconds: Int64, between separator: UInt8) {
      let days = floorDivide(milliseconds, millisecondsPerDay)
      second = (milliseconds - days * millisecondsPerDay) / 1_000
      let (year, month, day) = civil(days)
      bytes.reserveCapacity(24)
      if year < 0 { append(UInt8(ascii: "-")) }
      appendYear(abs(year))
      append(UInt8(ascii: "-"))
      appendPair(month)
      append(UInt8(ascii: "-"))
      appendPair(day)
      append(separator)
      appendPair(second / 3_600)
      append(UInt8(ascii: ":"))
      appendPair(second / 60 % 60)
    }

    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Appends a number below 100 in two digits.
    mutating func appendPair(_ number: Int64) {
      append(UInt8(ascii: "0") + UInt8(number / 10))
      append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    /// Appends a year in at least four digits.
    private mutating func appendYear(_ year: Int64) {
      if year >= 10_000 { bytes += String(year / 10_000).utf8 }
      appendPair(year / 100 % 100)
      appendPair(year % 100)
    }

    var string: String { String(decoding: bytes, as: UTF8.self) }
  }

  /// Days since 1970-01-01. Years are counted from March, so that the leap day is the last: Howard Hinnant,
  /// "chrono-Compatible Low-Level Date Algorithms".
  static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = floorDivide(year, 400)
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let days = days + 719_468
    let era = floorDivide(days, 146_097)
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    return (year, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
  }

  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }
}
