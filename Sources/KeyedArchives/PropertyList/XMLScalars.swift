/// The numbers, dates and data of XML property lists.
enum XMLScalars {
  /// A decimal or `0x` hexadecimal integer of up to 128 bits, with an optional sign and white space around it.
  static func integer(_ text: [UInt8]) -> Int128? {
    var digits = trimmed(text)
    var isNegative = false
    if let sign = digits.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      digits = digits.dropFirst()
    }
    let isHexadecimal = digits.starts(with: "0x".utf8) || digits.starts(with: "0X".utf8)
    if isHexadecimal { digits = digits.dropFirst(2) }
    guard let first = digits.first, Character(Unicode.Scalar(first)).isHexDigit else { return nil }
    // Parse the sign together with the digits, because the most negative number has no positive counterpart.
    return Int128((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10)
  }

  /// A decimal real number, or one of the words that property lists use for infinities and NaN.
  static func real(_ text: [UInt8]) -> Double? {
    let word = String(decoding: trimmed(text), as: UTF8.self)
    switch word.lowercased() {
    case "nan": return .nan
    case "inf", "+inf", "infinity", "+infinity": return .infinity
    case "-inf", "-infinity": return -.infinity
    default:
      guard word.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else { return nil }
      return Double(word)
    }
  }

  /// `YYYY-MM-DDThh:mm:ssZ` as seconds since the beginning of 2001.
  static func date(_ text: [UInt8]) -> Double? {
    let parts = Array(trimmed(text))
    guard parts.count == 20 else { return nil }
    let shape = Array("0000-00-00T00:00:00Z".utf8)
    for (byte, form) in zip(parts, shape) {
      let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
      guard form == UInt8(ascii: "0") ? isDigit : byte == form else { return nil }
    }
    func number(_ start: Int, _ count: Int) -> Int {
      parts[start..<(start + count)].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
    let (month, day) = (number(5, 2), number(8, 2))
    let (hour, minute, second) = (number(11, 2), number(14, 2), number(17, 2))
    guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61 else { return nil }
    let days = UTCDate.days(Int64(number(0, 4)), Int64(month), Int64(day)) - UTCDate.daysTo2001
    return Double(Int(days) * 86_400 + hour * 3_600 + minute * 60 + second)
  }

  private static func trimmed(_ text: [UInt8]) -> ArraySlice<UInt8> {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
    guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) })
    else {
      return []
    }
    return text[first...last]
  }
}
