internal import CSQLite

/// One open SQLite handle, closed with its last user; in a forked child it is left alone.
@safe final class Handle {
  let database: OpaquePointer
  private let watch: UnsafeMutablePointer<csqlite_watch>
  private let forkGeneration = csqlite_fork_generation()
  /// How many instructions one statement may run.
  var stepLimit: Int = Handle.defaultStepLimit

  private(set) var isClosed = false

  package static let defaultStepLimit = 200_000

  /// Opens `path`, which is absolute and free of links, for reading or writing.
  ///
  /// - Parameter isFrozen: Nobody can write the file where it lies, and it has no log: SQLite takes no locks.
  init(path: String, writable: Bool, isFrozen: Bool) throws(GroupFileError) {
    let flags =
      (writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX
      | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW
    var opened: OpaquePointer?
    var systemError: Int32 = 0
    let code =
      isFrozen
      ? unsafe csqlite_open(Handle.frozenURI(path), flags | SQLITE_OPEN_URI, &opened, &systemError)
      : unsafe csqlite_open(path, flags, &opened, &systemError)
    guard code == SQLITE_OK, let opened = unsafe opened else {
      throw ResultCode.error(code, systemError: systemError)
    }
    unsafe database = opened
    unsafe watch = UnsafeMutablePointer.allocate(capacity: 1)
    unsafe watch.initialize(to: csqlite_watch(budget: Int64(stepLimit), commits: 0, log_pages: 0))
    unsafe csqlite_watch(database, watch)
  }

  private static func frozenURI(_ path: String) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let encoded = path.utf8.flatMap { byte in
      byte == UInt8(ascii: "/") ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return "file://" + String(decoding: encoded, as: UTF8.self) + "?immutable=1"
  }

  deinit { close() }

  /// Closes the handle and ends its statements; later calls do nothing.
  func close() {
    // In a child this would touch locks, shared memory and mutexes that belong to the parent.
    guard !isClosed, !isForked else { return }
    isClosed = true
    while let statement = unsafe sqlite3_next_stmt(database, nil) { _ = unsafe sqlite3_finalize(statement) }
    _ = unsafe sqlite3_close(database)
    unsafe watch.deallocate()
  }

  /// Whether this process is a child of the one that opened the handle.
  var isForked: Bool { forkGeneration != csqlite_fork_generation() }

  /// Grants the next call of `sqlite3_step` a statement's whole work.
  func refillBudget() { unsafe watch.pointee.budget = Int64(stepLimit) }

  /// How many transactions this handle made durable.
  var commitCount: Int { unsafe Int(watch.pointee.commits) }

  /// How many pages the log held after the last of them; 0 before the first.
  var logPageCount: Int { unsafe Int(watch.pointee.log_pages) }

  /// Turns a result code into an error, unless it is `SQLITE_OK`.
  func check(_ code: Int32) throws(GroupFileError) {
    if code != SQLITE_OK { throw error(code) }
  }

  /// The error that `code`, just returned for this handle, stands for.
  func error(_ code: Int32) -> GroupFileError {
    let error = unsafe ResultCode.error(code, systemError: sqlite3_system_errno(database))
    // It was there when it was opened.
    return error == .missing ? .moved : error
  }
}
