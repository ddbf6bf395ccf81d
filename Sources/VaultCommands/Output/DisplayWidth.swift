internal import Ground

/// The number of columns that a text takes on a terminal.
enum DisplayWidth {
  static func of(_ text: String) -> Int {
    // Printable ASCII, nearly always.
    if text.isPrintableASCII { return text.utf8.count }
    return text.reduce(0) { $0 + width(of: $1) }
  }

  private static func width(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    let widest = scalars.lazy.map(width(of:)).max() ?? 0
    // VARIATION SELECTOR-16 selects the wide emoji form of a narrow character, and two regional indicators make a flag.
    if widest > 0, scalars.contains("\u{FE0F}") { return 2 }
    if scalars.count > 1, scalars.allSatisfy({ (0x1F1E6...0x1F1FF).contains($0.value) }) { return 2 }
    return widest
  }

  private static func width(of scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    if scalar.properties.isEmojiPresentation { return (0x1F1E6...0x1F1FF).contains(scalar.value) ? 1 : 2 }
    return wide.contains { $0.contains(scalar.value) } ? 2 : 1
  }

  /// East Asian Width W and F (Unicode Standard Annex 11), without the emoji.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF, 0x1B000...0x1B2FF,
    0x20000...0x3FFFD,
  ]

  /// The longest prefix of `text` that takes at most `width` columns, ending in `…` if it was shortened.
  static func cut(_ text: String, to width: Int) -> String {
    guard of(text) > width, width > 0 else { return text }
    var (kept, taken) = ("", 0)
    for character in text {
      taken += self.width(of: character)
      if taken > width - 1 { break }
      kept.append(character)
    }
    return kept + "…"
  }
}
