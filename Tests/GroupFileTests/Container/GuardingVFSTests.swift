import CVaultSQLite
import Glibc
import Testing

/// The VFS alone, without the checks of the folder that normally come first.
@Suite struct GuardingVFSTests {
  init() {
    // The first connection registers the VFS with SQLite.
    var database: OpaquePointer?
    var systemError: Int32 = 0
    _ = unsafe csqlite_open("/nonexistent", SQLITE_OPEN_READONLY, &database, &systemError)
    unsafe sqlite3_close(database)
  }

  /// Opens a file with the given VFS and runs a statement, without checking anything first.
  private func run(_ path: String, vfs: String, _ sql: String = "SELECT * FROM state", create: Bool = false) -> Int32 {
    var database: OpaquePointer?
    defer { unsafe sqlite3_close(database) }
    let flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0)
    let code = unsafe sqlite3_open_v2(path, &database, flags, vfs)
    return code == SQLITE_OK ? unsafe sqlite3_exec(database, sql, nil, nil, nil) : code
  }

  private func userVersion(_ path: String) throws -> Int32 {
    var (database, statement): (OpaquePointer?, OpaquePointer?)
    var systemError: Int32 = 0
    try #require(unsafe csqlite_open(path, SQLITE_OPEN_READWRITE, &database, &systemError) == SQLITE_OK)
    defer {
      unsafe sqlite3_finalize(statement)
      unsafe sqlite3_close(database)
    }
    try #require(unsafe sqlite3_prepare_v2(database, "PRAGMA user_version", -1, &statement, nil) == SQLITE_OK)
    try #require(unsafe sqlite3_step(statement) == SQLITE_ROW)
    return unsafe sqlite3_column_int(statement, 0)
  }

  @Test func `a planted journal does not delete the file that it names`() throws {
    _ = csqlite_fork_generation()
    let folder = try TemporaryFolder().makeGroup()
    try Journal.plant(in: folder)
    var database: OpaquePointer?
    var systemError: Int32 = 0
    let flags = SQLITE_OPEN_READWRITE
    try #require(unsafe csqlite_open(folder.group, flags, &database, &systemError) == SQLITE_OK)
    #expect(unsafe sqlite3_exec(database, "SELECT * FROM state", nil, nil, nil) == SQLITE_OK)
    unsafe sqlite3_close(database)
    #expect(folder.exists("victim"))
    #expect(folder.exists("group.vault-journal"))
    // The trap works: SQLite's own VFS falls for it.
    _ = run(folder.group, vfs: "unix")
    #expect(!folder.exists("victim"))
  }

  @Test func `the only file that can be created is a log`() throws {
    let folder = TemporaryFolder()
    #expect(run(folder.file("new"), vfs: "vault-guard", "CREATE TABLE a(b)", create: true) == SQLITE_CANTOPEN)
    folder.write([], to: "empty")
    #expect(run(folder.file("empty"), vfs: "vault-guard", "CREATE TABLE a(b)") == SQLITE_CANTOPEN)
    #expect(folder.names() == ["empty"])
  }

  @Test func `who opens a log alone does not trust the index that an earlier process left`() throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(RawFile.run(folder.group, ["PRAGMA user_version=5"], keepingLog: true))
    let stale = folder.bytes(of: "group.vault-shm")
    #expect(stale.count == 32_768)
    #expect(RawFile.run(folder.group, ["PRAGMA user_version=6"], keepingLog: true))
    folder.write(stale, to: "group.vault-shm")
    #expect(try userVersion(folder.group) == 6)
  }

  @Test func `no other database can be attached and no extension can be loaded`() throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(RawFile.run(folder.file("other"), ["CREATE TABLE a(b)"]))
    var database: OpaquePointer?
    var systemError: Int32 = 0
    try #require(unsafe csqlite_open(folder.group, SQLITE_OPEN_READWRITE, &database, &systemError) == SQLITE_OK)
    defer { unsafe sqlite3_close(database) }
    #expect(unsafe sqlite3_exec(database, "ATTACH '\(folder.file("other"))' AS b", nil, nil, nil) != SQLITE_OK)
    #expect(unsafe sqlite3_exec(database, "ATTACH '' AS b", nil, nil, nil) != SQLITE_OK)
    #expect(unsafe sqlite3_exec(database, "SELECT load_extension('x')", nil, nil, nil) != SQLITE_OK)
  }

  @Test func `a log that is not a regular file is not opened, and nothing is deleted`() throws {
    let folder = try TemporaryFolder().makeGroup()
    folder.write([7], to: "victim")
    for name in ["group.vault-wal", "group.vault-shm"] {
      let path = folder.file(name)
      folder.remove(name)
      #expect(unsafe symlink(folder.file("victim"), path) == 0)
      #expect(run(folder.group, vfs: "vault-guard") == SQLITE_NOTADB)
      folder.remove(name)
    }
    #expect(folder.bytes(of: "victim") == [7])
  }

  @Test func `opening does not block on a FIFO that replaced the file after it was checked`() throws {
    let folder = TemporaryFolder()
    #expect(unsafe mkfifo(folder.file("fifo"), 0o600) == 0)
    // SQLite's own VFS does not check: this is the call with which it opens a path.
    for flags in [SQLITE_OPEN_READWRITE, SQLITE_OPEN_READONLY] {
      var database: OpaquePointer?
      try #require(unsafe sqlite3_open_v2(folder.file("fifo"), &database, flags, "unix") == SQLITE_CANTOPEN)
      #expect(unsafe sqlite3_system_errno(database) == ENXIO)
      unsafe sqlite3_close(database)
    }
  }

  @Test func `holes are reported through SQLite's own descriptor`() throws {
    let folder = try TemporaryFolder().makeGroup()
    var database: OpaquePointer?
    var systemError: Int32 = 0
    #expect(unsafe truncate(folder.group, 1 << 40) == 0)
    try #require(unsafe csqlite_open(folder.group, SQLITE_OPEN_READONLY, &database, &systemError) == SQLITE_OK)
    defer { unsafe sqlite3_close(database) }
    #expect(unsafe csqlite_next_data(database, 0) == 0)
    #expect(unsafe csqlite_next_data(database, 1 << 39) == -1)
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(unsafe csqlite_read(database, &bytes, 16, 0) == SQLITE_OK && bytes.starts(with: "SQLite".utf8))
  }

  @Test(arguments: [true, false])
  func `what a rolled-back transaction has not written is never written over what others committed`(
    isEmptied: Bool
  ) throws {
    let folder = try TemporaryFolder().makeGroup()
    var (one, other): (OpaquePointer?, OpaquePointer?)
    var systemError: Int32 = 0
    try #require(unsafe csqlite_open(folder.group, SQLITE_OPEN_READWRITE, &one, &systemError) == SQLITE_OK)
    try #require(unsafe csqlite_open(folder.group, SQLITE_OPEN_READWRITE, &other, &systemError) == SQLITE_OK)
    func run(_ sql: String) -> Bool { unsafe sqlite3_exec(one, sql, nil, nil, nil) == SQLITE_OK }
    // More pages than the cache holds, so that SQLite writes some of them before the end.
    #expect(run("PRAGMA cache_size=8") && run("PRAGMA user_version=1"))
    if isEmptied { #expect(run("PRAGMA wal_checkpoint(TRUNCATE)")) }
    #expect(run("BEGIN IMMEDIATE"))
    unsafe csqlite_begin(one)
    for number in 100..<150 { #expect(run("INSERT INTO state VALUES(\(number),zeroblob(3000))")) }
    #expect(run("ROLLBACK"))
    for number in 2...60 {
      #expect(unsafe sqlite3_exec(other, "PRAGMA user_version=\(number)", nil, nil, nil) == SQLITE_OK)
    }
    #expect(run("BEGIN IMMEDIATE") && run("ROLLBACK"))
    unsafe sqlite3_close(one)
    unsafe sqlite3_close(other)
    #expect(try userVersion(folder.group) == 60)
  }

  @Test func `closing a connection neither merges nor deletes the log of a group file`() throws {
    let folder = try TemporaryFolder().makeGroup()
    // Without a connection's settings, SQLite merges the log and tries to delete it.
    #expect(run(folder.group, vfs: "vault-guard", "INSERT INTO state VALUES(9,x'00')") == SQLITE_OK)
    #expect(folder.exists("group.vault-wal"))
    #expect(folder.exists("group.vault-shm") == false || folder.exists("group.vault"))
  }
}
