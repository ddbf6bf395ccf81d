internal import CVaultSQLite

/// The last results of checking a connection's file. Each transaction checks again, in full if tables have changed.
struct SnapshotCheck {
  /// The unsigned version in the file's `user_version`.
  private(set) var version = FormatVersion(read: 0, write: 0)
  private var schemaVersion: Int64?
  private var dataVersion: UInt32?
  /// The state found in the current version of the file, which need not be read again; forgotten when the file changes.
  ///
  /// SQLite's data version changes with each commit of another connection, and SQLite's own page cache relies on it.
  /// Only readers record what they found, and readers commit nothing themselves.
  var found: VerifiedState?
  /// The header of the log's index that belongs to the current version of the file, if it is known.
  private var index: IndexHeader?

  /// Takes the snapshot of the transaction that just began and checks it.
  ///
  /// Reading `schema_version` parses no table. If the schema has changed, SQLite prepares statements anew only after
  /// the new tables were compared.
  ///
  /// - Throws: `damaged`.
  mutating func check(_ connection: Connection) throws(VaultError) {
    // The statement keeps running until the transaction ends, which holds the snapshot. A `BEGIN` for reading would
    // cost as much again. The connection's first transaction opens the index.
    let before = self.dataVersion == nil ? nil : connection.indexHeader
    let first = try connection.statement("PRAGMA schema_version")
    guard try first.step() else { throw .damaged(.container, "SQLite finds the file malformed") }
    let schemaVersion = try first.integer(0, in: Int64.min...Int64.max)
    let dataVersion = connection.dataVersion
    // If the header is the same before and after, it is that of the snapshot.
    index = before.flatMap { $0 == connection.indexHeader ? $0 : nil }
    if dataVersion == self.dataVersion && schemaVersion == self.schemaVersion { return }
    found = nil
    let stated = try connection.value("PRAGMA user_version")
    let version = FormatVersion(read: .init(truncatingIfNeeded: stated >> 16), write: .init(truncatingIfNeeded: stated))
    let isSameFormat = schemaVersion == self.schemaVersion && version == self.version
    self.version = version
    if !isSameFormat { try checkConstants(connection) }
    (self.schemaVersion, self.dataVersion) = (schemaVersion, dataVersion)
  }

  /// Whether the file holds no other version than that of the last snapshot, in which a state was found.
  ///
  /// SQLite decides by the same comparison whether its cached pages are still valid.
  func isCurrent(for connection: Connection) -> Bool {
    found != nil && index != nil && index == connection.indexHeader
  }

  // The header of the main file was checked, but the log may hold a newer first page.
  private func checkConstants(_ connection: Connection) throws(VaultError) {
    let applicationID = try connection.value("PRAGMA application_id")
    guard applicationID == Int64(ContainerHeader.applicationID) else { throw ContainerHeader.foreign }
    let pageSize = try connection.value("PRAGMA page_size")
    guard pageSize == Int64(ContainerHeader.pageSize) else { throw ContainerHeader.otherPageSize }
    // A later format may have other tables, but keeps its signed state and its keys in these two.
    try connection.compareTables(version.read > FormatVersion.known.read ? ["state", "wrap"] : nil)
    let encoding = try connection.statement("PRAGMA encoding")
    defer { encoding.reset() }
    guard try encoding.step(), encoding.holds("UTF-8", 0) else { throw ContainerHeader.otherEncoding }
    guard try connection.value("PRAGMA auto_vacuum") == 0 else { throw ContainerHeader.autoVacuum }
  }
}

/// The header of the log's index, which each commit changes.
struct IndexHeader: Equatable {
  fileprivate let header: csqlite_index_header

  static func == (left: IndexHeader, right: IndexHeader) -> Bool { left.header.words == right.header.words }
}

extension Connection {
  /// Runs `body` while a value or row of more than `byteCount` bytes is `damaged`.
  func limitingValues<Result>(
    to byteCount: Int32, _ body: () throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    let limit = unsafe sqlite3_limit(handle.database, SQLITE_LIMIT_LENGTH, byteCount)
    defer { _ = unsafe sqlite3_limit(handle.database, SQLITE_LIMIT_LENGTH, limit) }
    return try body()
  }

