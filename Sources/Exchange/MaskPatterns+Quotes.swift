extension MaskPatterns {
  /// The value as it is written in a shell, a web form and HTML, where some characters have a special meaning.
  static func quoted(_ value: [UInt8]) -> [[UInt8]] {
    [
      // 'it'\''s' and 'it'"'"'s', as many programs quote for a shell.
      replacing(value) { $0 == UInt8(ascii: "'") ? #"'\''"# : nil },
      replacing(value) { $0 == UInt8(ascii: "'") ? #"'"'"'"# : nil },
      // it\'s, as printf %q does.
      replacing(value) { isPlainInShells($0) ? nil : #"\"# + String(UnicodeScalar($0)) },
      // $'a\nb', as printf %q does where there are control characters.
      replacing(value) { byte in
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\\"): #"\"# + String(UnicodeScalar(byte))
        case 0x0A: #"\n"#
        case 0x09: #"\t"#
        case 0x0D: #"\r"#
        default: nil
        }
      },
    ] + ["&#39;", "&#x27;", "&apos;", "'"].map { html(value, apostrophe: $0) } + forms(value)
  }

  /// Hexadecimal digits of either case.
  static func hexadecimal(_ value: [UInt8]) -> [[UInt8]] {
    ["0123456789abcdef", "0123456789ABCDEF"].map { digits in
      let digits = Array(digits.utf8)
      return value.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
  }

  /// Base32 (RFC 4648), without the last character where it depends on what follows the value.
  static func base32(_ value: [UInt8]) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    var characters: [UInt8] = []
    var (bits, count) = (0, 0)
    for byte in value {
      (bits, count) = (bits << 8 | Int(byte), count + 8)
      while count >= 5 {
        count -= 5
        characters.append(alphabet[bits >> count & 31])
      }
      bits &= 31
    }
    return characters
  }

  /// `application/x-www-form-urlencoded`, as browsers write it and as Python does.
  private static func forms(_ value: [UInt8]) -> [[UInt8]] {
    ["-._*", "-._~"].map { unreserved in
      let unreserved = Set(unreserved.utf8)
      let digits = Array("0123456789ABCDEF".utf8)
      return value.flatMap { byte -> [UInt8] in
        if byte == 0x20 { return [UInt8(ascii: "+")] }
        if isAlphanumeric(byte) || unreserved.contains(byte) { return [byte] }
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
  }

  private static func html(_ value: [UInt8], apostrophe: String) -> [UInt8] {
    replacing(value) { byte in
      switch byte {
      case UInt8(ascii: "&"): "&amp;"
      case UInt8(ascii: "<"): "&lt;"
      case UInt8(ascii: ">"): "&gt;"
      case UInt8(ascii: "\""): "&quot;"
      case UInt8(ascii: "'"): apostrophe
      default: nil
      }
    }
  }

  private static func replacing(_ value: [UInt8], _ replacement: (UInt8) -> String?) -> [UInt8] {
    value.flatMap { byte in replacement(byte).map { Array($0.utf8) } ?? [byte] }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
  }

  private static func isPlainInShells(_ byte: UInt8) -> Bool {
    isAlphanumeric(byte) || byte >= 0x80 || "%+-./:=@_".utf8.contains(byte)
  }
}
