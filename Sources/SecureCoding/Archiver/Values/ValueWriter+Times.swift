import Foundation
import KeyedArchives

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
      if components.isLeapMonth { fields.flag("NS.isLeapMonth", true) }
      fields.object("NS.calendar", components.calendar)
      fields.object("NS.timezone", components.timeZone)
    },
  ]
}