  /// The current header of the log's index; `nil` without an index, or while another process changes it.
  var indexHeader: IndexHeader? {
    // Asking for the index of a file without a log, such as a new one, would make an index that SQLite never closes.
    guard companions?.index != nil else { return nil }
    var header = csqlite_index_header()
    return unsafe csqlite_index_header(handle.database, &header) == SQLITE_OK ? IndexHeader(header: header) : nil
  }

  /// The unsigned versions in the file when the last transaction began.
  var version: FormatVersion { verified.version }

  /// Limits each statement in `body` to the work for as many rows as fit into the file, because the tree of a table in
  /// a hostile file may repeat pages.
  func withBoundOfWholeFile<Result>(_ body: () throws(VaultError) -> Result) throws(VaultError) -> Result {
    let file = try ContainerPlace.status(location.path)?.storedByteCount ?? 0
    let log = try ContainerPlace.status(location.logPath)?.storedByteCount ?? 0
    let limit = handle.stepLimit
    defer { handle.stepLimit = limit }
    // The smallest row has 40 bytes, and checking it takes some 30 instructions.
    handle.stepLimit = 2 * (file + log) + Handle.defaultStepLimit
    return try body()
  }

  /// Compares the tables with those of the format.
  ///
  /// - Parameter names: the tables to compare, if others are allowed too; `nil` for exactly those of the format.
  /// - Throws: `damaged` at the first difference, surplus entry, or repeated root page.
  func compareTables(_ names: [String]? = nil) throws(VaultError) {
    let rows = try statement("SELECT type,name,tbl_name,sql,rootpage FROM sqlite_schema ORDER BY rowid")
    defer { rows.reset() }
    if let names {
      var missing = Schema.entries.filter { names.contains($0.name.description) }
      while try rows.step() { missing.removeAll { $0.isRow(of: rows) } }
      guard missing.isEmpty else { throw Schema.foreign }
      return
    }
    var roots: [Int64] = [1]
    for entry in Schema.entries {
      guard try rows.step(), entry.isRow(of: rows) else { throw Schema.foreign }
      let root = try rows.integer(4, in: 2...Int64(UInt32.max))
      guard !roots.contains(root) else { throw Schema.foreign }
      roots.append(root)
    }
    guard try !rows.step() else { throw Schema.foreign }
  }

  /// Writes the signed versions to the file's `user_version`, in the open transaction.
  func storeVersion(_ signed: FormatVersion) throws(VaultError) {
    guard version != signed else { return }
    try statement(signed == .published ? "PRAGMA user_version=0x00010002" : "PRAGMA user_version=0x00010001").run()
    verified = SnapshotCheck()
  }

  /// A number that changes when another connection has committed; current after `begin`.
  package var dataVersion: UInt32 {
    var version: UInt32 = 0
    _ = unsafe sqlite3_file_control(handle.database, nil, SQLITE_FCNTL_DATA_VERSION, &version)
    return version
  }

  func value(_ sql: StaticString) throws(VaultError) -> Int64 {
    let statement = try statement(sql)
    defer { statement.reset() }
    guard try statement.step() else { throw .damaged(.container, "SQLite finds the file malformed") }
    return try statement.integer(0, in: Int64.min...Int64.max)
  }

  func header() throws(VaultError) -> [UInt8] {
    let (bytes, code) = handle.read(ContainerHeader.byteCount, at: 0)
    try handle.check(code)
    return bytes
  }

  /// Makes the settings that need SQL statements; the others are made in C before any statement runs.
  func settle() throws(VaultError) {
    try handle.check(unsafe sqlite3_busy_timeout(handle.database, Connection.wait))
    try Statement(handle, "PRAGMA temp_store=MEMORY").run()
    try Statement(handle, "PRAGMA cell_size_check=ON").run()
    guard access == .writing else { return }
    // A writer's pages stay valid between its commits, so it keeps 16 MiB of them.
    try Statement(handle, "PRAGMA cache_size=-16384").run()
    try Statement(handle, "PRAGMA secure_delete=ON").run()
    try Statement(handle, "PRAGMA synchronous=FULL").run()
  }

  static let wait: Int32 = 10_000
}

/// The checks of the first 100 bytes of a group's file (https://www.sqlite.org/fileformat.html, section 1.3).
enum ContainerHeader {
  /// "VLT1": marks the file as a group's.
  static let applicationID: UInt32 = 0x564C_5431
  static let pageSize = 4096
  static let byteCount = 100

