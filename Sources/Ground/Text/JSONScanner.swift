/// Why a text is not JSON (RFC 8259). It contains none of the text, which may be a secret.
package struct JSONFault: Error, Equatable {
  package enum Kind: Sendable { case syntax, number, text, truncated }

  package let kind: Kind
  package let offset: Int
}

/// Scans JSON (RFC 8259): punctuation, numbers, strings, and whole values. All that is read of JSON is read by it.
package struct JSONScanner {
  private let bytes: [UInt8]
  package private(set) var position = 0

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  private func broken(_ kind: JSONFault.Kind) -> JSONFault { JSONFault(kind: kind, offset: position) }

  package mutating func peek() -> UInt8? {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return bytes[position]
      }
    }
    return nil
  }

  /// Skips white space and consumes `byte` if it is next; returns whether it was.
  package mutating func take(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    position += 1
    return true
  }

  package mutating func take(_ word: StaticString) -> Bool {
    guard word.withUTF8Buffer({ unsafe bytes[position...].starts(with: $0) }) else { return false }
    position += word.utf8CodeUnitCount
    return true
  }

  /// A number that begins here: an integer, or a finite real if it has a point or an exponent.
  package mutating func number() throws(JSONFault) -> (integer: Int128?, real: Double?) {
    let (range, isReal) = try numeral()
    guard range.count <= Self.numberBytes else { throw broken(.number) }
    let text = String(decoding: bytes[range], as: UTF8.self)
    if isReal {
      guard let real = Double(text), real.isFinite else { throw broken(.number) }
      return (nil, real)
    }
    guard let integer = Int128(text) else { throw broken(.number) }
    return (integer, nil)
  }

  /// The place of a number that begins here, of any length, and whether it has a point or an exponent.
  package mutating func numeral() throws(JSONFault) -> (range: Range<Int>, isReal: Bool) {
    let start = position
    if position < bytes.count, bytes[position] == UInt8(ascii: "-") { position += 1 }
    let first = position
    let whole = digits()
    guard whole > 0, whole == 1 || bytes[first] != UInt8(ascii: "0") else { throw broken(.syntax) }
    var isReal = false
    if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      isReal = true
      position += 1
      guard digits() > 0 else { throw broken(.number) }
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      isReal = true
      position += 1
      if position < bytes.count, bytes[position] == UInt8(ascii: "-") || bytes[position] == UInt8(ascii: "+") {
        position += 1
      }
      guard digits() > 0 else { throw broken(.number) }
    }
    return (start..<position, isReal)
  }

  /// The most bytes that a number may have, as in XML.
  private static let numberBytes = 512

  private mutating func digits() -> Int {
    let start = position
    while position < bytes.count, bytes[position] >= UInt8(ascii: "0"), bytes[position] <= UInt8(ascii: "9") {
      position += 1
    }
    return position - start
  }

  /// The encoding of a string that was read.
  package enum Encoding: Sendable { case ascii, utf8, utf16 }

  /// Appends the text of the string that begins here, as UTF-8, or as big-endian UTF-16 if it holds a lone surrogate.
  package mutating func string(into texts: inout [UInt8]) throws(JSONFault) -> Encoding {
    let begin = texts.count
    let start = position + 1
    position = start
    var isASCII = true
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        if isASCII { return .ascii }
        guard String(validating: texts[begin...], as: UTF8.self) != nil else { throw broken(.text) }
        return .utf8
      case UInt8(ascii: "\\"):
        let unit = try escape()
        if unit >= 0x80 { isASCII = false }
        guard let scalar = try scalar(unit) else {
          // A lone surrogate has no UTF-8 form: start again with code units.
          position = start
          texts.removeLast(texts.count - begin)
          try codeUnits(into: &texts)
          return .utf16
        }
        texts += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
      case 0..<0x20: throw broken(.syntax)
      default:
        if byte >= 0x80 { isASCII = false }
        texts.append(byte)
        position += 1
      }
    }
    throw broken(.truncated)
  }

  /// The character that begins with `unit` and may need a second escape; nil for a lone surrogate.
  private mutating func scalar(_ unit: UInt16) throws(JSONFault) -> Unicode.Scalar? {
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard UTF16.isLeadSurrogate(unit), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
      bytes[position + 1] == UInt8(ascii: "u")
    else { return nil }
    let second = try escape()
    guard UTF16.isTrailSurrogate(second) else { return nil }
    return Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
  }

  /// The code unit that an escape represents.
  private mutating func escape() throws(JSONFault) -> UInt16 {
    guard position + 1 < bytes.count else { throw broken(.truncated) }
    position += 2
    switch bytes[position - 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt16(bytes[position - 1])
    case UInt8(ascii: "b"): return 8
    case UInt8(ascii: "f"): return 12
    case UInt8(ascii: "n"): return 10
    case UInt8(ascii: "r"): return 13
    case UInt8(ascii: "t"): return 9
    case UInt8(ascii: "u"):
      let digits = bytes[position...].prefix(4)
      guard digits.count == 4, digits.allSatisfy(\.isHexadecimal),
        let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
      else { throw broken(.syntax) }
      position += 4
      return unit
    default: throw broken(.syntax)
    }
  }

  private mutating func codeUnits(into texts: inout [UInt8]) throws(JSONFault) {
    func append(_ unit: UInt16) {
      texts.append(UInt8(unit >> 8))
      texts.append(UInt8(unit & 0xFF))
    }
    while position < bytes.count {
      let start = position
      while position < bytes.count, bytes[position] >= 0x20, bytes[position] != UInt8(ascii: "\""),
        bytes[position] != UInt8(ascii: "\\")
      { position += 1 }
      guard let run = String(validating: bytes[start..<position], as: UTF8.self) else { throw broken(.text) }
      for unit in run.utf16 { append(unit) }
      guard position < bytes.count else { break }
      switch bytes[position] {
      case UInt8(ascii: "\\"): append(try escape())
      case UInt8(ascii: "\""):
        position += 1
        return
      default: throw broken(.syntax)
      }
    }
    throw broken(.truncated)
  }

  /// The text of the string that begins here, as UTF-8, and whether it holds an escaped lone surrogate, which becomes
  /// U+FFFD.
  package mutating func string() throws(JSONFault) -> (text: [UInt8], isLossy: Bool) {
    var text: [UInt8] = []
    guard try string(into: &text) == .utf16 else { return (text, false) }
    let units = stride(from: 0, to: text.count, by: 2).map { UInt16(text[$0]) << 8 | UInt16(text[$0 + 1]) }
    return (Array(String(decoding: units, as: UTF16.self).utf8), true)
  }

  /// Skips the value that comes next.
  package mutating func skipValue(nesting: Int = .max) throws(JSONFault) -> Range<Int> {
    _ = peek()
    let start = position
    // The brackets that end the open containers: a stack instead of recursion.
    var ends: [UInt8] = []
    while true {
      let isObject = take(UInt8(ascii: "{"))
      if isObject || take(UInt8(ascii: "[")) {
        ends.append(UInt8(ascii: isObject ? "}" : "]"))
        guard ends.count <= nesting else { throw broken(.syntax) }
        guard peek() == ends.last else {
          if isObject { try skipKey() }
          continue
        }
      } else {
        try skipScalar()
      }
      if try skipEnds(&ends) { return start..<position }
    }
  }

  /// Skips what follows a value: the ends of its containers, then a comma, and a key in an object. Returns whether all
  /// containers ended.
  private mutating func skipEnds(_ ends: inout [UInt8]) throws(JSONFault) -> Bool {
    while let end = ends.last, take(end) { ends.removeLast() }
    guard let end = ends.last else { return true }
    guard take(UInt8(ascii: ",")) else { throw broken(.syntax) }
    if end == UInt8(ascii: "}") { try skipKey() }
    return false
  }

  private mutating func skipKey() throws(JSONFault) {
    guard peek() == UInt8(ascii: "\"") else { throw broken(.syntax) }
    try skipString()
    guard take(UInt8(ascii: ":")) else { throw broken(.syntax) }
  }

  private mutating func skipScalar() throws(JSONFault) {
    if peek() == UInt8(ascii: "\"") { return try skipString() }
    if !take("true"), !take("false"), !take("null") { _ = try numeral() }
  }

  private mutating func skipString() throws(JSONFault) {
    position += 1
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return
      case UInt8(ascii: "\\"): _ = try escape()
      case 0..<0x20: throw broken(.syntax)
      default: position += 1
      }
    }
    throw broken(.truncated)
  }

  /// Whether `text` is one JSON value with at most `nesting` containers inside each other.
  package static func isValid(_ text: String, nesting: Int) -> Bool {
    var scanner = JSONScanner(Array(text.utf8))
    return (try? scanner.skipValue(nesting: nesting)) != nil && scanner.peek() == nil
  }
}
