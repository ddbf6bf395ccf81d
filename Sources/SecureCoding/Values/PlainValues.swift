import Foundation
import KeyedArchives

extension ValueClass {
  /// NSNull, NSURL, NSUUID, NSDate.
  static let plainValues = [
    ValueClass("NSNull", NSNull.self) { _ throws(ArchiveError) in NSNull() },
    ValueClass("NSURL", NSURL.self) { fields throws(ArchiveError) in
      // Apple's reader has further keys here (bookmarks) that real archives never use and attackers did; they are not read.
      let base = try fields.objectIfPresent("NS.base", of: NSURL.self)
      let text = try fields.text("NS.relative")
      guard let url = NSURL(string: text, relativeTo: base.map { $0 as URL }) else {
        throw fields.invalid("'NS.relative' is not a URL")
      }
      return url
    },
    ValueClass("NSUUID", NSUUID.self) { fields throws(ArchiveError) in
      let bytes = [UInt8](try fields.data("NS.uuidbytes"))
      guard bytes.count == 16 else { throw fields.invalid("it has \(bytes.count) bytes") }
      return unsafe NSUUID(uuidBytes: bytes)
    },
    ValueClass("NSDate", NSDate.self) { fields throws(ArchiveError) in
      NSDate(timeIntervalSinceReferenceDate: try fields.real("NS.time"))
    },
  ]
}
