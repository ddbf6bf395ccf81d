/// The tables of a group's file: a file whose list differs by one byte is not a group's file.
enum Schema {
  /// A line of `sqlite_schema`, without its root page.
  struct Entry {
    let type: StaticString
    let name: StaticString
    let table: StaticString
    let sql: StaticString?

    fileprivate static func table(_ name: StaticString, _ sql: StaticString) -> Entry {
      Entry(type: "table", name: name, table: name, sql: sql)
    }
  }

  /// The list, in the order in which the tables are made.
  ///
  /// Blobs and nodes lie in tables with row ids: to find one, SQLite then compares short keys, and does not read whole
  /// values for the keys in front of them (a megabyte is fetched in 2 ms instead of 10). A node of more than 1,002 bytes
  /// would also take a page of its own in a table without row ids, and be two pages to write instead of one.
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
    .table(
      "node",
      """
      CREATE TABLE node(prefix BLOB NOT NULL PRIMARY KEY,body BLOB NOT NULL)STRICT
      """),
    Entry(type: "index", name: "sqlite_autoindex_node_1", table: "node", sql: nil),
    .table(
      "state",
      """
      CREATE TABLE state(part INTEGER NOT NULL PRIMARY KEY,bytes BLOB NOT NULL)STRICT
      """),
    .table(
      "wrap",
      """
      CREATE TABLE wrap(slot BLOB NOT NULL PRIMARY KEY,sealed BLOB NOT NULL)STRICT,WITHOUT ROWID
      """),
    .table(
      "chain",
      """
      CREATE TABLE chain(epoch INTEGER NOT NULL PRIMARY KEY,rest BLOB NOT NULL)STRICT
      """),
  ]

  /// Compares what the statement yields of `sqlite_schema` with the list.
  ///
  /// - Parameter rows: A statement with the columns type, name, tbl_name, sql and rootpage, in the order of row ids.
  /// - Parameter names: the tables that are compared, among others that nobody knows; `nil` for the whole list.
  /// - Throws: `altered` at the first difference, one line too many, or a root page named twice.
  static func compare(_ rows: Statement, _ names: [String]? = nil) throws(GroupFileError) {
    defer { rows.reset() }
    if let names { return try find(names, in: rows) }
    var roots: [Int64] = [1]
    for entry in entries {
      guard try rows.step(), rows.holds(entry.type, 0), rows.holds(entry.name, 1), rows.holds(entry.table, 2),
        rows.holds(entry.sql, 3)
      else { throw Schema.foreign }
      let root = try rows.integer(4, in: 2...Int64(UInt32.max))
      guard !roots.contains(root) else { throw Schema.foreign }
      roots.append(root)
    }
    guard try !rows.step() else { throw Schema.foreign }
  }

  private static func find(_ names: [String], in rows: Statement) throws(GroupFileError) {
    var missing = entries.filter { names.contains($0.name.description) }
    while try rows.step() {
      missing.removeAll {
        rows.holds($0.type, 0) && rows.holds($0.name, 1) && rows.holds($0.table, 2) && rows.holds($0.sql, 3)
      }
    }
    guard missing.isEmpty else { throw Schema.foreign }
  }

  private static let foreign = GroupFileError.altered("the file's tables are not those of a group")
}
