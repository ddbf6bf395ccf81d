internal import CVaultSQLite
internal import CVaultSystem
internal import Glibc

/// A prepared statement that checks each value's type and length before it returns it.
///
/// Parameters count from 1 and columns from 0, as in SQLite. It belongs to its connection's thread.
@safe package final class Statement {
  private let handle: Handle
  private let statement: OpaquePointer
  private var isRunning = false

  init(_ handle: Handle, _ sql: StaticString) throws(VaultError) {
    var prepared: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(
      handle.database, UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self),
      Int32(sql.utf8CodeUnitCount),
      UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared = unsafe prepared else { throw handle.error(code) }
    self.handle = handle
    unsafe statement = prepared
  }

  deinit {
    guard !handle.isClosed, !handle.isForked else { return }
    unsafe sqlite3_finalize(statement)
  }

  // MARK: Parameters

  // Binding ends a run: the next step begins a new one.

  /// Binds `bytes` to the parameter `index`. They are copied, or if they are lent, must stay where they are until
  /// ``clearBindings()``.
  @discardableResult
  package func bind(
    _ index: Int32, _ bytes: UnsafeRawBufferPointer, isLent: Bool = false
  ) throws(VaultError) -> Statement {
    reset()
    try handle.check(unsafe csqlite_bind_blob(statement, index, bytes.baseAddress, Int32(bytes.count), isLent ? 1 : 0))
    return self
  }

  package func bind(_ index: Int32, _ bytes: [UInt8]) throws(VaultError) -> Statement {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe bind(index, bytes) }
  }

  /// Ends the run, and binds NULL to all parameters.
  func clearBindings() {
    reset()
    guard !handle.isClosed else { return }
    unsafe sqlite3_clear_bindings(statement)
  }

  func bind(_ index: Int32, _ token: Token) throws(VaultError) -> Statement {
    try unsafe token.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe bind(index, bytes) }
  }

  @discardableResult
  package func bind(_ index: Int32, _ integer: Int64) throws(VaultError) -> Statement {
    reset()
    try handle.check(unsafe sqlite3_bind_int64(statement, index, integer))
    return self
  }

  /// Binds a counter, which is below 2^53, to the parameter `index`.
  package func bind(_ index: Int32, counter: UInt64) throws(VaultError) -> Statement { try bind(index, Int64(counter)) }

  // MARK: Running

  /// Moves to the next row. At the end the statement is reset and can run again with the same parameters.
  ///
  /// - Throws: `damaged` if the statement exceeds the limit of its connection; the errors of SQLite. The statement is
  ///   reset then.
  package func step() throws(VaultError) -> Bool {
    precondition(!handle.isClosed, "a statement of a closed connection")
    if !isRunning {
      _ = unsafe sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1)
      isRunning = true
    }
    // The next call has the full limit again.
    unsafe handle.watch.pointee.budget = Int64(handle.stepLimit)
    let code = unsafe sqlite3_step(statement)
    switch code {
    case SQLITE_ROW where unsafe sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0) <= handle.stepLimit:
      return true
    case SQLITE_DONE:
      reset()
      return false
    default:
      let failure = handle.error(code == SQLITE_ROW ? SQLITE_INTERRUPT : code)
      reset()
      throw failure
    }
  }

  package func run() throws(VaultError) { while try step() {} }

  /// Runs a statement to its end with `bytes`, which are not copied, as the parameter `index`.
  func run(lending bytes: [UInt8], as index: Int32) throws(VaultError) {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(VaultError) in
      defer { clearBindings() }
      try unsafe bind(index, bytes, isLent: true).run()
    }
  }

  /// Ends the run, so that the statement releases its snapshot and can run again.
  package func reset() {
    guard isRunning, !handle.isClosed else { return }
    unsafe sqlite3_reset(statement)
    isRunning = false
  }

  // MARK: Columns

  /// The bytes of a column in the row just stepped to, lent until the next `step`, `reset` or `bind`.
  ///
  /// - Throws: `damaged` if the value is not a blob, or has another length.
  package func blob(_ column: Int32, count: ClosedRange<Int>) throws(VaultError) -> UnsafeRawBufferPointer {
    // The value's own functions take no mutex, which is right for a connection of one thread at a time.
    let value = unsafe sqlite3_column_value(statement, column)
    guard unsafe sqlite3_value_type(value) == SQLITE_BLOB else { throw Statement.wrongType }
    let bytes = unsafe sqlite3_value_blob(value)
    let found = unsafe Int(sqlite3_value_bytes(value))
    guard count.contains(found) else { throw Statement.wrongType }
    // SQLite returns NULL both for an empty blob and if memory is short.
    guard unsafe bytes != nil || found == 0 else { throw .storage(.memory) }
    return unsafe UnsafeRawBufferPointer(start: bytes, count: found)
  }

  package func blob(_ column: Int32, count: Int) throws(VaultError) -> UnsafeRawBufferPointer {
    unsafe try blob(column, count: count...count)
  }

  package func bytes(_ column: Int32, count: ClosedRange<Int>) throws(VaultError) -> [UInt8] {
    unsafe Array(try blob(column, count: count))
  }

  /// The integer of a column in the row just stepped to; throws `damaged` if it is another type, or outside `range`.
  package func integer(_ column: Int32, in range: ClosedRange<Int64>) throws(VaultError) -> Int64 {
    let value = unsafe sqlite3_column_value(statement, column)
    guard unsafe sqlite3_value_type(value) == SQLITE_INTEGER else { throw Statement.wrongType }
    let integer = unsafe sqlite3_value_int64(value)
    guard range.contains(integer) else { throw Statement.wrongType }
    return integer
  }

  /// The counter, at least `least` and below 2^53, of a column in the row just stepped to.
  package func counter(_ column: Int32, from least: Int64 = 0) throws(VaultError) -> UInt64 {
    UInt64(try integer(column, in: least...Int64(ByteReader.counterLimit) - 1))
  }

  /// Whether a column holds exactly this text, or NULL if `text` is `nil`.
  func holds(_ text: StaticString?, _ column: Int32) -> Bool {
    let type = unsafe sqlite3_column_type(statement, column)
    guard let text else { return type == SQLITE_NULL }
    guard type == SQLITE_TEXT, let found = unsafe sqlite3_column_text(statement, column) else { return false }
    let count = unsafe Int(sqlite3_column_bytes(statement, column))
    return text.withUTF8Buffer { unsafe $0.count == count && memcmp($0.baseAddress!, found, count) == 0 }
  }

  private static let wrongType = VaultError.damaged(.container, "a value does not have the required type or length")
}

