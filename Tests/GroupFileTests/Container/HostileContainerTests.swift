import Testing

@testable import GroupFile

/// Files that SQLite can open but that are not a group's, or that are truncated.
@Suite struct HostileContainerTests {
  @Test(arguments: [
    "CREATE TABLE intruder(a)", "CREATE VIEW intruder AS SELECT * FROM item", "CREATE INDEX intruder ON state(bytes)",
    "CREATE TRIGGER intruder AFTER INSERT ON state BEGIN DELETE FROM item; END", "DROP TABLE chain",
    "ALTER TABLE state ADD COLUMN more BLOB", "CREATE VIRTUAL TABLE intruder USING fts5(a)",
    "ALTER TABLE node RENAME COLUMN body TO other", "ANALYZE",
  ])
  func `a file with other tables is reported as altered`(_ sql: String) throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(folder.reading() == nil)
    #expect(RawFile.run(folder.group, [sql]))
    #expect(folder.reading() == .damaged(.container, "the file's tables are not those of a group"))
    #expect(folder.reading(.writing).isAltered)
  }

  @Test(arguments: [
    "UPDATE sqlite_schema SET sql=sql||' ' WHERE name='item'",
    "UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM sqlite_schema WHERE name='node') WHERE name='wrap'",
    "UPDATE sqlite_schema SET rootpage=1 WHERE name='wrap'", "UPDATE sqlite_schema SET rootpage=0 WHERE name='wrap'",
    "UPDATE sqlite_schema SET rootpage=70000 WHERE name='wrap'",
    "UPDATE sqlite_schema SET sql=NULL WHERE name='wrap'",
    "UPDATE sqlite_schema SET sql='CREATE TABLE wrap(' WHERE name='wrap'",
    "UPDATE sqlite_schema SET sql=zeroblob(1000000) WHERE name='wrap'", "DELETE FROM sqlite_schema WHERE name='wrap'",
    "UPDATE sqlite_schema SET tbl_name='node' WHERE name='wrap'",
    "INSERT INTO sqlite_schema SELECT * FROM sqlite_schema",
    "UPDATE sqlite_schema SET sql='CREATE TABLE wrap(slot,sealed CHECK(load_extension(''x'')))' WHERE name='wrap'",
  ])
  func `a file with an edited schema is reported as altered`(_ sql: String) throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(RawFile.run(folder.group, ["PRAGMA writable_schema=ON", sql]))
    #expect(folder.reading().isAltered)
  }

  @Test(
    arguments: [
      (["PRAGMA page_size=1024"], "WAL"), (["PRAGMA page_size=65536"], "WAL"), (["PRAGMA auto_vacuum=FULL"], "WAL"),
      (["PRAGMA auto_vacuum=INCREMENTAL"], "WAL"), (["PRAGMA encoding='UTF-16le'"], "WAL"),
      (["PRAGMA encoding='UTF-16be'"], "WAL"), ([], "DELETE"), ([], "PERSIST"),
    ] as [([String], String)])
  func `a file with other settings is reported as altered`(_ settings: [String], _ journal: String) throws {
    let folder = TemporaryFolder()
    #expect(RawFile.make(folder.group, settings: settings, journal: journal))
    if folder.exists("group.vault-journal") { folder.remove("group.vault-journal") }
    let bytes = folder.bytes(of: "group.vault")
    #expect(folder.reading().isAltered)
    #expect(folder.reading(.writing).isAltered)
    #expect(folder.bytes(of: "group.vault") == bytes)
    #expect(folder.names() == ["group.vault"])
  }

  @Test func `a file built by hand with the format's settings is read`() {
    let folder = TemporaryFolder()
    #expect(RawFile.make(folder.group, settings: ["PRAGMA page_size=4096", "PRAGMA auto_vacuum=NONE"]))
    #expect(folder.reading() == nil)
  }

  @Test(
    arguments: [
      (68, [0, 0, 0, 0], .damaged(.container, "it is not a vault file")),
      (18, [1, 1], .damaged(.container, "the file does not use a write-ahead log")),
      (20, [32], .damaged(.container, "the file's page size is not 4096")),
    ] as [(Int, [UInt8], VaultError)])
  func `the header is checked before anything else`(_ offset: Int, _ bytes: [UInt8], _ error: VaultError) throws {
    let folder = try TemporaryFolder().makeGroup()
    folder.patch("group.vault", at: offset, bytes)
    #expect(folder.reading() == error)
  }

  @Test(arguments: [[0, 2, 0, 2], [0, 1, 0, 2], [0, 0, 0, 0], [255, 255, 255, 255]] as [[UInt8]])
  func `an unsigned version number decides nothing before the signed one is known`(_ bytes: [UInt8]) throws {
    let folder = try TemporaryFolder().makeGroup()
    folder.patch("group.vault", at: 60, bytes)
    #expect(folder.reading(.reading) == nil)
    #expect(folder.reading(.writing) == nil)
  }

  @Test(arguments: [0, 1, 15, 16, 99, 100, 511, 512, 4095, 4096, 4097, 8192, 12_288, 20_480, 32_768])
  func `a truncated file is reported as altered, and an empty one stays empty`(_ count: Int) throws {
    let folder = try TemporaryFolder().makeGroup()
    let bytes = folder.bytes(of: "group.vault")
    try #require(bytes.count == 40_960)
    folder.write(Array(bytes[..<count]), to: "group.vault")
    #expect(folder.reading(.reading).isAltered)
    #expect(folder.reading(.writing).isAltered)
    #expect(folder.bytes(of: "group.vault").count == count)
  }

  @Test func `random bytes are reported as altered`() throws {
    for count in [1, 100, 4096, 40_960] {
      let folder = TemporaryFolder()
      folder.write((0..<count).map { _ in UInt8.random(in: 0...255) }, to: "group.vault")
      #expect(folder.reading().isAltered)
      #expect(folder.names() == ["group.vault"])
    }
  }

  @Test func `random bytes after a valid header are reported as altered`() throws {
    for page in 0..<9 {
      let folder = try TemporaryFolder().makeGroup()
      let count = page == 0 ? 3996 : 4096
      folder.patch(
        "group.vault", at: page == 0 ? 100 : page * 4096, (0..<count).map { _ in UInt8.random(in: 128...255) })
      let failure = folder.reading()
      // Reading this much touches only the pages of the schema and of `state`.
      #expect(failure == nil || failure.isAltered)
      if page == 0 { #expect(failure.isAltered) }
      let connection = try? Connection(folder: folder.path, access: .reading)
      if let connection { #expect(throws: VaultError.self) { try connection.quickCheck() } }
    }
  }

  @Test func `a table that changes while a connection is open is detected before it is used`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .reading)
    #expect(RawFile.run(folder.group, ["CREATE TABLE intruder(a)"], keepingLog: true))
    #expect(throws: VaultError.damaged(.container, "the file's tables are not those of a group")) {
      try connection.begin(.reading)
    }
    #expect(!connection.isInTransaction)
    #expect(RawFile.run(folder.group, ["DROP TABLE intruder"], keepingLog: true))
    try connection.begin(.reading)
    try connection.commit()
    #expect(RawFile.run(folder.group, ["PRAGMA user_version=0x00020002"], keepingLog: true))
    try connection.begin(.reading)
    #expect(connection.version == FormatVersion(read: 2, write: 2))
  }
}
