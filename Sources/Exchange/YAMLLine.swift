/// A flat YAML object with one member per line.
package enum YAMLLine {
  /// One member with its line break. Every reader of YAML, including the older version 1.1, reads exactly these texts.
  package static func of(_ name: String, _ value: String) -> [UInt8] {
    let isPlain =
      name.utf8.first.map(isLetter) == true && !words.contains(name.lowercased())
      && name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) }
    return (isPlain ? Array(name.utf8) : quoted(name)) + [UInt8(ascii: ":"), UInt8(ascii: " ")] + quoted(value) + [0x0A]
  }

  /// Words that some version of YAML reads as a boolean or null.
  private static let words: Set = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }

  private static func quoted(_ text: String) -> [UInt8] {
    var bytes = [UInt8(ascii: "\"")]
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": bytes += "\\\(scalar)".utf8
      case "\n": bytes += #"\n"#.utf8
      case "\t": bytes += #"\t"#.utf8
      case "\r": bytes += #"\r"#.utf8
      case " "..."~", "\u{A0}"..."\u{2027}", "\u{202A}"..."\u{FEFE}", "\u{FF00}"..."\u{FFFD}", "\u{10000}"...:
        bytes += String(scalar).utf8
      default:
        let digits = String(scalar.value, radix: 16, uppercase: true)
        bytes += (#"\u"# + String(repeating: "0", count: 4 - digits.count) + digits).utf8
      }
    }
    return bytes + [UInt8(ascii: "\"")]
  }
}
