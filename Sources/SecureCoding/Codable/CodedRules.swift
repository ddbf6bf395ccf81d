import Foundation

/// The rules of Foundation's types whose `init(from:)` on Linux ends the process if what it reads breaks them, or makes
/// a value that ends it when it is used.
enum CodedRules {
  /// Reads what `type` is about to read from `decoder`.
  ///
  /// - Returns: the rule that it breaks, without a value; nil if it breaks none.
  static func broken(by type: Any.Type, in decoder: any Decoder) throws -> String? {
    switch type {
    case is IndexSet.Type: try Indexes(from: decoder).broken
    case is CharacterSet.Type: try Bitmap(from: decoder).broken
    case is DateInterval.Type: try Interval(from: decoder).broken
    case is Locale.Type: try Identifier(from: decoder).broken
    case is Calendar.Type: try Week(from: decoder).broken
    case is Calendar.RecurrenceRule.Type: try Recurrence(from: decoder).broken
    case is DateComponents.Type: try Components(from: decoder).broken
    case is URLComponents.Type: try Address(from: decoder).broken
    default: nil
    }
  }

  private struct Indexes: Decodable {
    struct Part: Decodable { let location, length: Int }
    let indexes: [Part]

    var broken: String? {
      let isValid = indexes.allSatisfy { $0.location >= 0 && 0...(Int.max - $0.location) ~= $0.length }
      return isValid ? nil : "a range is negative or too long"
    }
  }

  private struct Bitmap: Decodable {
    let bitmap: Data

    var broken: String? {
      ValueClass.planeStarts([UInt8](bitmap)) == nil ? "its bitmap does not consist of planes in order" : nil
    }
  }

  private struct Interval: Decodable {
    let start: Date
    let duration: TimeInterval

    var broken: String? {
      let isValid = duration >= 0 && !(start.timeIntervalSinceReferenceDate + duration).isNaN
      return isValid ? nil : "its end is before its start, or is not a number"
    }
  }

  private struct Identifier: Decodable {
    let identifier: String?

    var broken: String? { identifier?.utf8.allSatisfy { $0 < 0x80 } == false ? "its identifier is not ASCII" : nil }
  }

  private struct Week: Decodable {
    let firstWeekday, minimumDaysInFirstWeek: Int?

    var broken: String? {
      let isValid = [firstWeekday, minimumDaysInFirstWeek].allSatisfy { 1...7 ~= $0 ?? 1 }
      return isValid ? nil : "its week has other days than 1 to 7"
    }
  }

  private struct Recurrence: Decodable {
    struct Weekday: Decodable { let n: Int? }
    let interval: Int
    let weekdays: [Weekday]?

    var broken: String? {
      if interval < 1 { return "its interval is not positive" }
      return weekdays?.allSatisfy { places ~= $0.n ?? 0 } == false ? "a weekday's number is too large" : nil
    }
  }

  /// The numbers that a weekday in a year or a month may have, counted from its beginning or, below 0, from its end.
  static let places = -366...366

  private struct Components: Decodable {
    let month: Int?

    // Calendars other than the Gregorian one subtract from it.
    var broken: String? { month == .min ? "its month is too small" : nil }
  }

  private struct Address: Decodable {
    let scheme, user, password, host, path: String?
    let port: Int?

    var broken: String? {
      if let port, port < 0 { return "its port is negative" }
      // RFC 3986, section 3.3.
      let hasAuthority = user != nil || password != nil || host != nil || port != nil
      if let path, hasAuthority ? !path.isEmpty && !path.hasPrefix("/") : path.hasPrefix("//") {
        return "its path does not fit its host"
      }
      guard let scheme else { return nil }
      // RFC 3986, section 3.1.
      func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte | 0x20 }
      let isValid =
        scheme.utf8.first.map(isLetter) == true
        && scheme.utf8.allSatisfy { isLetter($0) || 0x30...0x39 ~= $0 || [0x2B, 0x2D, 0x2E].contains($0) }
      return isValid ? nil : "its scheme contains other characters than a scheme may"
    }
  }
}
