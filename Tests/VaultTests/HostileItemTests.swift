import Sealing
import Testing

@testable import GroupFile
@testable import Vault

/// Another writer of a group has a program of their own and signs items that ours would not.
struct HostileItemTests {
  @Test(arguments: ["two\nlines", "", "\u{1B}[2J", "e\u{301}"])
  func `an item with an impossible name is damage, not a wrong argument`(_ name: String) throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set("item", to: "value")
    try put(name, in: group)
    #expect(
      throws: VaultError.strangeRows(group: "default")
    ) {
      try group.items()
    }
    // The other items are listed, and the bad row is named.
    let listing = try group.listing()
    #expect(listing.items.map(\.name.description) == ["item"])
    #expect(listing.strange.map(\.reason) == ["a name that no item can have"])
    let list = try group.list()
    #expect(try list.next()?.name.description == "item")
    #expect(throws: VaultError.self) { try list.next() }
    #expect(try store.value("item") == "value")
    // Verifying refuses what a list refuses.
    #expect(throws: VaultError.strangeRows(group: "default")) {
      try store.open().verify(groups: ["default"])[0].result.get()
    }
  }

  @Test func `exposed values are listed despite a row that cannot be an item`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    _ = try store.issue("api", grants: [.init(.read, in: "default")])
    for name in ["a", "b"] { try open.group("default").set(name, to: "value") }
    try put("two\nlines", in: open.group("default"))
    try open.revoke("api", from: "default")
    var leftOut: [String: VaultError] = [:]
    let exposed = try open.exposure(leftOut: { leftOut[$0] = $1 })
    #expect(exposed.map(\.item.description) == ["a", "b"])
    #expect(leftOut == ["default": .strangeRows(group: "default")])
  }

  @Test func `a row that is no token does not keep tokens from ending with the service's credential`() throws {
    let fixture = try ServiceFixture()
    let tokens = try fixture.service().group("vault.tokens")
    try tokens.set("hash", to: "", Details(attributes: ["application": "web"]))
    try put("two\nlines", in: tokens)
    let issued = try fixture.owner().enrollService(to: fixture.store.folder + "/new", .replacing)
    #expect(issued.unchanged.isEmpty)
    #expect(try fixture.owner().group(.tokens).listing().items.isEmpty)
  }

  private func put(_ name: String, in group: AccessGroup) throws {
    let transaction = try group.file.beginWriting()
    let secret = try unsafe [UInt8]().withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    try transaction.put(Attributes(name: name, created: 1, changed: 1, valueKind: 2), secret)
    try transaction.commit()
  }

  @Test(arguments: [GroupLimits.lastVersion, GroupLimits.lastVersion + 1])
  func `rows with the last version number or another item's name are listed as such and removed`(
    _ version: UInt64
  ) throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    for name in ["item", "last", "moved"] { try group.set(name, to: "value") }
    let last = try replace("last", in: group, version: version)
    let moved = try replace("moved", in: group, named: "item")
    let listing = try store.open().group("default").listing()
    #expect(listing.items.map(\.name.description) == ["item"])
    #expect(
      Dictionary(uniqueKeysWithValues: listing.strange.map { ($0.token, $0.reason) })
        == [last: "a version that no other can follow", moved: "a name in another's place"])
    // A new key moves the other row, so the row that does not open is removed first.
    try store.open().removeRow(moved, from: "default")
    let next = try #require(try store.open().group("default").listing().strange.first)
    try store.open().removeRow(next.token, from: "default")
    #expect(try store.open().group("default").items().map(\.name.description) == ["item"])
    for group in try store.open().verify() { #expect(throws: Never.self) { try group.result.get() } }
  }

  /// Replaces an item's row by another one and signs it.
  ///
  /// - Returns: the row's place.
  private func replace(
    _ name: String, in group: AccessGroup, named other: String? = nil, version: UInt64? = nil
  ) throws -> String {
    let transaction = try group.file.beginWriting()
    let row = try transaction.present(name).row
    let secret = try unsafe [UInt8]().withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    let attributes = Attributes(name: other ?? name, created: 1, changed: 1, valueKind: 2)
    if let version {
      let new = try transaction.view.state.keys.sealedRow(
        attributes, secret, token: row.token, version: version, oldest: version, previous: .zero
      ).row
      // Ours refuses to write the last version.
      try transaction.write(SealedDraft(old: row, row: new, digest: new.digest, blob: nil))
      try transaction.view.connection.dropVersions(of: row.token, below: version)
    } else {
      try transaction.put(attributes, secret, over: row, at: row.token)
    }
    try transaction.commit()
    return row.token.hexadecimal
  }

  @Test func `the owner can remove a row that cannot be an item, and nothing of it stays`() throws {
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
    // A member still writes, and the name can be used again.
    try put("two\nlines", in: api.group("default"))
    #expect(try open.group("default").info().versionCount == 0)
  }

  @Test(arguments: ["group/ÄÖ", "group/new", "app/new"])
  func `an invalid entry in the owner's list is damage, not a wrong argument`(_ name: String) throws {
    let store = try StoreFixture()
    try store.open().registry().group.set(name, to: "\u{1}")
    let found = try store.open().verify().filter { $0.name == "vault.owner" }
    #expect(found.count == 1)
    #expect(throws: Registry.damaged) { try found[0].result.get() }
  }

  @Test func `the writer that another member names is shown as a claim`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "owner's")
    #expect(try store.open().group("team").history("a").map(\.isWriterClaimed) == [false])
    let api = try store.issue("api", grants: [.init(.write, in: "team")])
    try api.group("team").set("a", to: "api's")
    // The application signed the current state, so it could have invented the owner's version.
    let history = try store.open().group("team").history("a")
    #expect(history.map(\.writer) == [.application("api", issue: 1), .owner])
    #expect(history.map(\.isWriterClaimed) == [false, true])
  }

  /// The older row has valid seals of its own, so only the digest in the tree shows what was done.
  @Test(arguments: [2, 600])
  func `a list refuses an older version in place of the newest`(_ count: Int) throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set(contentsOf: (0..<count).map { (name: "item/\($0)", value: "value") })
    try group.set("item/1", to: "new", Details(label: .to("new")))
    let place = try ContainerPlace(folder: store.location.home + "/groups/default")
    let connection = try Connection(at: place, access: .writing)
    try connection.begin(.immediate)
    try connection.statement("REPLACE INTO item SELECT * FROM version").run()
    try connection.commit()
    connection.close()
    let refused = VaultError.damaged(group: "default", level: .row, detail: "a row does not match the tree")
    let opened = try store.open().group("default")
    #expect(throws: refused) { try opened.items() }
    #expect(throws: refused) { try opened.listing() }
    #expect(throws: refused) {
      _ = try opened.texts(ItemQuery(), removed: false, progress: { _ in }, text: { _, _ in })
    }
  }
}
