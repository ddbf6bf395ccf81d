import Foundation
import KeyedArchives

extension ValueWriter {
  /// NSNull, mutable strings and data, URLs, UUIDs, dates.
  static let plain = [
    ValueWriter(NSNull.self, "NSNull") { _, _ throws(ArchiveError) in },
    ValueWriter(NSMutableString.self, "NSMutableString", "NSString") { text, fields throws(ArchiveError) in
      fields.text("NS.string", String(describing: text))
    },
    ValueWriter(NSMutableData.self, "NSMutableData", "NSData") { data, fields throws(ArchiveError) in
      fields.data("NS.data", Data(referencing: data))
    },
    ValueWriter(NSURL.self, "NSURL") { url, fields throws(ArchiveError) in
      fields.object("NS.base", url.baseURL)
      fields.object("NS.relative", url.relativeString)
    },
    ValueWriter(NSUUID.self, "NSUUID") { uuid, fields throws(ArchiveError) in
      var bytes = [UInt8](repeating: 0, count: 16)
      unsafe uuid.getBytes(&bytes)
      fields.data("NS.uuidbytes", Data(bytes))
    },
    ValueWriter(NSDate.self, "NSDate") { date, fields throws(ArchiveError) in
      guard !date.timeIntervalSinceReferenceDate.isNaN else { throw fields.refused(.noForm) }
      fields.real("NS.time", date.timeIntervalSinceReferenceDate)
    },
  ]
}
