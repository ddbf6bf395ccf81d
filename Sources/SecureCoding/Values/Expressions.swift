import Foundation
import KeyedArchives

extension ValueClass {
  /// Regular expressions and their results.
  static let expressions =
    [
      ValueClass("NSRegularExpression", NSRegularExpression.self, build: expression)
    ] + FoundationClasses.checkingResults.map { ValueClass($0, NSTextCheckingResult.self, build: checkingResult) }

  private static func expression(_ fields: Fields) throws(ArchiveError) -> Any {
    let pattern = try fields.text("NSPattern")
    let options = try fields.integerIfPresent("NSOptions") ?? 0
    guard options >= 0, options & ~0x7F == 0 else { throw fields.invalid("its options are not known") }
    guard pattern.utf8.count <= 16_384 else { throw fields.invalid("its pattern has more than 16384 bytes") }
    try fields.coder.budget.take(comparisons: compilation(pattern, options), at: fields.coder.here)
    do {
      return try NSRegularExpression(
        pattern: pattern, options: NSRegularExpression.Options(rawValue: UInt(options)))
    } catch {
      throw fields.invalid("its pattern does not compile")
    }
  }

  /// The cost of compiling a pattern. It grows with each repetition such as `{1,9}`, with each character set and with
  /// each property, whose characters are copied at each use. The emoji properties hold thousands of strings and take 25
  /// milliseconds for each use.
  private static func compilation(_ pattern: String, _ options: Int) -> Int {
    let ignoresCase = options & 1 != 0 || pattern.contains("(?")
    let repetitions = pattern.utf8.count { $0 == UInt8(ascii: "{") }
    let sets = pattern.utf8.count { $0 == UInt8(ascii: "[") }
    let escapes = pattern.utf8.count { $0 == UInt8(ascii: "\\") }
    let properties = max(escapes, pattern.contains("[:") ? sets : 0)
    let letters = String(pattern.filter { $0.isLetter }).lowercased()
    let hasTexts = letters.contains("emoji") || letters.contains("rgi")
    return (64 + 4 * pattern.utf8.count)
      .saturatingSum(repetitions.saturatingProduct(128))
      .saturatingSum(sets.saturatingProduct(ignoresCase ? 128 : 16))
      .saturatingSum(properties.saturatingProduct(hasTexts ? 131_072 : ignoresCase ? 1024 : 256))
  }

  private static func checkingResult(_ fields: Fields) throws(ArchiveError) -> Any {
    let expression = try fields.object("NSRegularExpression", of: NSRegularExpression.self)
    guard let values = try fields.objectIfPresent("NSRangeArray", of: [NSArray.self, NSValue.self]) as? NSArray else {
      throw fields.missing("NSRangeArray")
    }
    var ranges: [NSRange] = []
    for value in values {
      guard let value = value as? NSValue, !(value is NSNumber), unsafe String(cString: value.objCType) == rangeType
      else {
        throw fields.invalid("an element of its ranges is not a range")
      }
      ranges.append(value.rangeValue)
    }
    guard !ranges.isEmpty else { throw fields.invalid("it has no range") }
    return unsafe NSTextCheckingResult.regularExpressionCheckingResult(
      ranges: &ranges, count: ranges.count, regularExpression: expression)
  }

  private static let rangeType = unsafe String(cString: NSValue(range: NSRange()).objCType)
}
