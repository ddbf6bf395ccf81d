// The standard library's functions for this would link its regular expressions into the executable, which would slow
// down each start, and tools/build refuses that.

extension StringProtocol {
  /// The range of the first occurrence of `text`, which is not empty, compared byte by byte.
  package func place(of text: some StringProtocol) -> Range<Index>? {
    guard let first = text.utf8.first else { return nil }
    var rest = utf8[...]
    while let start = rest.firstIndex(of: first) {
      rest = rest[start...]
      if rest.starts(with: text.utf8) { return start..<utf8.index(start, offsetBy: text.utf8.count) }
      rest.removeFirst()
    }
    return nil
  }

  /// The text with each `old`, which is not empty, replaced by `new`, compared byte by byte.
  package func exchanging(_ old: String, for new: String) -> String {
    var result = ""
    var rest = self[...]
    while let place = rest.place(of: old) {
      result += rest[..<place.lowerBound]
      result += new
      rest = rest[place.upperBound...]
    }
    return result + rest
  }

  /// Whether the text contains `part`, in any spelling that Unicode treats as equal.
  package func holds(_ part: some StringProtocol) -> Bool {
    let isASCII = utf8.allSatisfy { $0 < 0x80 } && part.utf8.allSatisfy { $0 < 0x80 }
    if isASCII { return part.isEmpty || place(of: part) != nil }
    var start = startIndex
    while start < endIndex {
      if self[start...].starts(with: part) { return true }
      formIndex(after: &start)
    }
    return part.isEmpty
  }
}
