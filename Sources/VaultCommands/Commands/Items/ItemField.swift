internal import Exchange
internal import Ground
internal import KeyedArchives
internal import Vault

/// One field of an item's value, with the whole value.
struct ItemField {
  let item: Item
  private let name: String
  private let whole: [UInt8]

  init(_ name: String, of opened: borrowing OpenedItem) {
    self.name = name
    item = opened.item
    whole = opened.secret.exportInsecurely()
  }

  /// - Throws: `notFound` if there is no item with that name.
  init(_ place: ItemPlace, _ field: String, in group: AccessGroup, version: UInt64? = nil) throws {
    do {
      self.init(field, of: try group.open(place.name, version: version))
    } catch .notFound(.item) {
      throw Failure(
        .notFound, "there is no such item and no such field",
        hint: "a new item with '#' in its name needs --field ''; list the items: vault list")
    }
  }

  static func isPresent(_ field: String, of owner: String, in group: AccessGroup) throws -> Bool {
    do {
      return try ItemField(field, of: group.open(owner)).valueIfAny() != nil
    } catch let error as VaultError where error == .notFound(.item) {
      return false
    } catch let failure as Failure where failure.status == .conflict {
      return false
    }
  }

  /// The field's text, or its JSON if it is not a string.
  ///
  /// - Throws: `notFound`; `conflict` for a value that has no fields.
  func value() throws(Failure) -> [UInt8] {
    guard let value = try valueIfAny() else { throw Failure(.notFound, "the value has no such field") }
    // Data, dates and references are written as objects whose first key begins like this.
    guard item.kind == .json || !value.starts(with: #"{"$"#.utf8) else {
      throw Failure(.conflict, "the field is neither text nor a number", hint: "vault get NAME --json shows it")
    }
    return value
  }

  /// Like `value`, but `nil` if there is no such field.
  func valueIfAny() throws(Failure) -> [UInt8]? {
    guard item.kind == .json || item.kind == .archive else {
      throw Failure(.conflict, "the value is \(item.kind.words) and has no fields; only JSON and archives have them")
    }
    return Self.json(whole, item.kind).flatMap { JSONField.value(of: name, in: $0) }
  }

  /// The values of all fields by the bytes of their names, as ``value()`` returns them; none if the value has no fields.
  static func values(of opened: borrowing OpenedItem) -> [[UInt8]: [UInt8]] {
    let whole = opened.secret.exportInsecurely()
    return json(whole, opened.item.kind).map(JSONField.values) ?? [:]
  }

  /// The JSON whose members are the fields; `nil` if the value has none.
  private static func json(_ whole: [UInt8], _ kind: SecretKind) -> [UInt8]? {
    switch kind {
    case .json: whole
    // No object is built: the fields are looked up by name.
    case .archive: (try? ArchiveInspection(whole).json()).flatMap { JSONField.value(of: "root", in: $0) }
    default: nil
    }
  }

  /// Says that the field was added, because its name may be mistyped.
  func tellIfNew(in session: Session) throws {
    guard try valueIfAny() == nil, case let names = JSONField.names(in: whole), !names.isEmpty else { return }
    let others = names.prefix(8).joined(separator: ", ") + (names.count > 8 ? ", …" : "")
    session.atEnd { $0.say("'\(name)' is a new field of '\(item.name)', beside \(others)") }
  }

  /// Sets the field to `text`, and keeps changes that another program makes meanwhile in the same value.
  ///
  /// - Parameter details: without an expiry in them, the current one stays.
  /// - Returns: the new version's number.
  static func set(
    _ field: String, of place: ItemPlace, to text: WipedBytes, as kind: SecretKind? = nil,
    _ details: Details = Details(), in group: AccessGroup, ifVersion expected: UInt64? = nil
  ) throws -> UInt64 {
    while true {
      do {
        return try setOnce(field, of: place, to: text, as: kind, details, in: group, expected)
      } catch VaultError.conflict where expected == nil {
        continue
      }
    }
  }

  private static func setOnce(
    _ field: String, of place: ItemPlace, to text: WipedBytes, as kind: SecretKind?, _ details: Details,
    in group: AccessGroup, _ expected: UInt64?
  ) throws -> UInt64 {
    let present = try ItemField(place, field, in: group)
    var details = details
    if details.expires == .keep, let expires = present.item.expires { details.expires = .to(expires) }
    return try group.set(
      place.name, to: present.setting(text, as: kind), kind: .json, details, ifVersion: expected ?? present.item.version
    )
  }

