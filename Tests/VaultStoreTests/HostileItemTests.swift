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
    let transaction = try group.file.beginWriting()
    let secret = try unsafe [UInt8]().withUnsafeBytes { try unsafe OpenedSecret(copying: $0) }
    try transaction.put(Attributes(name: name, created: 1, changed: 1, valueKind: 2), secret)
    try transaction.commit()
    #expect(throws: VaultError.damaged(group: nil, level: "row", detail: "a name that no item can have")) {
      try group.items()
    }
    #expect(try store.value("item") == "value")
  }
}