  /// Checks the fields of the header that never change, before SQLite parses anything. The versions that it states are
  /// compared later with those that the owner signed.
  static func check(_ bytes: [UInt8]) throws(VaultError) {
    guard bytes.count == byteCount, bytes[..<16].elementsEqual("SQLite format 3\0".utf8),
      bytes.word(at: 68) == applicationID
    else { throw foreign }
    guard bytes[16] == 0x10, bytes[17] == 0, bytes[20] == 0 else { throw otherPageSize }
    // Any value but 2 means a rollback journal, whose recovery could delete files. The mode is never switched back.
    guard bytes[18] == 2, bytes[19] == 2 else { throw .damaged(.container, "the file does not use a write-ahead log") }
    guard bytes.word(at: 44) == 4, bytes.word(at: 56) == 1 else { throw otherEncoding }
    guard bytes.word(at: 52) == 0, bytes.word(at: 64) == 0 else { throw autoVacuum }
  }

  static let foreign = VaultError.damaged(.container, "it is not a vault file")
  fileprivate static let otherPageSize = VaultError.damaged(.container, "the file's page size is not 4096")
  fileprivate static let otherEncoding = VaultError.damaged(.container, "the file's encoding is not UTF-8")
  fileprivate static let autoVacuum = VaultError.damaged(.container, "the file has auto-vacuum turned on")
}

/// The tables of a group's file. A file whose `sqlite_schema` differs by one byte is refused.
enum Schema {
  /// A line of `sqlite_schema`, without its root page.
  struct Entry {
    let type, name, table: StaticString
    let sql: StaticString?

    fileprivate static func table(_ name: StaticString, _ sql: StaticString) -> Entry {
      Entry(type: "table", name: name, table: name, sql: sql)
    }

    fileprivate func isRow(of rows: Statement) -> Bool {
      rows.holds(type, 0) && rows.holds(name, 1) && rows.holds(table, 2) && rows.holds(sql, 3)
    }
  }

  /// The tables in the order of their creation.
  ///
  /// Blobs and nodes are in tables with row ids. To find one, SQLite then compares short keys instead of reading whole
  /// values on the way: a value of one megabyte is read in 2 ms instead of 10. In a table without row ids, a node of
  /// more than 1,002 bytes would also take an overflow page, and need two page writes instead of one.
  static let entries: [Entry] = [
    .table(
      "item",
      """
      CREATE TABLE item(token BLOB NOT NULL PRIMARY KEY,version INTEGER NOT NULL,state INTEGER NOT NULL,\
      oldest INTEGER NOT NULL,previous BLOB NOT NULL,nonce BLOB NOT NULL,attributes BLOB NOT NULL,\
      place INTEGER NOT NULL,secret BLOB NOT NULL)STRICT,WITHOUT ROWID
      """),
    .table(
      "version",
      """
      CREATE TABLE version(token BLOB NOT NULL,version INTEGER NOT NULL,state INTEGER NOT NULL,\
      oldest INTEGER NOT NULL,previous BLOB NOT NULL,nonce BLOB NOT NULL,attributes BLOB NOT NULL,\
      place INTEGER NOT NULL,secret BLOB NOT NULL,PRIMARY KEY(token,version))STRICT,WITHOUT ROWID
      """),
    .table(
      "blob",
      """
      CREATE TABLE blob(token BLOB NOT NULL,version INTEGER NOT NULL,bytes BLOB NOT NULL,\
      PRIMARY KEY(token,version))STRICT
      """),
    Entry(type: "index", name: "sqlite_autoindex_blob_1", table: "blob", sql: nil),
    .table("node", "CREATE TABLE node(prefix BLOB NOT NULL PRIMARY KEY,body BLOB NOT NULL)STRICT"),
    Entry(type: "index", name: "sqlite_autoindex_node_1", table: "node", sql: nil),
    .table("state", "CREATE TABLE state(part INTEGER NOT NULL PRIMARY KEY,bytes BLOB NOT NULL)STRICT"),
    .table("wrap", "CREATE TABLE wrap(slot BLOB NOT NULL PRIMARY KEY,sealed BLOB NOT NULL)STRICT,WITHOUT ROWID"),
    .table("chain", "CREATE TABLE chain(epoch INTEGER NOT NULL PRIMARY KEY,rest BLOB NOT NULL)STRICT"),
  ]

  fileprivate static let foreign = VaultError.damaged(.container, "the file's tables are not those of a group")
}
