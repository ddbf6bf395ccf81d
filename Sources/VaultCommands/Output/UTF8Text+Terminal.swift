internal import Ground

/// Texts as a terminal gets them.
extension UTF8Text {
  /// Whether a terminal shows the bytes as they are: UTF-8 without the control characters that could move its cursor,
  /// recolour it or type on the user's behalf.
  static func isPrintable(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let text = unsafe try? UTF8Span(validating: Span(_unsafeBytes: bytes)) else { return false }
    var scalars = text.makeUnicodeScalarIterator()
    while let scalar = scalars.next() {
      if isControl(scalar) && !["\t", "\n", "\r"].contains(scalar) { return false }
    }
    return true
  }

  /// The text for one line of a terminal or a pipe. Characters that could break the line become `\u{…}`.
  static func onOneLine(_ text: String) -> String {
    if text.isPrintableASCII { return text }
    guard text.unicodeScalars.contains(where: { isControl($0) || isDeceptive($0) }) else { return text }
    var line = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isControl(scalar) || isDeceptive(scalar) {
        line.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
      } else {
        line.append(scalar)
      }
    }
    return String(line)
  }
}
