import Foundation

// Apple's four functions and their constants, for wrappers that make dictionaries. The names are Apple's; the texts behind the
// constants are this module's, and the dictionaries are Swift's own.

public typealias OSStatus = Int32
public typealias CFString = String
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject
public typealias CFBoolean = Bool
public let kCFBooleanTrue: CFBoolean! = true
public let kCFBooleanFalse: CFBoolean! = false

/// Adds an item, as ``Keychain/add(_:)``.
///
/// - Parameters:
///   - attributes: class, attributes and data of the item, and what to return.
///   - result: a variable, or nil; receives what the dictionary asks to be returned.
// swift-format-ignore: AlwaysUseLowerCamelCase
@safe public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  unsafe reported(to: result) { () throws(KeychainStatus) in
    let request = try Request(attributes)
    guard request.limit ?? 1 == 1 else { throw .param }
    let added = try Keychain.standard().add(request.item)
    return request.returned([added])
  }
}

/// Finds items, as ``Keychain/copyMatching(_:limit:withData:)``; one, unless `kSecMatchLimit` allows more.
///
/// - Parameters:
///   - query: class and attributes to find, what to return, and how many.
///   - result: a variable, or nil; receives what the query asks to be returned, as an array if `kSecMatchLimit` allows
///     more than one.
// swift-format-ignore: AlwaysUseLowerCamelCase
@safe public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  unsafe reported(to: result) { () throws(KeychainStatus) in
    let request = try Request(query: query)
    let found = try Keychain.standard().copyMatching(
      request.item, limit: request.limit ?? 1, withData: request.returnsData)
    return request.returned(found)
  }
}

/// Changes all items that match, as ``Keychain/update(_:to:)``.
///
/// - Parameters:
///   - query: class and attributes to find.
///   - attributesToUpdate: at least one attribute or the data, without the class.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  reported(to: nil) { () throws(KeychainStatus) in
    let request = try Request(query: query)
    guard !attributesToUpdate.isEmpty, attributesToUpdate[kSecClass] == nil else { throw .param }
    let changes = try Request(attributesToUpdate, of: request.item.itemClass)
    guard !request.returnsAnything, request.meansAll, !changes.returnsAnything, changes.limit == nil else {
      throw .param
    }
    try Keychain.standard().update(request.item, to: changes.item)
    return nil
  }
}

/// Removes all items that match, as ``Keychain/delete(_:)``. What the query asks to be returned is ignored, because
/// programs delete with the query that they search with.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  reported(to: nil) { () throws(KeychainStatus) in
    let returned = [kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef]
    let request = try Request(query: query.filter { !returned.contains($0.key) })
    guard request.meansAll else { throw .param }
    try Keychain.standard().delete(request.item)
    return nil
  }
}

/// What a status means, for people.
// swift-format-ignore: AlwaysUseLowerCamelCase
@safe public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
  KeychainStatus(rawValue: status).message
}

private func reported(
  to result: UnsafeMutablePointer<CFTypeRef?>?, _ call: () throws(KeychainStatus) -> CFTypeRef?
) -> OSStatus {
  do {
    let value = try call()
    if let result = unsafe result { unsafe result.pointee = value }
    return errSecSuccess
  } catch {
    return error.rawValue
  }
}

/// A dictionary, checked: unknown keys and values of a wrong type are refused, because a key that is overlooked would find
/// or remove other items than were meant.
private struct Request {
  private(set) var item: KeychainItem
  private(set) var limit: Int?
  private(set) var returnsData = false
  private var returnsAttributes = false
  private var returnsReference = false
  private var hasDate = false

  var returnsAnything: Bool { returnsData || returnsAttributes }
  /// Whether the query suits a call that changes all matches: it does not ask for fewer of them.
  var meansAll: Bool { limit == nil || limit == .max }

  /// - Parameter itemClass: the class of a dictionary that names none.
  init(_ dictionary: CFDictionary, of itemClass: KeychainItem.Class? = nil) throws(KeychainStatus) {
    let named = (dictionary[kSecClass] as? String).flatMap(KeychainItem.Class.init)
    guard let itemClass = named ?? (dictionary[kSecClass] == nil ? itemClass : nil) else { throw .param }
    item = KeychainItem(itemClass)
    for (key, value) in dictionary where key != kSecClass { try read(key, value) }
    guard !returnsReference || returnsAnything else { throw .unimplemented }
  }

  /// A dictionary that finds items. Dates are accepted as results have them: beside the attributes that name the item.
  init(query: CFDictionary) throws(KeychainStatus) {
    try self.init(query)
    guard hasDate else { return }
    switch item.itemClass {
    case .genericPassword:
      // These name one item, and its creation date becomes another one when it is renamed.
      guard item.service != nil, item.account != nil else { throw .param }
      item.wantedCreationDate = nil
    case .internetPassword: guard item.server != nil, item.wantedCreationDate != nil else { throw .param }
    }
  }

