internal import Ground

extension StringProtocol {
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
}