/// One open SQLite handle, closed when its last user releases it; a forked child leaves it alone.
@safe final class Handle {
  /// Which of the files beside the group's file are used; the raw value is for SQLite.
  enum Use: String {
    /// The log, and its index and the locks, which all processes share.
    case shared = ""
    /// Nothing, because nobody can write the file and it has no log. SQLite takes no locks.
    case frozen = "immutable=1"
    /// Nothing, because only the bytes of the file are wanted. Opening it waits for the end of leases that others have on it.
    case raw = "immutable=1&raw=1"
    /// The log with a copy of the index, or with one made from the log, and no locks: others could cut the index short, or
    /// keep the locks. Only for reading, and only what is proved: whoever writes meanwhile may mix states.
    case alone = "alone=1"
  }

  let database: OpaquePointer
  let folder: CInt
  /// Whether SQLite opens everything through ``folder``.
  let isLasting: Bool
  let use: Use
  let watch: UnsafeMutablePointer<csqlite_watch>
  private let forkGeneration = csqlite_fork_generation()
  /// How many instructions of SQLite's virtual machine one statement may run.
  var stepLimit: Int = Handle.defaultStepLimit

  private(set) var isClosed = false

  package static let defaultStepLimit = 200_000

  /// SQLite opens the log and index later than the file. If the folder is exchanged in between, it must not find those
  /// of another group: it would assume that nobody has locked them, and truncate that index. So it opens all three
  /// through one descriptor of the folder, where the system shows descriptors as files.
  init(at place: ContainerPlace, writable: Bool, _ use: Use = .shared) throws(VaultError) {
    let folder = unsafe csystem_name(place.folder)
    guard folder >= 0 else { throw VaultError(FileFault(errno: errno)) }
    let lasting = "/proc/self/fd/\(folder)"
    isLasting = unsafe access(lasting, F_OK) == 0
    let path = isLasting ? "\(lasting)/\(place.name)" : place.path
    let flags =
      (writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX
      | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW
    var opened: OpaquePointer?
    var systemError: Int32 = 0
    let code =
      use == .shared
      ? unsafe csqlite_open(path, flags, &opened, &systemError)
      : unsafe csqlite_open(Handle.uri(path, use), flags | SQLITE_OPEN_URI, &opened, &systemError)
    guard code == SQLITE_OK, let opened = unsafe opened else {
      Glibc.close(folder)
      throw ResultCode.error(code, systemError: systemError)
    }
    (self.folder, self.use) = (folder, use)
    unsafe database = opened
    unsafe watch = UnsafeMutablePointer.allocate(capacity: 1)
    unsafe watch.initialize(to: csqlite_watch(budget: Int64(stepLimit), commits: 0, log_pages: 0))
    unsafe csqlite_watch(database, watch)
  }

  private static func uri(_ path: String, _ use: Use) -> String {
    let encoded = path.utf8.map { $0 == UInt8(ascii: "/") ? "/" : "%" + [$0].hexadecimal }
    return "file://" + encoded.joined() + "?" + use.rawValue
  }

  deinit { close() }

  /// Closes the handle and ends its statements; later calls do nothing.
  func close() {
    // In a child this would touch locks, shared memory and mutexes that belong to the parent.
    guard !isClosed, !isForked else { return }
    isClosed = true
    while let statement = unsafe sqlite3_next_stmt(database, nil) { _ = unsafe sqlite3_finalize(statement) }
    _ = unsafe sqlite3_close(database)
    Glibc.close(folder)
    unsafe watch.deallocate()
  }

  /// Waits until the log is on the disk; returns `false` if it cannot be.
  func synchronizeLog() -> Bool { unsafe csqlite_sync_log(database) == SQLITE_OK }

  var isForked: Bool { forkGeneration != csqlite_fork_generation() }

  /// Reads `count` bytes of the file, not of its log. Those that cannot be read are zeros.
  func read(_ count: Int, at offset: Int) -> (bytes: [UInt8], code: Int32) {
    var bytes = [UInt8](repeating: 0, count: count)
    let code = unsafe csqlite_read(database, &bytes, Int32(count), Int64(offset))
    return (bytes, code)
  }

  func check(_ code: Int32) throws(VaultError) { if code != SQLITE_OK { throw error(code) } }

  /// The error for `code`, which this handle has just returned.
  func error(_ code: Int32) -> VaultError {
    let error = unsafe ResultCode.error(code, systemError: sqlite3_system_errno(database))
    // The file existed when it was opened.
    return error == .notFound(.group) ? .storage(.replaced) : error
  }
}

enum ResultCode {
  /// The error for `code`, extended or not; `systemError` is the errno of the call that failed, or 0.
  static func error(_ code: Int32, systemError: Int32) -> VaultError {
    switch code & 0xff {
    // SQLite's header builds extended codes with macros, which Swift does not import: NOMEM, FSYNC and DIR_FSYNC.
    case _ where code == SQLITE_IOERR | 12 << 8: .storage(.memory)
    case _ where code == SQLITE_IOERR | 4 << 8 || code == SQLITE_IOERR | 5 << 8: .storage(.unconfirmed)
    // SHORT_READ: the file lacks a page that it should have.
    case _ where code == SQLITE_IOERR | 2 << 8: .damaged(.container, "the file is truncated")
    // DBMOVED; and RECOVERY if a writer was killed while it changed the index. A new connection reads the log without it.
    case _ where code == SQLITE_READONLY | 4 << 8 || code == SQLITE_READONLY | 1 << 8: .storage(.replaced)
    // SQLite does not keep the number for a failed commit.
    case SQLITE_IOERR where systemError == 0 && [EFBIG, EDQUOT].contains(errno): VaultError(FileFault(errno: errno))
    case SQLITE_IOERR where systemError == 0: .storage(.inputOutput)
    case SQLITE_CANTOPEN where systemError == 0: .damaged(.container, "a file of the group is not a regular file")
    case SQLITE_IOERR, SQLITE_CANTOPEN: VaultError(FileFault(errno: systemError))
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: .busy(group: nil)
    case SQLITE_FULL: .storage(.full)
    case SQLITE_NOMEM: .storage(.memory)
    case SQLITE_READONLY: .storage(.readOnly)
    case SQLITE_PERM, SQLITE_AUTH: .permissionDenied
    case SQLITE_INTERRUPT: .damaged(.container, "a table does not end where it should")
    case SQLITE_TOOBIG: .damaged(.container, "a value is longer than the format allows")
    case SQLITE_CONSTRAINT: .damaged(.container, "a table holds a row that it should not")
    case SQLITE_NOTADB: ContainerHeader.foreign
    default: .damaged(.container, "SQLite finds the file malformed")
    }
  }
}
