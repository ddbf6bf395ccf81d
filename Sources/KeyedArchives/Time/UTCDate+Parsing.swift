extension UTCDate {
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

  /// Reads `2027-01-31`, `2027-01-31T12:00Z`, `2027-01-31T12:00:30.25Z`, `2027-01-31T12:00:30+01:00`. A day without a
  /// time means the start of that day in UTC.
  ///
  /// - Returns: nil for anything else, and for days that do not exist.
  package static func moment(_ text: String) -> Moment? {
    let halves = text.split(separator: "T", omittingEmptySubsequences: false)
    let date = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard halves.count <= 2, date.map(\.utf8.count) == [4, 2, 2], let year = number(date[0]),
      let month = number(date[1]), let day = number(date[2]),
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
    guard parts.map(\.utf8.count) == [2, 2], let hours = number(parts[0]), let minutes = number(parts[1]), hours < 24,
      minutes < 60
    else { return nil }
    let offset = hours * 3_600 + minutes * 60
    return (text[..<sign], text[sign] == "-" ? -offset : offset)
  }

  private static func timeOfDay(_ text: Substring) -> (seconds: Int64, fraction: DecimalFraction)? {
    let halves = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let parts = halves[0].split(separator: ":", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { $0.utf8.count == 2 ? number($0) : nil }
    guard (2...3).contains(parts.count), numbers.count == parts.count else { return nil }
    let second = numbers.count == 3 ? numbers[2] : 0
    guard numbers[0] < 24, numbers[1] < 60, second < 60 else { return nil }
    let seconds = numbers[0] * 3_600 + numbers[1] * 60 + second
    guard halves.count == 2 else { return (seconds, DecimalFraction("")) }
    guard parts.count == 3, !halves[1].isEmpty, halves[1].utf8.allSatisfy(isDigit) else { return nil }
    return (seconds, DecimalFraction(halves[1]))
  }

  /// A number of ASCII digits.
  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy(isDigit) ? Int64(text) : nil
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
