import Foundation
import KeyedArchives

extension ValueClass {
  /// NSNull, NSURL, NSUUID, NSDate.
  static let plainValues = [
    ValueClass("NSNull", NSNull.self) { _ throws(ArchiveError) in null },
    ValueClass("NSURL", NSURL.self, build: url),
    ValueClass("NSUUID", NSUUID.self) { fields throws(ArchiveError) in
      let bytes = [UInt8](try fields.data("NS.uuidbytes"))
      guard bytes.count == 16 else { throw fields.invalid("it does not have 16 bytes") }
      return unsafe NSUUID(uuidBytes: bytes)
    },
    ValueClass("NSDate", NSDate.self) { fields throws(ArchiveError) in
      let time = try fields.real("NS.time")
      // Such a date equals nothing, and asking Foundation on Linux for its description ends the process.
      guard !time.isNaN else { throw fields.invalid("its time is not a number") }
      return NSDate(timeIntervalSinceReferenceDate: time)
    },
  ]

  /// On Linux each NSNull is a separate object, and equal ones have different hashes. So sets need the same object each
  /// time.
  private static let null = NSNull()

  /// Foundation on Linux has two URL parsers. A URL taken from a container goes through both, and the process ends if
  /// only one of them accepts the text. So a text that either refuses is refused here.
  private static func url(_ fields: Fields) throws(ArchiveError) -> Any {
    // Apple's reader has further keys here (bookmarks) that real archives never use but attackers have used. They are
    // not read.
    let base = try fields.objectIfPresent("NS.base", of: NSURL.self)
    let text = try fields.text("NS.relative")
    // Resolving takes time in proportion to both texts, and each base in a chain makes the text longer.
    let length = text.utf8.count.saturatingSum(base?.absoluteString.utf8.count ?? 0)
    try fields.coder.budget.take(comparisons: length, at: fields.coder.here)
    if base != nil { try fields.coder.budget.take(bytes: length, at: fields.coder.here) }
    guard let parsed = URL(string: text, relativeTo: base.map { $0 as URL }), parsed.relativeString == text,
      let url = NSURL(string: text, relativeTo: base.map { $0 as URL }), url.relativeString == text,
      URL(string: url.absoluteString) != nil
    else { throw fields.invalid("'NS.relative' is not a URL") }
    return url
  }
}

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
