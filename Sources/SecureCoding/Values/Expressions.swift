import Foundation
import KeyedArchives

extension ValueClass {
  /// Regular expressions and what they found.
  static let expressions =
    [
      ValueClass("NSRegularExpression", NSRegularExpression.self, build: expression)
    ] + FoundationClasses.checkingResults.map { ValueClass($0, NSTextCheckingResult.self, build: checkingResult) }

  private static func expression(_ fields: Fields) throws(ArchiveError) -> Any {
    let pattern = try fields.text("NSPattern")
    let options = try fields.integerIfPresent("NSOptions") ?? 0
    guard options >= 0, options & ~0x7F == 0 else { throw fields.invalid("its options are not known") }
    // Compiling takes time in proportion to the square of deeply nested patterns.
    guard pattern.utf8.count <= 16_384 else { throw fields.invalid("its pattern has more than 16384 bytes") }
    do {
      return try NSRegularExpression(
        pattern: pattern, options: NSRegularExpression.Options(rawValue: UInt(options)))
    } catch {
      throw fields.invalid("its pattern does not compile")
    }
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
