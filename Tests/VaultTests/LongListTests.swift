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

  @Test func `a list that is abandoned early ends its thread`() throws {
    let group = try store.open().group("default")
    try group.set(contentsOf: (0..<600).map { (name: "item/\($0)", value: "value") })
    for _ in 0..<20 { #expect(try group.list().next() != nil) }
    try group.set("item/0", to: "later")
    #expect(try group.items().count == 600)
  }
}
