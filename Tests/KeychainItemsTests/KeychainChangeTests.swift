import Foundation
import KeychainItems
import Testing
import VaultFoundation

/// Changing and removing keychain items.
extension KeychainTests {
  @Test func `an update changes what it names in all matches, and keeps the rest`() throws {
    for account in ["a", "b"] {
      var item = generic("s", account, account)
      item.label = account
      try keychain.add(item)
    }
    try store.open().group("default").change("s/a", Details(attributes: ["host": "db1"]))
    var changes = KeychainItem(.genericPassword)
    (changes.comment, changes.data) = ("new", Data("new".utf8))
    try keychain.update(generic("s", nil), to: changes)
    let found = try keychain.copyMatching(generic("s", nil), limit: .max, withData: true)
    #expect(found.map(\.label) == ["a", "b"] && found.map(\.comment) == ["new", "new"])
    #expect(found.map(\.data) == [Data("new".utf8), Data("new".utf8)])
    #expect(try store.open().group("default").item("s/a").attributes["host"] == "db1")
  }

  @Test func `an update of attributes keeps the value's type and expiry`() throws {
    let expiry = Timestamp(milliseconds: 4_000_000_000_000)
    try store.open().group("default").set("s/a", to: 42, Details(expires: .to(expiry)))
    var changes = KeychainItem(.genericPassword)
    changes.comment = "c"
    try keychain.update(generic("s", "a"), to: changes)
    let item = try store.open().group("default").item("s/a")
    #expect(item.kind == .int && item.expires == expiry && item.attributes["comment"] == "c")
  }

  @Test func `an update of attributes leaves a value that a removed member could read in the list of these`() throws {
    let owner = try store.open()
    // Without a history, which would tell that the value is the one they could read.
    try owner.createGroup("team", NewGroup(keep: 1))
    _ = try owner.applications.issue(
      "com.example.app", to: store.folder + "/credential", grants: [.init(.read, in: "team")])
    var item = generic("s", "a", "1")
    item.accessGroup = "team"
    try keychain.add(item)
    try owner.revoke("com.example.app", from: "team")
    var changes = KeychainItem(.genericPassword)
    changes.comment = "c"
    try keychain.update(item, to: changes)
    let exposed = try owner.exposure()
    #expect(exposed.map(\.item.description) == ["s/a"] && exposed.map(\.version) == [2])
    changes.data = Data("2".utf8)
    try keychain.update(item, to: changes)
    #expect(try owner.exposure().isEmpty)
  }

  @Test(arguments: [
    (SecretKind.int, "42", "43", SecretKind.int), (.int, "42", "forty", .string), (.int, "42", "043", .string),
    (.bool, "true", "false", .bool), (.bool, "true", "1", .string), (.double, "0.5", "1e+100", .double),
    (.json, "[1]", #"{ "a": 1 }"#, .json), (.json, "[1]", "{", .string), (.url, "a:b", "https://example.com", .url),
    (.date, "2027-01-31T00:00:00Z", "soon", .string), (.string, "a", "b", .string), (.bytes, "a", "b", .string),
    (.archive, "a", "b", .string), (SecretKind(rawValue: 99), "a", "b", .string),
  ])
  func `new data keeps the value's type if it is a value of this type`(
    old: SecretKind, text: String, new: String, kind: SecretKind
  ) throws {
    let group = try store.open().group("default")
    try group.set("s/a", to: Secret(text), kind: old)
    try keychain.update(generic("s", "a"), to: generic(nil, nil, new))
    #expect(try group.item("s/a").kind == kind)
    #expect(try keychain.copyMatching(generic("s", "a"), withData: true).first?.data == Data(new.utf8))
    var bytes = KeychainItem(.genericPassword)
    bytes.data = Data([0xFF])
    try keychain.update(generic("s", "a"), to: bytes)
    #expect(try group.item("s/a").kind == .bytes)
  }

  @Test func `an update of the primary key renames the item, unless the new one exists`() throws {
    try keychain.add(generic("s", "a", "1"))
    try keychain.add(generic("s", "b", "2"))
    #expect(throws: KeychainStatus.duplicateItem) { try keychain.update(generic("s", "a"), to: generic(nil, "b")) }
    #expect(try keychain.copyMatching(generic("s", "a"), withData: true).first?.data == Data("1".utf8))
    try store.open().group("default").change("s/a", Details(attributes: ["host": "db1"]))
    try keychain.update(generic("s", "a"), to: generic(nil, "c"))
    #expect(try store.open().group("default").item("s/c").attributes["host"] == "db1")
    #expect(try keychain.copyMatching(generic("s", "c"), withData: true).first?.data == Data("1".utf8))
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.copyMatching(generic("s", "a")) }
    // Two items cannot get one key, and then neither gets it.
    #expect(throws: KeychainStatus.duplicateItem) { try keychain.update(generic("s", nil), to: generic(nil, "d")) }
    #expect(try keychain.copyMatching(generic("s", nil), limit: .max).map(\.account) == ["b", "c"])
  }

  @Test func `a deletion removes all matches, which the history keeps`() throws {
    for account in ["a", "b"] { try keychain.add(generic("s", account, account)) }
    try keychain.add(generic("t", "a", "t"))
    try keychain.delete(generic("s", nil))
    #expect(try keychain.copyMatching(KeychainItem(.genericPassword), limit: .max).map(\.service) == ["t"])
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.delete(generic("s", nil)) }
    try store.open().group("default").restore("s/a")
    #expect(try keychain.copyMatching(generic("s", nil)).map(\.account) == ["a"])
    try keychain.delete(generic("s", "a"))
    try keychain.add(generic("s", "a", "again"))
  }

  @Test func `a change of a whole class touches only items that were added here, and no archives`() throws {
    let group = try store.open().group("default")
    try group.set("db/password", to: "set by hand")
    var account = KeychainItem(.genericPassword)
    account.account = "password"
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.delete(account) }
    try group.set("com.example.app/token", to: "set by hand")
    try group.set("old/plain", to: "1", Details(attributes: ["comment": "c"]))
    try group.set("old/accessible", to: "1", Details(attributes: ["accessible": "always"]))
    try group.set("old/synchronizable", to: "1", Details(attributes: ["synchronizable": "false"]))
    for account in ["a", "b", "c"] { try keychain.add(generic("s", account, account)) }
    try keychain.add(internet("example.com", "anna", "1"))
    try group.set("s/b", to: ["name": "Anna"] as [String: Any])
    // An update of a named item does not make it one that was added here.
    var change = KeychainItem(.genericPassword)
    (change.comment, change.accessible) = ("c", .whenUnlocked)
    try keychain.update(generic("com.example.app", "token"), to: change)
    change.comment = "all"
    try keychain.update(KeychainItem(.genericPassword), to: change)
    let changed = try group.items().filter { $0.attributes["comment"] == "all" }.map(\.name.description)
    #expect(changed == ["old/accessible", "old/synchronizable", "s/a", "s/c"])
    var query = KeychainItem(.genericPassword)
    query.label = "l"
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.delete(query) }
    try keychain.delete(KeychainItem(.genericPassword))
    #expect(throws: KeychainStatus.itemNotFound) { try keychain.delete(KeychainItem(.genericPassword)) }
    #expect(
      try group.items().map(\.name.description)
        == ["com.example.app/token", "db/password", "://anna@example.com", "old/plain", "s/b"].sorted())
    try keychain.delete(generic("db", nil))
    #expect(throws: VaultError.notFound(.item)) { try group.item("db/password") }
  }
}
