internal import CSQLite
package import Sealing

/// A prepared statement whose values are looked at before they are used: no type and no length is taken on trust.
///
/// Parameters count from 1 and columns from 0, as in SQLite. It belongs to its connection's thread.
@safe package final class Statement {
  private let handle: Handle
  private let statement: OpaquePointer
  private var isRunning = false

  init(_ handle: Handle, _ sql: StaticString) throws(GroupFileError) {
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

  // Binding ends a run: the next step is the first of a new one.

  /// Binds a copy of `bytes` to the parameter `index`.
  @discardableResult
  package func bind(_ index: Int32, _ bytes: UnsafeRawBufferPointer) throws(GroupFileError) -> Statement {
    reset()
    try handle.check(unsafe csqlite_bind_blob(statement, index, bytes.baseAddress, Int32(bytes.count)))
    return self
  }

  /// Binds a copy of `bytes` to the parameter `index`.
  @discardableResult
  package func bind(_ index: Int32, _ bytes: [UInt8]) throws(GroupFileError) -> Statement {
    reset()
    let code = unsafe bytes.withUnsafeBytes {
      unsafe csqlite_bind_blob(statement, index, $0.baseAddress, Int32($0.count))
    }
    try handle.check(code)
    return self
  }

  /// Binds the 32 bytes of `value` to the parameter `index`.
  @discardableResult
  package func bind(_ index: Int32, _ value: Bytes32) throws(GroupFileError) -> Statement {
    reset()
    try handle.check(unsafe value.withUnsafeBytes { unsafe csqlite_bind_blob(statement, index, $0.baseAddress, 32) })
    return self
  }

  /// Binds the 16 bytes of `token` to the parameter `index`.
  @discardableResult
  func bind(_ index: Int32, _ token: Token) throws(GroupFileError) -> Statement {
    try unsafe token.withUnsafeBytes { (bytes) throws(GroupFileError) in try unsafe bind(index, bytes) }
  }

  /// Binds `integer` to the parameter `index`.
  @discardableResult
  package func bind(_ index: Int32, _ integer: Int64) throws(GroupFileError) -> Statement {
    reset()
    try handle.check(unsafe sqlite3_bind_int64(statement, index, integer))
    return self
  }

  /// Binds a counter, which is below 2^53, to the parameter `index`.
  @discardableResult
  package func bind(_ index: Int32, counter: UInt64) throws(GroupFileError) -> Statement {
    try bind(index, Int64(counter))
  }

  // MARK: Running

  /// Moves to the next row; at the end the statement is reset and can run again with the parameters it has.
  ///
  /// - Returns: Whether there is a row.
  /// - Throws: `altered` where the statement needs more steps than its connection grants, and what SQLite reports; the
  ///   statement is reset.
  package func step() throws(GroupFileError) -> Bool {
    precondition(!handle.isClosed, "a statement of a closed connection")
    if !isRunning {
      _ = unsafe sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1)
      isRunning = true
    }
    handle.refillBudget()
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

  /// Runs a statement that has no rows, or whose rows nobody needs, to its end.
  package func run() throws(GroupFileError) {
    while try step() {}
  }

  /// Ends the run, so that the statement holds no snapshot and can run again.
  package func reset() {
    guard isRunning, !handle.isClosed else { return }
    unsafe sqlite3_reset(statement)
    isRunning = false
  }

  // MARK: Columns

  /// The bytes of a column in the row just stepped to, lent until the next `step`, `reset` or `bind`.
  ///
  /// - Parameter count: How many bytes the format allows.
  /// - Throws: `altered` where the value is no blob, or of another length.
  package func blob(_ column: Int32, count: ClosedRange<Int>) throws(GroupFileError) -> UnsafeRawBufferPointer {
    guard unsafe sqlite3_column_type(statement, column) == SQLITE_BLOB else { throw Statement.wrongType }
    let bytes = unsafe sqlite3_column_blob(statement, column)
    let found = unsafe Int(sqlite3_column_bytes(statement, column))
    guard count.contains(found) else { throw Statement.wrongType }
    // SQLite answers NULL both for a blob without bytes and for want of memory.
    guard unsafe bytes != nil || found == 0 else { throw .storage(.memory) }
    return unsafe UnsafeRawBufferPointer(start: bytes, count: found)
  }

  /// The bytes of a column that holds exactly `count` of them, as `blob(_:count:)`.
  package func blob(_ column: Int32, count: Int) throws(GroupFileError) -> UnsafeRawBufferPointer {
    unsafe try blob(column, count: count...count)
  }

  /// A copy of the bytes of a column, as `blob(_:count:)`.
  package func bytes(_ column: Int32, count: ClosedRange<Int>) throws(GroupFileError) -> [UInt8] {
    unsafe Array(try blob(column, count: count))
  }

  /// The integer of a column in the row just stepped to.
  ///
  /// - Throws: `altered` where the value is no integer, or outside of `range`.
  package func integer(_ column: Int32, in range: ClosedRange<Int64>) throws(GroupFileError) -> Int64 {
    guard unsafe sqlite3_column_type(statement, column) == SQLITE_INTEGER else { throw Statement.wrongType }
    let value = unsafe sqlite3_column_int64(statement, column)
    guard range.contains(value) else { throw Statement.wrongType }
    return value
  }

  /// The counter, below 2^53, of a column in the row just stepped to.
  package func counter(_ column: Int32) throws(GroupFileError) -> UInt64 {
    UInt64(try integer(column, in: 0...Int64(ByteReader.counterLimit) - 1))
  }

  /// Whether a column holds exactly this text, or no value where `text` is `nil`.
  func holds(_ text: StaticString?, _ column: Int32) -> Bool {
    let type = unsafe sqlite3_column_type(statement, column)
    guard let text else { return type == SQLITE_NULL }
    guard type == SQLITE_TEXT, let found = unsafe sqlite3_column_text(statement, column) else { return false }
    let bytes = unsafe UnsafeBufferPointer(start: found, count: Int(sqlite3_column_bytes(statement, column)))
    return text.withUTF8Buffer { unsafe $0.elementsEqual(bytes) }
  }

  private static let wrongType = GroupFileError.altered("a value has not the type or length that the format says")
}
