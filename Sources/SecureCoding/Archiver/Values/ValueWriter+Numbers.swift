import Foundation
import KeyedArchives

extension ValueWriter {
  /// Decimal numbers, and NSValue with its contents.
  static let numbers = [
    ValueWriter(NSDecimalNumber.self, "NSDecimalNumber", "NSNumber", "NSValue") { number, fields throws(ArchiveError) in
      try write(number.decimalValue, fields)
    },
    ValueWriter(NSValue.self, "NSValue") { value, fields throws(ArchiveError) in try write(value, fields) },
  ]

  private static func write(_ decimal: Decimal, _ fields: FieldsWriter) throws(ArchiveError) {
    // The decimal text of the significand is an integer of at most 128 bits.
    guard decimal.isNaN || UInt128(decimal.significand.description) != nil else { throw fields.refused(.noForm) }
    let significand = decimal.isNaN ? 0 : UInt128(decimal.significand.description) ?? 0
    let words = (UInt128.bitWidth - significand.leadingZeroBitCount + 15) / 16
    fields.integer("NS.exponent", decimal.isNaN ? 0 : decimal.exponent)
    fields.integer("NS.length", words)
    fields.flag("NS.negative", decimal.isNaN || decimal.sign == .minus && words > 0)
    fields.flag("NS.compact", true)
    // The words, and the bytes in each word, are little-endian.
    fields.data("NS.mantissa", Data((0..<16).map { UInt8(truncatingIfNeeded: significand >> UInt128(8 * $0)) }))
    fields.integer("NS.mantissa.bo", 1)
  }

  private static func write(_ value: NSValue, _ fields: FieldsWriter) throws(ArchiveError) {
    switch unsafe String(cString: value.objCType) {
    case unsafe String(cString: NSValue(point: .zero).objCType):
      fields.integer("NS.special", 1)
      fields.object("NS.pointval", "{\(number(value.pointValue.x)), \(number(value.pointValue.y))}")
    case unsafe String(cString: NSValue(size: .zero).objCType):
      fields.integer("NS.special", 2)
      fields.object("NS.sizeval", "{\(number(value.sizeValue.width)), \(number(value.sizeValue.height))}")
    case unsafe String(cString: NSValue(rect: .zero).objCType):
      let (origin, size) = (value.rectValue.origin, value.rectValue.size)
      fields.integer("NS.special", 3)
      fields.object(
        "NS.rectval",
        "{{\(number(origin.x)), \(number(origin.y))}, {\(number(size.width)), \(number(size.height))}}")
    case unsafe String(cString: NSValue(range: NSRange()).objCType):
      fields.integer("NS.special", 4)
      fields.object("NS.rangeval.location", value.rangeValue.location)
      fields.object("NS.rangeval.length", value.rangeValue.length)
    case unsafe String(cString: NSValue(edgeInsets: NSEdgeInsets()).objCType):
      let insets = value.edgeInsetsValue
      fields.integer("NS.special", 12)
      fields.real("NS.edgeval.top", insets.top)
      fields.real("NS.edgeval.left", insets.left)
      fields.real("NS.edgeval.bottom", insets.bottom)
      fields.real("NS.edgeval.right", insets.right)
    case let type: try RawNumbers(type, value, fields).write()
    }
  }

  /// Formats a number as Apple's systems do: whole numbers have no decimal point.
  private static func number(_ value: CGFloat) -> String {
    let number = Double(value)
    return number == number.rounded() && number.magnitude < 1e15 ? String(Int64(number)) : "\(number)"
  }
}
