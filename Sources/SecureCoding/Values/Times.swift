import Foundation
import KeyedArchives

extension ValueClass {
  /// Time zones and intervals.
  static let times = [
    ValueClass("NSTimeZone", NSTimeZone.self) { fields throws(ArchiveError) in
      // Use this machine's rules for the zone. The archive's own rules would need a parser for hostile bytes.
      let name = try fields.text("NS.name")
      guard let zone = NSTimeZone(name: name) else { throw fields.invalid("no time zone here has this name") }
      return zone
    },
    // The zone of the machine that reads it, so it has no fields.
    ValueClass("NSLocalTimeZone", NSTimeZone.self) { _ in NSTimeZone.local as NSTimeZone },
    ValueClass("NSDateInterval", NSDateInterval.self) { fields throws(ArchiveError) in
      let start = try fields.object("NS.startDate", of: NSDate.self).timeIntervalSinceReferenceDate
      // The duration first: the difference of the dates is rounded.
      let duration =
        if !fields.has("NS.duration"), let end = try fields.objectIfPresent("NS.endDate", of: NSDate.self) {
          end.timeIntervalSinceReferenceDate - start
        } else {
          try fields.real("NS.duration")
        }
      guard duration >= 0, duration.isFinite, start.isFinite else { throw fields.invalid("it ends before it begins") }
      return NSDateInterval(start: Date(timeIntervalSinceReferenceDate: start), duration: duration)
    },
  ]
}

extension ValueWriter {
  /// Time zones, intervals, locales, calendars and date components.
  static let times = [
    ValueWriter(NSTimeZone.self, "NSTimeZone") { zone, fields throws(ArchiveError) in
      fields.object("NS.name", zone.name)
      // The zone's rules are not written: each machine applies its own.
      fields.object("NS.data", nil)
    },
    ValueWriter(NSDateInterval.self, "NSDateInterval") { interval, fields throws(ArchiveError) in
      // Some readers use the end, others the duration.
      fields.object("NS.startDate", interval.startDate)
      fields.object("NS.endDate", interval.endDate)
      fields.real("NS.duration", interval.duration)
    },
    ValueWriter(NSLocale.self, "NSLocale") { locale, fields throws(ArchiveError) in
      fields.object("NS.identifier", (locale as Locale).identifier)
    },
    ValueWriter(NSCalendar.self, "NSCalendar") { calendar, fields throws(ArchiveError) in
      fields.object("NS.identifier", calendar.calendarIdentifier.rawValue)
      fields.object("NS.timezone", calendar.timeZone)
      fields.object("NS.locale", calendar.locale)
      fields.integer("NS.firstwkdy", calendar.firstWeekday)
      fields.integer("NS.mindays", calendar.minimumDaysInFirstWeek)
    },
    ValueWriter(NSDateComponents.self, "NSDateComponents") { components, fields throws(ArchiveError) in
      for (key, unit) in ValueClass.dateUnits {
        let value = components.value(forComponent: unit)
        if value != NSDateComponentUndefined { fields.integer(key, value) }
      }
      if let day = (components as DateComponents).dayOfYear { fields.integer("NS.dayOfYear", day) }
      if components.isLeapMonth { fields.integer("NS.leapMonth", 1) }
      // Apple's readers refuse a nil under these keys.
      if let calendar = components.calendar { fields.object("NS.calendar", calendar) }
      if let zone = components.timeZone { fields.object("NS.timezone", zone) }
    },
  ]
}
