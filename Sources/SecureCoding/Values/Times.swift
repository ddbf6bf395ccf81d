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
    ValueClass("NSDateInterval", NSDateInterval.self) { fields throws(ArchiveError) in
      let start = try fields.object("NS.startDate", of: NSDate.self).timeIntervalSinceReferenceDate
      let duration =
        if let end = try fields.objectIfPresent("NS.endDate", of: NSDate.self) {
          end.timeIntervalSinceReferenceDate - start
        } else {
          try fields.real("NS.duration")
        }
      guard duration >= 0, duration.isFinite, start.isFinite else { throw fields.invalid("it ends before it begins") }
      return NSDateInterval(start: Date(timeIntervalSinceReferenceDate: start), duration: duration)
    },
  ]
}
