import Foundation
import Synchronization
public import Vault

// In async code the compiler prefers these to the blocking calls of the same names, and requires an `await`. They have
// no pages in the documentation, because links to a name would be ambiguous.

extension SecretStore {
  @_documentation(visibility: internal)
  public static func open(
    at location: StoreLocation? = nil, unlocking: consuming Unlocking = .automatic()
  ) async throws(VaultError) -> SecretStore {
    // A closure can consume a captured value only if it is in a box.
    let unlocking = Mutex<Unlocking?>(unlocking)
    return try await CallQueue().run { () throws(VaultError) in
      guard let unlocking = unlocking.withLock({ $0.take() }) else { throw .unexpected("a store opened twice") }
      return try open(at: location, unlocking: unlocking)
    }
  }

  @_documentation(visibility: internal)
  public static func open(
    at location: StoreLocation? = nil, credential path: String
  ) async throws(VaultError) -> SecretStore {
    try await CallQueue().run { () throws(VaultError) in try open(at: location, credential: path) }
  }

  /// Makes calls that have no async form on a thread of their own: rotating a group, backing up, issuing applications.
  ///
  /// - Parameter calls: runs to its end even if the task is cancelled. It may use an object that is not `Sendable` if
  ///   the caller does not use it afterwards.
  /// - Returns: what `calls` returns, which need not be `Sendable` either.
  @discardableResult
  public func inThread<Result: ~Copyable, Failure>(
    _ calls: sending (SecretStore) throws(Failure) -> sending Result
  ) async throws(Failure) -> sending Result {
    try await CallQueue().run { () throws(Failure) in try calls(self) }
  }
}

extension AccessGroup {
  /// Makes several calls, or calls that have no async form, on a thread of their own.
  ///
  /// - Parameter calls: runs to its end even if the task is cancelled. It may use an object that is not `Sendable` if
  ///   the caller does not use it afterwards.
  /// - Returns: what `calls` returns, which need not be `Sendable` either.
  @discardableResult
  public func inThread<Result: ~Copyable, Failure>(
    _ calls: sending (AccessGroup) throws(Failure) -> sending Result
  ) async throws(Failure) -> sending Result {
    try await CallQueue().run { () throws(Failure) in try calls(self) }
  }

  // MARK: Reading

  @_documentation(visibility: internal)
  public func get(_ name: String, version: UInt64? = nil) async throws(VaultError) -> Secret {
    try await reads.run { () throws(VaultError) in try get(name, version: version) }
  }

  @_documentation(visibility: internal)
  public func get<Value: SecretScalar & Sendable>(
    _ name: String, as type: Value.Type, version: UInt64? = nil
  ) async throws(VaultError) -> Value {
    try await reads.run { () throws(VaultError) in try get(name, as: type, version: version) }
  }

  @_documentation(visibility: internal)
  public func get<Value: Decodable & Sendable>(
    _ name: String, as type: Value.Type, named typeName: String? = nil, version: UInt64? = nil
  ) async throws(VaultError) -> Value {
    try await reads.run { () throws(VaultError) in try get(name, as: type, named: typeName, version: version) }
  }

  @_documentation(visibility: internal)
  public func open(_ name: String, version: UInt64? = nil) async throws(VaultError) -> OpenedItem {
    try await reads.run { () throws(VaultError) in try open(name, version: version) }
  }

  @_documentation(visibility: internal)
  public func item(_ name: String) async throws(VaultError) -> Item {
    try await reads.run { () throws(VaultError) in try item(name) }
  }

  @_documentation(visibility: internal)
  public func history(_ name: String) async throws(VaultError) -> [Item] {
    try await reads.run { () throws(VaultError) in try history(name) }
  }

  /// The current items in order, like the blocking call of the same name. Shorter reads do not wait for it, and of many
  /// such calls eight are made at the same time.
  public func items(prefix: String = "") async throws(VaultError) -> [Item] {
    try await lists.run { () throws(VaultError) in try items(prefix: prefix) }
  }

  // MARK: Writing

  @_documentation(visibility: internal) @discardableResult
  public func set<Value: SecretScalar & Sendable>(
    _ name: String, to value: Value, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) async throws(VaultError) -> UInt64 {
    try await writes.run { () throws(VaultError) in try set(name, to: value, details, ifVersion: expected) }
  }

