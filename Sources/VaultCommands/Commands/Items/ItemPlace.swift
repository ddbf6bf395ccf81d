internal import Exchange
internal import KeyedArchives
internal import Vault

/// What a command reads or writes: the whole value of an item, or one field of it.
struct ItemPlace: Equatable {
  let name: String
  /// A member of the item's JSON value; nil for the whole value.
  let field: String?

  /// Reads `NAME` or `NAME#FIELD`.
  ///
  /// An item of the whole name wins; where there is none, what follows the last `#` is a field.
  ///
  /// - Parameter field: what `--field` said; then the name is taken as it is, and an empty text means the whole value.
  /// - Throws: `conflict` where there is such an item and such a field.
  init(_ typed: String, field: String?, in group: AccessGroup) throws {
    let typed = try Item.Name(typed).description
    let scalars = typed.unicodeScalars
    guard field == nil, let sign = scalars.lastIndex(of: "#"), sign > scalars.startIndex,
      scalars.index(after: sign) < scalars.endIndex
    else {
      (name, self.field) = (typed, field?.isEmpty == true ? nil : field)
      return
    }
    let (owner, member) = (String(scalars[..<sign]), String(scalars[scalars.index(after: sign)...]))
    guard try ItemPlace.isPresent(typed, in: group) else {
      (name, self.field) = (owner, member)
      return
    }
    guard try !ItemField.isPresent(member, of: owner, in: group) else {
      let shown = (UTF8Text.onOneLine(typed), UTF8Text.onOneLine(owner))
      throw Failure(
        .conflict, "'\(shown.0)' is an item, and a field of the item '\(shown.1)'",
        hint: "the item: --field ''; the field: the name before '#', and --field with what follows")
    }
    (name, self.field) = (typed, nil)
  }

  private static func isPresent(_ name: String, in group: AccessGroup) throws(VaultError) -> Bool {
    do { _ = try group.item(name) } catch .notFound(.item) { return false }
    return true
  }
}

/// One field of an item's value, and the rest of the value around it.
struct ItemField {
  let item: Item
  private let name: String
  private let whole: [UInt8]

  init(_ name: String, of opened: borrowing OpenedItem) {
    self.name = name
    item = opened.item
    whole = unsafe opened.secret.withUnsafeBytes { unsafe Array($0) }
  }

  /// - Throws: `notFound` where there is no item of that name.
  init(_ place: ItemPlace, _ field: String, in group: AccessGroup, version: UInt64? = nil) throws {
    do {
      self.init(field, of: try group.open(place.name, version: version))
    } catch .notFound(.item) {
      throw Failure(
        .notFound, "no item is called so, and none has such a field",
        hint: "a new item with '#' in its name needs --field ''; see what there is: vault list")
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

  /// The field's text, or the JSON of what is no text.
  ///
  /// - Throws: `notFound`; `conflict` for a value that has no fields.
  func value() throws(Failure) -> [UInt8] {
    guard let value = try valueIfAny() else { throw Failure(.notFound, "the value has no such field") }
    // Data, dates and objects that were named before are written as objects whose first key begins so.
    guard item.kind == .json || !value.starts(with: #"{"$"#.utf8) else {
      throw Failure(.conflict, "the field is neither text nor a number", hint: "vault get NAME --json shows it")
    }
    return value
  }

  /// As `value`; `nil` where there is no such field.
  func valueIfAny() throws(Failure) -> [UInt8]? {
    switch item.kind {
    case .json: return JSONField.value(of: name, in: whole)
    case .archive:
      // Nothing is built of it: its members are looked up by their names.
      let json = try? ArchiveInspection(whole).json()
      return json.flatMap { JSONField.value(of: "root", in: $0) }.flatMap { JSONField.value(of: name, in: $0) }
    default: throw Failure(.conflict, "a field is named, and the value is \(item.kind.name), not json or an archive")
    }
  }

  /// Sets the field to `text`; what another program changes meanwhile in the same value is kept.
  ///
  /// - Parameter details: the expiry stays unless they name another.
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
        .conflict, "a field is named, and the value is \(item.kind.name), not json",
        hint: "a new item with '#' in its name needs --field ''")
    }
  }

  /// The whole value with the field set to `text`. What was a number or a truth value stays one, unless `kind` is named.
  ///
  /// - Throws: `conflict` for a value whose fields cannot be changed; `usage` for a text that is none of the kind.
  func setting(_ text: WipedBytes, as kind: SecretKind?) throws -> Secret {
    try requireFields()
    guard text.isText else { throw Failure(.usage, "a field of JSON is UTF-8 text") }
    let bytes = unsafe text.withUnsafeBytes { unsafe Array($0) }
    let value = try json(bytes, kind ?? presentKind)
    guard let changed = JSONField.setting(name, to: value, in: whole) else {
      throw Failure(.conflict, "the value is JSON, but no object with fields")
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

  /// The text as a JSON value: one that has a word of its own there, or a string.
  private func json(_ text: [UInt8], _ kind: SecretKind) throws -> [UInt8] {
    switch kind {
    case .string: return JSONField.quoted(text)
    case .json where JSONField.kind(of: name, in: whole) != .string:
      guard let canonical = try? ValueText.canonical(String(decoding: text, as: UTF8.self), .json) else {
        throw Failure(.usage, "the field is no text, and what was given is not JSON", hint: "for a text: --type string")
      }
      return Array(canonical.utf8)
    case .bytes, .archive: throw Failure(.usage, "a field of JSON holds no such type")
    default:
      let canonical = Array(try ValueText.canonical(String(decoding: text, as: UTF8.self), kind).utf8)
      let hasWord = [.json, .bool, .int].contains(kind) || kind == .double && canonical.last.map(isDigit) == true
      return hasWord ? canonical : JSONField.quoted(canonical)
    }
  }

  private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

/// The loss of a JSON value's fields to a value that has none.
struct FieldLoss {
  private let name: String

  /// - Parameter isMeant: whether `--replace-fields` was given.
  /// - Returns: nil where nothing would be lost.
  init?(_ name: String, in group: AccessGroup, isMeant: Bool) throws(VaultError) {
    guard !isMeant else { return nil }
    do {
      guard try group.item(name).kind == .json else { return nil }
    } catch .notFound(.item) {
      return nil
    }
    self.name = UTF8Text.onOneLine(name)
  }

  /// - Throws: `conflict` where nobody can be asked; `interrupted` where the answer is no.
  func confirm(in session: Session) throws(Failure) {
    guard let terminal = Terminal(path: session.streams.terminal) else {
      throw Failure(
        .conflict, "'\(name)' holds JSON, and all its fields would be gone",
        hint: "for one of them: NAME#FIELD; for all of it: --replace-fields")
    }
    guard try terminal.confirm("'\(name)' holds JSON; replace it with all its fields? (yes/no) ") else {
      throw Failure(.interrupted, "nothing was changed", hint: "for one field: NAME#FIELD")
    }
  }
}
