import Foundation
import KeyedArchives

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
    var runs: [Int] = []
    // Not the longest ranges: finding them compares attributes, which Foundation on Linux can do for only a few
    // classes.
    unsafe text.enumerateAttributes(
      in: NSRange(location: 0, length: text.length), options: .longestEffectiveRangeNotRequired
    ) { attributes, range, _ in
      let dictionary = NSDictionary(
        objects: Array(attributes.values), forKeys: attributes.keys.map { NSString(string: $0.rawValue) })
      let slot = dictionaries.firstIndex { $0.isEqual(dictionary) } ?? dictionaries.count
      if slot == dictionaries.count { dictionaries.append(dictionary) }
      if runs.last == slot { runs[runs.count - 2] += range.length } else { runs += [range.length, slot] }
    }
    if dictionaries.allSatisfy({ $0.count == 0 }) { return }
    if dictionaries.count == 1 { return fields.object("NSAttributes", dictionaries[0]) }
    fields.object("NSAttributes", dictionaries)
    fields.object("NSAttributeInfo", packed(runs))
  }
}