  @_documentation(visibility: internal) @discardableResult
  public func set<Value: Encodable & Sendable>(
    _ name: String, to value: Value, named typeName: String? = nil, _ details: Details = Details(),
    ifVersion expected: UInt64? = nil
  ) async throws(VaultError) -> UInt64 {
    try await writes.run { () throws(VaultError) in
      try set(name, to: value, named: typeName, details, ifVersion: expected)
    }
  }

  @_documentation(visibility: internal) @discardableResult
  public func set(
    _ name: String, to secret: borrowing Secret, kind: SecretKind = .bytes, typeName: String? = nil,
    _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) async throws(VaultError) -> UInt64 {
    try await writes.run { () throws(VaultError) in
      try set(name, to: secret, kind: kind, typeName: typeName, details, ifVersion: expected)
    }
  }

  @_documentation(visibility: internal) @discardableResult
  public func change(
    _ name: String, _ details: Details, ifVersion expected: UInt64? = nil
  ) async throws(VaultError) -> UInt64 {
    try await writes.run { () throws(VaultError) in try change(name, details, ifVersion: expected) }
  }

  @_documentation(visibility: internal)
  public func remove(_ name: String, ifVersion expected: UInt64? = nil) async throws(VaultError) {
    try await writes.run { () throws(VaultError) in try remove(name, ifVersion: expected) }
  }

  @_documentation(visibility: internal)
  public func destroy(_ name: String) async throws(VaultError) {
    try await writes.run { () throws(VaultError) in try destroy(name) }
  }

  @_documentation(visibility: internal) @discardableResult
  public func restore(_ name: String, version: UInt64? = nil) async throws(VaultError) -> UInt64 {
    try await writes.run { () throws(VaultError) in try restore(name, version: version) }
  }

  /// Makes all changes of `body` in one transaction, like the blocking call of the same name.
  ///
  /// - Parameter body: not `async`, because all writers of the group wait for its end.
  @_documentation(visibility: internal) @discardableResult
  public func transaction<Result: Sendable>(
    _ body: @Sendable (borrowing Edit) throws -> Result
  ) async throws -> Result {
    try await transactions.run { try transaction(body) }
  }
}

extension AccessGroup {
  /// Changes of single items that wait at the same time share a commit, each on a thread of its own. Transactions run one
  /// after the other, without a limit to how long they wait for each other. Reads have their own thread, because a writer
  /// may wait for other processes, and several if `vaultd` answers, which makes the entries of reads at the same time
  /// durable together. Each list holds up to three descriptors, so many of them must not run at the same time.
  private final class Queues: Sendable {
    let transactions = CallQueues(1)
    let writes = CallQueues(8)
    let lists = CallQueues(8)
    let reads: CallQueues

    init(throughService: Bool) { reads = CallQueues(throughService ? 8 : 1) }
  }

  private var queues: Queues { asyncQueues { Queues(throughService: isThroughService) } }
  private var reads: CallQueue { queues.reads.next }
  private var transactions: CallQueue { queues.transactions.next }
  private var writes: CallQueue { queues.writes.next }
  private var lists: CallQueue { queues.lists.next }
}

extension AccessGroup {
  /// The group's changes from now on, by any process, until the task that iterates is cancelled.
  ///
  /// Each element names an item and its new version. Several changes of one item may arrive as one element, but no
  /// change is missed, even if the iteration is busy for a long time: it looks for the next changes when it asks for
  /// them, and keeps none of those between. A thread waits for the changes.
  ///
  /// - Throws: ``VaultError/storage(_:)`` if the system allows no more watches; the errors of reading the group. The
  ///   iteration throws a ``VaultError`` as well: ``VaultError/notFound(_:)`` if the group is removed.
  public func changes() async throws(VaultError) -> AsyncThrowingStream<ItemChange, any Error> {
    let queue = CallQueue()
    let changes = Changes(try await queue.run { () throws(VaultError) in try self.watch() }, waitingOn: queue)
    return AsyncThrowingStream { try await changes.next() }
  }
}

/// The changes that a watch finds, one after the other. The watch is asked only after the last one was taken.
private final class Changes: Sendable {
  private let watch: GroupWatch
  private let queue: CallQueue
  /// The changes that were found and not taken; nil after the end.
  private let found = Mutex<ArraySlice<ItemChange>?>([])

