import Foundation
import KeyedArchives
import SecureCoding
import Testing

/// Every value class: written with Apple's keys, read back equal, and always with the same bytes.
@Suite struct WrittenValueTests {
  struct Sample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let classes: [AnyClass]
    let make: @Sendable () throws -> NSObject

    init(_ name: String, _ classes: [AnyClass], _ make: @escaping @Sendable () throws -> NSObject) {
      testDescription = name
      self.classes = classes
      self.make = make
    }
  }

  private static let list: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSData.self, NSDate.self,
  ]

  static let samples: [Sample] = [
    Sample("text", [NSString.self]) { NSString(string: "日本語 \u{1F600} é") },
    Sample("mutable text", [NSMutableString.self]) { NSMutableString(string: "a") },
    Sample("data", [NSData.self]) { NSData(data: Data([0, 255])) },
    Sample("mutable data", [NSMutableData.self]) { NSMutableData(data: Data([1])) },
    Sample("true", [NSNumber.self]) { NSNumber(value: true) },
    Sample("negative", [NSNumber.self]) { NSNumber(value: -5) },
    Sample("smallest", [NSNumber.self]) { NSNumber(value: Int64.min) },
    Sample("largest", [NSNumber.self]) { NSNumber(value: UInt64.max) },
    Sample("single", [NSNumber.self]) { NSNumber(value: Float(0.1)) },
    Sample("real", [NSNumber.self]) { NSNumber(value: 0.1) },
    Sample("null", [NSNull.self]) { NSNull() },
    Sample("date", [NSDate.self]) { NSDate(timeIntervalSinceReferenceDate: 0.123456789) },
    Sample("URL", [NSURL.self]) { try #require(NSURL(string: "https://example.com/a?b#c")) },
    Sample("relative URL", [NSURL.self]) {
      try #require(NSURL(string: "d/e", relativeTo: URL(string: "https://example.com/")))
    },
    Sample("UUID", [NSUUID.self]) { try #require(NSUUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")) },
    Sample("array", list) { NSArray(array: ["a", 1, NSArray(array: [2.5])]) },
    Sample("mutable array", [NSMutableArray.self, NSString.self]) { NSMutableArray(array: ["a"]) },
    Sample("dictionary", list) {
      NSDictionary(dictionary: ["b": 1, "a": Data([1]), "c": ["d": Date(timeIntervalSince1970: 0)]])
    },
    Sample("dictionary of numbers", list) { NSDictionary(dictionary: [3: "c", 1: "a", 20: "b"]) },
    Sample("mutable dictionary", [NSMutableDictionary.self, NSString.self]) {
      NSMutableDictionary(dictionary: ["a": "b"])
    },
    Sample("set", [NSSet.self, NSString.self, NSNumber.self]) { NSSet(array: ["b", "a", 3, 2.5]) },
    Sample("mutable set", [NSMutableSet.self, NSString.self]) { NSMutableSet(array: ["b", "a"]) },
    Sample("ordered set", [NSOrderedSet.self, NSString.self]) { NSOrderedSet(array: ["b", "a"]) },
    Sample("mutable ordered set", [NSMutableOrderedSet.self, NSString.self]) {
      NSMutableOrderedSet(array: ["b", "a"])
    },
    Sample("counted set", [NSCountedSet.self, NSString.self]) { NSCountedSet(array: ["b", "a", "b"]) },
    Sample("decimal", [NSDecimalNumber.self]) { NSDecimalNumber(string: "-12345678901234567890.125") },
    Sample("zero", [NSDecimalNumber.self]) { NSDecimalNumber.zero },
    Sample("time zone", [NSTimeZone.self]) { try #require(NSTimeZone(name: "Asia/Tokyo")) },
    Sample("locale", [NSLocale.self]) { NSLocale(localeIdentifier: "de_CH") },
    Sample("point", [NSValue.self]) { NSValue(point: NSPoint(x: 1, y: -2.5)) },
    Sample("size", [NSValue.self]) { NSValue(size: NSSize(width: 3, height: 4.5)) },
    Sample("rectangle", [NSValue.self]) { NSValue(rect: NSRect(x: 1, y: 2, width: 3, height: 0.1)) },
    Sample("range", [NSValue.self]) { NSValue(range: NSRange(location: 3, length: 4)) },
    Sample("no range", [NSValue.self]) { NSValue(range: NSRange(location: NSNotFound, length: 0)) },
    Sample("no index", [NSIndexSet.self]) { NSIndexSet() },
    Sample("indexes", [NSIndexSet.self]) { NSIndexSet(indexesIn: NSRange(location: 5, length: 300)) },
    Sample("ranges", [NSIndexSet.self]) { IndexSet([1, 2, 300, 301, 70_000]) as NSIndexSet },
    Sample("index path", [NSIndexPath.self]) { IndexPath(indexes: [1, 200, 3]) as NSIndexPath },
    Sample("short index path", [NSIndexPath.self]) { IndexPath(index: 7) as NSIndexPath },
    Sample("characters", [NSCharacterSet.self]) { CharacterSet(charactersIn: "aé漢😀") as NSCharacterSet },
    Sample("expression", [NSRegularExpression.self]) {
      try NSRegularExpression(pattern: "a(b)", options: .caseInsensitive)
    },
    Sample("error", [NSError.self] + list) { NSError(domain: "d", code: 1 << 40, userInfo: ["k": "v"]) },
    Sample("name", [NSPersonNameComponents.self]) {
      let name = NSPersonNameComponents()
      (name.givenName, name.familyName) = ("Ada", "Lovelace")
      return name
    },
    Sample("plain text", [NSAttributedString.self]) { NSAttributedString(string: "hello") },
    Sample("attributed", [NSAttributedString.self] + list) {
      let text = NSMutableAttributedString(string: "hello world")
      text.addAttribute(NSAttributedString.Key("k"), value: "v", range: NSRange(location: 0, length: 5))
      text.addAttribute(NSAttributedString.Key("l"), value: 1, range: NSRange(location: 3, length: 4))
      return NSAttributedString(attributedString: text)
    },
    Sample("one run", [NSAttributedString.self] + list) {
      NSAttributedString(string: "hello", attributes: [NSAttributedString.Key("k"): "v"])
    },
  ]

  @Test(arguments: samples) func `a value is read back equal from both formats and always has the same bytes`(
    _ sample: Sample
  ) throws {
    let value = try sample.make()
    let first = try SecureArchiver.archivedData(withRootObject: value)
    #expect(try SecureArchiver.archivedData(withRootObject: try sample.make()) == first)
    for data in [first, try SecureArchiver.archivedData(withRootObject: value, format: .xml)] {
      let read = try #require(
        try SecureUnarchiver.unarchivedObject(ofClasses: sample.classes, from: data) as? NSObject)
      #expect(read.isEqual(value), "\(read) is not \(value)")
      #expect(type(of: read) == type(of: value) || !(value is NSMutableString || value is NSMutableData))
      // Written again, it has the same bytes, except that XML has no single precision.
      #expect(try SecureArchiver.archivedData(withRootObject: read) == first || sample.testDescription == "single")
    }
  }

  /// The samples that Foundation's own reader on Linux cannot read from any writer.
  private static let unreadable: Set<String> = ["decimal", "zero", "plain text", "one run"]

  @Test(arguments: samples) func `Foundation's own reader on Linux decodes equal values, except for three classes`(
    _ sample: Sample
  ) throws {
    let value = try sample.make()
    let data = try SecureArchiver.archivedData(withRootObject: value)
    let classes = sample.classes + [NSDictionary.self, NSArray.self, NSString.self]
    guard !WrittenValueTests.unreadable.contains(sample.testDescription) else {
      #expect(throws: (any Error).self) { try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data) }
      return
    }
    let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data) as? NSObject)
    #expect(read.isEqual(value), "\(read) is not \(value)")
  }

  @Test func `values that Foundation cannot compare keep their fields`() throws {
    let zone = try #require(TimeZone(identifier: "Asia/Tokyo"))
    var calendar = Calendar(identifier: .gregorian)
    (calendar.timeZone, calendar.firstWeekday, calendar.minimumDaysInFirstWeek) = (zone, 3, 5)
    let readCalendar = try through(calendar as NSCalendar, NSCalendar.self)
    #expect(readCalendar.timeZone == zone && readCalendar.firstWeekday == 3)
    #expect(readCalendar.minimumDaysInFirstWeek == 5 && readCalendar.calendarIdentifier == .gregorian)

    var components = DateComponents(calendar: nil, timeZone: zone, year: 2016, month: 2, hour: 0)
    (components.isLeapMonth, components.dayOfYear) = (true, 42)
    let readComponents = try through(components as NSDateComponents, NSDateComponents.self)
    #expect(readComponents.year == 2016 && readComponents.hour == 0 && readComponents.day == NSDateComponentUndefined)
    #expect(readComponents.isLeapMonth && readComponents.timeZone == zone)
    #expect((readComponents as DateComponents).dayOfYear == 42 && readComponents.calendar == nil)
    let written = try SecureUnarchiver.inspect(SecureArchiver.archivedData(withRootObject: components)).json()
    let keys = String(decoding: written, as: UTF8.self)
    #expect(keys.contains(#""NS.leapMonth":1"#) && !keys.contains("NS.calendar"))
    #expect(
      try through(DateComponents(month: 4) as NSDateComponents, NSDateComponents.self) as DateComponents
        == DateComponents(month: 4))

    let interval = try through(
      NSDateInterval(start: Date(timeIntervalSince1970: 5), duration: 7.5), NSDateInterval.self)
    #expect(interval.startDate == Date(timeIntervalSince1970: 5) && interval.duration == 7.5)
    let late = NSDateInterval(start: Date(timeIntervalSinceReferenceDate: 700_000_000), duration: 0.1)
    #expect(try through(late, NSDateInterval.self).duration == 0.1)

    let name = NSPersonNameComponents()
    let pronunciation = PersonNameComponents(givenName: "AY-da")
    (name.givenName, name.nickname, name.phoneticRepresentation) = ("Ada", "A", pronunciation)
    let readName = try through(name, NSPersonNameComponents.self)
    #expect(readName.isEqual(name) && readName.phoneticRepresentation == pronunciation)
    let writtenName = try SecureUnarchiver.inspect(SecureArchiver.archivedData(withRootObject: name))
    #expect(writtenName.classes.map(\.name).sorted() == ["NSPersonNameComponents", "_NSPersonNameComponentsData"])
    try writtenName.check(allowing: ["NSPersonNameComponents"])

    let nan = try through(NSDecimalNumber.notANumber, NSDecimalNumber.self)
    #expect(nan.decimalValue.isNaN)

    let insets = try through(NSValue(edgeInsets: NSEdgeInsets(top: 1, left: 2, bottom: 3, right: 4)), NSValue.self)
    #expect(insets.edgeInsetsValue.right == 4 && insets.edgeInsetsValue.top == 1)

    let length = NSMeasurement(doubleValue: 2.5, unit: UnitLength.kilometers)
    let readLength = try through(length, NSMeasurement.self)
    #expect(readLength.doubleValue == 2.5 && readLength.unit.symbol == "km")
    #expect((readLength.unit as? UnitLength)?.converter.baseUnitValue(fromValue: 2) == 2_000)

    let expression = try NSRegularExpression(pattern: "a(b)")
    let match = try #require(expression.firstMatch(in: "xab", range: NSRange(location: 0, length: 3)))
    let read = try #require(
      try SecureUnarchiver.unarchivedObject(
        ofClasses: [NSTextCheckingResult.self, NSRegularExpression.self, NSArray.self, NSValue.self],
        from: SecureArchiver.archivedData(withRootObject: match)) as? NSTextCheckingResult)
    #expect(read.range(at: 1) == NSRange(location: 2, length: 1) && read.regularExpression?.pattern == "a(b)")

    let literal = try through(
      NSRegularExpression(pattern: "a(", options: .ignoreMetacharacters), NSRegularExpression.self)
    #expect(literal.numberOfMatches(in: "a(aa", range: NSRange(location: 0, length: 4)) == 1)
    #expect(try through(literal, NSRegularExpression.self).isEqual(literal))

    let notification = NSNotification(name: NSNotification.Name("n"), object: "o", userInfo: ["k": 1])
    let note = try #require(
      try SecureUnarchiver.unarchivedObject(
        ofClasses: [NSNotification.self] + WrittenValueTests.list,
        from: SecureArchiver.archivedData(withRootObject: notification)) as? NSNotification)
    #expect(note.name.rawValue == "n" && note.object as? String == "o" && note.userInfo?["k"] as? Int == 1)
  }

  @Test func `C numbers are read back with the same bytes`() throws {
    for (type, bytes) in [
      ("i", [UInt8](repeating: 0xFF, count: 4)), ("[3s]", [1, 0, 2, 0, 3, 0]), ("d", Array(repeating: 1, count: 8)),
    ] {
      let value = unsafe bytes.withUnsafeBytes { unsafe NSValue(bytes: $0.baseAddress!, objCType: type) }
      let read = try through(value, NSValue.self)
      var out = [UInt8](repeating: 0, count: bytes.count)
      unsafe out.withUnsafeMutableBytes { unsafe read.getValue($0.baseAddress!) }
      let readType = unsafe String(cString: read.objCType)
      #expect(out == bytes && readType == type)
    }
  }

  /// An absent number would be 0, a multiple of gravity, and formatting a length as that ends a program on iOS.
  @Test func `a unit has the number by which Apple's formatters know it`() throws {
    let own = UnitLength(symbol: "km", converter: UnitConverterLinear(coefficient: 5))
    let numbers: [(Dimension, Int)] = [
      (UnitLength.kilometers, 1_282), (UnitTemperature.celsius, 2_560), (UnitAcceleration.gravity, 0),
      (UnitVolume.metricCups, 2_838), (UnitLength.megameters, -1), (own, -1),
      (UnitLength(symbol: "km", converter: UnitConverterLinear(coefficient: 1_000)), 1_282),
    ]
    for (unit, number) in numbers {
      let data = try SecureArchiver.archivedData(
        withRootObject: NSMeasurement(doubleValue: 1, unit: unit), format: .xml)
      let text = try #require(String(data: data, encoding: .utf8)).filter { !$0.isWhitespace }
      #expect(text.contains("<key>NS.specifier</key><integer>\(number)</integer>"))
    }
  }

  @Test func `a unit without a linear converter has no archived form`() {
    let consumption = NSMeasurement(doubleValue: 5, unit: UnitFuelEfficiency.litersPer100Kilometers)
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: consumption) }
  }

  @Test func `a negative zero keeps its sign in points, sizes and rectangles`() throws {
    let point = try through(NSValue(point: NSPoint(x: -0.0, y: 0.0)), NSValue.self).pointValue
    #expect(point.x.sign == .minus && point.y.sign == .plus)
    #expect(try through(NSValue(size: NSSize(width: 1, height: -0.0)), NSValue.self).sizeValue.height.sign == .minus)
    let rectangle = NSRect(x: 1, y: -0.0, width: -0.0, height: 2)
    let read = try through(NSValue(rect: rectangle), NSValue.self).rectValue
    #expect(read.origin.y.sign == .minus && read.size.width.sign == .minus)
  }

  @Test func `attributes that differ only for Swift are not mixed up`() throws {
    let values: [[Any]] = [
      ["\u{E9}", "z", "e\u{301}"], [1, 7, 1.0], [["\u{E9}"], ["z"], ["e\u{301}"]],
      [["a": "\u{E9}"], [:], ["a": "e\u{301}"]],
    ]
    for values in values {
      let text = NSMutableAttributedString(string: "abc")
      for (index, value) in values.enumerated() {
        text.setAttributes([NSAttributedString.Key("key"): value], range: NSRange(location: index, length: 1))
      }
      let read = try through(text, NSMutableAttributedString.self)
      func archives(_ text: NSAttributedString) throws -> [Data] {
        try (0..<3).map {
          let attribute = unsafe text.attribute(NSAttributedString.Key("key"), at: $0, effectiveRange: nil)
          return try SecureArchiver.archivedData(withRootObject: try #require(attribute))
        }
      }
      #expect(try archives(read) == archives(text), "\(values)")
    }
    let text = NSMutableAttributedString(string: "abc")
    let names = ["\u{E9}", "z", "e\u{301}"].map { NSAttributedString.Key($0) }
    for (index, name) in names.enumerated() {
      text.setAttributes([name: 1], range: NSRange(location: index, length: 1))
    }
    let read = try through(text, NSMutableAttributedString.self)
    for (index, name) in names.enumerated() {
      let found = unsafe read.attributes(at: index, effectiveRange: nil).keys.map { Array($0.rawValue.utf8) }
      #expect(found == [Array(name.rawValue.utf8)])
    }
  }

  private func through<Value: NSObject & NSCoding>(_ value: Value, _ type: Value.Type) throws -> Value {
    try #require(
      try SecureUnarchiver.unarchivedObject(of: type, from: SecureArchiver.archivedData(withRootObject: value)))
  }
}
