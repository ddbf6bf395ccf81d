import Foundation

#if canImport(Security)
  import Security
#else
  import KeychainItems
#endif

// A wrapper as iOS teams have them: dictionaries, Apple's four functions, statuses. Only the import above is not theirs.

struct KeychainFailure: Error, Equatable {
  let status: OSStatus
  var message: String { SecCopyErrorMessageString(status, nil) as String? ?? "" }
}

final class TokenStorage {
  private let service: String
  private let accessGroup: String?

  init(service: String, accessGroup: String? = nil) {
    self.service = service
    self.accessGroup = accessGroup
  }

  private func query(_ account: String?) -> [String: Any] {
    var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword]
    query[kSecAttrService as String] = service
    if let account { query[kSecAttrAccount as String] = account }
    if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
    return query
  }

  func save(_ token: String, for account: String) throws {
    var item = query(account)
    item[kSecValueData as String] = Data(token.utf8)
    item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlock
    var status = SecItemAdd(item as CFDictionary, nil)
    if status == errSecDuplicateItem {
      let changes = [kSecValueData as String: Data(token.utf8)]
      status = SecItemUpdate(query(account) as CFDictionary, changes as CFDictionary)
    }
    guard status == errSecSuccess else { throw KeychainFailure(status: status) }
  }

  func token(for account: String) throws -> String? {
    var query = query(account)
    query[kSecReturnData as String] = kCFBooleanTrue
    query[kSecMatchLimit as String] = kSecMatchLimitOne
    var result: AnyObject?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    if status == errSecItemNotFound { return nil }
    guard status == errSecSuccess, let data = result as? Data else { throw KeychainFailure(status: status) }
    return String(data: data, encoding: .utf8)
  }

  func accounts() throws -> [String] {
    var query = query(nil)
    query[kSecReturnAttributes as String] = true
    query[kSecMatchLimit as String] = kSecMatchLimitAll
    var result: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    if status == errSecItemNotFound { return [] }
    guard status == errSecSuccess, let items = result as? [[String: Any]] else {
      throw KeychainFailure(status: status)
    }
    return items.compactMap { $0[kSecAttrAccount as String] as? String }
  }

  func contains(_ account: String) -> Bool { SecItemCopyMatching(query(account) as CFDictionary, nil) == errSecSuccess }

  func remove(_ account: String) throws {
    let status = SecItemDelete(query(account) as CFDictionary)
    guard status == errSecSuccess || status == errSecItemNotFound else { throw KeychainFailure(status: status) }
  }

  func removeAll() throws {
    let status = SecItemDelete(query(nil) as CFDictionary)
    guard status == errSecSuccess || status == errSecItemNotFound else { throw KeychainFailure(status: status) }
  }
}

// MARK: The queries of wrappers that many programs use

/// As keychain-swift asks: items have an account and no service, a value is deleted before it is set, and `clear` names
/// only the class.
struct AccountStorage {
  var isSynchronizable = false

  private func query(_ others: [String: Any], isAddition: Bool = false) -> [String: Any] {
    var query = others
    query[kSecClass as String] = kSecClassGenericPassword
    if isSynchronizable { query[kSecAttrSynchronizable as String] = isAddition ? true : kSecAttrSynchronizableAny }
    return query
  }

  func set(_ data: Data, for account: String) -> OSStatus {
    _ = delete(account)
    let item: [String: Any] = [
      kSecAttrAccount as String: account, kSecValueData as String: data,
      kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked,
    ]
    return SecItemAdd(query(item, isAddition: true) as CFDictionary, nil)
  }

  func data(for account: String, asReference: Bool = false) -> (OSStatus, Data?) {
    var query = query([kSecAttrAccount as String: account, kSecMatchLimit as String: kSecMatchLimitOne])
    query[(asReference ? kSecReturnPersistentRef : kSecReturnData) as String] = kCFBooleanTrue
    var result: AnyObject?
    let status = unsafe withUnsafeMutablePointer(to: &result) {
      SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
    }
    return (status, status == noErr ? result as? Data : nil)
  }

  func accounts() -> [String] {
    var query = query([kSecMatchLimit as String: kSecMatchLimitAll])
    for key in [kSecReturnData, kSecReturnAttributes, kSecReturnPersistentRef] { query[key as String] = true }
    var result: AnyObject?
    guard SecItemCopyMatching(query as CFDictionary, &result) == noErr else { return [] }
    return (result as? [[String: Any]] ?? []).compactMap { $0[kSecAttrAccount as String] as? String }
  }

  func delete(_ account: String) -> OSStatus {
    SecItemDelete(query([kSecAttrAccount as String: account]) as CFDictionary)
  }

  func clear() -> OSStatus { SecItemDelete(query([:]) as CFDictionary) }
}

/// As SwiftKeychainWrapper asks: the key is both account and generic bytes, as UTF-8, and a wipe names each class.
struct EncodedKeyStorage {
  let service: String

