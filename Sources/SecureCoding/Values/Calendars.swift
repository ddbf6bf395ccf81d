import Foundation
import KeyedArchives

extension ValueClass {
  /// Locales, calendars and date components.
  static let calendars = [
    ValueClass("NSLocale", NSLocale.self) { fields throws(ArchiveError) in
      let identifier = try fields.text("NS.identifier")
      // Copying a calendar with such a locale, or using the locale itself, ends the process on Linux.
      guard identifier.utf8.allSatisfy({ $0 < 0x80 }) else { throw fields.invalid("its identifier is not ASCII") }
      return NSLocale(localeIdentifier: identifier)
    },
    ValueClass("NSCalendar", NSCalendar.self) { fields throws(ArchiveError) in
      let identifier = NSCalendar.Identifier(rawValue: try fields.text("NS.identifier"))
      guard let calendar = NSCalendar(identifier: identifier) else {
        throw fields.invalid("no calendar has this name")
      }
      return try adjusted(calendar as Calendar, fields)
    },
    // The settings of the machine that reads them. Older systems wrote what the user had changed of the calendar.
    ValueClass("NSAutoLocale", NSLocale.self) { _ in Locale.current as NSLocale },
    ValueClass("_NSAutoCalendar", NSCalendar.self) { fields throws(ArchiveError) in
      try adjusted(Calendar.current, fields)
    },
    ValueClass(
      "NSDateComponents", NSDateComponents.self, build: components),
  ]

  private static func adjusted(_ base: Calendar, _ fields: Fields) throws(ArchiveError) -> Any {
    var calendar = base
    // Creating a calendar takes 50 microseconds.
    try fields.coder.budget.take(comparisons: 256, at: fields.coder.here)
    if let zone = try fields.objectIfPresent("NS.timezone", of: NSTimeZone.self) {
      calendar.timeZone = zone as TimeZone
    }
    if let locale = try fields.objectIfPresent("NS.locale", of: NSLocale.self) { calendar.locale = locale as Locale }
    if let first = try fields.integerIfPresent("NS.firstwkdy") {
      guard (1...7).contains(first) else { throw fields.invalid("the day its week begins on is out of range") }
      calendar.firstWeekday = first
    }
    if let days = try fields.integerIfPresent("NS.mindays") {
      guard (1...7).contains(days) else { throw fields.invalid("the number of days of its first week is out of range") }
      calendar.minimumDaysInFirstWeek = days
    }
    return calendar as NSCalendar
  }

  private static func components(_ fields: Fields) throws(ArchiveError) -> Any {
    let components = NSDateComponents()
    for (key, unit) in dateUnits {
      if let value = try component(key, fields) { components.setValue(value, forComponent: unit) }
    }
    if !fields.has("NS.weekOfYear"), let week = try component("NS.week", fields) { components.weekOfYear = week }
    for key in ["NS.leapMonth", "NS.isLeapMonth"] where fields.has(key) {
      components.isLeapMonth = try fields.flag(key)
    }
    if let zone = try fields.objectIfPresent("NS.timezone", of: NSTimeZone.self) {
      components.timeZone = zone as TimeZone
    }
    if let calendar = try fields.objectIfPresent("NS.calendar", of: NSCalendar.self) {
      components.calendar = calendar as Calendar
    }
    guard let day = try component("NS.dayOfYear", fields) else { return components }
    // On Linux only the Swift counterpart has this component.
    var counterpart = components as DateComponents
    counterpart.dayOfYear = day
    return counterpart as NSDateComponents
  }

  private static func component(_ key: String, _ fields: Fields) throws(ArchiveError) -> Int? {
    guard let value = try fields.integerIfPresent(key), value != NSDateComponentUndefined else { return nil }
    guard Int(Int32.min)...Int(Int32.max) ~= value else { throw fields.invalid(key, "is out of range") }
    return value
  }

  static let dateUnits: [(String, NSCalendar.Unit)] = [
    ("NS.era", .era), ("NS.year", .year), ("NS.quarter", .quarter), ("NS.month", .month), ("NS.day", .day),
    ("NS.hour", .hour), ("NS.minute", .minute), ("NS.second", .second), ("NS.nanosec", .nanosecond),
    ("NS.weekOfYear", .weekOfYear), ("NS.weekOfMonth", .weekOfMonth), ("NS.yearForWOY", .yearForWeekOfYear),
    ("NS.weekday", .weekday), ("NS.weekdayOrdinal", .weekdayOrdinal),
  ]
}
