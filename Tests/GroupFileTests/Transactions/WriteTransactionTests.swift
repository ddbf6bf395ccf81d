import Glibc
import Sealing
import Testing

@testable import GroupFile

struct WriteTransactionTests {
  @Test func `the next process reads what was set`() throws {
    let group = try GroupFixture()
    try group.set(["db/password": "s3cr3t"])
    #expect(try group.value("db/password") == "s3cr3t")
    #expect(throws: VaultError.notFound(.item)) { try group.value("db/passwort") }
  }

  @Test func `version numbers increase, and older versions stay until they are pruned`() throws {
    let group = try GroupFixture(keep: 3)
    for value in ["a", "b", "c", "d", "e"] { try group.set(["name": value]) }
    let view = try group.open().beginReading()
    let history = try view.history("name")
    #expect(history.map(\.row.version) == [5, 4, 3])
    #expect(throws: VaultError.notFound(.version(2))) { try view.present("name", version: 2) }
    #expect(try view.present("name", version: 3).row.version == 3)
  }

  @Test func `a thousand items are found one by one and listed`() throws {
    let group = try GroupFixture()
    let names = (0..<1_000).map { "item/\($0)" }
    try group.set(Dictionary(uniqueKeysWithValues: names.map { ($0, "value of \($0)") }))
    let file = try group.open()
    for name in names { #expect(try file.value(name) == "value of \(name)") }
    let view = try file.beginReading()
    let walk = try RowWalk(view)
    var found: Set<String> = []
    while let row = try walk.next() { found.insert(try view.view.attributes(of: row).name) }
    #expect(found == Set(names))
    #expect(try file.verify().items == 1_000)
  }

  // SQLite rolls a whole change back when the disk fails, even for a read, and then each statement would stand alone.
  @Test func `a change that SQLite has ended by itself is not continued row by row`() throws {
    let group = try GroupFixture()
    try group.set(["one": "1", "two": "2"])
    let file = try group.open()
    let transaction = try file.beginWriting()
    try transaction.put("one", "new")
    try transaction.view.connection.statement("ROLLBACK").run()
    #expect(throws: VaultError.storage(.inputOutput)) {
      try transaction.put("two", "new")
    }
    #expect(throws: VaultError.storage(.inputOutput)) { try transaction.commit() }
    transaction.rollback()
    #expect(try group.value("one") == "1" && group.value("two") == "2")
    #expect(try group.open().verify().items == 2)
    // The next change is made as always.
    try group.set(["one": "3"])
    #expect(try group.value("one") == "3")
  }

  @Test func `a commit fails if SQLite has ended the change by itself`() throws {
    let group = try GroupFixture()
    let transaction = try group.open().beginWriting()
    try transaction.view.connection.statement("ROLLBACK").run()
    #expect(throws: VaultError.storage(.inputOutput)) { try transaction.commit() }
    #expect(throws: VaultError.storage(.inputOutput)) { try transaction.view.connection.commit() }
  }

  @Test func `a large value is stored outside its row`() throws {
    let group = try GroupFixture()
    let large = String(repeating: "0123456789abcdef", count: 65_536)
    try group.set(["large": large, "small": "x"])
    try group.set(["large": large + ""])
    #expect(try group.value("large") == large)
    #expect(try group.open().verify().versions == 1)
  }

  @Test func `an abandoned transaction changes nothing`() throws {
    let group = try GroupFixture()
    try group.set(["name": "before"])
    do {
      let transaction = try group.open().beginWriting()
      try transaction.put("name", "after")
      try transaction.put("other", "new")
    }
    #expect(try group.value("name") == "before")
    #expect(throws: VaultError.notFound(.item)) { try group.value("other") }
    try group.set(["name": "later"])
    #expect(try group.value("name") == "later")
  }

  @Test func `a destroyed item leaves a tombstone and nothing else`() throws {
    let group = try GroupFixture()
    try group.set(["name": "a"])
    try group.set(["name": "b"])
    let transaction = try group.open().beginWriting()
    try transaction.destroy("name")
    try transaction.commit()
    #expect(throws: VaultError.notFound(.item)) { try group.value("name") }
    #expect(try group.open().beginReading().history("name").count == 1)
    let report = try group.open().verify()
    #expect(report.items == 0 && report.tombstones == 1 && report.versions == 0)
    #expect(try group.open().compact() == 1)
    #expect(try group.open().verify().tombstones == 0)
    try group.set(["name": "new"])
    #expect(try group.open().beginReading().stored("name")?.row.version == 1)
  }

  /// Calls `body` whenever the witness is raised, which is after a commit.
  private struct TellingWitness: Witnessing {
    let witness: MemoryWitness
    let body: @Sendable () -> Void

    func read() -> WitnessReading { witness.read() }

    func raise(durably isDurable: Bool, _ update: (WitnessReading) -> WitnessRecord?) -> Bool {
      body()
      return witness.raise(update)
    }
  }

  @Test func `if the file cannot be made smaller, compacting says why`() throws {
    let group = try GroupFixture()
    try group.set(["name": "a"])
    let transaction = try group.open().beginWriting()
    try transaction.destroy("name")
    try transaction.commit()
    let (index, aside) = (group.folder + "/group.vault-shm", group.folder + "/aside")
    let telling = TellingWitness(witness: group.witness) { _ = unsafe rename(index, aside) }
    var problems: [VaultError] = []
    let first = try group.open(telling).compact(unfreed: { problems.append($0) })
    #expect(first == 1 && problems == [.storage(.replaced)])
    #expect(unsafe rename(aside, index) == 0)
    let second = try group.open().compact(unfreed: { problems.append($0) })
    #expect(second == 0 && problems.count == 1)
  }
}
