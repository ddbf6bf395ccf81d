internal import CVaultSystem
internal import Glibc
import Sealing
import Synchronization

/// A row to be written, with everything that is known before it is sealed.
final class RowDraft: Sendable {
  let attributes: Attributes
  /// `nil` makes a tombstone.
  let secret: OpenedSecret?
  let token: Token
  let version: UInt64
  let oldest: UInt64
  /// The proved row that this one replaces.
  let old: Row?
  /// The mark of the request that the row is written for.
  let mark: UInt64?

  init(
    attributes: Attributes, secret: OpenedSecret?, token: Token, version: UInt64, oldest: UInt64, old: Row?,
    mark: UInt64?
  ) {
    (self.attributes, self.secret, self.token, self.mark) = (attributes, secret, token, mark)
    (self.version, self.oldest, self.old) = (version, oldest, old)
  }

  func sealed(by keys: GroupKeys, nonce: Nonce = Nonce()) throws(VaultError) -> SealedDraft {
    let (row, blob) = try keys.sealedRow(
      attributes, secret, token: token, version: version, oldest: oldest, previous: old?.digest ?? .zero,
      nonce: mark.map(nonce.marked) ?? nonce)
    return SealedDraft(old: old, row: row, digest: row.digest, blob: blob)
  }
}

/// A sealed row to be written.
final class SealedDraft: Sendable {
  /// The proved row that this one replaces.
  let old: Row?
  let row: Row
  let digest: Digest
  /// The sealed value if it is too large for the row.
  let blob: [UInt8]?

  init(old: Row?, row: Row, digest: Digest, blob: [UInt8]?) {
    (self.old, self.row, self.digest, self.blob) = (old, row, digest, blob)
  }
}

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
  private let sealed = Locked<Result<[SealedDraft], VaultError>>(.success([]))

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
    // A bulk load comes in rising order, so it needs no set. In any other order, all rows are written once, and a set
    // tells from then on.
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

  /// Returns the remaining rows, sealed.
  mutating func finish() throws(VaultError) -> [SealedDraft] {
    guard highest != nil else { return [] }
    try finishJob()
    for draft in waiting { done.append(try draft.sealed(by: keys)) }
    (waiting, waitingByteCount) = ([], 0)
    tokens = []
    highest = nil
    return takeDone()
  }

  /// Drops the rows that are held, with their open values. The queue is not used any more.
  mutating func discard() {
    (waiting, done, written) = ([], [], [])
    thread = nil
  }

  private mutating func takeDone() -> [SealedDraft] {
    defer {
      done = []
      doneByteCount = 0
    }
    return done.sorted { $0.row.token < $1.row.token }
  }

  private mutating func begin() {
    let thread = thread ?? SecondThread()
    self.thread = thread
    thread.begin { [drafts = waiting, keys, sealed] in
      let result = Result { () throws(VaultError) in
        var rows: [SealedDraft] = []
        rows.reserveCapacity(drafts.count)
        // One system call for all. They are drawn here and used at once, so a forked child never has the same ones.
        let nonces = Nonce.random(count: drafts.count)
        for (draft, nonce) in zip(drafts, nonces) { rows.append(try draft.sealed(by: keys, nonce: nonce)) }
        return rows
      }
      sealed.withLock { $0 = result }
    }
    (waiting, waitingByteCount) = ([], 0)
    waiting.reserveCapacity(SealingQueue.batchCount)
  }

  private mutating func finishJob() throws(VaultError) {
    thread?.wait()
    let result = sealed.withLock { sealed in
      defer { sealed = .success([]) }
      return sealed
    }
    let rows = try result.get()
    for sealed in rows { doneByteCount += sealed.row.encoded.count + (sealed.blob?.count ?? 0) }
    done += rows
  }
}

/// Computes the tokens of many names in a second thread, in the order of the names.
package struct TokenQueue {
  private let keys: GroupKeys
  private var names: [String] = []
  private let thread = SecondThread()
  private let tokens: Locked<[Token]>

  private static let batchCount = 512

  package init(_ keys: GroupKeys, count: Int) {
    self.keys = keys
    var tokens: [Token] = []
    tokens.reserveCapacity(count)
    self.tokens = Locked(tokens)
  }

  package mutating func add(_ name: String) {
    names.append(name)
    if names.count == TokenQueue.batchCount { begin() }
  }

  /// The tokens of all names that were added.
  package mutating func finish() -> [Token] {
    begin()
    thread.wait()
    return tokens.withLock { $0 }
  }

  private mutating func begin() {
    thread.wait()
    thread.begin { [names, keys, tokens] in
      tokens.withLock { tokens in for name in names { tokens.append(keys.token(of: name)) } }
    }
    names = []
    names.reserveCapacity(TokenQueue.batchCount)
  }
}

