import Foundation
import VaultFoundation

// Keychain items as the store has them.

/// The keys of a keychain item's attributes in the store.
private enum Key: String {
  case comment, description, generic, accessible, synchronizable
  /// Whether ``Keychain/add(_:)`` made the item.
  case keychainItem
}

extension Item {
  /// Whether ``Keychain/add(_:)`` made the item. Earlier builds did not write that down; their items are known by the
  /// other attributes that only keychain items have.
  var isAdded: Bool {
    if let text = attributes[Key.keychainItem.rawValue] { return text == "true" }
    return attributes[Key.accessible.rawValue].flatMap(KeychainItem.Accessible.init) != nil
      || attributes[Key.synchronizable.rawValue].flatMap(Bool.init) != nil
  }
}

extension KeychainItem {
  /// Whether an update or a deletion with this query may touch `item`.
  ///
  /// Programs wipe all items of a class or of an account, and mean those that they have added.
  func mayChange(_ item: Item) -> Bool {
    service != nil || server != nil || item.isAdded && item.kind != .archive
  }

  /// The attributes of an item; nil if its name is that of no keychain item.
  init?(_ item: Item, in group: AccessGroup) {
    self.init(name: item.name)
    accessGroup = group.name.description
    label = item.label
    comment = item.attributes[Key.comment.rawValue]
    kindDescription = item.attributes[Key.description.rawValue]
    generic = item.attributes[Key.generic.rawValue].flatMap { Data(base64Encoded: $0) }
    accessible = item.attributes[Key.accessible.rawValue].flatMap(Accessible.init)
    isSynchronizable = item.attributes[Key.synchronizable.rawValue].flatMap(Bool.init)
    creationDate = Date(timeIntervalSince1970: Double(item.created.milliseconds) / 1_000)
    modificationDate = Date(timeIntervalSince1970: Double(item.changed.milliseconds) / 1_000)
  }

  init?(_ opened: borrowing OpenedItem, in group: AccessGroup, withData: Bool) {
    self.init(opened.item, in: group)
    if withData { data = unsafe opened.secret.withUnsafeBytes { unsafe Data($0) } }
  }

  func secret() throws(VaultError) -> Secret { try Secret(data ?? Data()) }

  /// Text is stored as text, so that people and other programs can read it.
  var kind: SecretKind { String(validating: data ?? Data(), as: UTF8.self) == nil ? .bytes : .string }

  /// The kind of the data that replaces a value of the kind `old`.
  ///
  /// It is `old` if the data is a value of it in the form in which it is stored.
  func kind(after old: SecretKind) -> SecretKind {
    guard ![.string, .bytes, .archive].contains(old), SecretKind(named: old.name) == old,
      let text = String(validating: data ?? Data(), as: UTF8.self), (try? ValueText.canonical(text, old)) == text
    else { return kind }
    return old
  }

  /// The details that give the item these attributes.
  ///
  /// - Parameters:
  ///   - old: the item that is written over or renamed, whose other attributes are kept.
  ///   - isAdded: whether ``Keychain/add(_:)`` made the item.
  func details(over old: Item?, isAdded: Bool) -> Details {
    var details = Details(label: label.map(Change.to) ?? .remove, attributes: old?.attributes ?? [:])
    for (key, text) in [
      (Key.comment, comment), (.description, kindDescription), (.generic, generic?.base64EncodedString()),
      (.accessible, accessible?.rawValue), (.synchronizable, isSynchronizable.map(String.init)),
      (.keychainItem, String(isAdded)),
    ] { details.attributes.updateValue(text, forKey: key.rawValue) }
    return details
  }
}
