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
