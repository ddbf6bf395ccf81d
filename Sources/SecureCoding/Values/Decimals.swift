import Foundation
import KeyedArchives

extension ValueClass {
  /// Decimal numbers. An archive may name the placeholder class that Apple's systems use while they create one.
  static let decimals = [
    ValueClass("NSDecimalNumber", NSDecimalNumber.self, build: decimal),
    ValueClass("NSDecimalNumberPlaceholder", NSDecimalNumber.self, build: decimal),
  ]

  private static func decimal(_ fields: Fields) throws(ArchiveError) -> Any {
    let length = try fields.integer("NS.length")
    let exponent = try fields.integer("NS.exponent")
    let isNegative = try fields.flag("NS.negative")
    guard (0...8).contains(length) else { throw fields.invalid("its length is \(length)") }
    guard (-128...127).contains(exponent) else { throw fields.invalid("its exponent is \(exponent)") }
    if length == 0 { return isNegative ? NSDecimalNumber.notANumber : NSDecimalNumber.zero }
    let bytes = [UInt8](try fields.data("NS.mantissa"))
    guard bytes.count == 16 else { throw fields.invalid("its mantissa has \(bytes.count) bytes") }
    let order = try fields.integerIfPresent("NS.mantissa.bo") ?? 1
    guard order == 1 || order == 2 else { throw fields.invalid("its byte order is \(order)") }
    // Words beyond the length are not read, because the writer never set them.
    var value = Decimal(0)
    for word in (0..<length).reversed() {
      let (first, second) = (Int(bytes[2 * word]), Int(bytes[2 * word + 1]))
      value = value * 65_536 + Decimal(order == 1 ? second << 8 | first : first << 8 | second)
    }
    guard !value.isNaN else { throw fields.invalid("its mantissa is too large") }
    let scaled = Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: value)
    return NSDecimalNumber(decimal: scaled)
  }
}
