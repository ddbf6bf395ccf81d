import Foundation
import KeyedArchives

extension ValueClass {
  /// Time zones and intervals.
  static let times = [
    ValueClass("NSTimeZone", NSTimeZone.self) { fields throws(ArchiveError) in
      // The zone's rules are those of this machine; an archive's own rules would go to a parser of theirs.
      let name = try fields.text("NS.name")
      guard let zone = NSTimeZone(name: name) else { throw fields.invalid("this machine has no time zone of its name") }
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
