/// The names of the classes in generated archives.
enum Classes {
  static let containers = [
    "NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSSet", "NSMutableSet", "NSCountedSet",
    "NSOrderedSet", "NSMutableOrderedSet",
  ]
  /// Classes that hold other objects but are not containers.
  static let holders = ["NSAttributedString", "NSMutableAttributedString", "NSError", "NSNotification", "NSURL"]
  static let leaves = [
    "NSValue", "NSDateComponents", "NSMeasurement", "NSCharacterSet", "NSMutableCharacterSet", "NSIndexSet",
    "NSMutableIndexSet", "NSIndexPath", "NSDecimalNumber", "NSDate", "NSUUID", "NSNull", "NSMutableString",
    "NSMutableData", "NSLocale", "NSTimeZone", "NSCalendar", "NSDateInterval", "NSRegularExpression",
    "NSComplexRegularExpressionCheckingResult", "NSPersonNameComponents", "NSUnit", "NSUnitLength", "NSUnitTemperature",
    "NSUnitConverterLinear", "NSURL", "NSError", "TestPerson",
  ]
  static let all = containers + holders + leaves
}

/// Strings and numbers that are easy to get wrong.
enum Pool {
  static let texts = [
    "", "a", "b", "k", "$null", "\0", "e\u{301}", "\u{e9}", "{1, 2}", "{{1, 2}, {3, 4}}", "{nan, inf}", "12", "x/y",
    "漢", "日本", "a\0b", "en\u{7F}",
    "😀", "NSLocalizedDescription", "NSPOSIXErrorDomain", "NSCocoaErrorDomain", "\u{FEFF}", "\n",
  ]
  static let addresses = [
    "", "http://x", "http!://x", "http://[::1", "1:", "a", "a/b", "?q", "#f", "//h", "http://u:p@h:80/p?q#f",
    "file:///a",
    "file:", "http://[::1]/", "http://é/", "a b", "%", "%zz", "http://x:99999999999", "data:,x", "..", "/", ":",
    "mailto:a@b",
    "http://h:x", "\0", "[", "http://%5B", "x:y:z", "HTTP://X", "http:", "http:///", "file://h/a", "a:b/c",
  ]
  static let integers: [Int128] = [
    -1, 31, 32, 127, 128, 255, 256, 1 << 31, 1 << 32, (1 << 32) + 5, 1 << 51, (1 << 51) + 1, 1 << 53, 1 << 62,
    (1 << 63) - 2,
    (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -(1 << 31), -(1 << 63), 1 << 100, 0x10FFFF, 0x110000, 4 << 32 | 1,
    65 << 32 | 26,
  ]
  static let reals =
    [
      .nan, .infinity, -.infinity, 1e300, -1e300, 1e19, -1e19, 9.3e18, 9.2e18, -0.0, 0, 1, 4.9e-324, 1e15, 0.1, 6.4e9,
      -6.4e9,
    ] as [Double]
  static let patterns = [
    "", "a", "(", "a(b)", "(?<n>a)", "[a-z]+", "\\p{L}", "[\\p{L}\\p{N}]", "(a*)*b", "((((((a))))))", "a{1,1000}", "\\",
    "[",
    "(?i)é", "[[a-z]&&[^b]]", "\\N{LATIN SMALL LETTER A}", "(?<=a{1,9})b", "x|y|z", "\\X", "\\b.",
  ]
  static let zones = [
    "UTC", "GMT", "GMT+1", "GMT+0130", "Europe/Zurich", "Nowhere", "", "../../etc/passwd", "posixrules", "GMT-99", "/",
    "é",
    "日本", "UTC\0",
  ]
  static let calendars = [
    "gregorian", "buddhist", "chinese", "coptic", "hebrew", "islamic", "iso8601", "japanese", "persian", "indian",
    "republicOfChina", "", "x", "é", "日本", "gregorian\0",
  ]
  static let locales = [
    "", "de_CH", "en", "xx", "zh-Hant-TW@calendar=chinese", "@", "a_b_c_d_e_f_g_h", "\0", "é", "日本", "😀", "e\u{301}",
    "de_DE@calendar=é", "a\0b", "en_US@currency=",
  ]
}

extension ArchiveMaker {
  /// The fields of a class that holds no other objects except its own parts.
  mutating func plainFields(of name: String, depth: Int) -> [(String, PlistValue)] {
    switch name {
    case "NSValue": return value()
    case "NSDateComponents":
      let keys = [
        "NS.year", "NS.month", "NS.day", "NS.era", "NS.weekday", "NS.nanosec", "NS.weekOfYear", "NS.hour",
        "NS.dayOfYear", "NS.leapMonth",
      ]
      var fields = keys.filter { _ in below(2) == 0 }.map { ($0, integer()) }
      if below(3) == 0 {
        fields.append(("NS.calendar", make("NSCalendar", plainFields(of: "NSCalendar", depth: depth))))
      }
      if below(3) == 0 {
        fields.append(("NS.timezone", make("NSTimeZone", plainFields(of: "NSTimeZone", depth: depth))))
      }
      return fields
    case "NSMeasurement":
      let unit = pick(["NSUnit", "NSUnitLength", "NSUnitTemperature"])
      return [("NS.value", real()), ("NS.unit", make(unit, plainFields(of: unit, depth: depth)))]
    case "NSUnit": return [("NS.symbol", text())]
    case _ where name.hasPrefix("NSUnit") && name != "NSUnitConverterLinear":
      let converter = make("NSUnitConverterLinear", [("NS.coefficient", real()), ("NS.constant", real())])
      return [("NS.symbol", text()), ("NS.converter", converter)]
    case "NSUnitConverterLinear": return [("NS.coefficient", real()), ("NS.constant", real())]
    case "NSCharacterSet", "NSMutableCharacterSet": return characters()
    case "NSIndexSet", "NSMutableIndexSet":
      switch below(4) {
      case 0: return [("NSRangeCount", .int(0))]
      case 1: return [("NSRangeCount", .int(1)), ("NSLocation", integer()), ("NSLength", integer())]
      default: return [("NSRangeCount", .int(2)), ("NSRangeData", .data(packed(4)))]
      }
    case "NSIndexPath":
      let count = below(4)
      return count == 1
        ? [("NSIndexPathLength", .int(1)), ("NSIndexPathValue", integer())]
        : [("NSIndexPathLength", .int(Int128(count))), ("NSIndexPathData", .data(packed(count)))]
    case "NSDecimalNumber":
      return [
        ("NS.exponent", .int(Int128(below(256) - 128))), ("NS.length", .int(Int128(below(10)))),
        ("NS.negative", .bool(below(2) == 0)), ("NS.compact", .bool(true)),
        ("NS.mantissa.bo", .int(Int128(1 + below(2)))),
        ("NS.mantissa", .data((0..<16).map { _ in UInt8(below(256)) })),
      ]
    case "NSDate": return [("NS.time", real())]
    case "NSUUID": return [("NS.uuidbytes", .data(Array(repeating: UInt8(below(4)), count: 16)))]
    case "NSMutableString": return [("NS.string", text())]
    case "NSMutableData": return [("NS.data", .data(bytes()))]
    case "NSLocale": return [("NS.identifier", text(of: Pool.locales))]
    case "NSTimeZone": return [("NS.name", text(of: Pool.zones)), ("NS.data", .uid(0))]
    case "NSCalendar":
      var fields: [(String, PlistValue)] = [("NS.identifier", text(of: Pool.calendars))]
      if below(2) == 0 { fields += [("NS.firstwkdy", .int(Int128(below(9)))), ("NS.mindays", .int(Int128(below(9))))] }
      if below(2) == 0 {
        fields.append(("NS.timezone", make("NSTimeZone", plainFields(of: "NSTimeZone", depth: depth))))
      }
      if below(2) == 0 { fields.append(("NS.locale", make("NSLocale", plainFields(of: "NSLocale", depth: depth)))) }
      return fields
    case "NSDateInterval":
      let (start, end) = (make("NSDate", [("NS.time", real())]), make("NSDate", [("NS.time", real())]))
      return [("NS.startDate", start), below(2) == 0 ? ("NS.endDate", end) : ("NS.duration", real())]
    case "NSRegularExpression":
      return [("NSPattern", .string(pick(Pool.patterns))), ("NSOptions", .int(Int128(below(128))))]
    case "NSComplexRegularExpressionCheckingResult":
      let ranges = (0..<below(3)).map { _ in make("NSValue", range()) }
      return [
        ("NSRangeArray", make("NSArray", [("NS.objects", .array(ranges))])),
        ("NSRegularExpression", make("NSRegularExpression", plainFields(of: "NSRegularExpression", depth: depth))),
      ]
    case "NSPersonNameComponents" where below(3) == 0:
      return [
        ("NS.nameComponentsPrivate", make("_NSPersonNameComponentsData", plainFields(of: name, depth: depth)))
      ]
    case "NSPersonNameComponents":
      return ["NS.namePrefix", "NS.givenName", "NS.familyName", "NS.nickname"].filter { _ in below(2) == 0 }.map {
        ($0, text())
      }
    case "TestPerson": return [("name", text()), ("age", integer()), ("friend", reference(depth: depth))]
    default: return []
    }
  }

