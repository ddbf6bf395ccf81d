extension String {
  /// Whether no more than 255 combining characters (Unicode's category Mark) follow each other. A longer run takes
  /// quadratic time to compare and to normalize: minutes for 256 KiB.
  package var hasShortMarkRuns: Bool {
    guard utf8.count > 512 else { return true }
    var run = 0
    for scalar in unicodeScalars {
      let category = scalar.properties.generalCategory
      run = [.nonspacingMark, .spacingMark, .enclosingMark].contains(category) ? run + 1 : 0
      if run > 255 { return false }
    }
    return true
  }
}

/// Checks of bytes that may be text, without copying them.
package enum UTF8Text {
  package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
  }

  /// Characters that reorder or break a line, so that a text could look like another.
  package static func isDeceptive(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }

  /// The scalar of two or three bytes at `position` if it controls terminals, as C1 does, or makes a text look like
  /// another.
  @usableFromInline
  static func steering(_ bytes: UnsafeRawBufferPointer, at position: Int) -> (scalar: UInt32, byteCount: Int)? {
    func continuation(_ offset: Int) -> UInt32? {
      guard position + offset < bytes.count else { return nil }
      let byte = unsafe bytes[position + offset]
      return byte & 0xC0 == 0x80 ? UInt32(byte & 0x3F) : nil
    }
    let first = unsafe UInt32(bytes[position])
    guard let second = continuation(1) else { return nil }
    let found: (scalar: UInt32, byteCount: Int)
    if first & 0xE0 == 0xC0 {
      found = ((first & 0x1F) << 6 | second, 2)
    } else if first & 0xF0 == 0xE0, let third = continuation(2) {
      found = ((first & 0x0F) << 12 | second << 6 | third, 3)
    } else {
      return nil
    }
    guard let scalar = Unicode.Scalar(found.scalar), isControl(scalar) || isDeceptive(scalar) else { return nil }
    return found
  }
}
