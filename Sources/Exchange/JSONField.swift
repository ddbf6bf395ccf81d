/// Finds one member of a JSON object (RFC 8259) without parsing the rest into values.
public enum JSONField {
  /// The value of the member `key` of the object `text`: the content of a string, or the JSON of any other value.
  ///
  /// - Parameter text: valid JSON, in UTF-8.
  /// - Returns: `nil` if `text` is not an object or has no such member. If there are several, the last counts.
  public static func value(of key: String, in text: [UInt8]) -> [UInt8]? {
    member(key, of: text).map { $0.first == UInt8(ascii: "\"") ? decoded($0) : Array($0) }
  }

  /// The content of the member `key`, as for `value(of:in:)`; `nil` if it is not a string.
  public static func string(of key: String, in text: [UInt8]) -> [UInt8]? {
    member(key, of: text).flatMap { $0.first == UInt8(ascii: "\"") ? decoded($0) : nil }
  }

  /// The kind of a member's value.
  public enum Kind: Sendable { case string, number, bool, null, container }

  /// The kind of the member `key` of the object `text`; `nil` as for `value(of:in:)`.
  public static func kind(of key: String, in text: [UInt8]) -> Kind? {
    switch member(key, of: text)?.first {
    case nil: nil
    case UInt8(ascii: "\""): .string
    case UInt8(ascii: "{"), UInt8(ascii: "["): .container
    case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
    case UInt8(ascii: "n"): .null
    default: .number
    }
  }

  /// The object `text` with the member `key` set to `value`. All other bytes are unchanged.
  ///
  /// - Parameters:
  ///   - value: valid JSON.
  ///   - text: valid JSON, in UTF-8.
  /// - Returns: `nil` if `text` is not an object.
  public static func setting(_ key: String, to value: [UInt8], in text: [UInt8]) -> [UInt8]? {
    if let present = member(key, of: text) {
      return text[..<present.startIndex] + value + text[present.endIndex...]
    }
    var scanner = Scanner(text)
    guard scanner.take(UInt8(ascii: "{")), let end = text.lastIndex(of: UInt8(ascii: "}")) else { return nil }
    var added: [UInt8] = scanner.peek == UInt8(ascii: "}") ? [] : [UInt8(ascii: ",")]
    JSONObject.quote(key.utf8, to: &added)
    added.append(UInt8(ascii: ":"))
    return text[..<end] + added + value + text[end...]
  }

  /// The JSON string for `text`, which is UTF-8.
  public static func quoted(_ text: [UInt8]) -> [UInt8] {
    var json: [UInt8] = []
    JSONObject.quote(text, to: &json)
    return json
  }

  private static func member(_ key: String, of text: [UInt8]) -> ArraySlice<UInt8>? {
    var scanner = Scanner(text)
    guard scanner.take(UInt8(ascii: "{")) else { return nil }
    var found: ArraySlice<UInt8>?
    while scanner.peek == UInt8(ascii: "\"") {
      let name = decoded(scanner.string())
      guard scanner.take(UInt8(ascii: ":")) else { return nil }
      let value = scanner.value()
      if name == Array(key.utf8) { found = value }
      guard scanner.take(UInt8(ascii: ",")) else { break }
    }
    return found
  }

  /// The text of a quoted string.
  ///
  /// - Returns: `nil` if it contains an escape that JSON does not define, or only one half of a surrogate pair.
  static func text(of string: ArraySlice<UInt8>) -> String? {
    var rest = string.dropFirst().dropLast()
    var needsLow = false
    while let byte = rest.popFirst() {
      let isEscape = byte == UInt8(ascii: "\\")
      guard !needsLow || isEscape && rest.first == UInt8(ascii: "u") else { return nil }
      guard isEscape else { continue }
      switch rest.popFirst() {
      case UInt8(ascii: "u")?:
        let digits = rest.prefix(4)
        guard digits.count == 4, digits.first != 0x2B,
          let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16),
          needsLow == (0xDC00...0xDFFF).contains(unit)
        else { return nil }
        needsLow = (0xD800...0xDBFF).contains(unit)
        rest = rest.dropFirst(4)
      case let escape?: guard "\"\\/bfnrt".utf8.contains(escape) else { return nil }
      case nil: return nil
      }
    }
    return needsLow ? nil : String(decoding: decoded(string), as: UTF8.self)
  }

  /// The bytes that a quoted string represents. An escaped lone surrogate becomes U+FFFD.
  private static func decoded(_ string: ArraySlice<UInt8>) -> [UInt8] {
    var units: [UInt16] = []
    var bytes: [UInt8] = []
    func flush() {
      guard !units.isEmpty else { return }
      bytes += Array(String(decoding: units, as: UTF16.self).utf8)
      units = []
    }
    var rest = string.dropFirst().dropLast()
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
        flush()
        bytes.append(byte)
        continue
      }
      if escape == UInt8(ascii: "u") {
        units.append(UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) ?? 0xFFFD)
        rest = rest.dropFirst(4)
      } else {
        flush()
        bytes.append(controls[escape] ?? escape)
      }
    }
    flush()
    return bytes
  }

  private static let controls: [UInt8: UInt8] = [
    UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13, UInt8(ascii: "t"): 9,
  ]

  private struct Scanner {
    private var rest: ArraySlice<UInt8>

    init(_ text: [UInt8]) {
      rest = text[...]
      skipSpace()
    }

    var peek: UInt8? { rest.first }

    /// Consumes `byte` and the white space after it.
    mutating func take(_ byte: UInt8) -> Bool {
      guard rest.first == byte else { return false }
      rest = rest.dropFirst()
      skipSpace()
      return true
    }

    /// A quoted string.
    mutating func string() -> ArraySlice<UInt8> {
      let start = rest
      rest = rest.dropFirst()
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        if byte == UInt8(ascii: "\\") { rest = rest.dropFirst() }
      }
      let string = start[start.startIndex..<rest.startIndex]
      skipSpace()
      return string
    }

    /// One value of any kind.
    mutating func value() -> ArraySlice<UInt8> {
      guard rest.first != UInt8(ascii: "\"") else { return string() }
      let start = rest
      var depth = 0
      var end = start.startIndex
      scan: while let byte = rest.first {
        switch byte {
        case UInt8(ascii: "\""):
          _ = string()
          end = rest.startIndex
          continue
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          guard depth > 0 else { break scan }
          depth -= 1
        case UInt8(ascii: ","): if depth == 0 { break scan }
        default: break
        }
        rest = rest.dropFirst()
        end = rest.startIndex
      }
      var value = start[start.startIndex..<end]
      while let last = value.last, last.isJSONSpace { value = value.dropLast() }
      skipSpace()
      return value
    }

    private mutating func skipSpace() { rest = rest.drop(while: \.isJSONSpace) }
  }
}

extension UInt8 {
  fileprivate var isJSONSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
