import Testing

@testable import Vault

/// A list with a query returns what matches all its parts.
@Suite struct ItemQueryTests {
  private let store: StoreFixture

  init() throws {
    store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set(
      "db/main", to: "1", Details(label: .to("Main Database"), attributes: ["env": "prod-eu", "team": "a"]))
    try group.set("db/test", to: "1", Details(attributes: ["env": "test"], expires: .to(Timestamp(milliseconds: 5))))
    try group.set("web", to: "1", Details(attributes: ["env": "prod-us"]))
    try group.set("gone", to: "1", Details(attributes: ["env": "prod-eu"]))
    try group.remove("gone")
  }

  private func names(_ query: ItemQuery) throws -> [String] {
    let list = try store.open().group("default").list(query)
    var names: [String] = []
    while let item = try list.next() { names.append(item.name.description) }
    return names.sorted()
  }

  @Test(arguments: [
    Details(label: .to("Other")), Details(attributes: ["team": "b"]), Details(expires: .to(Timestamp(milliseconds: 9))),
    Details(),
  ])
  func `an item equals itself when it is read again, and not its next version`(_ details: Details) throws {
    let group = try store.open().group("default")
    let item = try group.item("db/main")
    #expect(try group.item("db/main") == item)
    try group.change("db/main", details)
    #expect(try group.item("db/main") != item)
    #expect(try group.history("db/main").last == item)
  }

  @Test func `each part of a query narrows the list`() throws {
    #expect(try names(ItemQuery()) == ["db/main", "db/test", "web"])
    #expect(try names(ItemQuery(prefix: "db/")) == ["db/main", "db/test"])
    #expect(try names(ItemQuery(attributes: ["env": "test"])) == ["db/test"])
    #expect(try names(ItemQuery(attributes: ["env": "prod-*"])) == ["db/main", "web"])
    #expect(try names(ItemQuery(attributes: ["env": "prod-*", "team": "a"])) == ["db/main"])
    #expect(try names(ItemQuery(attributes: ["env": "prod"])) == [])
    try store.open().group("default").set("marked", to: "1", Details(attributes: ["at": "x/\u{301}y"]))
    #expect(try names(ItemQuery(attributes: ["at": "x/*"])) == ["marked"])
    try store.open().group("default").remove("marked")
    #expect(try names(ItemQuery(text: "DATABASE")) == ["db/main"])
    #expect(try names(ItemQuery(prefix: "db/", text: "test")) == ["db/test"])
    #expect(try names(ItemQuery(expiresBy: Timestamp(milliseconds: 4))) == [])
    #expect(try names(ItemQuery(expiresBy: Timestamp(milliseconds: 5))) == ["db/test"])
  }

  @Test func `after a text of a query changes, the new one counts`() throws {
    var query = ItemQuery(text: "web")
    query.text = "main"
    #expect(try names(query) == ["db/main"])
    query.text = nil
    #expect(try names(query).count == 3)
  }

  @Test func `a prefix that no name can have is refused`() throws {
    #expect(throws: VaultError.self) { try names(ItemQuery(prefix: "a\u{0}")) }
  }
}
