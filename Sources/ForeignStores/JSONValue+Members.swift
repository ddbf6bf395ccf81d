internal import Exchange
internal import Ground

extension JSONValue {
  /// The members of an object; empty for anything else.
  var members: [Member] {
    guard case .object(let members) = self else { return [] }
    return members
  }

  /// A string, number or boolean as text; nil for anything else.
  var scalar: String? {
    switch self {
    case .string(let text), .number(let text): text
    case .bool(let bool): String(bool)
    case .null, .array, .object: nil
    }
  }

  /// The text of a field: a scalar, or an array or object as JSON. Nothing becomes the empty text.
  var fieldText: String {
    switch self {
    case .null, .array([]), .object([]): ""
    case .array, .object: String(decoding: json, as: UTF8.self)
    case .string, .number, .bool: scalar ?? ""
    }
  }

  func text(_ name: String) -> String { self[name]?.scalar ?? "" }

  /// A whole number that is not negative.
  func count(_ name: String) -> Int? {
    guard case .number(let text)? = self[name] else { return nil }
    guard let number = Int(text) else { return text.utf8.allSatisfy(\.isDigit) ? .max : nil }
    return number >= 0 ? number : nil
  }

  /// Reads a file's text.
  ///
  /// - Throws: `damaged`, which contains no part of the text.
  static func read(_ bytes: [UInt8]) throws(ImportFault) -> JSONValue {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw ImportFault("it is not UTF-8", .damaged) }
    do { return try JSONValue(parsing: text) } catch {
      let fault = ImportFault(error)
      throw ImportFault(fault.words, at: fault.place, fault.isOverLimit ? .overLimit : .damaged)
    }
  }
}

/// Counts the losses, so that a loss in every entry is reported once.
struct LossCounts {
  private var counts: [String: Int] = [:]

  mutating func add(_ what: String) { counts[what, default: 0] += 1 }

  func tell(_ found: (EntryLine) throws(ImportFault) -> Void) throws(ImportFault) {
    for (what, count) in counts.sorted(by: { $0.key < $1.key }) {
      try found(.loss("\(what) (\(count == 1 ? "1 entry" : "\(count) entries"))"))
    }
  }
}
