import CVaultSQLite
import Testing

@testable import GroupFile

/// The settings of every connection. SQLite's defaults differ from build to build.
@Suite struct ContainerSettingsTests {
  @Test(arguments: [Connection.Access.reading, .writing])
  func `a connection has the format's settings`(_ access: Connection.Access) throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: access)
    #expect(try connection.value("PRAGMA temp_store") == 2)
    #expect(try connection.value("PRAGMA cell_size_check") == 1)
    #expect(try connection.value("PRAGMA wal_autocheckpoint") == 0)
    #expect(try connection.value("PRAGMA trusted_schema") == 0)
    #expect(try connection.value("PRAGMA writable_schema") == 0)
    #expect(try connection.value("PRAGMA mmap_size") == 0)
    #expect(try connection.value("PRAGMA busy_timeout") == 10_000)
    #expect(unsafe sqlite3_db_readonly(connection.handle.database, "main") == (access == .reading ? 1 : 0))
    if access == .writing {
      #expect(try connection.value("PRAGMA synchronous") == 2)
      #expect(try connection.value("PRAGMA secure_delete") == 1)
    }
    let journal = try connection.statement("PRAGMA journal_mode")
    #expect(try journal.step())
    #expect(journal.holds("wal", 0))
  }

  @Test(
    arguments: [
      (SQLITE_LIMIT_LENGTH, 2 << 20), (SQLITE_LIMIT_SQL_LENGTH, 4096), (SQLITE_LIMIT_COLUMN, 16),
      (SQLITE_LIMIT_ATTACHED, 0), (SQLITE_LIMIT_TRIGGER_DEPTH, 0), (SQLITE_LIMIT_WORKER_THREADS, 0),
      (SQLITE_LIMIT_EXPR_DEPTH, 16), (SQLITE_LIMIT_VARIABLE_NUMBER, 64),
    ] as [(Int32, Int32)])
  func `a connection has the format's limits`(_ limit: Int32, _ value: Int32) throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .reading)
    #expect(unsafe sqlite3_limit(connection.handle.database, limit, -1) == value)
  }

  @Test(arguments: [
    "CREATE TRIGGER a AFTER INSERT ON state BEGIN DELETE FROM state; END; INSERT INTO state VALUES(7,x'00')",
    "CREATE VIEW a AS SELECT 1 AS b; SELECT b FROM a", "SELECT \"text\"", "UPDATE sqlite_schema SET sql=''",
    "SELECT load_extension('x')", "SELECT fts3_tokenizer('a',zeroblob(8))",
  ])
  func `features that only an attacker needs are switched off`(_ sql: String) throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    let count = try rows(connection)
    let code = unsafe sqlite3_exec(connection.handle.database, sql, nil, nil, nil)
    // Creating a trigger succeeds, but the trigger never fires. Everything else fails.
    if sql.hasPrefix("CREATE TRIGGER") {
      #expect(try rows(connection) == count + 1)
    } else {
      #expect(code != SQLITE_OK)
    }
  }

  private func rows(_ connection: Connection) throws -> Int64 { try connection.value("SELECT count(*) FROM state") }

  @Test func `the log of a defended file cannot be switched off`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let connection = try Connection(folder: folder.path, access: .writing)
    unsafe sqlite3_exec(connection.handle.database, "PRAGMA journal_mode=OFF", nil, nil, nil)
    let journal = try connection.statement("PRAGMA journal_mode")
    #expect(try journal.step())
    #expect(journal.holds("wal", 0))
  }
}
