internal import Ground

/// Finds one member of a JSON object (RFC 8259) without parsing the rest into values. Names are the same if their bytes
/// are: Swift would take those for equal that differ only in their Unicode form.
public enum JSONField {
  /// The value of the member `key` of the object `text`: the content of a string, or the JSON of any other value.
  ///
  /// - Parameter text: valid JSON, in UTF-8.
  /// - Returns: `nil` if `text` is not an object or has no such member. If there are several, the last counts.
  public static func value(of key: String, in text: [UInt8]) -> [UInt8]? {
    member(key, of: text).flatMap(content)
  }

  /// The content of the member `key`, as for `value(of:in:)`; `nil` if it is not a string.
  public static func string(of key: String, in text: [UInt8]) -> [UInt8]? {
    member(key, of: text).flatMap { $0.first == UInt8(ascii: "\"") ? decoded($0) : nil }
  }

  /// The kind of a member's value.
  public enum Kind: Sendable { case string, number, bool, null, container }

  /// The kind of the member `key` of the object `text`; `nil` as for `value(of:in:)`.
  public static func kind(of key: String, in text: [UInt8]) -> Kind? {
    member(key, of: text).map(kind)
  }

  private static func kind(of value: ArraySlice<UInt8>) -> Kind {
    switch value.first {
    case UInt8(ascii: "\""): .string
    case UInt8(ascii: "{"), UInt8(ascii: "["): .container
    case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
    case UInt8(ascii: "n"): .null
    default: .number
    }
  }

  /// The object `text` with the member `key` set to `value`. All other bytes are unchanged.
  ///
  /// - Parameters:
  ///   - value: valid JSON.
  ///   - text: valid JSON, in UTF-8.
  /// - Returns: `nil` if `text` is not an object.
  public static func setting(_ key: String, to value: [UInt8], in text: [UInt8]) -> [UInt8]? {
    if let present = member(key, of: text) {
      return text[..<present.startIndex] + value + text[present.endIndex...]
    }
    var scanner = JSONScanner(text)
    guard scanner.take(UInt8(ascii: "{")), let end = text.lastIndex(of: UInt8(ascii: "}")) else { return nil }
    var added: [UInt8] = scanner.peek() == UInt8(ascii: "}") ? [] : [UInt8(ascii: ",")]
    JSONText.append(quoting: key.utf8, to: &added)
    added.append(UInt8(ascii: ":"))
    return text[..<end] + added + value + text[end...]
  }

  /// The object `text` without the members `keys`. The others keep their order and values; if there are no such
  /// members, no byte is changed.
  ///
  /// - Parameter text: valid JSON, in UTF-8.
  /// - Returns: `nil` if `text` is not an object.
  public static func removing(_ keys: Set<String>, from text: [UInt8]) -> [UInt8]? {
    var kept: [[UInt8]] = []
    var isChanged = false
    let isWhole = visit(text) { name, value in
      if keys.contains(where: { $0.utf8.elementsEqual(name) }) {
        isChanged = true
      } else {
        kept.append(quoted(name) + [UInt8(ascii: ":")] + text[value])
      }
    }
    guard isWhole else { return nil }
    guard isChanged else { return text }
    var object = [UInt8(ascii: "{")]
    object += kept.joined(separator: [UInt8(ascii: ",")])
    object.append(UInt8(ascii: "}"))
    return object
  }

  /// The JSON string for `text`, which is UTF-8.
  public static func quoted(_ text: [UInt8]) -> [UInt8] {
    var json: [UInt8] = []
    JSONText.append(quoting: text, to: &json)
    return json
  }

  /// The names of the object's members in their order, each once; none if `text` is not an object.
  public static func names(in text: [UInt8]) -> [String] {
    var names: [String] = []
    var known: Set<[UInt8]> = []
    _ = visit(text) { name, _ in
      if known.insert(name).inserted { names.append(String(decoding: name, as: UTF8.self)) }
    }
    return names
  }

  /// The values of all members by the bytes of their names, as ``value(of:in:)`` returns them; none if `text` is not an
  /// object.
  public static func values(in text: [UInt8]) -> [[UInt8]: [UInt8]] {
    var values: [[UInt8]: [UInt8]] = [:]
    let isWhole = visit(text) { name, value in values[name] = content(text[value]) }
    return isWhole ? values : [:]
  }

  /// The value of a member, as ``value(of:in:)`` returns it, with its kind, without which the text `1` is the number.
  package struct Member: Hashable, Sendable {
    let kind: Kind
    let value: [UInt8]?
  }

  /// All members by the bytes of their names, found in one visit; none if `text` is not an object. If several have one
  /// name, the last counts.
  package static func members(in text: [UInt8]) -> [[UInt8]: Member] {
    var members: [[UInt8]: Member] = [:]
    let isWhole = visit(text) { name, value in
      members[name] = Member(kind: kind(of: text[value]), value: content(text[value]))
    }
    return isWhole ? members : [:]
  }

  private static func member(_ key: String, of text: [UInt8]) -> ArraySlice<UInt8>? {
    var found: ArraySlice<UInt8>?
    let isWhole = visit(text) { name, value in
      if name == Array(key.utf8) { found = text[value] }
    }
    return isWhole ? found : nil
  }

  /// - Returns: whether `text` is an object.
  private static func visit(_ text: [UInt8], _ body: ([UInt8], Range<Int>) -> Void) -> Bool {
    var scanner = JSONScanner(text)
    guard scanner.take(UInt8(ascii: "{")) else { return false }
    do throws(JSONFault) {
      while scanner.peek() == UInt8(ascii: "\"") {
        let name = try scanner.string().text
        guard scanner.take(UInt8(ascii: ":")) else { return false }
        body(name, try scanner.skipValue())
        guard scanner.take(UInt8(ascii: ",")) else { break }
      }
    } catch {
      return false
    }
    return true
  }

  /// The content of a string, or the JSON of any other value.
  private static func content(_ value: ArraySlice<UInt8>) -> [UInt8]? {
    value.first == UInt8(ascii: "\"") ? decoded(value) : Array(value)
  }

  /// The bytes that a quoted string represents. An escaped lone surrogate becomes U+FFFD.
  private static func decoded(_ string: ArraySlice<UInt8>) -> [UInt8]? {
    var scanner = JSONScanner(Array(string))
    return try? scanner.string().text
  }
}

/// An object whose members are strings, in the order in which they are added.
package struct JSONObject: Sendable {
  private var members: [UInt8] = []

  package init() {}

  /// Adds a member.
  ///
  /// - Parameter text: UTF-8.
  package mutating func add(_ key: String, _ text: some Sequence<UInt8>) {
    if !members.isEmpty { members.append(UInt8(ascii: ",")) }
    JSONText.append(quoting: key.utf8, to: &members)
    members.append(UInt8(ascii: ":"))
    JSONText.append(quoting: text, to: &members)
  }

  /// The object on one line, without white space between its parts.
  package var bytes: [UInt8] { [UInt8(ascii: "{")] + members + [UInt8(ascii: "}")] }
}