/// A second thread for work on data that the caller has already read: sealing and opening rows.
///
/// It does one job at a time, and ends with this value. If the system cannot start a thread, the caller does the work.
///
/// What one thread has allocated and another one frees makes both wait for the allocator's lock. So the caller releases
/// what a job has captured, when it waits for the job, and the second thread what is passed to `release(_:)`.
@safe package final class SecondThread: Sendable {
  private let bench = Bench()

  package init() {}

  deinit { bench.end() }

  /// Begins `job`. The caller must have waited for the previous one.
  package func begin(_ job: @escaping @Sendable () -> Void) {
    if !bench.offer(job) { job() }
  }

  /// Waits for the job that was begun last, and has `value`, which a job has made, released before the next one.
  package func release<Value: Sendable>(_ value: Value) {
    bench.wait()
    bench.unneeded = { _ = value }
  }

  /// Whether a job is not finished yet.
  package var isBusy: Bool { bench.isBusy }

  /// Waits for the job that was begun last.
  package func wait() { bench.wait() }

  /// The state that the two threads share. It exists until the second thread has ended, even if that is after `deinit`.
  @safe private final class Bench: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var job: (@Sendable () -> Void)?
    /// Keeps what the second thread is to release.
    var unneeded: (@Sendable () -> Void)?
    /// Whether `job` is not finished yet. Changed only with the mutex.
    private let hasJob = Atomic(false)
    private var isStarted = false
    private var isEnded = false

    init() {
      unsafe pthread_mutex_init(mutex, nil)
      unsafe pthread_cond_init(changed, nil)
    }

    deinit {
      unsafe pthread_cond_destroy(changed)
      unsafe pthread_mutex_destroy(mutex)
      unsafe changed.deallocate()
      unsafe mutex.deallocate()
    }

    var isBusy: Bool { hasJob.load(ordering: .acquiring) }

    func offer(_ new: @escaping @Sendable () -> Void) -> Bool {
      if !isStarted {
        // Some kernels begin a thread where its starter is busy, and move it 5 to 20 ms later: many jobs are done by then.
        let processor = csystem_processor()
        isStarted = DetachedThread.start {
          csystem_leave_processor(processor)
          self.run()
        }
      }
      guard isStarted else { return false }
      job = new
      change { hasJob.store(true, ordering: .releasing) }
      return true
    }

    func wait() {
      watch(whileBusy: true)
      locked { while isBusy { unsafe pthread_cond_wait(changed, mutex) } }
      job = nil
    }

    func end() { change { isEnded = true } }

    private func run() {
      while true {
        watch(whileBusy: false)
        locked { while !isBusy, !isEnded { unsafe pthread_cond_wait(changed, mutex) } }
        guard isBusy else { return }
        unneeded = nil
        job?()
        change { hasJob.store(false, ordering: .releasing) }
      }
    }

    /// Looks for a while before the thread sleeps: sleeping and being woken take as long as some twenty rows.
    private func watch(whileBusy: Bool) {
      var looks = 0
      while isBusy == whileBusy, looks < 5_000 { looks += 1 }
    }

    private func change(_ change: () -> Void) {
      locked(change)
      // At most one of the two threads waits. After unlocking, so that it does not wake up just to wait for the mutex.
      unsafe pthread_cond_signal(changed)
    }

    private func locked(_ body: () -> Void) {
      unsafe pthread_mutex_lock(mutex)
      body()
      unsafe pthread_mutex_unlock(mutex)
    }
  }
}

/// Threads that are never joined.
package enum DetachedThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Runs `body` in a new thread; if the system cannot start one, returns `false` without running it.
  package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    // Blocks all signals, so that the program's signal handlers run in the program's own threads.
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let retained = unsafe Unmanaged.passRetained(Body(body))
    let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
      if let argument = unsafe argument { unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
      return nil
    }
    var thread = pthread_t()
    guard unsafe pthread_create(&thread, nil, main, retained.toOpaque()) == 0 else {
      unsafe retained.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}
