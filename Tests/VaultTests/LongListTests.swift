import GroupFile
import Testing

@testable import Vault

/// A second thread opens rows in batches. The list must not show that.
struct LongListTests {
  private let store: StoreFixture

  init() throws { store = try StoreFixture() }

  @Test(arguments: [255, 256, 257, 600])
  func `a list of any length contains each item once`(_ count: Int) throws {
    let group = try store.open().group("default")
    let names = (0..<count).map { "item/\($0)" }
    try group.set(contentsOf: names.map { (name: $0, value: "value of \($0)") })
    try group.remove("item/7")
    let list = try group.list()
    var found: Set<String> = []
    while let item = try list.next() { #expect(found.insert(item.name.description).inserted) }
    #expect(found == Set(names).subtracting(["item/7"]))
    #expect(try group.items(prefix: "item/1").count == names.count { $0.hasPrefix("item/1") })
    let last = try #require(names.last)
    let opened = try list.open(last)
    let text = unsafe opened.secret.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    #expect(text == "value of \(last)")
  }

  @Test(arguments: ["", "service/", "ends within a character é/"])
  func `items are sorted by the bytes of their names, whatever they have in common`(_ common: String) throws {
    let group = try store.open().group("default")
    let names = [
      "a", "ab", "b", "B", "é", "e", "1234567", "12345678", "123456789", "12345678a", "12345678 ", "key/10", "key/9",
      "ê",
    ].map { common + $0 }
    for name in names.reversed() { try group.set(name, to: "value") }
    let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    #expect(try group.items().map(\.name.description) == sorted)
    try group.set(common + "1", to: "value")
    try group.remove(names[0])
    #expect(
      try group.items(prefix: common + "12345678").map(\.name.description)
        == sorted.filter { $0.hasPrefix(common + "12345678") })
  }

  @Test func `a list that is abandoned early ends its thread`() throws {
    let group = try store.open().group("default")
    try group.set(contentsOf: (0..<600).map { (name: "item/\($0)", value: "value") })
    for _ in 0..<20 { #expect(try group.list().next() != nil) }
    try group.set("item/0", to: "later")
    #expect(try group.items().count == 600)
  }
}
