internal import Ground

/// The format in which `vault-exchange` passes entries: a JSON object on each line, and a last one with the outcome.
///
/// A line is `{"entry":{…}}`, `{"value":{…}}`, `{"notKept":"…"}`, `{"fault":{…}}` or `{"end":true}`. Nothing follows the last two.
package enum EntryLine: Sendable, Equatable {
  case entry(Entry)
  /// A single value from a store without entries. Bytes are written in base64.
  case value(String, ImportedItem.Kind, String, at: String)
  case loss(String)
  case fault(ImportFault)
  case end

  /// The line without its line break.
  package var json: [UInt8] {
    let member: (String, JSONValue) =
      switch self {
      case .entry(let entry): ("entry", EntryJSON.object(entry))
      case .value(let name, let kind, let text, let place):
        (
          "value",
          .object(of: [
            ("name", .string(name)), ("kind", .string(kind.rawValue)), ("text", .string(text)),
            ("place", .string(place)),
          ])
        )
      case .loss(let words): ("notKept", .string(words))
      case .fault(let fault):
        (
          "fault",
          .object(of: [
            ("words", .string(fault.words)), ("place", fault.place.map { .string($0) } ?? .null),
            ("kind", .string(fault.kind.rawValue)),
          ])
        )
      case .end: ("end", .bool(true))
      }
    return JSONValue.object(of: [member]).json
  }

  /// - Returns: nil if the line is not one of these.
  package init?(_ line: String) {
    guard let value = try? JSONValue(parsing: line), case .object(let members) = value, members.count == 1 else {
      return nil
    }
    switch (members[0].name, members[0].value) {
    case ("entry", let object):
      guard let entry = EntryJSON.entry(object) else { return nil }
      self = .entry(entry)
    case ("value", let object):
      guard let name = object["name"]?.text, let text = object["text"]?.text, let place = object["place"]?.text,
        let kind = object["kind"]?.text.flatMap(ImportedItem.Kind.init)
      else { return nil }
      self = .value(name, kind, text, at: place)
    case ("notKept", .string(let words)): self = .loss(words)
    case ("fault", let object):
      guard let words = object["words"]?.text, let kind = object["kind"]?.text.flatMap(ImportFault.Kind.init) else {
        return nil
      }
      self = .fault(ImportFault(words, at: object["place"]?.text, kind))
    case ("end", .bool(true)): self = .end
    default: return nil
    }
  }
}

extension ImportedItems {
  /// Reads the items from the output of `vault-exchange`.
  ///
  /// - Throws: the fault that it reported; `damaged` if the output is incomplete.
  package init(lines text: [UInt8]) throws(ImportFault) {
    var (entries, losses, values) = ([Entry](), [String](), [ImportedItem]())
    var isWhole = false
    for line in text.split(separator: 0x0A) {
      guard !isWhole, let line = String(validating: line, as: UTF8.self).flatMap({ EntryLine($0) }) else {
        throw ImportFault("it cannot be read", .damaged)
      }
      switch line {
      case .entry(let entry): entries.append(entry)
      case .value(let name, let kind, let text, let place):
        var bytes = Array(text.utf8)
        if kind == .bytes {
          bytes = []
          guard Base64.append(decoding: Array(text.utf8), to: &bytes) else {
            throw ImportFault("it cannot be read", .damaged)
          }
        }
        values.append(ImportedItem(name, kind, bytes, at: place))
      case .loss(let words): losses.append(words)
      case .fault(let fault): throw fault
      case .end: isWhole = true
      }
    }
    guard isWhole else { throw ImportFault("it cannot be read: vault-exchange ended early", .damaged) }
    self.init(entries: entries, losses: losses)
    items += values
  }
}

extension JSONValue {
  /// An object that was not read from a text.
  static func object(of members: [(String, JSONValue)]) -> JSONValue {
    .object(members.map { Member(name: $0.0, value: $0.1, line: 0) })
  }
}