  init(_ watch: GroupWatch, waitingOn queue: CallQueue) { (self.watch, self.queue) = (watch, queue) }

  /// - Throws: a ``VaultError``.
  func next() async throws -> ItemChange? {
    if let change = found.withLock({ $0?.popFirst() }) { return change }
    return try await withTaskCancellationHandler {
      try await queue.run { () throws(VaultError) in try waitForNext() }
    } onCancel: {
      watch.cancel()
    }
  }

  private func waitForNext() throws(VaultError) -> ItemChange? {
    while found.withLock({ $0 != nil }) {
      if let change = found.withLock({ $0?.popFirst() }) { return change }
      do throws(VaultError) {
        let changes = try watch.next()
        found.withLock { $0 = changes.map { $0[...] } }
      } catch {
        found.withLock { $0 = nil }
        throw error
      }
    }
    return nil
  }
}

/// Queues whose threads make calls at the same time.
final class CallQueues: Sendable {
  private let queues: [CallQueue]
  private let choice = Mutex(())

  /// - Parameter count: at least 1.
  init(_ count: Int) { queues = (0..<count).map { _ in CallQueue(keepingThread: 10) } }

  /// The queue for one call, the first of those with the fewest calls. So calls one after the other use one thread, and no
  /// call waits while a thread is idle.
  var next: CallQueue {
    choice.withLock { _ in
      let next = queues.min { $0.load.load(ordering: .relaxed) < $1.load.load(ordering: .relaxed) } ?? queues[0]
      next.load.add(1, ordering: .relaxed)
      return next
    }
  }
}

/// Makes calls, one after the other, on a thread that may block on disks and locks.
///
/// Swift has only as many threads as the machine has cores, and they must not block, so that a program's other tasks
/// continue.
actor CallQueue {
  /// Starts a thread that runs a closure; returns `false` if the system allows no more.
  typealias Start = @Sendable (@escaping @Sendable () -> Void) -> Bool

  private let thread: WaitingThread

  /// - Parameter seconds: how long the thread waits for another call before it ends.
  init(keepingThread seconds: Double = 0, startingWith start: @escaping Start = DetachedThread.start) {
    thread = WaitingThread(patience: seconds, start: start)
  }

  deinit { thread.endWhenIdle() }

  /// How many calls of ``CallQueues`` were given to this queue and have not ended.
  nonisolated let load = Atomic(0)

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.asUnownedSerialExecutor() }

  func run<Result: ~Copyable, Failure>(
    _ call: sending () throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    // Before the caller goes on, who may make the next call at once.
    defer { load.subtract(1, ordering: .relaxed) }
    return try call()
  }
}

/// A thread that starts with the first job and ends after some time without jobs, or with the queue that has it.
private final class WaitingThread: SerialExecutor, @unchecked Sendable {
  private let changed = NSCondition()
  private var jobs: [UnownedJob] = []
  private var isRunning = false
  private var isAbandoned = false
  /// In seconds.
  private let patience: Double
  private let start: CallQueue.Start

  init(patience: Double, start: @escaping CallQueue.Start) { (self.patience, self.start) = (patience, start) }

  /// Nobody has further jobs. The last one may still run.
  func endWhenIdle() {
    changed.lock()
    isAbandoned = true
    changed.signal()
    changed.unlock()
  }

  func enqueue(_ job: consuming ExecutorJob) {
    changed.lock()
    jobs.append(UnownedJob(job))
    if isRunning {
      changed.signal()
      changed.unlock()
    } else {
      isRunning = true
      changed.unlock()
      let body: @Sendable () -> Void = { self.work(whileIdle: self.patience) }
      // If no thread can be started, the caller's thread does the work, late but not never. The closure then keeps this
      // object, because the last job may release the queue that has it.
      if !start(body) { withExtendedLifetime(body) { work(whileIdle: 0) } }
    }
  }

  private func work(whileIdle seconds: Double) {
    while true {
      changed.lock()
      let end = Date(timeIntervalSinceNow: seconds)
      while jobs.isEmpty, !isAbandoned, changed.wait(until: end) {}
      let next = jobs
      jobs = []
      if next.isEmpty { isRunning = false }
      changed.unlock()
      guard !next.isEmpty else { return }
      for job in next { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
  }
}
