import Foundation
import KeychainItems
import Testing
import VaultFoundation

/// Keychain items in access groups, with Apple's vocabulary.
@Suite struct KeychainTests {
  let store: KeychainTestStore
  let keychain: Keychain

  init() throws {
    store = try KeychainTestStore()
    keychain = Keychain(try store.open())
  }

  func generic(_ service: String?, _ account: String?, _ text: String? = nil) -> KeychainItem {
    var item = KeychainItem(.genericPassword)
    (item.service, item.account, item.data) = (service, account, text.map { Data($0.utf8) })
    return item
  }

  func internet(_ server: String, _ account: String, _ text: String? = nil) -> KeychainItem {
    var item = KeychainItem(.internetPassword)
    (item.server, item.account, item.data) = (server, account, text.map { Data($0.utf8) })
    return item
  }

  // MARK: Adding and finding

  @Test func `an added item is found with all its attributes, and its data if asked for`() throws {
    var item = generic("com.example.app", "anna@example.com", "hunter2")
    (item.label, item.comment, item.kindDescription) = ("Orders", "a comment", "token")
    (item.generic, item.accessible, item.isSynchronizable) = (Data([0, 1, 255]), .afterFirstUnlock, true)
    try keychain.add(item)
    let found = try #require(try keychain.copyMatching(generic("com.example.app", "anna@example.com")).first)
    #expect(found.label == "Orders" && found.comment == "a comment" && found.kindDescription == "token")
    #expect(found.generic == item.generic && found.accessible == .afterFirstUnlock && found.isSynchronizable == true)
    #expect(found.accessGroup == "default" && found.creationDate != nil && found.modificationDate != nil)
    #expect(found.data == nil)
    #expect(try keychain.copyMatching(item, withData: true).first?.data == Data("hunter2".utf8))
  }