private enum EntryJSON {
  static func object(_ entry: Entry) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("name", .string(entry.name)), ("place", .string(entry.place)), ("current", object(entry.current)),
      ("history", .array(entry.history.map(object))), ("attachments", .array(entry.attachments.map(object))),
      ("attributes", .object(of: entry.attributes.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })),
      ("notKept", .array(entry.losses.map { .string($0) })),
      ("notImported", .array(entry.refusals.map { .string($0) })),
    ]
    if let expires = entry.expires { members.append(("expires", .number(String(expires)))) }
    return .object(of: members)
  }

  private static func object(_ version: Entry.Version) -> JSONValue {
    var members = [("fields", JSONValue.object(of: version.fields.map { ($0.name, .string($0.text)) }))]
    if let modified = version.modified { members.append(("modified", .number(String(modified)))) }
    if version.lostFields > 0 { members.append(("lostFields", .number(String(version.lostFields)))) }
    return .object(of: members)
  }

  private static func object(_ attachment: Entry.Attachment) -> JSONValue {
    var base64: [UInt8] = []
    Base64.append(encoding: attachment.bytes, to: &base64)
    return .object(of: [
      ("name", .string(attachment.name)), ("base64", .string(String(decoding: base64, as: UTF8.self))),
    ])
  }

  static func entry(_ value: JSONValue) -> Entry? {
    guard let name = value["name"]?.text, let place = value["place"]?.text,
      let current = value["current"].flatMap(version), let history = elements(value["history"], version),
      let attachments = elements(value["attachments"], attachment), let losses = elements(value["notKept"], \.text),
      let refusals = elements(value["notImported"], \.text), case .object(let attributes)? = value["attributes"]
    else { return nil }
    var entry = Entry(name, at: place)
    (entry.current, entry.history, entry.attachments) = (current, history, attachments)
    (entry.losses, entry.refusals) = (losses, refusals)
    for attribute in attributes { entry.attributes[attribute.name] = attribute.value.text }
    if case .number(let expires)? = value["expires"] { entry.expires = UInt64(expires) }
    return entry
  }

  private static func elements<Element>(_ value: JSONValue?, _ read: (JSONValue) -> Element?) -> [Element]? {
    guard case .array(let values)? = value else { return nil }
    let elements = values.compactMap(read)
    return elements.count == values.count ? elements : nil
  }

  private static func version(_ value: JSONValue) -> Entry.Version? {
    guard case .object(let fields)? = value["fields"] else { return nil }
    var version = Entry.Version()
    for field in fields { version.add(field.name, field.value.text ?? "") }
    if case .number(let modified)? = value["modified"] { version.modified = Int64(modified) }
    if case .number(let count)? = value["lostFields"] { version.lostFields = Int(UInt32(count) ?? 0) }
    return version
  }

  private static func attachment(_ value: JSONValue) -> Entry.Attachment? {
    var bytes: [UInt8] = []
    guard let name = value["name"]?.text, let base64 = value["base64"]?.text,
      Base64.append(decoding: Array(base64.utf8), to: &bytes)
    else { return nil }
    return Entry.Attachment(name, bytes)
  }
}

/// A flat YAML object with one member per line.
package enum YAMLLine {
  /// One member with its line break. Every reader of YAML, including the older version 1.1, reads exactly these texts.
  package static func of(_ name: String, _ value: String) -> [UInt8] {
    let isPlain =
      VariableName.isValid(name) && !words.contains(name.lowercased())
    return (isPlain ? Array(name.utf8) : quoted(name)) + [UInt8(ascii: ":"), UInt8(ascii: " ")] + quoted(value) + [0x0A]
  }

  /// Words that some version of YAML reads as a boolean or null.
  private static let words: Set = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]

  private static func quoted(_ text: String) -> [UInt8] {
    var bytes = [UInt8(ascii: "\"")]
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": bytes += "\\\(scalar)".utf8
      case "\n": bytes += #"\n"#.utf8
      case "\t": bytes += #"\t"#.utf8
      case "\r": bytes += #"\r"#.utf8
      case " "..."~", "\u{A0}"..."\u{2027}", "\u{202A}"..."\u{FEFE}", "\u{FF00}"..."\u{FFFD}", "\u{10000}"...:
        bytes += String(scalar).utf8
      default:
        let digits = String(scalar.value, radix: 16, uppercase: true)
        bytes += (#"\u"# + String(repeating: "0", count: 4 - digits.count) + digits).utf8
      }
    }
    return bytes + [UInt8(ascii: "\"")]
  }
}