  /// One of the texts that mean something, or any text.
  private mutating func text(of names: [String]) -> PlistValue { below(6) == 0 ? text() : .string(pick(names)) }

  private mutating func packed(_ count: Int) -> [UInt8] {
    let large: [[UInt8]] = [
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40],
    ]
    var bytes: [UInt8] = []
    for _ in 0..<count { bytes += below(8) == 0 ? pick(large) : [UInt8(below(100))] }
    return bytes
  }

  private mutating func range() -> [(String, PlistValue)] {
    [("NS.special", .int(4)), ("NS.rangeval.location", integer()), ("NS.rangeval.length", integer())]
  }

  private mutating func value() -> [(String, PlistValue)] {
    switch below(6) {
    case 0: return [("NS.special", .int(1)), ("NS.pointval", text())]
    case 1: return [("NS.special", .int(2)), ("NS.sizeval", .string("{1, 2}"))]
    case 2: return [("NS.special", .int(3)), ("NS.rectval", .string("{{1, 2}, {3, 4}}"))]
    case 3: return range()
    case 4:
      return [("NS.special", .int(12))] + ["top", "left", "bottom", "right"].map { ("NS.edgeval." + $0, real()) }
    default:
      return [
        ("$0", .string(pick(["c", "C", "s", "S", "i", "I", "q", "Q", "f", "d", "@", "[2i]"]))), ("$1", integer()),
      ]
    }
  }

