import GroupFile
import Testing

@testable import VaultStore

/// Another writer of a group, with a program of his own, signs items that ours would not.
struct HostileItemTests {
  @Test(arguments: ["two\nlines", "", "\u{1B}[2J", "e\u{301}"])
  func `an item with a name that no item can have is damage, not a wrong argument`(_ name: String) throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set("item", to: "value")
    try put(name, in: group)
    #expect(
      throws: VaultError.damaged(group: "default", level: "row", detail: "a writer signed rows that no item can be")
    ) {
      try group.items()
    }
    // The others are listed, and the row is named.
    let listing = try group.listing()
    #expect(listing.items.map(\.name.description) == ["item"])
    #expect(listing.strange.map(\.reason) == ["a name that no item can have"])
    let list = try group.list()
    #expect(try list.next()?.name.description == "item")
    #expect(throws: VaultError.self) { try list.next() }
    #expect(try store.value("item") == "value")
  }

  private func put(_ name: String, in group: AccessGroup) throws {
    let transaction = try group.file.beginWriting()
    let secret = try unsafe [UInt8]().withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    try transaction.put(Attributes(name: name, created: 1, changed: 1, valueKind: 2), secret)
    try transaction.commit()
  }

  @Test func `the owner removes a row that no item can be, and nothing of it stays`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    let api = try store.issue("api", grants: [.init(.write, in: "default")])
    try open.group("default").set("item", to: "value")
    try put("two\nlines", in: api.group("default"))
    try put("two\nlines", in: api.group("default"))
    let row = try #require(try open.group("default").listing().strange.first)
    #expect(throws: VaultError.denied(.ownerOnly)) { try api.removeRow(row.token, from: "default") }
    #expect(throws: VaultError.notFound(.item)) {
      try open.removeRow(String(repeating: "0", count: 32), from: "default")
    }
    for token in ["", "+" + row.token.dropFirst(), row.token + "0", "x" + row.token.dropFirst()] {
      #expect(throws: VaultError.invalid("a row's token has 32 hexadecimal digits")) {
        try open.removeRow(token, from: "default")
      }
    }
    try open.removeRow(row.token, from: "default")
    #expect(try open.group("default").items().map(\.name.description) == ["item"])
    let info = try open.group("default").info()
    #expect(info.itemCount == 1 && info.versionCount == 0 && info.generation == 2)
    for group in try open.verify() { #expect(throws: Never.self) { try group.result.get() } }
    // A member still writes, and the name is as new.
    try put("two\nlines", in: api.group("default"))
    #expect(try open.group("default").info().versionCount == 0)
  }

  @Test func `who another member says that they are is shown as a claim`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "owner's")
    #expect(try store.open().group("team").history("a").map(\.isWriterClaimed) == [false])
    let api = try store.issue("api", grants: [.init(.write, in: "team")])
    try api.group("team").set("a", to: "api's")
    // The state is signed by the application now: it could have made the owner's version up.
    let history = try store.open().group("team").history("a")
    #expect(history.map(\.writer) == [.application("api", issue: 1), .owner])
    #expect(history.map(\.isWriterClaimed) == [false, true])
  }
}
