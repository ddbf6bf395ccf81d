import Foundation

/// Uses decoded objects as programs do: asks for hashes and descriptions, compares, copies, and reads the elements of
/// containers.
struct Use {
  private let watch: Watch
  private static let most = 60
  private var left = Self.most
  private var consumed = 0

  init(_ watch: Watch) { self.watch = watch }

  /// Uses `one` and compares it with `other`, which was decoded from the same bytes.
  mutating func exercise(_ one: NSObject, _ other: NSObject) {
    // Limits the number of calls, so that many calls of a few milliseconds do not take all the time.
    guard left == Self.most || left > 0 && !watch.isLong else { return }
    left -= 1
    watch.begin("\(type(of: one))")
    if Self.hasHash(one) {
      watch.begin("hash")
      consume(one.hash)
    }
    watch.begin("isEqual")
    consume(one.isEqual(other) ? 1 : 0)
    watch.begin("description")
    consume(one.description.utf8.count)
    watch.begin("copy")
    if !watch.isLong { copy(one) }
    parts(one, other)
  }

  private mutating func copy(_ one: NSObject) {
    if let copying = one as? any NSCopying { consume(one.isEqual(copying.copy(with: nil)) ? 1 : 0) }
    watch.begin("mutableCopy")
    if let copying = one as? any NSMutableCopying { consume(one.isEqual(copying.mutableCopy(with: nil)) ? 1 : 0) }
  }

  private mutating func parts(_ one: NSObject, _ other: NSObject) {
    switch (one, other) {
    case (let one as NSArray, let other as NSArray): pairs(one.map { $0 }, other.map { $0 })
    case (let one as NSOrderedSet, let other as NSOrderedSet): pairs(one.map { $0 }, other.map { $0 })
    case (let one as NSSet, let other as NSSet):
      pairs(one.allObjects, other.allObjects)
      for member in one.allObjects.prefix(8) { consume(other.contains(member) ? 1 : 0) }
    case (let one as NSDictionary, let other as NSDictionary):
      for key in one.allKeys.prefix(8) {
        guard let value = one.object(forKey: key), let match = other.object(forKey: key) else { continue }
        pairs([key, value], [key, match])
      }
    case (let one as NSAttributedString, _):
      one.enumerateAttributes(in: NSRange(location: 0, length: one.length)) { attributes, _, _ in
        for value in attributes.values { pairs([value], [value]) }
      }
    case (let one as NSError, let other as NSError):
      for (key, value) in one.userInfo { pairs([value], [other.userInfo[key] ?? value]) }
      consume(one.localizedDescription.utf8.count)
    case (let one as NSNotification, let other as NSNotification):
      if let value = one.object { pairs([value], [other.object ?? value]) }
      for (_, value) in one.userInfo ?? [:] { pairs([value], [value]) }
    default: leaf(one)
    }
  }

  private mutating func leaf(_ one: NSObject) {
    watch.begin("parts")
    switch one {
    case let url as NSURL:
      consume((url as URL).absoluteString.utf8.count + (url.host ?? "").utf8.count + (url.path ?? "").utf8.count)
      consume((url.absoluteURL?.pathComponents.count ?? 0) + (url.baseURL?.absoluteString.utf8.count ?? 0))
    case let set as NSCharacterSet:
      consume(set.bitmapRepresentation.count + (set.characterIsMember(97) ? 1 : 0) + set.inverted.hashValue)
    case let set as NSIndexSet: consume(set.count &+ set.firstIndex &+ set.lastIndex)
    case let calendar as NSCalendar: consume((calendar as Calendar).hashValue)
    case let components as NSDateComponents: consume((components as DateComponents).hashValue)
    case let zone as NSTimeZone: consume(zone.secondsFromGMT + (zone as TimeZone).hashValue)
    case let number as NSNumber: consume(number.stringValue.utf8.count + (number.boolValue ? 1 : 0))
    case let expression as NSRegularExpression:
      consume(expression.numberOfMatches(in: "aab", range: NSRange(location: 0, length: 3)))
    case let interval as NSDateInterval: consume(interval.endDate.hashValue)
    default: break
    }
  }

  private mutating func pairs(_ one: [Any], _ other: [Any]) {
    for (one, other) in zip(one.prefix(8), other.prefix(8)) {
      if let one = one as AnyObject as? NSObject, let other = other as AnyObject as? NSObject { exercise(one, other) }
    }
  }

  private mutating func consume(_ number: Int) { consumed = consumed &+ number }

  /// Whether Foundation on Linux can hash it. For decimal numbers, errors, and measurements beyond `Int` it ends the
  /// process.
  private static func hasHash(_ object: NSObject) -> Bool {
    switch object {
    case is NSDecimalNumber, is NSError: false
    case let measurement as NSMeasurement: abs(measurement.doubleValue) < 9e18
    default: true
    }
  }
}