  private mutating func characters() -> [(String, PlistValue)] {
    var fields: [(String, PlistValue)] = below(3) == 0 ? [("NSIsInverted", .bool(true))] : []
    switch below(5) {
    case 0: fields.append(("NSBuiltinID", .int(Int128(below(17)))))
    case 1: fields.append(("NSRange", integer()))
    case 2: fields.append(("NSString", text()))
    default: fields.append(("NSBitmap", .data(bitmap())))
    }
    return fields
  }

  private mutating func bitmap() -> [UInt8] {
    func plane(_ kind: Int) -> [UInt8] {
      switch kind {
      case 0: return Array(repeating: 0, count: 8_192)
      case 1: return Array(repeating: 0xFF, count: 8_192)
      case 2: return [0x02] + Array(repeating: 0, count: 8_191)
      case 3: return Array(repeating: 0, count: 8_191) + [0x80]
      case 4: return Array(repeating: 0xAA, count: 8_192)
      default: return Array(repeating: 0xFF, count: 8_191) + [0x7F]
      }
    }
    var bytes = plane(below(6))
    var number = 0
    for _ in 0..<(below(3) == 0 ? below(5) : 0) {
      number += 1 + below(5)
      bytes += [UInt8(number)] + plane(below(6))
    }
    if below(8) == 0 { bytes.append(1) }
    return bytes
  }
}
