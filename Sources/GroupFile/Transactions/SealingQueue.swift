import Sealing

/// Collects the rows of a large transaction: a second thread seals them, and they are written in the order of the file.
///
/// Tokens are random, so in the order of the calls each row would go to a different page of each table. The first rows
/// of a transaction are sealed and written at once, because most transactions have only one or a few.
struct SealingQueue {
  private let keys: GroupKeys
  private var waiting: [RowDraft] = []
  private var waitingByteCount = 0
  private var done: [SealedDraft] = []
  private var doneByteCount = 0
  /// The rows that were returned last. The second thread frees them, because it has allocated them.
  private var written: [SealedDraft] = []
  /// The tokens of the rows that are held, once they have not come in rising order.
  private var tokens: Set<Token> = []
  private var rises = true
  /// The highest token of a row that is held.
  private var highest: Token?
  private var atOnceCount = 0
  private var thread: SecondThread?
  private let sealed = JobResult<[SealedDraft]>([])

  /// The number of rows that are written at once before any are collected.
  private static let atOnceLimit = 16
  /// The limits of one job: its rows, and the bytes of their values. Twice as many may be open in guarded memory.
  private static let batchCount = 256
  private static let batchByteLimit = 1 << 20
  /// The limits of collected rows: their number and their bytes.
  private static let doneLimit = 16_384
  private static let doneByteLimit = 16 << 20

  init(_ keys: GroupKeys) { self.keys = keys }

  /// Whether a row of `token` may have been added and not yet returned for writing.
  mutating func holds(_ token: Token) -> Bool {
    guard let highest else { return false }
    guard rises else { return tokens.contains(token) }
    // A bulk load comes in rising order, so it needs no set. In any other order, all held rows are written once, and
    // from then on a set knows which are held.
    rises = token > highest
    return !rises
  }

  /// Adds a row whose token is not held; returns the rows that must be written now.
  mutating func add(_ draft: RowDraft) throws(VaultError) -> [SealedDraft] {
    if atOnceCount < SealingQueue.atOnceLimit {
      atOnceCount += 1
      return [try draft.sealed(by: keys)]
    }
    waiting.append(draft)
    waitingByteCount += draft.secret?.count ?? 0
    if !rises { tokens.insert(draft.token) }
    highest = max(highest ?? draft.token, draft.token)
    guard waiting.count == SealingQueue.batchCount || waitingByteCount >= SealingQueue.batchByteLimit else { return [] }
    try finishJob()
    thread?.release(written)
    written = []
    defer { begin() }
    // Rows in rising order are written at once, while the second thread seals the next ones.
    guard rises || done.count >= SealingQueue.doneLimit || doneByteCount >= SealingQueue.doneByteLimit else {
      return []
    }
    if !rises { for sealed in done { tokens.remove(sealed.row.token) } }
    written = takeDone()
    return written
  }

  mutating func finish() throws(VaultError) -> [SealedDraft] {
    guard highest != nil else { return [] }
    try finishJob()
    for draft in waiting { done.append(try draft.sealed(by: keys)) }
    (waiting, waitingByteCount) = ([], 0)
    (tokens, highest) = ([], nil)
    return takeDone()
  }

  /// Drops the rows that are held, with their open values. The queue is not used any more.
  mutating func discard() {
    (waiting, done, written) = ([], [], [])
    thread = nil
  }

  private mutating func takeDone() -> [SealedDraft] {
    defer { (done, doneByteCount) = ([], 0) }
    return done.sorted { $0.row.token < $1.row.token }
  }

  private mutating func begin() {
    let thread = thread ?? SecondThread()
    self.thread = thread
    thread.begin(sealed) { [drafts = waiting, keys] () throws(VaultError) in
      // One system call for all. They are drawn here and used at once, so a forked child never has the same ones.
      let nonces = Nonce.random(count: drafts.count)
      return try zip(drafts, nonces).map { (draft, nonce) throws(VaultError) in
        try draft.sealed(by: keys, nonce: nonce)
      }
    }
    (waiting, waitingByteCount) = ([], 0)
    waiting.reserveCapacity(SealingQueue.batchCount)
  }

  private mutating func finishJob() throws(VaultError) {
    thread?.wait()
    let rows = try sealed.take(leaving: [])
    for sealed in rows { doneByteCount += sealed.row.encoded.count + (sealed.blob?.count ?? 0) }
    done += rows
  }
}

/// A row to be written, with everything that is known before it is sealed.
struct RowDraft: Sendable {
  let attributes: Attributes
  /// `nil` makes a tombstone.
  let secret: OpenedSecret?
  let token: Token
  let version: UInt64
  let oldest: UInt64
  /// The proved row that this one replaces.
  let old: Row?
  /// Whether the row does not name the one that it replaces.
  let endsHistory: Bool
  /// The mark of the request that the row is written for.
  let mark: UInt64?

  func sealed(by keys: GroupKeys, nonce: Nonce = Nonce()) throws(VaultError) -> SealedDraft {
    let (row, blob) = try keys.sealedRow(
      attributes, secret, token: token, version: version, oldest: oldest,
      previous: endsHistory ? .zero : old?.digest ?? .zero,
      nonce: mark.map(nonce.marked) ?? nonce)
    return SealedDraft(old: old, row: row, digest: row.digest, blob: blob)
  }
}

struct SealedDraft: Sendable {
  let old: Row?
  let row: Row
  let digest: Digest
  /// The sealed value if it is too large for the row.
  let blob: [UInt8]?
}

/// Computes the tokens of many names in a second thread, in the order of the names.
package struct TokenQueue {
  private let keys: GroupKeys
  private var names: [String] = []
  private let thread = SecondThread()
  private let tokens: JobResult<[Token]>

  private static let batchCount = 512

  package init(_ keys: GroupKeys, count: Int) {
    self.keys = keys
    var tokens: [Token] = []
    tokens.reserveCapacity(count)
    self.tokens = JobResult(tokens)
  }

  package mutating func add(_ name: String) {
    names.append(name)
    if names.count == TokenQueue.batchCount { begin() }
  }

  package mutating func finish() throws(VaultError) -> [Token] {
    begin()
    thread.wait()
    return try tokens.get()
  }

  private mutating func begin() {
    thread.wait()
    thread.begin(tokens) { [names, keys, tokens] () throws(VaultError) in
      var all = try tokens.take(leaving: [])
      for name in names { all.append(keys.token(of: name)) }
      return all
    }
    names = []
    names.reserveCapacity(TokenQueue.batchCount)
  }
}
