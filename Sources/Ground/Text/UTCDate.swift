/// Converts between milliseconds since 1970 and ISO 8601 text in UTC: `2027-01-31T12:00:00Z`.
///
/// Foundation is not used for this, because it would take a fifth of the time of a whole `get`.
package enum UTCDate {
  package static let millisecondsPerDay: Int64 = 86_400_000

  /// Days from 1970-01-01 to 2001-01-01, the epoch of archives.
  package static let daysTo2001: Int64 = 11_323

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
    var text: [UInt8] = []
    let second = append(milliseconds, between: UInt8(ascii: "T"), to: &text)
    let digits = UInt8(second % 60)
    text += [UInt8(ascii: ":"), UInt8(ascii: "0") + digits / 10, UInt8(ascii: "0") + digits % 10, UInt8(ascii: "Z")]
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the day and minute to a line, as tables show it: a list has a date in each.
  package static func appendShortText(_ milliseconds: Int64, to line: inout [UInt8]) {
    _ = append(milliseconds, between: UInt8(ascii: " "), to: &line)
  }

  /// Appends day and minute; returns the second of the day.
  private static func append(_ milliseconds: Int64, between separator: UInt8, to text: inout [UInt8]) -> Int64 {
    let days = floorDivide(milliseconds, millisecondsPerDay)
    let second = (milliseconds - days * millisecondsPerDay) / 1_000
    let (year, month, day) = civil(days)
    if year < 0 { text.append(UInt8(ascii: "-")) }
    // At least four digits.
    if abs(year) >= 10_000 { text += String(abs(year) / 10_000).utf8 }
    // The rest at once: a list has a date in each line.
    unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { bytes in
      func write(_ number: Int64, at offset: Int, _ separator: UInt8 = 0) {
        unsafe bytes[offset] = UInt8(ascii: "0") + UInt8(number / 10)
        unsafe bytes[offset + 1] = UInt8(ascii: "0") + UInt8(number % 10)
        if separator != 0 { unsafe bytes[offset + 2] = separator }
      }
      write(abs(year) / 100 % 100, at: 0)
      write(abs(year) % 100, at: 2, UInt8(ascii: "-"))
      write(month, at: 5, UInt8(ascii: "-"))
      write(day, at: 8, separator)
      write(second / 3_600, at: 11, UInt8(ascii: ":"))
      write(second / 60 % 60, at: 14)
      unsafe text.append(contentsOf: bytes)
    }
    return second
  }

  /// Days since 1970-01-01. Years are counted from March, so that the leap day is the last: Howard Hinnant,
  /// "chrono-Compatible Low-Level Date Algorithms".
  package static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
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

  /// A moment read from ISO 8601 text: whole seconds since 1970, and a fraction of a second.
  package struct Moment: Equatable {
    let seconds: Int64
    let fraction: DecimalFraction

    /// Milliseconds since 1970, rounded down.
    package var milliseconds: Int64 { seconds * 1_000 + (Int64((fraction.digits + "000").prefix(3)) ?? 0) }

    /// Seconds since 2001, as in archives. For text from `text(secondsSince2001:)` it is exactly the original number.
    package var secondsSince2001: Double {
      let whole = seconds - daysTo2001 * 86_400
      if fraction.isZero { return Double(whole) }
      let text = whole < 0 ? "-\(-whole - 1).\(fraction.complement.digits)" : "\(whole).\(fraction.digits)"
      return Double(text) ?? Double(whole)
    }
  }

  /// Reads `2027-01-31`, `2027-01-31T12:00Z`, `2027-01-31T12:00:30.25Z`, `2027-01-31T12:00:30+01:00`; nil for anything
  /// else, and for days that do not exist. A day without a time means the start of that day in UTC.
  package static func moment(_ text: String) -> Moment? {
    let halves = text.split(separator: "T", omittingEmptySubsequences: false)
    let date = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard halves.count <= 2, date.map(\.utf8.count) == [4, 2, 2], let year = Int64(digits: date[0]),
      let month = Int64(digits: date[1]), let day = Int64(digits: date[2]),
      let days = dayNumber(year, month, day)
    else { return nil }
    guard halves.count == 2 else { return Moment(seconds: days * 86_400, fraction: DecimalFraction("")) }
    guard let (clock, offset) = zone(halves[1]), let (seconds, fraction) = timeOfDay(clock) else { return nil }
    return Moment(seconds: days * 86_400 + seconds - offset, fraction: fraction)
  }

  /// The number of days from 1970-01-01 to a date; nil if the date does not exist.
  private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64? {
    guard (1...12).contains(month), (1...31).contains(day) else { return nil }
    let number = days(year, month, day)
    // Refuse the 31st of a short month, which would become the 1st of the next one.
    return civil(number) == (year, month, day) ? number : nil
  }

  /// The time of day, and how far the zone is ahead of UTC, in seconds.
  private static func zone(_ text: Substring) -> (clock: Substring, offset: Int64)? {
    if text.last == "Z" { return (text.dropLast(), 0) }
    guard let sign = text.lastIndex(where: { $0 == "+" || $0 == "-" }) else { return nil }
    let parts = text[text.index(after: sign)...].split(separator: ":", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [2, 2], let hours = Int64(digits: parts[0]), hours < 24,
      let minutes = Int64(digits: parts[1]), minutes < 60
    else { return nil }
    let offset = hours * 3_600 + minutes * 60
    return (text[..<sign], text[sign] == "-" ? -offset : offset)
  }

  private static func timeOfDay(_ text: Substring) -> (seconds: Int64, fraction: DecimalFraction)? {
    let halves = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let parts = halves[0].split(separator: ":", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { $0.utf8.count == 2 ? Int64(digits: $0) : nil }
    guard (2...3).contains(parts.count), numbers.count == parts.count else { return nil }
    let second = numbers.count == 3 ? numbers[2] : 0
    guard numbers[0] < 24, numbers[1] < 60, second < 60 else { return nil }
    let seconds = numbers[0] * 3_600 + numbers[1] * 60 + second
    guard halves.count == 2 else { return (seconds, DecimalFraction("")) }
    guard parts.count == 3, !halves[1].isEmpty, halves[1].utf8.allSatisfy(\.isDigit) else { return nil }
    return (seconds, DecimalFraction(halves[1]))
  }
}

/// The digits after a decimal point. Seconds before 2001 are negative while the fraction of a second in a date is
/// positive, and converting between the two in binary floating point would not be exact.
struct DecimalFraction: Equatable {
  /// ASCII digits without trailing zeros.
  let digits: Substring

  init(_ digits: some StringProtocol) {
    var digits = Substring(digits)
    while digits.last == "0" { digits.removeLast() }
    self.digits = digits
  }

  var isZero: Bool { digits.isEmpty }

  /// One minus this fraction; zero for zero.
  var complement: DecimalFraction {
    guard let last = digits.last, let value = last.wholeNumberValue else { return self }
    let nines = digits.dropLast().map { String(9 - ($0.wholeNumberValue ?? 0)) }.joined()
    return DecimalFraction(nines + String(10 - value))
  }

  /// The whole part and the fraction of a non-negative number below 2^53, from its shortest decimal form.
  static func parts(of number: Double) -> (whole: Int64, fraction: DecimalFraction) {
    let parts = number.description.split(separator: "e")
    let exponent = parts.count == 2 ? Int(parts[1]) ?? 0 : 0
    let halves = parts[0].split(separator: ".")
    let fraction = halves.count == 2 ? halves[1] : ""
    guard exponent < 0 else { return (Int64(number), DecimalFraction(fraction)) }
    // A number with a negative exponent is below one.
    return (0, DecimalFraction(String(repeating: "0", count: -exponent - 1) + halves[0] + fraction))
  }
}
