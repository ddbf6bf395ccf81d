import Foundation
import KeyedArchives

extension ValueClass {
  /// Attributed strings. Their attributes may hold property-list values and the classes that the site accepts.
  static let attributedTexts = [
    ValueClass("NSAttributedString", NSAttributedString.self, adding: ClassSite.propertyList) {
      fields throws(ArchiveError) in
      NSAttributedString(attributedString: try attributedText(fields))
    },
    ValueClass(
      "NSMutableAttributedString", NSMutableAttributedString.self, variantOf: NSAttributedString.self,
      adding: ClassSite.propertyList
    ) { fields throws(ArchiveError) in
      try attributedText(fields)
    },
  ]

  private static func attributedText(_ fields: Fields) throws(ArchiveError) -> NSMutableAttributedString {
    let text = NSMutableAttributedString(string: try fields.text("NSString"))
    guard fields.has("NSAttributes") else { return text }
    guard fields.has("NSAttributeInfo") else {
      if text.length > 0 {
        let dictionary = try fields.objectIfPresent("NSAttributes")
        let price = fields.conversion(of: "NSAttributes")
        text.setAttributes(
          try attributes(dictionary, price: price, fields), range: NSRange(location: 0, length: text.length))
      }
      return text
    }
    let array = try fields.objectIfPresent("NSAttributes") as? NSArray
    let runs = try packed("NSAttributeInfo", fields)
    guard let array, runs.count % 2 == 0 else { throw fields.invalid("its runs are not complete") }
    let dictionaries = RawElements.of(array)
    let prices = fields.conversions(in: "NSAttributes")
    // Foundation's work for each run grows with the number of runs before it.
    try fields.coder.budget.take(comparisons: runs.count.saturatingProduct(64), at: fields.coder.here)
    var position = 0
    var converted: [Int: [NSAttributedString.Key: Any]] = [:]
    for pair in stride(from: 0, to: runs.count, by: 2) {
      let (length, slot) = (runs[pair], runs[pair + 1])
      guard length > 0, length <= text.length - position, slot < dictionaries.count else {
        throw fields.invalid("a run lies outside its text or its attributes")
      }
      let range = NSRange(location: position, length: length)
      let dictionary = dictionaries[slot]
      let price = prices[ObjectIdentifier(dictionary)] ?? fields.conversion(of: "NSAttributes")
      if converted[slot] == nil { converted[slot] = try attributes(dictionary, price: price, fields) }
      let attributes = converted[slot] ?? [:]
      // Foundation copies the attributes for each run and compares them with those of its neighbours.
      let work = attributes.count.saturatingProduct(8).saturatingSum(price)
      try fields.coder.budget.take(comparisons: work, at: fields.coder.here)
      text.setAttributes(attributes, range: range)
      position += length
    }
    guard position == text.length else { throw fields.invalid("its runs do not cover its text") }
    return text
  }

  /// Whether Foundation on Linux can compare an attribute's value. It reads the first bytes of each value as the header
  /// of a CoreFoundation object, which only some of its own classes have. For any other class, the bytes found there
  /// decide whether the process ends. Locales, time zones and calendars store a pointer there, so they end the process
  /// only sometimes.
  static func isComparable(_ value: Any?) -> Bool {
    guard let object = value as AnyObject? else { return false }
    switch object {
    case is NSDecimalNumber: return false
    case is NSString, is NSNumber, is NSData, is NSDate, is NSURL, is NSArray, is NSDictionary, is NSSet,
      is NSCharacterSet, is NSAttributedString:
      return true
    default: return false
    }
  }

  private static func attributes(
    _ object: Any?, price: Int, _ fields: Fields
  ) throws(ArchiveError) -> [NSAttributedString.Key: Any] {
    guard let dictionary = object as? NSDictionary else { throw fields.invalid("its attributes are not a dictionary") }
    try fields.coder.budget.take(comparisons: price, at: fields.coder.here)
    var attributes: [NSAttributedString.Key: Any] = [:]
    for key in dictionary.allKeys {
      guard let name = key as? NSString else { throw fields.invalid("an attribute's name is not a string") }
      let value = dictionary.object(forKey: key)
      guard isComparable(value) else { throw fields.invalid("Foundation cannot compare one of its attributes") }
      attributes[NSAttributedString.Key(String(describing: name))] = value
    }
    return attributes
  }
}

