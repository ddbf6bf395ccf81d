import Sealing

/// The rows of `item`, `version` and `blob`. Sizes and types are checked here; the tree proves the contents.
///
/// `*` stands for nine columns in the order of ``Schema``, which is compared before a row is read.
extension Connection {
  func currentRow(_ token: Token) throws(VaultError) -> Row? {
    let statement = try statement("SELECT * FROM item WHERE token = ?").bind(1, token)
    defer { statement.reset() }
    return try statement.step() ? try Row(statement) : nil
  }

  func olderRow(_ token: Token, version: UInt64) throws(VaultError) -> Row? {
    let statement = try statement("SELECT * FROM version WHERE token = ? AND version = ?")
      .bind(1, token).bind(2, counter: version)
    defer { statement.reset() }
    return try statement.step() ? try Row(statement) : nil
  }

  /// The newest of the older versions of `token` for each mark, unproved.
  func olderMarks(of token: Token, from oldest: UInt64) throws(VaultError) -> [UInt64: UInt64] {
    let statement = try statement("SELECT nonce, version FROM version WHERE token = ? AND version >= ?")
      .bind(1, token).bind(2, counter: oldest)
    defer { statement.reset() }
    var marks: [UInt64: UInt64] = [:]
    while try statement.step() {
      let mark = unsafe Nonce(try statement.blob(0, count: Nonce.byteCount))!.mark
      marks[mark] = max(marks[mark] ?? 0, try statement.counter(1))
    }
    return marks
  }

  func currentRows() throws(VaultError) -> Statement { try statement("SELECT * FROM item ORDER BY token") }

  /// The current rows of one leaf, in rising order of their tokens, unproved.
  func currentRows(from first: Token, through last: Token) throws(VaultError) -> Statement {
    try statement("SELECT * FROM item WHERE token BETWEEN ? AND ? ORDER BY token").bind(1, first).bind(2, last)
  }

