/// Whether a text is JSON (RFC 8259). It is stored as it was given, so nothing is made of it here.
struct JSONText {
  private var rest: Substring.UTF8View

  /// - Returns: false also for containers more than 512 deep, which other programs would not read.
  static func isValid(_ text: String) -> Bool {
    var json = JSONText(rest: text[...].utf8)
    return json.readDocument()
  }

  /// Reads with a stack of its own: what it was in is popped at each closing bracket.
  private mutating func readDocument() -> Bool {
    var open: [UInt8] = []
    while true {
      skipSpace()
      guard let byte = rest.first else { return false }
      if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
        guard open.count < 512 else { return false }
        rest = rest.dropFirst()
        skipSpace()
        // An empty container is a value.
        if rest.first == closing(byte) {
          rest = rest.dropFirst()
        } else {
          open.append(byte)
          if byte == UInt8(ascii: "{") { guard readKey() else { return false } }
          continue
        }
      } else {
        guard readScalar(byte) else { return false }
      }
      // Behind a value: the end of its containers, a comma, or the end of all.
      while true {
        skipSpace()
        guard let container = open.last else { return rest.isEmpty }
        if take(closing(container)) {
          open.removeLast()
          continue
        }
        guard take(UInt8(ascii: ",")) else { return false }
        if container == UInt8(ascii: "{") { guard readKey() else { return false } }
        break
      }
    }
  }

  private func closing(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]") }

  private mutating func readKey() -> Bool {
    skipSpace()
    guard rest.first == UInt8(ascii: "\""), readString() else { return false }
    skipSpace()
    return take(UInt8(ascii: ":"))
  }

  private mutating func readScalar(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""): readString()
    case UInt8(ascii: "t"): take("true")
    case UInt8(ascii: "f"): take("false")
    case UInt8(ascii: "n"): take("null")
    default: readNumber()
    }
  }

  private mutating func readString() -> Bool {
    rest = rest.dropFirst()
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return true
      case ..<0x20: return false
      case UInt8(ascii: "\\"):
        guard let escape = rest.popFirst() else { return false }
        if escape == UInt8(ascii: "u") {
          guard rest.prefix(4).count == 4, rest.prefix(4).allSatisfy(Self.isHexadecimal) else { return false }
          rest = rest.dropFirst(4)
        } else if !"\"\\/bfnrt".utf8.contains(escape) {
          return false
        }
      default: continue
      }
    }
    return false
  }

  private mutating func readNumber() -> Bool {
    _ = take(UInt8(ascii: "-"))
    let startsWithZero = rest.first == UInt8(ascii: "0")
    let whole = takeDigits()
    guard whole > 0, !(startsWithZero && whole > 1) else { return false }
    if take(UInt8(ascii: ".")) { guard takeDigits() > 0 else { return false } }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard takeDigits() > 0 else { return false }
    }
    return true
  }

  private mutating func takeDigits() -> Int {
    let digits = rest.prefix { (0x30...0x39).contains($0) }
    rest = rest[digits.endIndex...]
    return digits.count
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard rest.first == byte else { return false }
    rest = rest.dropFirst()
    return true
  }

  private mutating func take(_ word: String) -> Bool {
    guard rest.starts(with: word.utf8) else { return false }
    rest = rest.dropFirst(word.utf8.count)
    return true
  }

  private mutating func skipSpace() {
    while let byte = rest.first, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
      rest = rest.dropFirst()
    }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
  }
}