  /// - Throws: `conflict` for a value whose fields cannot be changed.
  func requireFields() throws(Failure) {
    guard item.kind == .json, (try? ValueText.canonical(String(decoding: whole, as: UTF8.self), .json)) != nil else {
      throw Failure(
        .conflict, "the value is \(item.kind.words) and has no fields that can be set; only a JSON object has them",
        hint: SetItem.isObject(whole)
          ? "the text is a JSON object; to store it as one: vault get NAME | vault set NAME --type json"
          : "a new item with '#' in its name needs --field ''")
    }
  }

  /// The whole value with the field set to `text`. A number or boolean stays one unless `kind` is named.
  ///
  /// - Throws: `conflict` for a value whose fields cannot be changed; `usage` for a text that does not fit the kind.
  func setting(_ text: WipedBytes, as kind: SecretKind?) throws -> Secret {
    try requireFields()
    guard text.isText else { throw Failure(.usage, "a JSON field must be UTF-8 text") }
    let bytes = text.exportInsecurely()
    let value = try json(bytes, kind ?? presentKind)
    guard let changed = JSONField.setting(name, to: value, in: whole) else {
      throw Failure(.conflict, "the value is JSON, but not an object with fields")
    }
    guard changed.count <= ValueInput.limit else {
      throw Failure(.overLimit, "the value would be larger than 1048576 bytes (1 MiB)")
    }
    return try Secret(changed)
  }

  private var presentKind: SecretKind {
    switch JSONField.kind(of: name, in: whole) {
    case .string, .null, nil: .string
    case .number, .bool, .container: .json
    }
  }

  /// The text as a JSON number, boolean or null if it is one, and otherwise as a string.
  private func json(_ text: [UInt8], _ kind: SecretKind) throws -> [UInt8] {
    switch kind {
    case .string: return JSONField.quoted(text)
    case .json where JSONField.kind(of: name, in: whole) != .string:
      guard let canonical = try? ValueText.canonical(String(decoding: text, as: UTF8.self), .json) else {
        throw Failure(
          .usage, "the field is not text, and the given value is not JSON", hint: "to store text: --type string")
      }
      return Array(canonical.utf8)
    case .bytes, .archive: throw Failure(.usage, "a field of JSON cannot have that type")
    default:
      let canonical = Array(try ValueText.canonical(String(decoding: text, as: UTF8.self), kind).utf8)
      let hasWord = [.json, .bool, .int].contains(kind) || kind == .double && canonical.last?.isDigit == true
      return hasWord ? canonical : JSONField.quoted(canonical)
    }
  }
}

/// Replacing a JSON value that has fields by a value that has none.
struct FieldLoss {
  private let name: String

  /// - Parameter isMeant: whether `--replace-fields` was given.
  /// - Returns: nil if nothing would be lost.
  init?(_ name: String, in group: AccessGroup, isMeant: Bool) throws(VaultError) {
    guard !isMeant else { return nil }
    do {
      guard try group.item(name).kind == .json else { return nil }
    } catch .notFound(.item) {
      return nil
    }
    self.name = UTF8Text.onOneLine(name)
  }

  /// - Throws: `conflict` if nobody can be asked; `interrupted` if the answer is no.
  func confirm(in session: Session) throws(Failure) {
    guard let terminal = session.terminal else {
      throw Failure(
        .conflict, "'\(name)' is JSON, and all its fields would be lost",
        hint: "to set one field: NAME#FIELD; to replace all: --replace-fields")
    }
    guard try terminal.confirm("'\(name)' is JSON; replace it and all its fields? (yes/no) ") else {
      throw Failure(.interrupted, "nothing was changed", hint: "to set one field: NAME#FIELD")
    }
  }
}

extension SecretKind {
  /// The kind in a sentence about a value.
  fileprivate var words: String {
    switch self {
    case .string: "plain text"
    case .bytes: "binary data"
    case .json: "JSON"
    case .archive: "an archive"
    default: "of the kind \(name)"
    }
  }
}