extension ValueWriter {
  /// Attributed strings, regular expressions and their results.
  static let texts = [
    ValueWriter(NSAttributedString.self, "NSAttributedString") { text, fields throws(ArchiveError) in
      write(text, fields)
    },
    ValueWriter(NSMutableAttributedString.self, "NSMutableAttributedString", "NSAttributedString") {
      text, fields throws(ArchiveError) in
      write(text, fields)
    },
    ValueWriter(NSRegularExpression.self, "NSRegularExpression") { expression, fields throws(ArchiveError) in
      fields.object("NSPattern", expression.pattern)
      // On Linux, an expression created with `ignoreMetacharacters` returns its pattern escaped, which means the same
      // without the option.
      fields.integer("NSOptions", Int(expression.options.subtracting(.ignoreMetacharacters).rawValue))
    },
    ValueWriter(NSTextCheckingResult.self, "NSComplexRegularExpressionCheckingResult", "NSTextCheckingResult") {
      result, fields throws(ArchiveError) in
      guard let expression = result.regularExpression else { throw fields.refused(.notWritten) }
      fields.object("NSRangeArray", (0..<result.numberOfRanges).map { NSValue(range: result.range(at: $0)) })
      fields.object("NSRegularExpression", expression)
    },
  ]

  /// One dictionary of attributes if the string has a single run; otherwise an array of them, and for each run its
  /// length and the number of its dictionary.
  private static func write(_ text: NSAttributedString, _ fields: FieldsWriter) {
    fields.object("NSString", text.string)
    var dictionaries: [NSDictionary] = []
    // The dictionaries that may be equal: comparing each with all would take quadratic time.
    var slots: [KeyTable.Key: [Int]] = [:]
    var runs: [Int] = []
    // Not the longest ranges: finding them compares attributes, which Foundation on Linux can do for only a few
    // classes.
    unsafe text.enumerateAttributes(
      in: NSRange(location: 0, length: text.length), options: .longestEffectiveRangeNotRequired
    ) { attributes, range, _ in
      let dictionary = NSDictionary(
        objects: Array(attributes.values), forKeys: attributes.keys.map { NSString(string: $0.rawValue) })
      let key = KeyTable.Key(text: comparedText(of: dictionary))
      let slot = slots[key]?.first { dictionaries[$0].isEqual(dictionary) } ?? dictionaries.count
      if slot == dictionaries.count {
        dictionaries.append(dictionary)
        slots[key, default: []].append(slot)
      }
      if runs.last == slot { runs[runs.count - 2] += range.length } else { runs += [range.length, slot] }
    }
    if dictionaries.allSatisfy({ $0.count == 0 }) { return }
    if dictionaries.count == 1 { return fields.object("NSAttributes", dictionaries[0]) }
    fields.object("NSAttributes", dictionaries)
    fields.object("NSAttributeInfo", packed(runs))
  }

  /// A text that differs, byte by byte, for values that only Foundation takes for equal: canonically equivalent
  /// strings, and an integer and a real number.
  private static func comparedText(of value: AnyObject) -> String {
    switch value {
    case let text as NSString: String(describing: text)
    case let url as NSURL: url.absoluteString
    case let number as NSNumber: unsafe "\(String(cString: number.objCType))\(number)"
    case let array as NSArray: RawElements.of(array).map(comparedText).joined(separator: "\0")
    case let set as NSSet: RawElements.of(set).map(comparedText).sorted().joined(separator: "\0")
    case let dictionary as NSDictionary:
      RawElements.of(dictionary).map { "\(comparedText(of: $0.key))\0\(comparedText(of: $0.value))" }
        .sorted().joined(separator: "\0")
    case let text as NSAttributedString: text.string
    default: ""
    }
  }
}
