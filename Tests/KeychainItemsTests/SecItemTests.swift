import Foundation
import KeychainItems
import Testing
import VaultFoundation

/// Apple's four functions with dictionaries. They share the process's standard keychain.
@Suite(.serialized) struct SecItemTests {
  private let store: KeychainTestStore

  init() throws {
    store = try KeychainTestStore()
    Keychain(try store.open()).makeStandard()
  }

  private let query: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: "a"]

  @Test func `a wrapper with dictionaries works after its import was changed`() throws {
    let storage = TokenStorage(service: "com.example.app")
    #expect(try storage.token(for: "anna") == nil && storage.accounts().isEmpty)
    try storage.save("one", for: "anna")
    try storage.save("two", for: "ben")
    try storage.save("three", for: "anna")
    #expect(try storage.token(for: "anna") == "three" && storage.contains("ben"))
    #expect(try storage.accounts() == ["anna", "ben"])
    #expect(try TokenStorage(service: "other").accounts().isEmpty)
    try storage.remove("ben")
    try storage.remove("ben")
    #expect(try storage.accounts() == ["anna"])
    try storage.removeAll()
    #expect(try storage.accounts().isEmpty)
    let others = TokenStorage(service: "s", accessGroup: "nowhere")
    #expect(throws: KeychainFailure(status: -34018)) { try others.save("x", for: "a") }
  }

  @Test func `the message for a group that was never made does not say that it exists`() {
    let add = query.merging([kSecAttrAccessGroup: "nowhere", kSecValueData: Data("x".utf8)]) { $1 }
    let status = SecItemAdd(add, nil)
    #expect(status == errSecMissingEntitlement)
    #expect(
      SecCopyErrorMessageString(status, nil)
        == "there is no such access group, or this application is not a member of it")
  }

  @Test func `a wrapper that names only accounts works, and clears only what was added`() throws {
    try store.open().group("default").set("db/password", to: "set by hand")
    for isSynchronizable in [false, true] {
      let storage = AccountStorage(isSynchronizable: isSynchronizable)
      for account in ["a", "b", "a"] { #expect(storage.set(Data(account.utf8), for: account) == noErr) }
      #expect(storage.data(for: "a").1 == Data("a".utf8) && storage.data(for: "c").0 == errSecItemNotFound)
      #expect(storage.data(for: "a", asReference: true).0 == errSecUnimplemented)
      #expect(storage.accounts() == ["a", "b", "password"])
      #expect(storage.delete("a") == noErr && storage.delete("a") == errSecItemNotFound)
      #expect(storage.clear() == noErr && storage.clear() == errSecItemNotFound)
      #expect(storage.accounts() == ["password"])
    }
  }

  @Test func `a wrapper whose accounts are UTF-8 works, and wipes only what was added`() throws {
    try store.open().group("default").set("db/password", to: "set by hand")
    let storage = EncodedKeyStorage(service: "com.example.app")
    for text in ["1", "2"] { #expect(storage.set(Data(text.utf8), for: "key") == errSecSuccess) }
    #expect(storage.result(for: "key", kSecReturnData) as? Data == Data("2".utf8))
    let attributes = try #require(storage.result(for: "key", kSecReturnAttributes) as? [String: Any])
    #expect(attributes[kSecAttrAccessible] as? String == kSecAttrAccessibleWhenUnlocked)
    #expect(attributes[kSecAttrAccount] as? String == "key")
    #expect(storage.result(for: "key", kSecReturnPersistentRef) == nil)
    #expect(storage.removeAll() == errSecSuccess && storage.result(for: "key", kSecReturnData) == nil)
    #expect(storage.set(Data("3".utf8), for: "key") == errSecSuccess)
    #expect(
      EncodedKeyStorage.wipe() == [errSecSuccess, errSecItemNotFound, errSecParam, errSecParam, errSecParam])
    #expect(try store.open().group("default").items().map(\.name.description) == ["db/password"])
  }

  @Test func `a wrapper with hashable values and a team's group works`() throws {
    try store.open().createGroup("abcde12345.com.example.shared")
    var storage = HashableStorage(service: "s", accessGroup: "ABCDE12345.com.example.shared")
    for (account, text) in [("a", "1"), ("b", "2"), ("a", "3")] {
      #expect(storage.set(Data(text.utf8), for: account) == errSecSuccess)
    }
    #expect(storage.data(for: "a") == Data("3".utf8) && storage.accounts() == ["a", "b"])
    #expect(storage.accounts(limit: 5) == ["a", "b"] && storage.accounts(limit: UInt16(5)) == ["a", "b"])
    #expect(storage.removeAll() == errSecSuccess && storage.accounts().isEmpty)
    storage.attributes[kSecAttrAccessControl] = "a fingerprint"
    #expect(storage.set(Data(), for: "a") == errSecUnimplemented)
    storage = HashableStorage(service: "s", accessGroup: "ABCDE12345.com.example.absent")
    #expect(storage.set(Data(), for: "a") == errSecMissingEntitlement)
  }

  @Test func `a wrapper of one item whose results are its queries works`() throws {
    let first = SingleItem(identifier: "Password")
    #expect(first.set("1", account: "anna") == noErr && first.set("2", account: "anna") == noErr)
    let second = SingleItem(identifier: "Password")
    #expect(second.text == "2")
    // The new account is a new primary key, so the item gets a new name and new dates.
    #expect(second.set("3", account: "ben") == noErr && SingleItem(identifier: "Password").text == "3")
    #expect(second.reset() == noErr && second.reset() == errSecItemNotFound)
    #expect(SingleItem(identifier: "Password").text == "" && second.set("4", account: "ben") == noErr)
    #expect(SingleItem(identifier: "Password").text == "4" && SingleItem(identifier: "Other").text == "")
  }

  @Test func `the statuses have Apple's numbers`() {
    #expect(
      [
        errSecSuccess, errSecUnimplemented, errSecIO, errSecParam, errSecAllocate, errSecInternalComponent,
        errSecNotAvailable, errSecReadOnly, errSecAuthFailed, errSecDuplicateItem, errSecItemNotFound,
        errSecInteractionNotAllowed, errSecDecode, errSecMissingEntitlement, noErr, errSecUserCanceled,
        errSecNoSuchAttr,
      ] == [
        0, -4, -36, -50, -108, -2070, -25291, -25292, -25293, -25299, -25300, -25308, -26275, -34018, 0, -128, -25303,
      ])
    #expect(SecCopyErrorMessageString(errSecItemNotFound, nil) == "no such item")
    #expect("\(KeychainStatus.itemNotFound)" == "no such item (-25300)")
    #expect((KeychainStatus.missingEntitlement as any Error).localizedDescription.hasSuffix("(-34018)"))
    #expect("\(KeychainStatus(rawValue: -1))" == "status -1")
  }

  @Test func `data and attributes are returned as they were asked for`() throws {
    var item = query
    item[kSecValueData] = Data("hunter2".utf8)
    item[kSecAttrLabel] = "l"
    item[kSecReturnData] = true
    var result: CFTypeRef?
    #expect(SecItemAdd(item, &result) == errSecSuccess && result as? Data == Data("hunter2".utf8))
    var asked = query
    asked[kSecReturnAttributes] = true
    #expect(SecItemCopyMatching(asked, &result) == errSecSuccess)
    let attributes = try #require(result as? [String: Any])
    #expect(attributes[kSecAttrLabel] as? String == "l" && attributes[kSecAttrAccessGroup] as? String == "default")
    #expect(attributes[kSecAttrCreationDate] is Date && attributes[kSecValueData] == nil)
    asked[kSecReturnData] = true
    asked[kSecMatchLimit] = 5
    #expect(SecItemCopyMatching(asked, &result) == errSecSuccess)
    let both = try #require(result as? [[String: Any]])
    #expect(both.count == 1 && both.first?[kSecValueData] as? Data == Data("hunter2".utf8))
    #expect(SecItemCopyMatching(query, nil) == errSecSuccess)
  }

  @Test func `an internet password goes through a dictionary`() throws {
    let site: [String: Any] = [
      kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com", kSecAttrAccount: "anna",
      kSecAttrProtocol: kSecAttrProtocolHTTPS, kSecAttrPort: 443, kSecAttrPath: "/login",
      kSecAttrAuthenticationType: kSecAttrAuthenticationTypeHTMLForm, kSecAttrSecurityDomain: "realm",
      kSecValueData: Data("1".utf8),
    ]
    #expect(SecItemAdd(site, nil) == errSecSuccess && SecItemAdd(site, nil) == errSecDuplicateItem)
    var result: CFTypeRef?
    let status = SecItemCopyMatching(
      [kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com", kSecReturnAttributes: true], &result)
    #expect(status == errSecSuccess)
    let found = try #require(result as? [String: Any])
    #expect(found[kSecAttrPort] as? Int == 443 && found[kSecAttrProtocol] as? String == kSecAttrProtocolHTTPS)
    #expect(
      try store.open().group("default").items().map(\.name.description)
        == ["https://anna@example.com:443/login?domain=realm&auth=form"])
  }

  @Test func `synchronizable items are found with and without the attribute's wildcard`() throws {
    var item = query
    item[kSecAttrSynchronizable] = true
    #expect(SecItemAdd(item, nil) == errSecSuccess)
    item[kSecAttrSynchronizable] = kSecAttrSynchronizableAny
    #expect(SecItemCopyMatching(item, nil) == errSecSuccess && SecItemCopyMatching(query, nil) == errSecSuccess)
    item[kSecAttrSynchronizable] = kCFBooleanFalse
    #expect(SecItemCopyMatching(item, nil) == errSecItemNotFound)
  }

  @Test func `a limit is one, all, or an integer from 1, and only more than one gives an array`() throws {
    #expect(SecItemAdd(query, nil) == errSecSuccess)
    func found(_ limit: Any) -> (OSStatus, CFTypeRef?) {
      var result: CFTypeRef?
      let status = SecItemCopyMatching(query.merging([kSecMatchLimit: limit, kSecReturnData: true]) { $1 }, &result)
      return (status, result)
    }
    for limit: Any in [kSecMatchLimitOne, 1, UInt8(1), NSNumber(value: 1)] { #expect(found(limit).1 is Data) }
    for limit: Any in [kSecMatchLimitAll, 2, UInt16(2), NSNumber(value: 2)] { #expect(found(limit).1 is [Data]) }
    for limit: Any in [0, -1, 1.5, "1", "all", true, UInt64.max, Data()] { #expect(found(limit).0 == errSecParam) }
    let added = query.merging([kSecAttrAccount: "b"]) { $1 }
    for limit: Any in [kSecMatchLimitAll, 2, 0] {
      #expect(SecItemAdd(added.merging([kSecMatchLimit: limit]) { $1 }, nil) == errSecParam)
    }
    #expect(SecItemAdd(added.merging([kSecMatchLimit: kSecMatchLimitOne]) { $1 }, nil) == errSecSuccess)
  }

  @Test func `an update and a deletion of fewer than all matches are refused and change nothing`() throws {
    let service: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"]
    for account in ["a", "b"] {
      #expect(SecItemAdd(service.merging([kSecAttrAccount: account]) { $1 }, nil) == errSecSuccess)
    }
    for limit: Any in [kSecMatchLimitOne, 1, 2] {
      let limited = service.merging([kSecMatchLimit: limit]) { $1 }
      #expect(SecItemDelete(limited) == errSecParam)
      #expect(SecItemUpdate(limited, [kSecAttrComment: "c"]) == errSecParam)
    }
    let all = service.merging([kSecMatchLimit: kSecMatchLimitAll]) { $1 }
    #expect(try store.open().group("default").items().map(\.attributes["comment"]) == [nil, nil])
    #expect(SecItemUpdate(all, [kSecAttrComment: "c"]) == errSecSuccess && SecItemDelete(all) == errSecSuccess)
    #expect(SecItemCopyMatching(service, nil) == errSecItemNotFound)
  }

  @Test func `an item that says nothing about access is one that is accessible when unlocked`() throws {
    #expect(SecItemAdd(query, nil) == errSecSuccess)
    var asked = query
    (asked[kSecReturnAttributes], asked[kSecAttrAccessible]) = (true, kSecAttrAccessibleWhenUnlocked)
    var result: CFTypeRef?
    #expect(SecItemCopyMatching(asked, &result) == errSecSuccess)
    #expect((result as? [String: Any])?[kSecAttrAccessible] as? String == kSecAttrAccessibleWhenUnlocked)
    asked[kSecAttrAccessible] = kSecAttrAccessibleAlways
    #expect(SecItemCopyMatching(asked, &result) == errSecItemNotFound)
  }

  @Test func `texts as UTF-8, generic bytes as text, and integers of any type are understood`() throws {
    let item: [String: Any] = [
      kSecClass: kSecClassGenericPassword, kSecAttrService: Data("s".utf8),
      kSecAttrAccount: NSData(data: Data("ü".utf8)),
      kSecAttrLabel: Data("l".utf8), kSecAttrGeneric: "ü",
    ]
    #expect(SecItemAdd(item, nil) == errSecSuccess)
    let names: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: "ü"]
    var result: CFTypeRef?
    for query in [item, names] {
      let asked = query.merging([kSecReturnAttributes: true]) { $1 }
      #expect(SecItemCopyMatching(asked, &result) == errSecSuccess)
      let found = try #require(result as? [String: Any])
      #expect(found[kSecAttrLabel] as? String == "l" && found[kSecAttrGeneric] as? Data == Data("ü".utf8))
    }
    #expect(SecItemCopyMatching(names.merging([kSecAttrLabel: Data([0xFF])]) { $1 }, nil) == errSecParam)
    var site: [String: Any] = [kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com"]
    site[kSecAttrPort] = UInt16(443)
    #expect(SecItemAdd(site, nil) == errSecSuccess)
    for port: Any in [443, Int32(443), NSNumber(value: 443)] {
      #expect(SecItemCopyMatching(site.merging([kSecAttrPort: port]) { $1 }, nil) == errSecSuccess)
    }
    #expect(SecItemCopyMatching(site.merging([kSecAttrPort: UInt64.max]) { $1 }, nil) == errSecParam)
  }

  @Test func `returned attributes can be the query and the changes, also after the item has changed`() throws {
    let site: [String: Any] = [
      kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com", kSecAttrAccount: "anna",
    ]
    for item in [query, site] {
      var result: CFTypeRef?
      #expect(SecItemAdd(item.merging([kSecReturnAttributes: true]) { $1 }, &result) == errSecSuccess)
      let returned = try #require(result as? [String: Any])
      var changes = returned
      changes[kSecClass] = nil
      for comment in ["1", "2"] {
        changes[kSecAttrComment] = comment
        #expect(SecItemUpdate(returned, changes) == errSecSuccess)
      }
      #expect(SecItemCopyMatching(item.merging([kSecAttrComment: "2"]) { $1 }, nil) == errSecSuccess)
      #expect(SecItemDelete(returned) == errSecSuccess)
      changes[kSecClass] = item[kSecClass]
      #expect(SecItemAdd(changes, nil) == errSecSuccess)
    }
  }

  @Test func `a date in a query finds no other item, and is refused where it would`() throws {
    #expect(SecItemAdd(query, nil) == errSecSuccess)
    let site: [String: Any] = [kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com"]
    #expect(SecItemAdd(site, nil) == errSecSuccess)
    for date in [kSecAttrCreationDate, kSecAttrModificationDate] {
      for key in [kSecAttrService, kSecAttrAccount] {
        var part = query.merging([date: Date()]) { $1 }
        part[key] = nil
        #expect(SecItemDelete(part) == errSecParam)
      }
      #expect(SecItemDelete([kSecClass: kSecClassInternetPassword, date: Date()]) == errSecParam)
      #expect(SecItemCopyMatching(query.merging([date: "2027"]) { $1 }, nil) == errSecParam)
    }
    #expect(SecItemDelete(site.merging([kSecAttrModificationDate: Date()]) { $1 }) == errSecParam)
    #expect(SecItemDelete(site.merging([kSecAttrCreationDate: Date.distantPast]) { $1 }) == errSecItemNotFound)
  }

  @Test func `a reference is left out beside data or attributes`() throws {
    var asked = query.merging([kSecValueData: Data("1".utf8), kSecReturnData: true]) { $1 }
    for reference in [kSecReturnRef, kSecReturnPersistentRef] { asked[reference] = true }
    var result: CFTypeRef?
    #expect(SecItemAdd(asked, &result) == errSecSuccess && result as? Data == Data("1".utf8))
    (asked[kSecValueData], asked[kSecReturnAttributes]) = (nil, true)
    #expect(SecItemCopyMatching(asked, &result) == errSecSuccess)
    let found = try #require(result as? [String: Any])
    #expect(found[kSecValueData] as? Data == Data("1".utf8))
    #expect(found[kSecValueRef] == nil && found[kSecValuePersistentRef] == nil)
  }

  @Test func `a dictionary that is not understood changes nothing`() throws {
    #expect(SecItemAdd(query, nil) == errSecSuccess)
    let wrong: [([String: Any], OSStatus)] = [
      ([:], errSecParam), ([kSecClass: "key"], errSecParam), ([kSecClass: 5], errSecParam),
      ([kSecClass: kSecClassKey], errSecParam), ([kSecClass: kSecClassCertificate], errSecParam),
      ([kSecClass: kSecClassIdentity], errSecParam), (query.merging([kSecAttrCreator: 1]) { $1 }, errSecParam),
      (query.merging([kSecAttrType: 1]) { $1 }, errSecParam),
      (query.merging([kSecAttrIsInvisible: true]) { $1 }, errSecParam),
      (query.merging([kSecAttrIsNegative: true]) { $1 }, errSecParam),
      (query.merging([kSecUseAuthenticationContext: 1]) { $1 }, errSecUnimplemented),
      (query.merging([kSecValueRef: 1]) { $1 }, errSecUnimplemented),
      (query.merging([kSecValuePersistentRef: Data()]) { $1 }, errSecUnimplemented),
      (query.merging(["unknown": 1]) { $1 }, errSecParam), (query.merging([kSecAttrAccount: 5]) { $1 }, errSecParam),
      (query.merging([kSecAttrPort: "443"]) { $1 }, errSecParam),
      (query.merging([kSecAttrServer: "example.com"]) { $1 }, errSecParam),
      ([kSecClass: kSecClassInternetPassword, kSecAttrService: "s"], errSecParam),
      (query.merging([kSecAttrAccessible: "never"]) { $1 }, errSecParam),
      (query.merging([kSecValueData: "text"]) { $1 }, errSecParam),
      (query.merging([kSecAttrAccessControl: 1]) { $1 }, errSecUnimplemented),
    ]
    for (dictionary, status) in wrong {
      #expect(SecItemDelete(dictionary) == status && SecItemCopyMatching(dictionary, nil) == status)
      #expect(SecItemAdd(dictionary, nil) == status)
    }
    #expect(SecItemUpdate(query, [kSecClass: kSecClassInternetPassword]) == errSecParam)
    #expect(SecItemUpdate(query, [kSecClass: kSecClassGenericPassword, kSecAttrComment: "c"]) == errSecParam)
    #expect(SecItemUpdate(query, [:]) == errSecParam)
    #expect(SecItemUpdate(query, [kSecAttrServer: "example.com"]) == errSecParam)
    #expect(SecItemUpdate(query, [kSecMatchLimit: 1]) == errSecParam)
    let reference = query.merging([kSecReturnPersistentRef: true]) { $1 }
    #expect(SecItemCopyMatching(reference, nil) == errSecUnimplemented)
    #expect(SecItemAdd(reference, nil) == errSecUnimplemented)
    #expect(SecItemCopyMatching(query, nil) == errSecSuccess)
  }

  @Test func `an item is deleted with the query that finds it, whatever that returns`() {
    for key in [kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef] {
      let query: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: "a"]
      #expect(SecItemAdd(query.merging([kSecValueData: Data("1".utf8)]) { $1 }, nil) == errSecSuccess)
      #expect(SecItemDelete(query.merging([key: true]) { $1 }) == errSecSuccess)
      #expect(SecItemCopyMatching(query, nil) == errSecItemNotFound)
    }
  }

  @Test func `a nil in a dictionary is refused, and finds, changes, removes and adds nothing`() throws {
    let service: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"]
    for account in ["a", "b"] {
      let item: [String: Any] = [kSecAttrAccount: account, kSecValueData: Data("1".utf8), kSecAttrGeneric: Data([1])]
      #expect(SecItemAdd(service.merging(item) { $1 }, nil) == errSecSuccess)
    }
    let absent: [(key: String, value: Any)] = [
      (kSecAttrGeneric, Data?.none as Any), (kSecAttrGeneric, String?.none as Any),
      (kSecAttrGeneric, Data??.some(nil) as Any), (kSecValueData, Data?.none as Any),
      (kSecAttrSynchronizable, Bool?.none as Any), (kSecAttrSynchronizable, String?.none as Any),
      (kSecAttrAccount, String?.none as Any), (kSecAttrLabel, Data?.none as Any), (kSecAttrLabel, NSNull()),
      (kSecAttrAccessible, String?.none as Any), (kSecAttrAccessGroup, String?.none as Any),
      (kSecAttrCreationDate, Date?.none as Any), (kSecUseAuthenticationUI, String?.none as Any),
      (kSecUseOperationPrompt, String?.none as Any), (kSecUseDataProtectionKeychain, Bool?.none as Any),
    ]
    for (key, value) in absent {
      let query = service.merging([key: value]) { $1 }
      #expect(SecItemDelete(query) == errSecParam, "\(key)")
      #expect(SecItemCopyMatching(query, nil) == errSecParam, "\(key)")
      #expect(SecItemUpdate(query, [kSecAttrComment: "c"]) == errSecParam, "\(key)")
      #expect(SecItemUpdate(service, [kSecAttrComment: "c", key: value]) == errSecParam, "\(key)")
      let added: [String: Any] = [kSecAttrAccount: "new", kSecValueData: Data()]
      #expect(SecItemAdd(service.merging(added) { $1 }.merging([key: value]) { $1 }, nil) == errSecParam, "\(key)")
    }
    for (key, value): (String, Any) in [
      (kSecAttrPort, Int?.none as Any), (kSecAttrPath, String?.none as Any), (kSecAttrServer, String?.none as Any),
    ] {
      let site: [String: Any] = [kSecClass: kSecClassInternetPassword, kSecAttrAccount: "a", key: value]
      #expect(SecItemAdd(site, nil) == errSecParam && SecItemDelete(site) == errSecParam, "\(key)")
    }
    for (key, value): (String, Any) in [
      (kSecReturnData, Bool?.none as Any), (kSecMatchLimit, Int?.none as Any), (kSecMatchLimit, String?.none as Any),
      (kSecReturnRef, Bool?.none as Any), (kSecClass, String?.none as Any),
    ] { #expect(SecItemCopyMatching(query.merging([key: value]) { $1 }, nil) == errSecParam, "\(key)") }
    let items = try store.open().group("default").items()
    #expect(items.map(\.name.description) == ["s/a", "s/b"] && items.map(\.version) == [1, 1])
  }

  @Test func `an optional that holds a value is that value`() throws {
    let data: Data? = Data("1".utf8)
    let (isSynchronizable, text): (Bool?, String?) = (true, "a")
    let item: [String: Any] = [
      kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: text as Any,
      kSecValueData: data as Any, kSecAttrGeneric: data as Any, kSecAttrSynchronizable: isSynchronizable as Any,
    ]
    #expect(SecItemAdd(item, nil) == errSecSuccess)
    var result: CFTypeRef?
    #expect(SecItemCopyMatching(item.merging([kSecReturnData: true]) { $1 }, &result) == errSecSuccess)
    #expect(result as? Data == data)
  }

  @Test func `attributes that the store cannot hold are refused`() throws {
    for (key, value): (String, Any) in [
      (kSecAttrLabel, "two\nlines"), (kSecAttrComment, "two\nlines"), (kSecAttrDescription, "\u{7}"),
      (kSecAttrGeneric, Data(count: 50_000)), (kSecAttrGeneric, Data(count: 60_000)),
    ] {
      #expect(SecItemAdd(query.merging([key: value]) { $1 }, nil) == errSecParam)
      #expect(SecItemCopyMatching(query, nil) == errSecItemNotFound)
    }
    #expect(SecItemAdd(query.merging([kSecAttrGeneric: Data(count: 48_000)]) { $1 }, nil) == errSecSuccess)
  }
}
