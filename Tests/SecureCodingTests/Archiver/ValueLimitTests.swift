import Foundation
import KeyedArchives
import SecureCoding
import Testing

/// Values at the limits of their classes, alone and in containers. Either `SecureArchiver` refuses them, or
/// `SecureUnarchiver` reads them back, so no written value is lost.
@Suite struct ValueLimitTests {
  struct Sample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether it must be written, because ordinary programs have such values.
    let isHonest: Bool
    let make: @Sendable () throws -> NSObject
  }

  private static func honest(_ name: String, _ make: @escaping @Sendable () throws -> NSObject) -> Sample {
    Sample(testDescription: name, isHonest: true, make: make)
  }
  private static func odd(_ name: String, _ make: @escaping @Sendable () throws -> NSObject) -> Sample {
    Sample(testDescription: name, isHonest: false, make: make)
  }

  private static let ranges = [
    honest("every index") { NSIndexSet(indexesIn: NSRange(location: 0, length: Int.max)) },
    honest("the last index") { NSIndexSet(index: Int.max - 1) },
    honest("two long ranges") {
      let set = NSMutableIndexSet(indexesIn: NSRange(location: 0, length: 1 << 60))
      set.add(in: NSRange(location: 1 << 61, length: Int.max - 1 << 61))
      return set
    },
    honest("a long range") { NSValue(range: NSRange(location: 1 << 60, length: 1 << 61)) },
    honest("the longest range") { NSValue(range: NSRange(location: 0, length: Int.max)) },
    odd("a range beyond the last index") { NSValue(range: NSRange(location: NSNotFound, length: 5)) },
    odd("a negative range") { NSValue(range: NSRange(location: -1, length: -5)) },
    honest("an index path") { IndexPath(indexes: [0, Int.max]) as NSIndexPath },
    honest("an empty index path") { IndexPath() as NSIndexPath },
    odd("a rectangle with NaN and infinities") {
      NSValue(rect: NSRect(x: CGFloat.nan, y: .infinity, width: -.infinity, height: 1e300))
    },
  ]

  private static let numbers =
    [Double.nan, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, -0.0, 1e19].flatMap { value in
      [
        honest("the number \(value)") { NSArray(object: NSNumber(value: value)) },
        odd("the date \(value)") { NSArray(object: NSDate(timeIntervalSinceReferenceDate: value)) },
        odd("a set of the number \(value)") { NSSet(object: NSNumber(value: value)) },
        odd("an ordered set of the date \(value)") {
          NSOrderedSet(array: [NSDate(timeIntervalSinceReferenceDate: value)])
        },
        honest("the measurement \(value)") { NSMeasurement(doubleValue: value, unit: UnitLength.meters) },
      ]
    } + [
      honest("integers") { NSArray(array: [NSNumber(value: Int64.min), NSNumber(value: UInt64.max)]) },
      honest("decimal numbers") {
        NSArray(array: [NSDecimalNumber.maximum, .minimum, .notANumber, .zero, NSDecimalNumber(string: "1e-127")])
      },
      odd("date components out of range") {
        let components = NSDateComponents()
        components.year = 1 << 40
        return components
      },
      honest("an error with the largest code") { NSError(domain: "", code: Int.max, userInfo: ["k": ["l": [1]]]) },
      honest("an interval of length zero") {
        NSDateInterval(start: Date(timeIntervalSinceReferenceDate: 0), duration: 0)
      },
    ]

  private static let containers = [
    honest("an ordered set of dictionaries") { NSOrderedSet(array: [["a": 1], ["b": 2]]) },
    honest("an ordered set of arrays") { NSOrderedSet(array: [[1], [2, 3]]) },
    odd("a mutable ordered set of dictionaries") { NSMutableOrderedSet(array: [["a": 1], ["b": 2]]) },
    odd("a set of arrays") { NSSet(array: [[1], [2, 3]]) },
    honest("a set of sets") { NSSet(array: [NSSet(array: ["a"]), NSSet(array: ["b", "c"])]) },
    odd("sets in sets, 24 deep") { (0..<24).reduce(NSSet(object: "x")) { set, _ in NSSet(object: set) } },
    honest("dictionaries in dictionaries, 100 deep") {
      (0..<100).reduce(NSDictionary()) { dictionary, _ in NSDictionary(object: dictionary, forKey: NSString("k")) }
    },
    honest("a counted set") { NSCountedSet(array: Array(repeating: "a", count: 1_000) + ["b"]) },
    odd("a counted set of counted sets") { NSCountedSet(array: [NSCountedSet(array: ["a", "a"])]) },
    honest("a set with null") { NSSet(array: [NSNull(), "a"]) },
    honest("1000 similar strings") {
      NSSet(array: (0..<1_000).map { String(repeating: "-", count: 40) + "\($0)" + String(repeating: "-", count: 200) })
    },
    odd("2000 similar data values") {
      NSSet(
        array: (0..<2_000).map {
          NSData(data: Data(repeating: 1, count: 90) + Data([UInt8($0 & 255), UInt8($0 >> 8)]))
        })
    },
    odd("mutable strings with the same text") {
      NSArray(array: (0..<2_000).map { _ in NSMutableString(string: String(repeating: "a", count: 8_192)) })
    },
    odd("a set of equal expressions") {
      NSSet(array: [try NSRegularExpression(pattern: "a"), try NSRegularExpression(pattern: "a")])
    },
  ]

  private static let texts =
    ["", "1:", "http!://x", "http://[::1", "a/b", "http://x/?q#f", ":"].map { text in
      odd("the URL '\(text)'") { try #require(NSURL(string: text)) }
    } + [
      honest("an attributed string with a number") {
        NSAttributedString(string: "ab", attributes: [NSAttributedString.Key("k"): NSNumber(value: 1)])
      },
      odd("an attributed string with a range") {
        NSAttributedString(string: "ab", attributes: [NSAttributedString.Key("k"): NSValue(range: NSRange())])
      },
      odd("an attributed string with a locale") {
        NSAttributedString(
          string: "ab", attributes: [NSAttributedString.Key("k"): NSLocale(localeIdentifier: "de_CH")])
      },
      odd("a long expression") { try NSRegularExpression(pattern: String(repeating: "a", count: 20_000)) },
      odd("an expression with many properties") {
        try NSRegularExpression(pattern: String(repeating: "\\p{L}", count: 1_000), options: .caseInsensitive)
      },
      honest("an empty character set") { CharacterSet() as NSCharacterSet },
      honest("all characters but one") { CharacterSet(charactersIn: "a").inverted as NSCharacterSet },
      honest("letters") { CharacterSet.letters as NSCharacterSet },
      honest("symbols, inverted") { CharacterSet.symbols.inverted as NSCharacterSet },
      honest("every other character") {
        var set = CharacterSet()
        for value in stride(from: UInt32(0), to: 0xD000, by: 2) {
          if let scalar = Unicode.Scalar(value) { set.insert(scalar) }
        }
        return set as NSCharacterSet
      },
    ]

  private static let classes: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSData.self, NSDate.self, NSNull.self, NSSet.self,
    NSOrderedSet.self, NSCountedSet.self, NSIndexSet.self, NSIndexPath.self, NSValue.self, NSURL.self, NSError.self,
    NSDecimalNumber.self, NSMeasurement.self, UnitLength.self, NSDateComponents.self, NSDateInterval.self,
    NSAttributedString.self, NSRegularExpression.self, NSCharacterSet.self,
  ]

  @Test(arguments: ranges + numbers + containers + texts)
  func `a value at a limit is either read back or refused when it is written`(
    _ sample: Sample
  ) throws {
    let value = try sample.make()
    // The outcome must be the same inside containers.
    for object in [value, NSArray(object: value), NSDictionary(object: value, forKey: NSString("key"))] {
      let written: Data
      do {
        written = try SecureArchiver.archivedData(withRootObject: object)
      } catch {
        #expect(!sample.isHonest)
        continue
      }
      let read = try #require(try SecureUnarchiver.unarchivedObject(ofClasses: Self.classes, from: written))
      let again = try SecureArchiver.archivedData(withRootObject: read)
      let reread = try #require(try SecureUnarchiver.unarchivedObject(ofClasses: Self.classes, from: again))
      #expect(try SecureArchiver.archivedData(withRootObject: reread) == again)
    }
  }
}