  private func query(_ key: String? = nil) -> [String: Any] {
    var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service]
    guard let key else { return query }
    query[kSecAttrGeneric as String] = key.data(using: .utf8)
    query[kSecAttrAccount as String] = key.data(using: .utf8)
    query[kSecAttrSynchronizable as String] = kCFBooleanFalse
    return query
  }

  func set(_ data: Data, for key: String) -> OSStatus {
    var item = query(key)
    item[kSecValueData as String] = data
    item[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlocked
    let status = SecItemAdd(item as CFDictionary, nil)
    guard status == errSecDuplicateItem else { return status }
    return SecItemUpdate(query(key) as CFDictionary, [kSecValueData as String: data] as CFDictionary)
  }

  func result(for key: String, _ asked: CFString) -> Any? {
    var query = query(key)
    query[kSecMatchLimit as String] = kSecMatchLimitOne
    query[asked as String] = kCFBooleanTrue
    var result: AnyObject?
    return SecItemCopyMatching(query as CFDictionary, &result) == noErr ? result : nil
  }

  func removeAll() -> OSStatus { SecItemDelete(query() as CFDictionary) }

  static func wipe() -> [OSStatus] {
    [kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey, kSecClassIdentity]
      .map { SecItemDelete([kSecClass as String: $0] as CFDictionary) }
  }
}

/// As Valet asks: all values are hashable, a group has the team's prefix, and a value is updated if its item exists.
struct HashableStorage {
  var attributes: [String: AnyHashable]

  init(service: String, accessGroup: String) {
    attributes = [
      kSecClass as String: kSecClassGenericPassword as String, kSecAttrService as String: service,
      kSecAttrAccessGroup as String: accessGroup, kSecUseDataProtectionKeychain as String: true,
      kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock as String,
    ]
  }

  private func query(_ others: [String: AnyHashable]) -> CFDictionary {
    attributes.merging(others) { $1 } as [String: Any] as CFDictionary
  }

  func set(_ data: Data, for account: String) -> OSStatus {
    if SecItemCopyMatching(query([kSecAttrAccount as String: account]), nil) == errSecSuccess {
      let changes: [String: AnyHashable] = [kSecValueData as String: data]
      return SecItemUpdate(query([kSecAttrAccount as String: account]), changes as [String: Any] as CFDictionary)
    }
    return SecItemAdd(query([kSecAttrAccount as String: account, kSecValueData as String: data]), nil)
  }

  func data(for account: String) -> Data? {
    var result: AnyObject?
    let asked = query([
      kSecAttrAccount as String: account, kSecMatchLimit as String: kSecMatchLimitOne as String,
      kSecReturnData as String: true,
    ])
    return SecItemCopyMatching(asked, &result) == errSecSuccess ? result as? Data : nil
  }

  func accounts(limit: AnyHashable = kSecMatchLimitAll as String) -> [String] {
    var result: AnyObject?
    let asked = query([kSecMatchLimit as String: limit, kSecReturnAttributes as String: true])
    guard SecItemCopyMatching(asked, &result) == errSecSuccess else { return [] }
    return (result as? [[String: AnyHashable]] ?? []).compactMap { $0[kSecAttrAccount as String] as? String }
  }

  func removeAll() -> OSStatus { SecItemDelete(query([:])) }
}

/// As Apple's sample of a keychain item asks: it is found by its generic bytes, and results are queries and changes.
final class SingleItem {
  private let identifier: String
  private var attributes: [String: Any]
  private(set) var text = ""

  init(identifier: String) {
    self.identifier = identifier
    attributes = [
      kSecAttrGeneric as String: identifier, kSecAttrAccount as String: "", kSecAttrLabel as String: "",
      kSecAttrDescription as String: "",
    ]
    guard let found = find() else { return }
    attributes = found
    var query = found
    query[kSecReturnData as String] = kCFBooleanTrue
    query[kSecClass as String] = kSecClassGenericPassword
    var data: CFTypeRef?
    guard SecItemCopyMatching(query as CFDictionary, &data) == noErr else { return }
    text = (data as? Data).flatMap { String(data: $0, encoding: .utf8) } ?? ""
  }

  private func find() -> [String: Any]? {
    let query: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword, kSecAttrGeneric as String: identifier,
      kSecMatchLimit as String: kSecMatchLimitOne, kSecReturnAttributes as String: kCFBooleanTrue as Any,
    ]
    var result: CFTypeRef?
    return SecItemCopyMatching(query as CFDictionary, &result) == noErr ? result as? [String: Any] : nil
  }

  func set(_ text: String, account: String) -> OSStatus {
    attributes[kSecAttrAccount as String] = account
    self.text = text
    var changes = attributes
    changes[kSecValueData as String] = Data(text.utf8)
    changes[kSecClass as String] = nil
    if let found = find() { return SecItemUpdate(found as CFDictionary, changes as CFDictionary) }
    changes[kSecClass as String] = kSecClassGenericPassword
    return SecItemAdd(changes as CFDictionary, nil)
  }

  func reset() -> OSStatus {
    var query = attributes
    query[kSecClass as String] = kSecClassGenericPassword
    query[kSecValueData as String] = Data(text.utf8)
    let status = SecItemDelete(query as CFDictionary)
    (attributes[kSecAttrAccount as String], text) = ("", "")
    return status
  }
}
