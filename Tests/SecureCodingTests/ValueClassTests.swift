import Foundation
import KeyedArchives
import SecureCoding
import TestSupport
import Testing

/// The Foundation classes that no shared archive contains, each built from the fields that Apple's systems write.
@Suite struct ValueClassTests {
  /// Decodes an object of class `name` with `fields`. `objects` begin at number 3, and `more` are further allowed
  /// classes.
  private func read<T: NSObject>(
    _ name: String, _ type: T.Type, allowing more: [AnyClass] = [], _ fields: [(String, PlistValue)],
    _ objects: [PlistValue] = []
  ) throws -> T {
    let archive = PlistValue.archive([.dict(fields + [("$class", .uid(2))]), .describe(name)] + objects)
    return try #require(
      try SecureUnarchiver.unarchivedObject(ofClasses: [type] + more, from: Data(archive.binary())) as? T)
  }
  private let list: [(String, PlistValue)] = [("NS.objects", .array([.uid(3), .uid(4)]))]
  private let letters: [PlistValue] = [.string("a"), .string("b")]

  @Test func `mutable strings and data can be changed after decoding`() throws {
    for field in [("NS.string", PlistValue.string("é")), ("NS.bytes", .data(Array("é".utf8)))] {
      let text = try read("NSMutableString", NSMutableString.self, [field])
      text.append("!")
      #expect(text.isEqual("é!"))
    }
    for (field, objects) in [(PlistValue.data([1, 2]), []), (.uid(3), [PlistValue.data([1, 2])])] {
      let data = try read("NSMutableData", NSMutableData.self, [("NS.data", field)], objects)
      data.append(Data([3]))
      #expect(Data(referencing: data) == Data([1, 2, 3]))
    }
  }

  @Test func `mutable collections can be changed after decoding`() throws {
    let array = try read("NSMutableArray", NSMutableArray.self, allowing: [NSString.self], list, letters)
    array.add("c")
    #expect(array == ["a", "b", "c"])
    let pairs = [("NS.keys", PlistValue.array([.uid(3)])), ("NS.objects", .array([.uid(4)]))]
    let dictionary = try read(
      "NSMutableDictionary", NSMutableDictionary.self, allowing: [NSString.self], pairs, letters)
    dictionary["c"] = "d"
    #expect(dictionary == ["a": "b", "c": "d"])
    let set = try read("NSMutableSet", NSMutableSet.self, allowing: [NSString.self], list, letters)
    set.add("c")
    #expect(set.isEqual(to: ["a", "b", "c"]))
    let numbered = [("NS.object.0", PlistValue.uid(3)), ("NS.object.1", .uid(4))]
    let ordered = try read(
      "NSMutableOrderedSet", NSMutableOrderedSet.self, allowing: [NSString.self], numbered, letters)
    ordered.add("c")
    #expect(ordered.array as? [String] == ["a", "b", "c"])
  }

  @Test func `a counted set has its counts`() throws {
    let set = try read(
      "NSCountedSet", NSCountedSet.self, allowing: [NSString.self],
      [
        ("NS.count", .int(2)), ("NS.object0", .uid(3)), ("NS.count0", .int(3)), ("NS.object1", .uid(4)),
        ("NS.count1", .int(1)),
      ], letters)
    #expect(set.count(for: "a") == 3 && set.count(for: "b") == 1 && set.count == 2)
  }

  @Test func `a set and a null are decoded`() throws {
    #expect(try read("NSSet", NSSet.self, allowing: [NSString.self], list, letters).isEqual(to: ["a", "b"]))
    _ = try read("NSNull", NSNull.self, [])
  }

  @Test func `an NSValue with a size is decoded`() throws {
    let size = try read(
      "NSValue", NSValue.self, [("NS.special", .int(2)), ("NS.sizeval", .uid(3))], [.string("{3, 4.5}")])
    #expect(size.sizeValue == NSSize(width: 3, height: 4.5))
  }

  @Test func `locales, time zones, calendars and date components are decoded`() throws {
    #expect(
      try read("NSLocale", NSLocale.self, [("NS.identifier", .uid(3))], [.string("de_CH")]).object(forKey: .identifier)
        as? String == "de_CH")
    #expect(
      try read("NSTimeZone", NSTimeZone.self, [("NS.name", .uid(3))], [.string("Europe/Zurich")]).name
        == "Europe/Zurich")
    let calendar = try read(
      "NSCalendar", NSCalendar.self,
      [("NS.identifier", .uid(3)), ("NS.firstwkdy", .int(2)), ("NS.mindays", .int(4))], [.string("gregorian")])
    #expect(calendar.calendarIdentifier == .gregorian && calendar.firstWeekday == 2)
    #expect(calendar.minimumDaysInFirstWeek == 4)
    let day = try read(
      "NSDateComponents", NSDateComponents.self,
      [("NS.year", .int(2016)), ("NS.month", .int(2)), ("NS.day", .int(29)), ("NS.hour", .int(Int128(Int.max)))])
    #expect(day.year == 2016 && day.month == 2 && day.day == 29 && day.hour == NSDateComponentUndefined)
    #expect((day as DateComponents).isLeapMonth == nil && (day as DateComponents).dayOfYear == nil)
  }

  /// Apple's systems archive `autoupdatingCurrent` and the local time zone without fields.
  @Test func `settings that follow the machine are those of the machine that reads them`() throws {
    let zone = try read("NSLocalTimeZone", NSTimeZone.self, [])
    #expect(zone.name == TimeZone.current.identifier)
    let locale = try read("NSAutoLocale", NSLocale.self, [])
    #expect((locale as Locale).identifier == Locale.current.identifier)
    let calendar = try read("_NSAutoCalendar", NSCalendar.self, [])
    #expect((calendar as Calendar).identifier == Calendar.current.identifier)
    let changed = try read("_NSAutoCalendar", NSCalendar.self, [("NS.firstwkdy", .int(5)), ("NS.mindays", .int(6))])
    #expect(changed.firstWeekday == 5 && changed.minimumDaysInFirstWeek == 6)
    let day = try read(
      "NSDateComponents", NSDateComponents.self, [("NS.day", .int(1)), ("NS.calendar", .uid(3))],
      [.dict([("NS.timezone", .uid(5)), ("$class", .uid(4))]), .describe("_NSAutoCalendar")]
        + [.dict([("$class", .uid(6))]), .describe("NSLocalTimeZone")])
    #expect(day.day == 1 && day.calendar != nil)
    #expect(throws: ArchiveError.self) { try read("NSLocalTimeZone", NSLocale.self, []) }
    for (name, listed) in [("NSLocalTimeZone", "NSTimeZone"), ("_NSAutoCalendar", "NSDateComponents")] {
      let archive = PlistValue.archive([.dict([("$class", .uid(2))]), .describe(name)])
      try SecureUnarchiver.inspect(Data(archive.binary())).check(allowing: [listed])
    }
  }

  @Test func `the week of older date components is a week of the year`() throws {
    let older = try read("NSDateComponents", NSDateComponents.self, [("NS.week", .int(7)), ("NS.year", .int(2012))])
    #expect(older.weekOfYear == 7 && older.year == 2012)
    let newer = try read("NSDateComponents", NSDateComponents.self, [("NS.week", .int(7)), ("NS.weekOfYear", .int(8))])
    #expect(newer.weekOfYear == 8)
  }

  @Test(arguments: [11, 12]) func `edge insets are those of iOS and of macOS`(_ kind: Int) throws {
    let sides = ["top", "left", "bottom", "right"].enumerated()
    let insets = try read(
      "NSValue", NSValue.self,
      [("NS.special", .int(Int128(kind)))] + sides.map { ("NS.edgeval.\($1)", .real(Double($0))) })
    #expect(insets.edgeInsetsValue.left == 1 && insets.edgeInsetsValue.right == 3)
  }

  @Test func `a character set without characters is refused, and has the keys of every archiver`() throws {
    let set = try read("NSCharacterSet", NSCharacterSet.self, [("NSStringObject", .uid(3))], [.string("ab")])
    #expect(set as CharacterSet == CharacterSet(charactersIn: "ab"))
    let bitmap = try read(
      "NSCharacterSet", NSCharacterSet.self, [("NSBitmapObject", .data([2] + Array(repeating: 0, count: 8_191)))])
    #expect(bitmap as CharacterSet == CharacterSet(charactersIn: "\u{1}"))
    for fields in [[], [("NSIsInverted", PlistValue.bool(true))]] {
      let error = #expect(throws: ArchiveError.self) { try read("NSCharacterSet", NSCharacterSet.self, fields) }
      #expect(error?.code == "missingValue")
    }
  }

  @Test(arguments: [("NS.leapMonth", PlistValue.int(1)), ("NS.isLeapMonth", .bool(true))])
  func `date components have a leap month and a day of the year`(_ field: (String, PlistValue)) throws {
    let day = try read(
      "NSDateComponents", NSDateComponents.self,
      [("NS.month", .int(4)), field, ("NS.dayOfYear", .int(42)), ("NS.repeatedDay", .bool(false))])
    #expect(day.month == 4 && day.isLeapMonth && (day as DateComponents).dayOfYear == 42)
    let error = #expect(throws: ArchiveError.self) {
      try read("NSDateComponents", NSDateComponents.self, [("NS.dayOfYear", .int(1 << 40))])
    }
    #expect(error?.code == "invalidValue")
  }

  @Test(arguments: ["é", "日本", "😀", "e\u{301}", "\u{FEFF}", "de_DE@calendar=é", String(repeating: "漢", count: 9_999)])
  func `a locale whose identifier is not ASCII is refused, also inside a calendar that is a key`(_ name: String) throws
  {
    let locale: [PlistValue] = [
      .dict([("NS.identifier", .string(name)), ("$class", .uid(4))]), .describe("NSLocale"), .string("gregorian"),
    ]
    let calendar = [("NS.identifier", PlistValue.uid(5)), ("NS.locale", .uid(3))]
    let key = locale + [.dict(calendar + [("$class", .uid(7))]), .describe("NSCalendar")]
    let dictionary = [("NS.keys", PlistValue.array([.uid(6)])), ("NS.objects", .array([.uid(5)]))]
    let more: [AnyClass] = [NSCalendar.self, NSLocale.self, NSString.self]
    let errors = [
      #expect(throws: ArchiveError.self) {
        try read("NSLocale", NSLocale.self, [("NS.identifier", .string(name))])
      },
      #expect(throws: ArchiveError.self) { try read("NSCalendar", NSCalendar.self, allowing: more, calendar, locale) },
      #expect(throws: ArchiveError.self) {
        try read("NSDictionary", NSDictionary.self, allowing: more, dictionary, key)
      },
      #expect(throws: ArchiveError.self) {
        try read("NSSet", NSSet.self, allowing: more, [("NS.objects", .array([.uid(6)]))], key)
      },
    ]
    #expect(errors.map { $0?.code } == Array(repeating: "invalidValue", count: 4))
  }

  @Test(arguments: ["", "a\0b", "\0", "en_US@", String(repeating: "en_", count: 9_999)])
  func `a calendar with a locale of any ASCII text can be copied, compared and printed`(_ name: String) throws {
    let calendar = try read(
      "NSCalendar", NSCalendar.self, allowing: [NSLocale.self],
      [("NS.identifier", .string("gregorian")), ("NS.locale", .uid(3))],
      [.dict([("NS.identifier", .string(name)), ("$class", .uid(4))]), .describe("NSLocale")])
    #expect(calendar.isEqual(calendar.copy()) && calendar.hash != 1 && !calendar.description.isEmpty)
  }

  @Test func `a measurement has its unit`() throws {
    let measurement = try read(
      "NSMeasurement", NSMeasurement.self, [("NS.value", .real(2.5)), ("NS.unit", .uid(3))],
      [
        .dict([("NS.symbol", .string("km")), ("NS.converter", .uid(5)), ("$class", .uid(4))]),
        .describe("NSUnitLength", "NSDimension", "NSUnit"),
        .dict([("NS.coefficient", .real(1_000)), ("NS.constant", .real(0)), ("$class", .uid(6))]),
        .describe("NSUnitConverterLinear", "NSUnitConverter"),
      ])
    #expect(measurement.doubleValue == 2.5 && measurement.unit.symbol == "km")
    #expect(measurement.unit is UnitLength)
  }

  private static let dimensions: [Dimension.Type] = [
    UnitAcceleration.self, UnitAngle.self, UnitArea.self, UnitConcentrationMass.self, UnitDispersion.self,
    UnitDuration.self, UnitElectricCharge.self, UnitElectricCurrent.self, UnitElectricPotentialDifference.self,
    UnitElectricResistance.self, UnitEnergy.self, UnitFrequency.self, UnitIlluminance.self,
    UnitInformationStorage.self, UnitLength.self, UnitMass.self, UnitPower.self, UnitPressure.self, UnitSpeed.self,
    UnitTemperature.self, UnitVolume.self,
  ]

  @Test(arguments: dimensions.indices) func `a unit of every dimension converts as the archive says`(_ index: Int)
    throws
  {
    let dimension = ValueClassTests.dimensions[index]
    let unit = try read(
      "NS\(dimension)", dimension,
      [("NS.symbol", .string("own")), ("NS.converter", .uid(3))],
      [
        .dict([("NS.coefficient", .real(3)), ("NS.constant", .real(1)), ("$class", .uid(4))]),
        .describe("NSUnitConverterLinear", "NSUnitConverter"),
      ])
    #expect(unit.symbol == "own" && unit.converter.baseUnitValue(fromValue: 2) == 7)
    #expect(type(of: unit) == dimension)
  }

  @Test func `a unit without a dimension has its symbol`() throws {
    #expect(try read("NSUnit", Unit.self, [("NS.symbol", .string("piece"))]).symbol == "piece")
  }

  @Test func `a checking result has its ranges and its expression`() throws {
    let result = try read(
      "NSTextCheckingResult", NSTextCheckingResult.self,
      allowing: [NSRegularExpression.self, NSArray.self, NSValue.self],
      [("NSRangeArray", .uid(3)), ("NSRegularExpression", .uid(5))],
      [
        .dict([("NS.objects", .array([.uid(7), .uid(8)])), ("$class", .uid(4))]), .describe("NSArray"),
        .dict([("NSPattern", .uid(10)), ("NSOptions", .int(1)), ("$class", .uid(6))]), .describe("NSRegularExpression"),
        .dict([
          ("NS.special", .int(4)), ("NS.rangeval.location", .int(2)), ("NS.rangeval.length", .int(5)),
          ("$class", .uid(9)),
        ]),
        .dict([
          ("NS.special", .int(4)), ("NS.rangeval.location", .int(3)), ("NS.rangeval.length", .int(1)),
          ("$class", .uid(9)),
        ]),
        .describe("NSValue"), .string("a(b)"),
      ])
    #expect(result.range == NSRange(location: 2, length: 5) && result.range(at: 1) == NSRange(location: 3, length: 1))
    #expect(result.regularExpression?.pattern == "a(b)")
  }

  @Test func `the parts of a person's name are decoded`() throws {
    let name = try read(
      "NSPersonNameComponents", NSPersonNameComponents.self,
      [("NS.givenName", .uid(3)), ("NS.familyName", .uid(4))], [.string("Ada"), .string("Lovelace")])
    #expect(name.givenName == "Ada" && name.familyName == "Lovelace" && name.middleName == nil)
  }

  @Test func `a person's name from Apple's systems has its parts and its pronunciation`() throws {
    let (privateClass, publicClass) = (PlistValue.uid(8), PlistValue.uid(2))
    let name = try read(
      "NSPersonNameComponents", NSPersonNameComponents.self, [("NS.nameComponentsPrivate", .uid(3))],
      [
        .dict([
          ("NS.givenName", .uid(6)), ("NS.familyName", .uid(0)), ("NS.phoneticRepresentation", .uid(4)),
          ("$class", privateClass),
        ]),
        .dict([("NS.nameComponentsPrivate", .uid(5)), ("$class", publicClass)]),
        .dict([
          ("NS.givenName", .uid(7)), ("NS.phoneticRepresentation", .uid(0)), ("$class", privateClass),
        ]),
        .string("Ada"), .string("AY-da"), .describe("_NSPersonNameComponentsData"),
      ])
    #expect(name.givenName == "Ada" && name.familyName == nil)
    #expect(name.phoneticRepresentation?.givenName == "AY-da")
  }

  @Test func `mutable index sets and character sets can be changed after decoding`() throws {
    let indexes = try read(
      "NSMutableIndexSet", NSMutableIndexSet.self,
      [("NSRangeCount", .int(1)), ("NSLocation", .int(5)), ("NSLength", .int(2))])
    indexes.add(9)
    #expect(indexes.map { $0 } == [5, 6, 9])
    let characters = try read(
      "NSMutableCharacterSet", NSMutableCharacterSet.self, [("NSString", .string("ab"))])
    characters.addCharacters(in: "z")
    #expect("abcz".utf16.map { characters.characterIsMember($0) } == [true, true, false, true])
  }

  @Test(arguments: [
    [0..<1, 65_535..<65_536, 65_536..<131_072, 131_072..<196_608, 262_144..<327_679], [65_535..<131_073],
    [0..<1_114_112], [1..<0xD801, 0xE001..<0x10_FFFF], [0x1_F600..<0x1_F650, 0x2_0000..<0x2_A6DF],
    [0x10_0000..<0x11_0000],
  ])
  func `the bitmap of a character set gives the characters of each plane`(_ ranges: [Range<Int>]) throws {
    var bits = [UInt8](repeating: 0, count: 17 * 8_192)
    for character in ranges.joined() { bits[character >> 3] |= 1 << UInt8(character & 7) }
    var bitmap = Array(bits[..<8_192])
    for plane in 1..<17 where bits[(plane * 8_192)..<((plane + 1) * 8_192)].contains(where: { $0 != 0 }) {
      bitmap += [UInt8(plane)] + bits[(plane * 8_192)..<((plane + 1) * 8_192)]
    }
    for name in ["NSCharacterSet", "NSMutableCharacterSet"] {
      let set = try read(name, NSCharacterSet.self, [("NSBitmap", .data(bitmap))])
      let borders: [Int] = (0..<17).flatMap { plane -> [Int] in
        let first = plane << 16
        return [first, first + 1, first + 0xFFFE, first + 0xFFFF]
      }
      let ends: [Int] = ranges.flatMap { range -> [Int] in [range.lowerBound, range.upperBound - 1, range.upperBound] }
      for character in borders + ends where character < 0x11_0000 {
        let isMember = ranges.contains { $0.contains(character) }
        #expect(set.longCharacterIsMember(UInt32(character)) == isMember, "\(character)")
      }
    }
  }

  @Test(
    arguments: [
      ("NSDecimalNumber", [("NS.length", .int(4711)), ("NS.exponent", .int(0))]),
      ("NSDecimalNumber", [("NS.length", .int(1)), ("NS.exponent", .int(4711))]),
      (
        "NSDecimalNumber",
        [
          ("NS.length", .int(1)), ("NS.exponent", .int(0)), ("NS.mantissa", .data(Array(repeating: 1, count: 16))),
          ("NS.mantissa.bo", .int(4711)),
        ]
      ),
      (
        "NSDecimalNumber",
        [
          ("NS.length", .int(1)), ("NS.exponent", .int(127)),
          ("NS.mantissa", .data([10] + Array(repeating: 0, count: 15))),
        ]
      ),
      ("NSCalendar", [("NS.identifier", .string("gregorian")), ("NS.firstwkdy", .int(4711))]),
      ("NSCalendar", [("NS.identifier", .string("gregorian")), ("NS.mindays", .int(4711))]),
      ("NSCalendar", [("NS.identifier", .string("4711"))]),
      ("NSDateComponents", [("NS.year", .int(4_711_000_000_000))]),
      ("NSValue", [("NS.special", .int(4711))]),
      ("NSValue", [("NS.special", .int(1)), ("NS.pointval", .string("4711"))]),
      ("NSCountedSet", [("NS.count", .int(4711)), ("NS.object0", .uid(3))]),
      ("NSCountedSet", [("NS.count", .int(1)), ("NS.object0", .uid(3)), ("NS.count0", .int(-4711))]),
    ] as [(String, [(String, PlistValue)])])
  func `the error for a field that is out of range does not repeat it`(
    _ name: String, _ fields: [(String, PlistValue)]
  ) throws {
    let types: [AnyClass] = [
      NSDecimalNumber.self, NSCalendar.self, NSDateComponents.self, NSValue.self, NSCountedSet.self,
    ]
    let archive = PlistValue.archive([.dict(fields + [("$class", .uid(2))]), .describe(name), .string("a")])
    let error = #expect(throws: ArchiveError.self) {
      try SecureUnarchiver.unarchivedObject(ofClasses: types + [NSString.self], from: Data(archive.binary()))
    }
    #expect(error?.code == "invalidValue" && error?.message.contains("4711") == false, "\(error?.message ?? "")")
  }

  @Test func `attributed strings keep their runs`() throws {
    let plain = try read("NSAttributedString", NSAttributedString.self, [("NSString", .uid(3))], [.string("hello")])
    #expect(plain.string == "hello")
    let keyed = try read(
      "NSMutableAttributedString", NSMutableAttributedString.self, allowing: [NSDictionary.self, NSString.self],
      [("NSString", .uid(3)), ("NSAttributes", .uid(4))],
      [
        .string("hello"),
        .dict([("NS.keys", .array([.uid(6)])), ("NS.objects", .array([.uid(7)])), ("$class", .uid(5))]),
        .describe("NSDictionary"), .string("k"), .string("v"),
      ])
    #expect(
      unsafe keyed.attribute(NSAttributedString.Key("k"), at: 4, effectiveRange: nil) as? String == "v")
    keyed.append(NSAttributedString(string: "!"))
    #expect(keyed.string == "hello!")
  }
}