  private mutating func read(_ key: String, _ value: Any) throws(KeychainStatus) {
    // `nil as Any` is a value of a dictionary, and would be cast to any optional attribute.
    if let optional = value as? any PossiblyAbsent, optional.isAbsent { throw .param }
    if let text = Request.texts[key] {
      item[keyPath: text] = try Request.text(value)
      return
    }
    switch key {
    case kSecAttrPort: item.port = try Request.integer(value)
    case kSecAttrGeneric:
      if let text = value as? String { item.generic = Data(text.utf8) } else { item.generic = try Request.data(value) }
    case kSecValueData: item.data = try Request.data(value)
    case kSecAttrAccessible:
      guard let accessible = KeychainItem.Accessible(rawValue: try Request.value(value)) else { throw .param }
      item.accessible = accessible
    case kSecAttrSynchronizable:
      if (value as? String) != kSecAttrSynchronizableAny { item.isSynchronizable = try Request.value(value) as Bool }
    case kSecAttrCreationDate, kSecAttrModificationDate:
      let date: Date = try Request.value(value)
      if key == kSecAttrCreationDate { item.wantedCreationDate = date }
      hasDate = true
    case kSecReturnData: returnsData = try Request.value(value)
    case kSecReturnAttributes: returnsAttributes = try Request.value(value)
    case kSecMatchLimit:
      switch value as? String {
      case kSecMatchLimitOne: limit = 1
      case kSecMatchLimitAll: limit = .max
      case nil: limit = try Request.integer(value)
      default: throw .param
      }
      guard limit ?? 0 >= 1 else { throw .param }
    case kSecReturnRef, kSecReturnPersistentRef:
      if try Request.value(value) { returnsReference = true }
    case kSecAttrAccessControl, kSecUseAuthenticationContext, kSecValueRef, kSecValuePersistentRef: throw .unimplemented
    case kSecUseDataProtectionKeychain, kSecUseAuthenticationUI, kSecUseOperationPrompt: break
    default: throw .param
    }
  }

  private static func value<Value>(_ value: Any) throws(KeychainStatus) -> Value {
    guard let value = value as? Value else { throw .param }
    return value
  }

  private static func data(_ value: Any) throws(KeychainStatus) -> Data { try Request.value(value) }

  /// A text, also as UTF-8.
  private static func text(_ value: Any) throws(KeychainStatus) -> String {
    guard let bytes = value as? Data else { return try Request.value(value) }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .param }
    return text
  }

  /// An integer of any of Swift's types, or of Foundation's.
  private static func integer(_ value: Any) throws(KeychainStatus) -> Int {
    guard let integer = value as? any BinaryInteger else { return try Request.value(value) }
    guard let exact = Int(exactly: integer) else { throw .param }
    return exact
  }

  /// What the dictionary asks for: the data, the attributes, both in one dictionary, or nothing.
  func returned(_ items: [KeychainItem]) -> CFTypeRef? {
    guard returnsAnything else { return nil }
    let values = items.map { item -> Any in
      guard returnsAttributes else { return item.data ?? Data() }
      return attributes(of: item)
    }
    return (limit ?? 1 > 1 ? values : values.first) as AnyObject?
  }

  private func attributes(of item: KeychainItem) -> CFDictionary {
    var result: CFDictionary = [kSecClass: item.itemClass.rawValue]
    for (key, text) in Request.texts { result[key] = item[keyPath: text] }
    result[kSecAttrPort] = item.port
    result[kSecAttrGeneric] = item.generic
    result[kSecAttrAccessible] = (item.accessible ?? .whenUnlocked).rawValue
    result[kSecAttrSynchronizable] = item.isSynchronizable ?? false
    result[kSecAttrCreationDate] = item.creationDate
    result[kSecAttrModificationDate] = item.modificationDate
    if returnsData { result[kSecValueData] = item.data }
    return result
  }

  private static var texts: [String: WritableKeyPath<KeychainItem, String?>] {
    [
      kSecAttrAccessGroup: \.accessGroup, kSecAttrAccount: \.account, kSecAttrService: \.service,
      kSecAttrServer: \.server, kSecAttrProtocol: \.networkProtocol, kSecAttrPath: \.path,
      kSecAttrSecurityDomain: \.securityDomain, kSecAttrAuthenticationType: \.authenticationType,
      kSecAttrLabel: \.label, kSecAttrComment: \.comment, kSecAttrDescription: \.kindDescription,
    ]
  }
}

/// An optional inside `Any`.
private protocol PossiblyAbsent {
  /// Whether it is nil, at any depth.
  var isAbsent: Bool { get }
}

extension Optional: PossiblyAbsent {
  fileprivate var isAbsent: Bool {
    guard let self else { return true }
    return (self as? any PossiblyAbsent)?.isAbsent ?? false
  }
}
