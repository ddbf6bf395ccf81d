import TestSupport

/// Small archives whose objects take far more time to hash, compare or compile than their size suggests.
enum CostlyArchives {
  static func make(_ name: String, _ count: Int) -> PlistValue? {
    switch name {
    case "nestedSets:NSSet", "nestedSets:NSMutableSet": nestedSets(count, String(name.dropFirst(11)))
    case "equalData":
      container(
        "NSSet", (0..<count).map { .data(Array(repeating: 1, count: 200) + [UInt8($0 & 0xFF), UInt8($0 >> 8)]) })
    case "sharedDictionaries": sharedDictionaries(count)
    case "sharedData": sharingData(count, "NSMutableData", [("NS.data", .uid(4))])
    case "sharedIndexData":
      sharingData(
        count, "NSIndexPath", [("NSIndexPathLength", .int(Int128(dataSize))), ("NSIndexPathData", .uid(4))])
    case "emptySets": emptySets(count)
    case "attributeRuns": attributeRuns(count)
    case "relativeURLs": relativeURLs(count)
    case "emojiPattern": expression(String(repeating: "\\p{RGI_Emoji}", count: count))
    case "propertyPattern":
      container(
        "NSArray", (0..<count).map { _ in .uid(0) },
        shared: [("NSPattern", .string("[\\p{L}]")), ("NSOptions", .int(1))], "NSRegularExpression")
    case "repeatingPattern":
      container(
        "NSArray", (0..<count).map { _ in .uid(0) },
        shared: [("NSPattern", .string(String(repeating: "(a){1,9}", count: 2_000))), ("NSOptions", .int(0))],
        "NSRegularExpression")
    case "invertedSets":
      container(
        "NSArray", (0..<count).map { _ in .uid(0) }, shared: [("NSBuiltinID", .int(5)), ("NSIsInverted", .bool(true))],
        "NSCharacterSet")
    case "planeSets":
      container(
        "NSArray", (0..<count).map { _ in .uid(0) },
        shared: [
          (
            "NSString",
            .string(String(String.UnicodeScalarView((1...16).compactMap { Unicode.Scalar(UInt32($0) << 16 + 5) })))
          )
        ], "NSCharacterSet")
    default: nil
    }
  }

  /// A container of elements. If fields are given, each element is a separate object with these fields.
  private static func container(
    _ name: String, _ elements: [PlistValue], shared fields: [(String, PlistValue)]? = nil, _ className: String = ""
  ) -> PlistValue {
    let objects =
      fields.map { fields in elements.map { _ in PlistValue.dict(fields + [("$class", .uid(3))]) } } ?? elements
    return .archive(
      [
        .dict([("NS.objects", .array(objects.indices.map { .uid(UInt64(4 + $0)) })), ("$class", .uid(2))]),
        .describe(name),
        .describe(className.isEmpty ? "NSNull" : className),
      ] + objects)
  }

  private static let dataSize = 1 << 17

  /// Objects that are each made from the same mutable data.
  private static func sharingData(_ count: Int, _ name: String, _ fields: [(String, PlistValue)]) -> PlistValue {
    .archive(
      [
        .dict([("NS.objects", .array((0..<count).map { .uid(UInt64(7 + $0)) })), ("$class", .uid(2))]),
        .describe("NSArray"), .describe(name),
        .dict([("NS.data", .data(Array(repeating: 1, count: dataSize))), ("$class", .uid(5))]),
        .describe("NSMutableData", "NSData"), .string("unused"),
      ] + (0..<count).map { _ in .dict(fields + [("$class", .uid(3))]) })
  }

  /// An attributed string of runs that all have the same thousand attributes.
  private static func attributeRuns(_ count: Int) -> PlistValue {
    let keys = (0..<1_000).map { PlistValue.string("\($0)") }
    return .archive([
      .dict([
        ("NSString", .string(String(repeating: "x", count: count))), ("NSAttributes", .uid(3)),
        ("NSAttributeInfo", .data((0..<count).flatMap { _ in [1, 0] })), ("$class", .uid(2)),
      ]),
      .describe("NSAttributedString"), .dict([("NS.objects", .array([.uid(5)])), ("$class", .uid(4))]),
      .describe("NSArray"), .dict([("NS.keys", .array(keys)), ("NS.objects", .array(keys)), ("$class", .uid(6))]),
      .describe("NSDictionary"),
    ])
  }

  /// Empty character sets, and then as many mutable strings that share one text of 8 kB.
  private static func emptySets(_ count: Int) -> PlistValue {
    let text = PlistValue.string(String(repeating: "a", count: 8_192))
    return .archive(
      [
        .dict([("NS.objects", .array((0..<2 * count).map { .uid(UInt64(5 + $0)) })), ("$class", .uid(2))]),
        .describe("NSArray"), .describe("NSCharacterSet"), .describe("NSMutableString", "NSString"),
      ] + (0..<count).map { _ in .dict([("NSString", .string("")), ("$class", .uid(3))]) }
        + (0..<count).map { _ in .dict([("NS.string", text), ("$class", .uid(4))]) })
  }

  /// Nested sets with one string in the innermost.
  private static func nestedSets(_ count: Int, _ name: String) -> PlistValue {
    let sets = (0..<count).map { index -> PlistValue in
      .dict([("NS.objects", .array([.uid(UInt64(index + 3))])), ("$class", .uid(2))])
    }
    return .archive([sets[0], .describe(name)] + sets.dropFirst() + [.string("x")])
  }

  /// Each dictionary holds the next one under two keys.
  private static func sharedDictionaries(_ count: Int) -> PlistValue {
    let dictionaries = (0..<count).map { index -> PlistValue in
      let next: [PlistValue] = index + 1 < count ? [.uid(UInt64(index + 3)), .uid(UInt64(index + 3))] : []
      let keys = ["a", "b"].prefix(next.count).map { PlistValue.string($0) }
      return .dict([("NS.keys", .array(keys)), ("NS.objects", .array(next)), ("$class", .uid(2))])
    }
    return .archive([dictionaries[0], .describe("NSDictionary")] + dictionaries.dropFirst())
  }

  /// A chain of URLs that share one long relative text.
  private static func relativeURLs(_ count: Int) -> PlistValue {
    let text = PlistValue.string(String(repeating: "a/", count: 4_000))
    let urls = (0..<count).map { index -> PlistValue in
      let base = index + 1 < count ? UInt64(index + 3) : 0
      return .dict([("NS.base", .uid(base)), ("NS.relative", text), ("$class", .uid(2))])
    }
    return .archive([urls[0], .describe("NSURL")] + urls.dropFirst())
  }

  private static func expression(_ pattern: String) -> PlistValue {
    .archive([
      .dict([("NSPattern", .string(pattern)), ("NSOptions", .int(0)), ("$class", .uid(2))]),
      .describe("NSRegularExpression"),
    ])
  }
}
