import Foundation
import KeyedArchives

extension ValueClass {
  /// NSNull, NSURL, NSUUID, NSDate.
  static let plainValues = [
    ValueClass("NSNull", NSNull.self) { _ throws(ArchiveError) in null },
    ValueClass("NSURL", NSURL.self, build: url),
    ValueClass("NSUUID", NSUUID.self) { fields throws(ArchiveError) in
      let bytes = [UInt8](try fields.data("NS.uuidbytes"))
      guard bytes.count == 16 else { throw fields.invalid("it has \(bytes.count) bytes") }
      return unsafe NSUUID(uuidBytes: bytes)
    },
    ValueClass("NSDate", NSDate.self) { fields throws(ArchiveError) in
      let time = try fields.real("NS.time")
      // It would be equal to nothing, and ask Foundation on Linux for its description ends the process.
      guard !time.isNaN else { throw fields.invalid("its time is not a number") }
      return NSDate(timeIntervalSinceReferenceDate: time)
    },
  ]

  /// On Linux each null is an object of its own, and equal ones have different hashes. Sets need the same one each time.
  private static let null = NSNull()

  /// Foundation on Linux has two parsers of URLs. Each object out of a container goes through both, and the process ends where
  /// only one of them takes the text; so a text that either refuses is refused here.
  private static func url(_ fields: Fields) throws(ArchiveError) -> Any {
    // Apple's reader has further keys here (bookmarks) that real archives never use and attackers did; they are not read.
    let base = try fields.objectIfPresent("NS.base", of: NSURL.self)
    let text = try fields.text("NS.relative")
    // Resolving takes time in proportion to both texts, and a chain of bases makes them longer and longer.
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
