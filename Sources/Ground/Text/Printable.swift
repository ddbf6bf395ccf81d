/// Makes names from hostile bytes safe to print on a terminal or in a log.
package enum Printable {
  package static let shown = 80

  /// `name` with control and format characters as `\u{…}`, cut at 80 characters.
  package static func name(_ name: String) -> String {
    var text = ""
    for scalar in name.unicodeScalars.prefix(shown) {
      if isPlain(scalar) {
        text.unicodeScalars.append(scalar)
      } else {
        text += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    return name.unicodeScalars.dropFirst(shown).isEmpty ? text : text + "…"
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value < 0x7F }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
    default: true
    }
  }
}
