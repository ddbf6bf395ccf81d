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

  @Test(arguments: [0, 3, 256, 600])
  func `the texts of a list are those of its items, in the order of the names`(_ count: Int) throws {
    let group = try store.open().group("default")
    try group.set(contentsOf: (0..<count).map { (name: "item/\($0)", value: "value") })
    let (texts, strange) = try group.texts(
      ItemQuery(prefix: "item/"), removed: false, progress: { _ in },
      text: { $1 += "<\(unsafe String(decoding: $0.name, as: UTF8.self))>".utf8 })
    let expected = try group.items().map { "<\($0.name)>" }
    #expect(strange.isEmpty && texts.count == count)
    for limit in [Int.max, 100] {
      var written: [String] = []
      unsafe texts.write(first: limit) { unsafe written.append(String(decoding: $0, as: UTF8.self)) }
      #expect(written == Array(expected.prefix(limit)))
    }
  }

  @Test func `items that are loaded at once may come in any order, and the last of one name is its newest version`()
    throws
  {
    let group = try store.open().group("default")
    let numbers = (0..<600).map { $0 * 7 % 150 }
    try group.set(contentsOf: numbers.enumerated().map { (name: "item/\($1)", value: "value \($0)") })
    #expect(try group.items().count == 150)
    for number in [0, 1, 149] {
      let opened = try group.open("item/\(number)")
      let last = try #require(numbers.lastIndex(of: number))
      #expect(opened.item.version == 4)
      #expect(unsafe opened.secret.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } == "value \(last)")
    }
  }

  @Test func `a lazy collection whose names differ the second time is refused, and changes nothing`() throws {
    let group = try store.open().group("default")
    var count = 0
    let items = (0..<3).lazy.map { _ in
      count += 1
      return (name: "item/\(count)", value: "value")
    }
    #expect(throws: VaultError.invalid("the names of a collection must not change while it is read")) {
      try group.set(contentsOf: items)
    }
    #expect(try group.items().isEmpty)
    var reads = 0
    try group.set(
      contentsOf: (0..<3).lazy.map { number in
        reads += 1
        return (name: "item/\(number)", value: "\(reads)")
      })
    #expect(try group.items().count == 3)
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