  /// Adds the first row of a token that is not in the tree.
  func insertCurrent(_ row: Row) throws(VaultError) {
    try run("INSERT INTO item VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
  }

  /// Replaces the row of a token that is in the tree.
  func replaceCurrent(_ row: Row) throws(VaultError) {
    try run("REPLACE INTO item VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
  }

  func insertOlder(_ row: Row) throws(VaultError) {
    try run("INSERT INTO version VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
  }

  private func run(_ sql: StaticString, _ row: Row) throws(VaultError) {
    let statement = try statement(sql)
    // SQLite reads the row's bytes where they are: five copies cost more than the row's entry in the table.
    try unsafe row.encoded.span.withUnsafeBytes { (bytes) throws(VaultError) in
      defer { statement.clearBindings() }
      try unsafe row.bind(bytes, to: statement)
      try statement.run()
    }
  }

  /// Deletes the older rows of `token` with versions below `oldest`, and their blobs.
  func dropVersions(of token: Token, below oldest: UInt64) throws(VaultError) {
    for sql: StaticString in [
      "DELETE FROM version WHERE token = ? AND version < ?", "DELETE FROM blob WHERE token = ? AND version < ?",
    ] {
      try statement(sql).bind(1, token).bind(2, counter: oldest).run()
    }
  }

  func blob(_ token: Token, version: UInt64) throws(VaultError) -> [UInt8]? {
    let statement = try statement("SELECT bytes FROM blob WHERE token = ? AND version = ?")
      .bind(1, token).bind(2, counter: version)
    defer { statement.reset() }
    return try statement.step() ? try statement.bytes(0, count: Row.blobByteCount) : nil
  }

  func insertBlob(_ token: Token, version: UInt64, _ bytes: [UInt8]) throws(VaultError) {
    try statement("INSERT INTO blob(token, version, bytes) VALUES(?, ?, ?)")
      .bind(1, token).bind(2, counter: version).run(lending: bytes, as: 3)
  }
}

extension Row {
  /// Reads the current row of `statement`; a row that the format does not allow is `damaged(.row, …)`.
  init(_ statement: Statement) throws(VaultError) {
    let state = State(rawValue: UInt8(try statement.integer(2, in: 1...2)))!
    let place = Place(rawValue: UInt8(try statement.integer(7, in: 0...2)))!
    guard (state == .removed) == (place == .none) else { throw .damaged(.row, "place") }
    let version = try statement.counter(1, from: 1)
    let oldest = try statement.counter(3, from: 1)
    guard oldest <= version else { throw .damaged(.row, "oldest version") }
    unsafe self.init(
      token: Token(loadingFrom: try statement.blob(0, count: 16...16)),
      version: version, state: state, oldest: oldest, previous: try statement.blob(4, count: 32...32),
      nonce: try statement.blob(5, count: 24...24),
      attributes: try statement.blob(6, count: Row.sealedAttributesByteCount), place: place,
      secret: try statement.blob(8, count: Row.secretByteCount(place)))
  }

  static func secretByteCount(_ place: Place) -> ClosedRange<Int> {
    switch place {
    case .none: 0...0
    case .inline: Row.inlineByteCount
    case .blob: Digest.byteCount...Digest.byteCount
    }
  }

  /// Binds the nine columns; `bytes` is the row's encoding, lent until the bindings are cleared.
  fileprivate func bind(_ bytes: UnsafeRawBufferPointer, to statement: Statement) throws(VaultError) {
    try statement.bind(2, Int64(version))
    try statement.bind(3, Int64(state.rawValue))
    try statement.bind(4, Int64(oldest))
    try statement.bind(8, Int64(place.rawValue))
    // Not a loop over an array, which each row would allocate.
    func lend(_ range: Range<Int>, as index: Int32) throws(VaultError) {
      try unsafe statement.bind(index, UnsafeRawBufferPointer(rebasing: bytes[range]), isLent: true)
    }
    try lend(0..<Token.byteCount, as: 1)
    try lend(Row.previousRange, as: 5)
    try lend(Row.nonceRange, as: 6)
    try lend(attributesRange, as: 7)
    try lend(secretRange, as: 9)
  }
}

/// Table `node`: the tree's nodes by their places. It is a cache that `repair` can rebuild; each body is proved by its
/// digest at every use.
extension Connection {
  /// Lends the stored body at `place`, unproved; `nil` if there is none.
  func withNodeBody<Result>(
    at place: TreePlace, _ body: (UnsafeRawBufferPointer) throws(VaultError) -> Result
  ) throws(VaultError) -> Result? {
    let statement = try statement("SELECT body FROM node WHERE prefix = ?")
    defer { statement.reset() }
    try unsafe place.withKey { (key) throws(VaultError) in _ = try unsafe statement.bind(1, key) }
    guard try statement.step() else { return nil }
    return try unsafe body(statement.blob(0, count: Connection.nodeByteCount))
  }

  static let nodeByteCount = 34...TreeNode.leafCapacity * 48

  func nodeBody(at place: TreePlace) throws(VaultError) -> [UInt8]? {
    unsafe try withNodeBody(at: place) { (body) throws(VaultError) in unsafe Array(body) }
  }

  func storeNode(_ body: [UInt8], at place: TreePlace) throws(VaultError) {
    let statement = try statement(
      "INSERT INTO node(prefix, body) VALUES(?, ?) ON CONFLICT(prefix) DO UPDATE SET body = excluded.body")
    try unsafe place.withKey { (key) throws(VaultError) in _ = try unsafe statement.bind(1, key) }
    try statement.run(lending: body, as: 2)
  }

  /// The keys and bodies from `place` on in rising order of their keys, unproved: a statement of the caller's own.
  func nodes(from place: TreePlace) throws(VaultError) -> Statement {
    let statement = try Statement(handle, "SELECT prefix, body FROM node WHERE prefix >= ? ORDER BY prefix")
    try unsafe place.withKey { (key) throws(VaultError) in _ = try unsafe statement.bind(1, key) }
    return statement
  }
}
