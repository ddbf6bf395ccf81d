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
    guard (0...8).contains(length) else { throw fields.invalid("its length is out of range") }
    guard (-128...127).contains(exponent) else { throw fields.invalid("its exponent is out of range") }
    if length == 0 { return isNegative ? NSDecimalNumber.notANumber : NSDecimalNumber.zero }
    let bytes = [UInt8](try fields.data("NS.mantissa"))
    guard bytes.count == 16 else { throw fields.invalid("its mantissa does not have 16 bytes") }
    let order = try fields.integerIfPresent("NS.mantissa.bo") ?? 1
    guard order == 1 || order == 2 else { throw fields.invalid("its byte order is unknown") }
    // Words beyond the length are not read, because the writer never set them.
    var value = Decimal(0)
    for word in (0..<length).reversed() {
      let (first, second) = (Int(bytes[2 * word]), Int(bytes[2 * word + 1]))
      value = value * 65_536 + Decimal(order == 1 ? second << 8 | first : first << 8 | second)
    }
    guard !value.isNaN else { throw fields.invalid("its mantissa is too large") }
    let scaled = Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: value)
    guard !scaled.isNaN else { throw fields.invalid("its exponent is out of range") }
    return NSDecimalNumber(decimal: scaled)
  }
}

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
    if number == 0 { return number.sign == .minus ? "-0" : "0" }
    return number == number.rounded() && number.magnitude < 1e15 ? String(Int64(number)) : "\(number)"
  }
}

/// An NSValue that holds a C number or an array of C numbers: its type under `$0`, its numbers under `$1`.
struct RawNumbers {
  private let type: String
  private let value: NSValue
  private let fields: FieldsWriter

  init(_ type: String, _ value: NSValue, _ fields: FieldsWriter) {
    self.type = type
    self.value = value
    self.fields = fields
  }

  func write() throws(ArchiveError) {
    guard let (code, count) = RawValue.parse(type), let size = RawValue.sizes[code] else {
      throw fields.refused(.notWritten)
    }
    var bytes = [UInt8](repeating: 0, count: size * (count ?? 1))
    unsafe bytes.withUnsafeMutableBytes { buffer in
      // The buffer is never empty: no count is zero, and each number has at least one byte.
      if let start = buffer.baseAddress { unsafe value.getValue(start) }
    }
    fields.object("$0", type)
    guard count != nil else {
      return fields.archiver.set("$1") { () throws(ArchiveError) in
        try fields.archiver.number(ofCode: code, bytes[...])
      }
    }
    fields.object("$1", OldStyleArray(code: code, size: size, bytes: bytes))
  }
}

/// The object in which `NSValue` archives an array of numbers.
final class OldStyleArray: NSObject {
  let code: Character
  let size: Int
  let bytes: [UInt8]

  init(code: Character, size: Int, bytes: [UInt8]) {
    self.code = code
    self.size = size
    self.bytes = bytes
  }

  func write(_ fields: FieldsWriter) {
    fields.integer("NS.count", bytes.count / size)
    fields.integer("NS.size", size)
    fields.integer("NS.type", Int(code.asciiValue ?? 0))
    for index in 0..<bytes.count / size {
      fields.archiver.set("$\(index)") { () throws(ArchiveError) in
        try fields.archiver.number(ofCode: code, bytes[(index * size)...])
      }
    }
  }
}

extension SecureArchiver {
  /// Adds the C number at an address.
  func number(ofType type: UnsafePointer<Int8>, at address: UnsafeRawPointer) throws(ArchiveError) -> UInt32 {
    let text = unsafe String(cString: type)
    if text == "B" { return builder.add(bool: unsafe address.load(as: Bool.self)) }
    guard let (code, count) = RawValue.parse(text), count == nil, let size = RawValue.sizes[code] else {
      throw .unsupportedCall("encodeValue(ofObjCType:at:) of this type", at: here)
    }
    return try number(ofCode: code, unsafe Array(UnsafeRawBufferPointer(start: address, count: size))[...])
  }

  /// Adds a C number from its little-endian bytes.
  func number(ofCode code: Character, _ bytes: ArraySlice<UInt8>) throws(ArchiveError) -> UInt32 {
    func take<T: FixedWidthInteger>(_: T.Type) -> T {
      bytes.prefix(T.bitWidth / 8).reversed().reduce(0) { $0 << 8 | T($1) }
    }
    return switch code {
    case "c": builder.add(integer: Int64(Int8(bitPattern: take(UInt8.self))))
    case "C": builder.add(integer: Int64(take(UInt8.self)))
    case "s": builder.add(integer: Int64(Int16(bitPattern: take(UInt16.self))))
    case "S": builder.add(integer: Int64(take(UInt16.self)))
    case "i": builder.add(integer: Int64(Int32(bitPattern: take(UInt32.self))))
    case "I": builder.add(integer: Int64(take(UInt32.self)))
    case "q": builder.add(integer: Int64(bitPattern: take(UInt64.self)))
    case "Q": builder.add(unsigned: take(UInt64.self))
    case "f": builder.add(real: Float(bitPattern: take(UInt32.self)))
    default: builder.add(real: Double(bitPattern: take(UInt64.self)))
    }
  }
}
