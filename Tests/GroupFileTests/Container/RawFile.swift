import CVaultSQLite
import Glibc
import Testing

@testable import GroupFile

/// Changes that someone makes to a file with plain SQLite.
struct RawFile {

  /// Opens or creates the file, runs `statements`, and closes it.
  @discardableResult
  static func run(_ path: String, _ statements: [String], keepingLog: Bool = false) -> Bool {
    // SQLite gives the files next to a new file its mode, so it needs the mode of a group's file.
    let made = unsafe open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if made >= 0 { close(made) }
    var database: OpaquePointer?
    defer { unsafe sqlite3_close(database) }
    guard unsafe sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix") == SQLITE_OK
    else { return false }
    if keepingLog { unsafe csqlite_keep_log(database, 1) }
    return statements.allSatisfy { unsafe sqlite3_exec(database, $0, nil, nil, nil) == SQLITE_OK }
  }

  /// Makes a file with the format's tables after running other settings first.
  static func make(_ path: String, settings: [String] = [], journal: String = "WAL") -> Bool {
    run(
      path,
      settings + ["PRAGMA application_id=0x564C5431", "PRAGMA user_version=0x00010001"]
        + Schema.entries.compactMap { $0.sql?.description } + ["PRAGMA journal_mode=\(journal)"])
  }

  /// Runs `statements` while the tables have no constraints, then puts the constraints back.
  static func runUnconstrained(_ path: String, _ statements: [String]) -> Bool {
    let loosen = [")STRICT,WITHOUT", ")STRICT", " NOT NULL"].map { strict in
      let loose = strict == ")STRICT,WITHOUT" ? ")WITHOUT" : strict == ")STRICT" ? ")" : ""
      return "UPDATE sqlite_schema SET sql=replace(sql,'\(strict)','\(loose)')"
    }
    let restore = Schema.entries.compactMap { entry in
      entry.sql.map { "UPDATE sqlite_schema SET sql='\($0)' WHERE name='\(entry.name)'" }
    }
    return run(path, ["PRAGMA writable_schema=ON"] + loosen) && run(path, statements)
      && run(path, ["PRAGMA writable_schema=ON"] + restore)
  }
}

extension TemporaryFolder {
  /// Makes a group's file with one row in `state`, with a log and an index and no open connection.
  @discardableResult
  func makeGroup() throws -> TemporaryFolder {
    let making = try Connection.create(folder: path)
    try making.begin(.immediate)
    try making.statement("INSERT INTO state VALUES(?,?)").bind(1, Int64(1)).bind(2, [1, 2, 3]).run()
    try making.commit()
    try making.place()
    return self
  }

  /// The error that opening and reading the group ends with.
  func reading(_ access: Connection.Access = .reading) -> VaultError? {
    do throws(VaultError) {
      let connection = try Connection(folder: path, access: access)
      try connection.begin(.reading)
      try connection.statement("SELECT bytes FROM state").run()
      try connection.commit()
      return nil
    } catch {
      return error
    }
  }
}

extension VaultError {
  /// Whether the file is not the container that was written.
  var isAltered: Bool { if case .damaged(_, .container, _) = self { true } else { false } }
}

extension VaultError? {
  /// Whether the file is not the container that was written.
  var isAltered: Bool { self?.isAltered == true }
}
