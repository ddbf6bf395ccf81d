internal import Exchange
internal import KeyedArchives
internal import Vault

/// The import of one item.
struct ImportStep {
  enum Action: String {
    case new, replace, unchanged
  }

  let item: ImportedItem
  let action: Action
  /// The expiry of the present value, which the new one does not get.
  let lostExpiry: Timestamp?
  /// The expiry of the present value, which is also the new one.
  private let keptExpiry: Timestamp?

  /// The number of former versions that the present item has.
  let formerCount: Int

  /// The item's name in messages: its file and place.
  private let place: String
  /// The label and the attributes of the present item that the new one does not have.
  private let removesLabel: Bool
  private let removed: [String]

  /// - Parameter open: opens a present item.
  /// - Throws: the error that kept the present item from being read. A missing item is not an error.
  init(_ item: ImportedItem, at place: String, open: (String) throws(VaultError) -> OpenedItem) throws {
    self.item = try ImportStep.checked(item, at: place)
    self.place = place
    do throws(VaultError) {
      let present = try open(item.name)
      removesLabel = item.isWhole && item.label == nil && present.item.label != nil
      removed = present.item.attributes.keys.filter { name in
        item.attributes[name] == nil && (item.isWhole || item.ownAttributes.contains(name))
      }
      let hasSameValue = ImportStep.hasSameValue(item, present)
      let isSame = hasSameValue && !removesLabel && removed.isEmpty && ImportStep.keepsDetails(item, present.item)
      action = isSame ? .unchanged : .replace
      let expires = item.expires == nil ? present.item.expires : nil
      (lostExpiry, keptExpiry) = hasSameValue ? (nil, expires) : (expires, nil)
      formerCount = Int(present.item.version - present.item.oldestVersion)
    } catch {
      guard case .notFound(.item) = error else { throw error }
      action = .new
      (lostExpiry, keptExpiry, formerCount, removesLabel, removed) = (nil, nil, 0, false, [])
    }
  }

  /// The kind that the item will have, with the type name of an archive.
  var kind: String { item.typeName.map { "\(item.kind.rawValue) of \($0)" } ?? item.kind.rawValue }

  /// Sets the item.
  ///
  /// - Throws: an error with the place in the file if the store cannot hold the item; errors of the store itself are
  ///   passed on unchanged.
  func perform(in edit: borrowing Edit) throws {
    try naming { () throws(VaultError) in
      // An existing item has its own versions.
      for older in action == .new ? item.older : [] {
        edit.set(
          item.name, to: try Secret(older.value), kind: Self.kind(item.kind),
          Details(attributes: older.attributes.mapValues { .some($0) }))
      }
      edit.set(item.name, to: try Secret(item.value), kind: Self.kind(item.kind), typeName: item.typeName, details)
      if let failure = edit.failure { throw failure }
    }
  }

  /// - Throws: the errors of ``perform(in:)``, but sets nothing.
  func rehearse(in group: AccessGroup) throws {
    try naming { () throws(VaultError) in
      for older in item.older { _ = try Secret(older.value) }
      try group.rehearse(
        item.name, to: try Secret(item.value), kind: Self.kind(item.kind), typeName: item.typeName, details)
    }
  }

  private func naming(_ body: () throws(VaultError) -> Void) throws {
    do throws(VaultError) { try body() } catch {
      switch error {
      case .invalid, .overLimit, .archive:
        throw Failure(error.exitStatus, "\(place): \(error.message)", hint: error.hint)
      default: throw error
      }
    }
  }

  /// The item with its value in its kind's normal form.
  private static func checked(_ item: ImportedItem, at place: String) throws(Failure) -> ImportedItem {
    var checked = item
    do {
      switch item.kind {
      case .bytes: break
      case .archive: _ = try ArchiveInspection(item.value)
      default:
        guard let text = String(validating: item.value, as: UTF8.self) else {
          throw VaultError.invalid("a value of type \(item.kind.rawValue) is UTF-8 text")
        }
        if item.kind != .string { checked.value = Array(try ValueText.canonical(text, kind(item.kind)).utf8) }
      }
    } catch {
      let failure = (error as? ArchiveError).map(VaultError.archive) ?? error as? VaultError ?? .unexpected("a value")
      throw Failure(failure.exitStatus, "\(place): \(failure.message)", hint: failure.hint)
    }
    return checked
  }

  /// The item's details. Attributes that only its older versions have are removed.
  private var details: Details {
    var attributes = item.attributes.mapValues { Optional($0) }
    for name in item.older.flatMap(\.attributes.keys) + removed where attributes[name] == nil {
      attributes[name] = .some(nil)
    }
    return Details(
      label: item.label.map { .to($0) } ?? (removesLabel ? .remove : .keep), attributes: attributes,
      expires: (item.expires.map(Timestamp.init(milliseconds:)) ?? keptExpiry).map { .to($0) } ?? .keep)
  }

  /// Whether setting the item would change no detail. Those that the file does not contain stay unchanged. Texts are
  /// the same if their bytes are; the key of an attribute has no second Unicode form.
  private static func keepsDetails(_ item: ImportedItem, _ old: Item) -> Bool {
    isKept(old.label, of: item.label)
      && (item.expires == nil || item.expires == old.expires?.milliseconds)
      && item.attributes.allSatisfy { isKept(old.attributes[$0.key], of: $0.value) }
  }

  private static func isKept(_ text: String?, of new: String?) -> Bool {
    new.map { text?.utf8.elementsEqual($0.utf8) == true } ?? true
  }

  /// Whether the value and its kind are the same. Another program gives back neither the order of an object's members
  /// nor the white space between them.
  private static func hasSameValue(_ item: ImportedItem, _ present: borrowing OpenedItem) -> Bool {
    let old = present.item
    guard old.kind == kind(item.kind), (old.typeName == nil) == (item.typeName == nil) else { return false }
    guard isKept(old.typeName, of: item.typeName) else { return false }
    if unsafe present.secret.withUnsafeBytes({ unsafe $0.elementsEqual(item.value) }) { return true }
    guard item.kind == .json, !item.isWhole else { return false }
    let members = JSONField.members(in: item.value)
    return !members.isEmpty && members == JSONField.members(in: present.secret.exportInsecurely())
  }

  private static func kind(_ kind: ImportedItem.Kind) -> SecretKind {
    SecretKind(named: kind.rawValue) ?? .archive
  }
}
