/// Makes names from hostile bytes safe to print on a terminal or in a log.
package enum Printable {
  /// The number of characters after which a name is cut.
  package static let shown = 80

  /// `name` with control and format characters as `\u{…}`, cut at 80 characters.
  package static func name(_ name: String) -> String {
    var text: [UInt8] = []
    append(name, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the result of ``name(_:)`` as UTF-8.
  package static func append(_ name: String, to text: inout [UInt8]) {
    var count = 0
    for scalar in name.unicodeScalars {
      if count == shown {
        text += "…".utf8
        return
      }
      if isPlain(scalar) {
        if scalar.isASCII {
          text.append(UInt8(truncatingIfNeeded: scalar.value))
        } else {
          text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        }
      } else {
        text += "\\u{\(String(scalar.value, radix: 16))}".utf8
      }
      count += 1
    }
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value < 0x7F }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
    default: true
    }
  }
}
