import Testing

@testable import GroupFile

@Suite struct ExposureTests {
  @Test func `values that a removed member could read are listed until new ones are set`() throws {
    let group = try GroupFixture()
    try group.set(["a": "a", "b": "b"])
    try group.grant("com.example.api", .read)
    try group.set(["c": "c"])
    #expect(try group.open().exposures().isEmpty)
    try group.revoke("com.example.api")
    try group.set(["d": "d"])
    #expect(try group.open().exposures().map(\.item.attributes.name) == ["a", "b", "c"])
    #expect(try group.open().exposures()[0].readers.map(\.application) == ["com.example.api"])
    try group.set(["a": "new"])
    let transaction = try group.open().beginWriting()
    try transaction.put(transaction.present("b").attributes, nil)
    try transaction.commit()
    #expect(try group.open().exposures().map(\.item.attributes.name) == ["c"])
  }

  @Test func `a value stays exposed when its details change or the group gets a new key`() throws {
    let group = try GroupFixture()
    try group.set(["a": "a"])
    try group.grant("com.example.api", .read)
    try group.revoke("com.example.api")
    let transaction = try group.open().beginWriting()
    var item = try transaction.present("a")
    var attributes = item.attributes
    attributes.label = "new"
    try transaction.put(attributes, transaction.view.secret(of: item.row), keepsValue: true)
    try transaction.commit()
    try group.change(RosterChange(rotates: true))
    #expect(try group.open().exposures().map(\.item.attributes.name) == ["a"])
    item = try group.open().beginReading().present("a")
    #expect(item.attributes.valueEpoch == 2)
  }

  @Test func `a readmitted member's access is not listed as exposure`() throws {
    let group = try GroupFixture()
    try group.set(["a": "a"])
    try group.grant("com.example.api", .read)
    try group.revoke("com.example.api")
    try group.grant("com.example.api", .read)
    #expect(try group.open().exposures().isEmpty)
    try group.grant("com.example.api", .read, issue: 2)
    #expect(try group.open().exposures().flatMap(\.readers).map(\.issue) == [1])
  }
}

extension AccessGroupFile {
  /// The items with readers, sorted by name.
  func exposures() throws -> [(item: StoredItem, readers: [Writer])] {
    var found: [(item: StoredItem, readers: [Writer])] = []
    _ = try eachExposure { item, readVersion, readers in
      if !readers.isEmpty, readVersion == nil { found.append((item, readers)) }
      return true
    }
    return found.sorted { $0.item.attributes.name < $1.item.attributes.name }
  }
}
