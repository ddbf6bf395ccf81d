import Sealing
import Testing

@testable import GroupFile

/// A second thread seals the rows of a large transaction. They are written later, in the order of the file.
struct SealingQueueTests {
  @Test func `a large transaction reads what it has set`() throws {
    let group = try GroupFixture()
    let transaction = try group.open().beginWriting()
    for number in 0..<300 { try transaction.put("item/\(number)", "first \(number)") }
    for number in [0, 150, 299] {
      let item = try transaction.present("item/\(number)")
      let secret = try transaction.view.secret(of: item.row)
      #expect(unsafe secret.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } == "first \(number)")
      #expect(item.row.version == 1)
    }
    try transaction.commit()
    #expect(try group.open().verify().items == 300)
  }

  @Test func `an item that is set repeatedly in a large transaction keeps its versions`() throws {
    let group = try GroupFixture(keep: 5)
    let transaction = try group.open().beginWriting()
    for number in 0..<200 {
      try transaction.put("item/\(number)", "value")
      if number % 25 == 0 { #expect(try transaction.put("often", "\(number)") == UInt64(number / 25 + 1)) }
    }
    try transaction.commit()
    #expect(try group.value("often") == "175")
    #expect(try group.open().beginReading().history("often").map(\.row.version) == [8, 7, 6, 5, 4])
    #expect(try group.open().verify().versions == 4)
  }

  @Test func `a large transaction with a row that cannot be sealed changes nothing`() throws {
    let group = try GroupFixture()
    try group.set(["item/0": "before"])
    let transaction = try group.open().beginWriting()
    for number in 0..<100 { try transaction.put("item/\(number)", "after") }
    let long = Attributes(
      name: "long",
      pairs: ["key": String(repeating: "x", count: 65_000), "more": String(repeating: "y", count: 65_000)],
      created: 1, changed: 1, valueKind: 2)
    let failure = #expect(throws: VaultError.self) {
      try transaction.put(long, nil)
      try transaction.commit()
    }
    #expect(failure == .overLimit("attributes of 64 KiB in all"))
    // A caller who continues after the error cannot commit a part.
    #expect(throws: VaultError.overLimit("attributes of 64 KiB in all")) { try transaction.commit() }
    transaction.rollback()
    #expect(try group.value("item/0") == "before")
    #expect(try group.open().verify().items == 1)
  }

  @Test func `the next process reads the large values of a large transaction`() throws {
    let group = try GroupFixture()
    let values = Dictionary(
      uniqueKeysWithValues: (0..<40).map { ("item/\($0)", String(repeating: "\($0 % 10)", count: $0 * 5_000)) })
    try group.set(values)
    for (name, value) in values { #expect(try group.value(name) == value) }
    #expect(try group.open().verify().items == 40)
  }
}