  @Test func `an item's name tells people what the item is`() throws {
    try keychain.add(generic("com.example.app", "anna@example.com", "1"))
    var site = internet("example.com", "anna", "2")
    (site.networkProtocol, site.port, site.path) = ("https", 8443, "/login")
    try keychain.add(site)
    let items = try store.open().group("default").items()
    #expect(
      items.map(\.name.description) == ["com.example.app/anna@example.com", "https://anna@example.com:8443/login"])
    #expect(items.map(\.kind) == [.string, .string])
  }

  @Test func `an item that the command has set is found by service and account`() throws {
    try store.open().group("default").set("com.example.app/token", to: "hunter2")
    let found = try keychain.copyMatching(generic("com.example.app", "token"), withData: true)
    #expect(found.first?.data == Data("hunter2".utf8))
  }

  @Test func `a label that differs only in its Unicode form is another one`() throws {
    var item = generic("com.example.app", "anna", "hunter2")
    (item.label, item.comment) = ("caf\u{E9}", "caf\u{E9}")
    try keychain.add(item)
    var query = generic("com.example.app", nil)
    query.label = "caf\u{E9}"
    #expect(try keychain.copyMatching(query).count == 1)
    query.label = "cafe\u{301}"
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.copyMatching(query) }
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.delete(query) }
    (query.label, query.comment) = (nil, "cafe\u{301}")
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.delete(query) }
  }

  @Test func `data that is not text comes back unchanged`() throws {
    let data = Data([0xFF, 0, 0xC0])
    var item = generic("a", "b")
    item.data = data
    try keychain.add(item)
    #expect(try keychain.copyMatching(item, withData: true).first?.data == data)
  }

  @Test func `a second item with the same primary key is a duplicate, whatever else differs`() throws {
    try keychain.add(generic("a", "b", "1"))
    var second = generic("a", "b", "2")
    (second.label, second.generic) = ("other", Data([1]))
    #expect(throws: KeychainStatus.duplicateItem) { try keychain.add(second) }
    try keychain.add(generic("a", "c", "3"))
    try keychain.add(generic("b", "b", "4"))
    try keychain.add(generic(nil, "b", "5"))
    #expect(try keychain.copyMatching(generic("a", "b"), withData: true).first?.data == Data("1".utf8))
  }

  @Test func `internet passwords that differ in any part of the primary key are different items`() throws {
    let first = internet("example.com", "anna", "1")
    try keychain.add(first)
    let changes: [(inout KeychainItem) -> Void] = [
      { $0.server = "example.org" }, { $0.account = "ben" }, { $0.networkProtocol = "https" }, { $0.port = 443 },
      { $0.path = "/" }, { $0.path = "x" }, { $0.securityDomain = "realm" }, { $0.authenticationType = "form" },
    ]
    for change in changes {
      var other = first
      change(&other)
      try keychain.add(other)
      #expect(throws: KeychainStatus.duplicateItem) { try keychain.add(other) }
      #expect(try keychain.copyMatching(other).count == 1)
    }
    #expect(try keychain.copyMatching(KeychainItem(.internetPassword), limit: .max).count == changes.count + 1)
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.copyMatching(KeychainItem(.genericPassword)) }
  }

  @Test(arguments: [
    "/", "%2F", "a b", "ü", "?x=1&y", "a:b@c;d", "line\nbreak", "\u{85}", "=", "", "//", ";v=1", ";", ";;/;",
  ])
  func `texts of a primary key are never confused with each other`(text: String) throws {
    var site = internet(text, text, "2")
    (site.networkProtocol, site.path, site.securityDomain, site.authenticationType) = (text, text, text, text)
    for item in [generic(text, "b", "1"), generic("a", text, "1"), site] {
      let added = try keychain.add(item)
      #expect(added.service ?? "" == item.service ?? "" && added.account ?? "" == item.account ?? "")
      #expect(added.server ?? "" == item.server ?? "" && added.path ?? "" == item.path ?? "")
      #expect(added.networkProtocol ?? "" == item.networkProtocol ?? "")
      #expect(added.securityDomain ?? "" == item.securityDomain ?? "")
      #expect(added.authenticationType ?? "" == item.authenticationType ?? "")
      #expect(try keychain.copyMatching(item).count == 1)
    }
  }

  @Test func `a primary key that its name would not tell is refused, and nothing is stored`() throws {
    var site = internet("h", "a")
    site.securityDomain = "\u{338}d"
    for (good, wrong) in [
      (generic("s", "a"), [generic("s", "\u{338}"), generic("s", "/\u{307}"), generic("\n\u{301}", "a")]),
      (internet("h", "a"), [site, internet("h", ":\u{301}"), internet("h\u{37E}x", "a"), internet("h", "u\u{37E}")]),
    ] {
      for item in wrong {
        #expect(throws: KeychainStatus.param, "\(item)") { try keychain.add(item) }
        try keychain.add(good)
        #expect(throws: KeychainStatus.param, "\(item)") { try keychain.update(good, to: item) }
        try keychain.delete(good)
      }
    }
    #expect(try store.open().group("default").items().isEmpty)
    // In a path, a semicolon separates nothing, and in a service a mark follows no separator.
    site = internet("h", "a")
    site.path = "/a\u{37E}b"
    for item in [site, generic("\u{338}", "e\u{301}")] {
      try keychain.add(item)
      #expect(try keychain.copyMatching(item).count == 1)
    }
  }

  @Test func `one match is found unless more are asked for`() throws {
    for account in ["c", "a", "b"] { try keychain.add(generic("s", account, account)) }
    try keychain.add(generic("t", "d", "d"))
    #expect(try keychain.copyMatching(generic("s", nil)).map(\.account) == ["a"])
    #expect(try keychain.copyMatching(generic("s", nil), limit: 2).map(\.account) == ["a", "b"])
    #expect(try keychain.copyMatching(generic("s", nil), limit: .max).map(\.account) == ["a", "b", "c"])
    #expect(try keychain.copyMatching(KeychainItem(.genericPassword), limit: .max).count == 4)
  }

  @Test func `every attribute of a query must be that of the item`() throws {
    var item = generic("a", "b", "1")
    (item.label, item.comment, item.generic, item.accessible) = ("l", "c", Data([1]), .whenUnlocked)
    try keychain.add(item)
    let changes: [(inout KeychainItem) -> Void] = [
      { $0.label = "x" }, { $0.comment = "x" }, { $0.kindDescription = "x" }, { $0.generic = Data([2]) },
      { $0.accessible = .always }, { $0.isSynchronizable = true },
    ]
    for change in changes {
      var query = item
      change(&query)
      #expect(throws: KeychainStatus.itemNotFound) { try keychain.copyMatching(query) }
      query.service = nil
      #expect(throws: KeychainStatus.itemNotFound) { try keychain.delete(query) }
    }
    #expect(try keychain.copyMatching(item).count == 1)
  }

  @Test func `an attribute of the other class is refused and changes nothing`() throws {
    let (password, site) = (generic("s", "a", "1"), internet("example.com", "anna", "1"))
    let changes: [(KeychainItem, (inout KeychainItem) -> Void)] = [
      (password, { $0.server = "x" }), (password, { $0.networkProtocol = "x" }), (password, { $0.port = 0 }),
      (password, { $0.path = "" }), (password, { $0.securityDomain = "x" }),
      (password, { $0.authenticationType = "x" }), (site, { $0.service = "x" }), (site, { $0.generic = Data() }),
    ]
    for (item, change) in changes {
      var wrong = item
      change(&wrong)
      #expect(throws: KeychainStatus.param) { try keychain.add(wrong) }
      #expect(throws: KeychainStatus.itemNotFound) { try keychain.copyMatching(item) }
      try keychain.add(item)
      #expect(throws: KeychainStatus.param) { try keychain.copyMatching(wrong) }
      #expect(throws: KeychainStatus.param) { try keychain.update(wrong, to: item) }
      #expect(throws: KeychainStatus.param) { try keychain.update(item, to: wrong) }
      #expect(throws: KeychainStatus.param) { try keychain.delete(wrong) }
      try keychain.delete(item)
    }
  }

  @Test func `an internet password whose path begins with semicolons is found, changed and removed`() throws {
    for path in [";v=1", ";", ";;x", "/;x", ";/x"] {
      var site = internet("h.example", "anna", "1")
      site.path = path
      #expect(try keychain.add(site).path == path)
      #expect(throws: KeychainStatus.duplicateItem) { try keychain.add(site) }
      #expect(try keychain.copyMatching(site).first?.path == path)
      try keychain.delete(site)
    }
    #expect(try store.open().group("default").items().isEmpty)
  }

  @Test func `a printed or dumped item shows how long its data is, and none of its bytes`() throws {
    var item = generic("s", "anna", "ABC")
    (item.label, item.generic) = ("l", Data([1, 2]))
    var dumped = ""
    dump(item, to: &dumped)
    for text in [dumped, "\(item)", String(reflecting: item), String(describing: Optional(item))] {
      #expect(text.contains("3 bytes") && text.contains("anna") && text.contains("genericPassword"), "\(text)")
      // The dump of other data shows an address, which may have any digits.
      #expect(!text.contains("- 65\n") && !text.contains("65, 66") && !text.contains("ABC"), "\(text)")
    }
    item.data = nil
    #expect("\(item)".contains("data: nil"))
  }

  // MARK: Groups, processes, errors

  @Test func `of many that add the same item at once, one succeeds`() async throws {
    let statuses = await withTaskGroup(of: KeychainStatus.self) { tasks in
      for number in 0..<8 {
        tasks.addTask { [store] in
          do throws(KeychainStatus) {
            // Each opens the store anew, as another process does.
            guard let open = try? store.open() else { return .notAvailable }
            var item = KeychainItem(.genericPassword)
            (item.service, item.account, item.data) = ("s", "a", Data("\(number)".utf8))
            try Keychain(open).add(item)
            return .success
          } catch {
            return error
          }
        }
      }
      return await tasks.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses.count { $0 == .success } == 1 && statuses.count { $0 == .duplicateItem } == 7)
  }

  @Test func `items of one group are not found in another, and a group of others needs an entitlement`() throws {
    let owner = try store.open()
    try owner.createGroup("team")
    try owner.createGroup("others")
    let credential = store.folder + "/credential"
    _ = try owner.applications.issue(
      "com.example.app", to: credential, grants: [.init(.read, in: "team")])
    let app = Keychain(try SecretStore.open(at: owner.location, credential: credential))
    var shared = generic("s", "a", "1")
    shared.accessGroup = "team"
    try keychain.add(shared)
    #expect(try app.copyMatching(shared, withData: true).first?.accessGroup == "team")
    #expect(throws: KeychainStatus.itemNotFound) { try app.copyMatching(generic("s", "a")) }
    #expect(throws: KeychainStatus.readOnly) { try app.delete(shared) }
    try app.add(generic("s", "a", "own"))
    #expect(try app.copyMatching(generic("s", "a")).first?.accessGroup == "com.example.app")
    for group in ["others", "nowhere", "vault.owner"] {
      shared.accessGroup = group
      #expect(throws: KeychainStatus.missingEntitlement) { try app.copyMatching(shared) }
    }
    var moved = generic(nil, nil)
    moved.accessGroup = "team"
    #expect(throws: KeychainStatus.param) { try app.update(generic("s", "a"), to: moved) }
  }

  @Test func `an access group may have an Apple team's prefix, and a name that no group can have is refused`() throws {
    try store.open().createGroup("abcde12345.com.example.shared")
    var item = generic("s", "a", "1")
    item.accessGroup = "ABCDE12345.com.example.shared"
    #expect(try keychain.add(item).accessGroup == "abcde12345.com.example.shared")
    #expect(try keychain.copyMatching(item).first?.accessGroup == "abcde12345.com.example.shared")
    try keychain.update(item, to: item)
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.copyMatching(generic("s", "a")) }
    for name in [
      "", "a b", "../default", ".hidden", "a..b", "a/b", "\u{212A}", "Ä", String(repeating: "a", count: 129),
    ] {
      var wrong = item
      wrong.accessGroup = name
      #expect(throws: KeychainStatus.param) { try keychain.add(wrong) }
      #expect(throws: KeychainStatus.param) { try keychain.copyMatching(wrong) }
      #expect(throws: KeychainStatus.param) { try keychain.update(item, to: wrong) }
      #expect(throws: KeychainStatus.param) { try keychain.delete(wrong) }
    }
    try keychain.delete(item)
  }

  @Test func `an item that cannot be stored is a wrong parameter`() throws {
    #expect(throws: KeychainStatus.param) {
      try keychain.add(generic(String(repeating: "a", count: 1_100), "b", "1"))
    }
    var site = internet("example.com", "anna", "1")
    site.port = 65_536
    #expect(throws: KeychainStatus.param) { try keychain.add(site) }
    site.port = nil
    site.data = Data(count: 1 << 20 + 1)
    #expect(throws: KeychainStatus.param) { try keychain.add(site) }
  }

  @Test func `a damaged group is never an absent item`() throws {
    try keychain.add(generic("s", "a", "1"))
    let file = store.folder + "/home/groups/default/group.vault"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    for place in stride(from: 4_096, to: bytes.count, by: 64) { bytes[place] ^= 0xFF }
    try bytes.write(to: URL(fileURLWithPath: file))
    try? FileManager.default.removeItem(atPath: file + "-wal")
    #expect(throws: KeychainStatus.decode) { try Keychain(store.open()).copyMatching(generic("s", "a")) }
  }

  private static let statuses: [(KeychainStatus, [VaultError])] = [
    (.itemNotFound, [.notFound(.item), .notFound(.version(2))]),
    (.missingEntitlement, [.notFound(.group), .denied(.notAMember)]),
    (.duplicateItem, [.conflict(expected: 0, present: 1), .exists(.group)]),
    (.param, [.invalid("x"), .overLimit("x")]),
    (.interactionNotAllowed, [.locked(.keyFile(.missing, path: nil)), .ownerNeeded(.noStateFolder), .noKeyring("x")]),
    (.interactionNotAllowed, [.otherDevice(group: "g", reason: "x")]),
    (.readOnly, [.denied(.readOnly), .denied(.ownerOnly)]),
    (.unimplemented, [.denied(.throughService)]),
    (.authFailed, [.denied(.openToOthers("x")), .denied(.permissions("x")), .wrongKey(.keyFile)]),
    (.decode, [.damaged(group: "g", level: .container, detail: "x"), .anotherGroup("g"), .strangeRows(group: "g")]),
    (.decode, [.rolledBack(found: 1, known: 2, reason: .olderState), .unproved(items: 1, versions: 0)]),
    (.decode, [.newerFormat(read: 2, write: 2), .witnessUnavailable(group: "g", reason: "x")]),
    (.notAvailable, [.noStore(path: "/x"), .busy(group: "g")]),
    (.allocate, [.storage(.memory)]),
    (.inputOutput, [.storage(.full), .storage(.readOnly), .networkFileSystem("nfs")]),
    (.internalComponent, [.contradiction(.lastSlot), .unexpected("x"), .tooManyStates]),
    (.notAvailable, [.service(.busy, "x"), .unordered(.notHere), .unordered(.tooOld(seconds: 2, limit: 1))]),
    (.notAvailable, [.unordered(.tooEarly(seconds: 2, limit: 1))]),
    (.authFailed, [.service(.denied, "x"), .unordered(.refused)]),
    (.decode, [.service(.damaged, "x"), .service(.rolledBack, "x")]),
    (.decode, [.unlistedMember(group: "g", application: "a", issue: 1)]),
    (.interactionNotAllowed, [.service(.locked, "x")]),
    (.internalComponent, [.service(.unexpected, "x")]),
  ]

  @Test(arguments: statuses.indices) func `each error of the store has its status`(_ number: Int) {
    let (status, errors) = Self.statuses[number]
    for error in errors { #expect(KeychainStatus(error) == status, "\(error.status)") }
  }
}

/// A store in a folder of its own, which is removed with this object.
final class KeychainTestStore: Sendable {
  let folder = NSTemporaryDirectory() + "vault-keychain-\(UUID().uuidString)"

  init() throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try SecretStore.create(
      at: StoreLocation(home: folder + "/home", state: folder + "/state"), with: .keyFile(folder + "/key"))
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func open() throws -> SecretStore {
    try SecretStore.open(
      at: StoreLocation(home: folder + "/home", state: folder + "/state"), unlocking: .keyFile(folder + "/key"))
  }
}
