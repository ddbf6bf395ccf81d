/// Arguments that are taken out one by one; what is left over, doubled or without a value was not understood.
struct PlainArguments {
  private var words: [String]
  private var isBroken = false

  init(_ arguments: ArraySlice<String>) {
    words = Array(arguments)
    // `--name=value` and `--` have rules of their own.
    isBroken = words.contains { $0 == "--" || $0 == "-" || $0.hasPrefix("-") && $0.contains("=") }
  }

  /// Whether everything was taken out.
  var areUnderstood: Bool { words.isEmpty && !isBroken }

  /// The one word that is no option, once the options are taken out; it stands in front in what scripts write.
  mutating func name() -> String {
    guard let name = nameIfAny() else {
      isBroken = true
      return ""
    }
    return name
  }

  mutating func nameIfAny() -> String? {
    guard let first = words.first, !first.hasPrefix("-") else { return nil }
    return words.removeFirst()
  }

  mutating func flag(_ name: String) -> Bool {
    guard let place = words.firstIndex(of: name) else { return false }
    words.remove(at: place)
    return true
  }

  /// Every value of an option that may be given more than once.
  mutating func options(_ names: String...) -> [String] {
    var values: [String] = []
    while let place = words.firstIndex(where: names.contains) {
      guard place + 1 < words.count, !words[place + 1].hasPrefix("-") else {
        isBroken = true
        return values
      }
      values.append(words[place + 1])
      words.removeSubrange(place...place + 1)
    }
    return values
  }

  mutating func option(_ names: String...) -> String? {
    var values: [String] = []
    for name in names { values += options(name) }
    if values.count > 1 { isBroken = true }
    return values.first
  }

  mutating func number<Number: FixedWidthInteger>(_ name: String) -> Number? {
    guard let text = option(name) else { return nil }
    if Number(text) == nil { isBroken = true }
    return Number(text)
  }
}
