/// Arguments that are taken out one by one; what is left over, doubled or without a value was not understood.
struct PlainArguments {
  /// A word that was taken leaves a gap, so that those around it do not become an option and its value.
  private var words: [String?]
  private var isBroken = false

  init(_ arguments: ArraySlice<String>) {
    words = Array(arguments)
    // `--name=value` and `--` have rules of their own.
    isBroken = arguments.contains { $0 == "--" || $0 == "-" || $0.hasPrefix("-") && $0.contains("=") }
  }

  /// Whether everything was taken out.
  var areUnderstood: Bool { words.allSatisfy { $0 == nil } && !isBroken }

  /// The one word that is no option; it stands in front in what scripts write.
  mutating func name() -> String {
    guard let name = nameIfAny() else {
      isBroken = true
      return ""
    }
    return name
  }

  mutating func nameIfAny() -> String? {
    guard let word = words.first, let first = word, !first.hasPrefix("-") else { return nil }
    words[0] = nil
    return first
  }

  mutating func flag(_ name: String) -> Bool {
    guard let place = words.firstIndex(of: name) else { return false }
    words[place] = nil
    return true
  }

  /// Every value of an option that may be given more than once.
  mutating func options(_ names: String...) -> [String] {
    var values: [String] = []
    while let place = words.firstIndex(where: { $0.map(names.contains) ?? false }) {
      guard place + 1 < words.count, let value = words[place + 1], !value.hasPrefix("-") else {
        isBroken = true
        return values
      }
      values.append(value)
      words.replaceSubrange(place...place + 1, with: [nil, nil])
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
