public import Foundation

/// The attributes and the data of a keychain item, in Apple's vocabulary: an item to add, the criteria of a query, the
/// changes of an update, or a query's result. A `nil` attribute is absent, not a criterion, or not changed.
public struct KeychainItem: Sendable, Equatable {
  /// The class of an item.
  public enum Class: String, Sendable {
    /// `kSecClassGenericPassword`, known by service and account.
    case genericPassword
    /// `kSecClassInternetPassword`, known by protocol, server, port, path, account, security domain and authentication
    /// type.
    case internetPassword
  }

  /// When an item may be read on Apple's systems. Here it is stored, found and returned, and has no effect: a store is
  /// either open or not. An item without it is found as `whenUnlocked`.
  public enum Accessible: String, Sendable {
    case whenUnlocked, afterFirstUnlock, always
    case whenPasscodeSetThisDeviceOnly, whenUnlockedThisDeviceOnly, afterFirstUnlockThisDeviceOnly
    case alwaysThisDeviceOnly
  }

  public var itemClass: Class
  /// The name of the access group; by default the store's default one, or the application's own.
  ///
  /// ASCII capital letters count as lower case, as in `ABCDE12345.com.example.shared`.
  public var accessGroup: String?
  public var account: String?

  // Only generic passwords.
  public var service: String?
  /// Bytes to find the item by.
  public var generic: Data?

  // Only internet passwords.
  public var server: String?
  /// Such as `https`.
  public var networkProtocol: String?
  /// 1 to 65,535; 0 is the same as nil.
  public var port: Int?
  public var path: String?
  public var securityDomain: String?
  public var authenticationType: String?

  /// A text for people, which `vault list` shows.
  public var label: String?
  public var comment: String?
  /// `kSecAttrDescription`: the kind of item, for people.
  public var kindDescription: String?
  public var accessible: Accessible?
  /// Stored, found and returned; nothing is synchronized.
  public var isSynchronizable: Bool?
  /// The secret, at most 1 MiB. It is in ordinary memory, which is not wiped.
  public var data: Data?

  /// When the item was created and last changed. Set only in results.
  public internal(set) var creationDate: Date?
  public internal(set) var modificationDate: Date?

  /// The creation date that a query asks for. The dates above are no criteria, because programs use results as queries,
  /// and dates change.
  var wantedCreationDate: Date?

  public init(_ itemClass: Class) { self.itemClass = itemClass }
}

extension KeychainItem {
  /// Whether the item has everything that `query` asks for. The access group is not compared, because only items of one
  /// group are read, and neither is the data.
  func matches(_ query: KeychainItem) -> Bool {
    func isMet<Value: Equatable>(_ attribute: KeyPath<KeychainItem, Value?>) -> Bool {
      query[keyPath: attribute].map { $0 == self[keyPath: attribute] } ?? true
    }
    // Unlike a part of the name, such a text has only one Unicode form.
    func hasBytes(_ attribute: KeyPath<KeychainItem, String?>) -> Bool {
      query[keyPath: attribute].map { self[keyPath: attribute]?.utf8.elementsEqual($0.utf8) == true } ?? true
    }
    // An absent text is the same as an empty one, because both are the same name.
    func hasText(_ attribute: KeyPath<KeychainItem, String?>) -> Bool {
      query[keyPath: attribute].map { $0 == self[keyPath: attribute] ?? "" } ?? true
    }
    return itemClass == query.itemClass && KeychainItem.keyTexts.allSatisfy(hasText)
      && (query.port.map { $0 == port ?? 0 } ?? true)
      && [\.label, \.comment, \.kindDescription].allSatisfy(hasBytes)
      && isMet(\.generic) && (query.accessible.map { $0 == accessible ?? .whenUnlocked } ?? true)
      && (query.wantedCreationDate ?? creationDate) == creationDate
      && (query.isSynchronizable.map { $0 == isSynchronizable ?? false } ?? true)
  }

  /// Whether it has no attribute that only the other class has.
  var fitsItsClass: Bool {
    switch itemClass {
    case .genericPassword:
      let texts = [server, networkProtocol, path, securityDomain, authenticationType]
      return texts.allSatisfy { $0 == nil } && port == nil
    case .internetPassword: return service == nil && generic == nil
    }
  }

  /// The texts of the primary keys of both classes.
  static var keyTexts: [WritableKeyPath<KeychainItem, String?>] {
    [\.account, \.service, \.server, \.networkProtocol, \.path, \.securityDomain, \.authenticationType]
  }

  /// This item with what `changes` sets.
  func changed(by changes: KeychainItem) -> KeychainItem {
    var new = self
    func take<Value>(_ attribute: WritableKeyPath<KeychainItem, Value?>) {
      if let value = changes[keyPath: attribute] { new[keyPath: attribute] = value }
    }
    for attribute in KeychainItem.keyTexts + [\.label, \.comment, \.kindDescription] { take(attribute) }
    take(\.port)
    take(\.generic)
    take(\.accessible)
    take(\.isSynchronizable)
    take(\.data)
    return new
  }
}

extension KeychainItem: CustomReflectable {
  /// What `print` and `dump` show: every attribute, and the length of the data in place of its bytes.
  public var customMirror: Mirror {
    let children: [(label: String?, value: Any)] = [
      ("itemClass", itemClass), ("accessGroup", accessGroup as Any), ("account", account as Any),
      ("service", service as Any), ("generic", generic as Any), ("server", server as Any),
      ("networkProtocol", networkProtocol as Any), ("port", port as Any), ("path", path as Any),
      ("securityDomain", securityDomain as Any), ("authenticationType", authenticationType as Any),
      ("label", label as Any), ("comment", comment as Any), ("kindDescription", kindDescription as Any),
      ("accessible", accessible as Any), ("isSynchronizable", isSynchronizable as Any),
      ("data", data.map { "\($0.count) bytes" } as Any), ("creationDate", creationDate as Any),
      ("modificationDate", modificationDate as Any),
    ]
    return Mirror(self, children: children, displayStyle: .struct)
  }
}
