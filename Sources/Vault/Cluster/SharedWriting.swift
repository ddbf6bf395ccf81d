internal import Glibc
internal import GroupFile
internal import Sealing

/// Changes of one published group that several threads make at the same time, sharing one commit.
///
/// A commit goes over the network, and other threads wait for it. Then the first of them begins the next transaction.
/// Each of the others makes its change in it, in turn and on its own thread, and all changes are committed at once. A
/// change that fails does not affect the others; but if it has already written something, all of them start again, each
/// in its own transaction.
final class SharedWriting: Sendable {
  private struct State {
    /// Whether a thread has a transaction, or is about to begin one.
    var isLed = false
    var waiting: [Waiter] = []
    /// The thread whose change is being made.
    var runner: pthread_t?
  }

  private let state = Locked(State())

  /// The maximum number of changes in one commit.
  private static let limit = 64

  /// How many changes wait for the commit before theirs.
  var testOnlyWaitingCount: Int { state.withLock { $0.waiting.count } }

  /// Makes a change in a transaction that others may share, and commits it.
  ///
  /// - Parameters:
  ///   - begin: begins a transaction.
  ///   - commit: commits it.
  ///   - body: makes the change. Called again in another transaction if the first one was abandoned.
  /// - Throws: the errors of `begin`, `commit` and `body`.
  func run<Result>(
    beginning begin: () throws -> WriteTransaction, committing commit: (WriteTransaction) throws -> Void,
    _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    let thread = pthread_self()
    let waiter = Waiter()
    let (isAlone, isLeading) = state.withLock { state in
      // A change inside a change would wait for itself.
      if let runner = state.runner, pthread_equal(runner, thread) != 0 { return (true, false) }
      guard state.isLed else {
        state.isLed = true
        return (false, true)
      }
      state.waiting.append(waiter)
      return (false, false)
    }
    if isAlone { return try SharedWriting.alone(begin, commit, body) }
    guard !isLeading, case .join(let transaction) = waiter.turn.take() else { return try lead(begin, commit, body) }
    let result = make(body, in: transaction)
    waiter.isClean.give(result.isClean)
    if result.isClean, case .failure(let error) = result.outcome { throw error }
    switch waiter.ending.take() {
    case .committed: return try result.outcome.get()
    case .failed(let error): throw error
    case .begunAgain: return try SharedWriting.alone(begin, commit, body)
    }
  }

  private func lead<Result>(
    _ begin: () throws -> WriteTransaction, _ commit: (WriteTransaction) throws -> Void,
    _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    defer { handOver() }
    let transaction = try begin()
    defer { transaction.rollback() }
    let own = try make(body, in: transaction).outcome.get()
    var joined: [Waiter] = []
    while joined.count < SharedWriting.limit, let waiter = takeWaiter() {
      waiter.turn.give(.join(transaction))
      guard waiter.isClean.take() else {
        transaction.rollback()
        for other in joined + [waiter] { other.ending.give(.begunAgain) }
        return try SharedWriting.alone(begin, commit, body)
      }
      joined.append(waiter)
    }
    do { try commit(transaction) } catch {
      for other in joined { other.ending.give(.failed(error)) }
      throw error
    }
    for other in joined { other.ending.give(.committed) }
    return own
  }

  /// Makes a change in a transaction of its own.
  static func alone<Result>(
    _ begin: () throws -> WriteTransaction, _ commit: (WriteTransaction) throws -> Void,
    _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    let transaction = try begin()
    defer { transaction.rollback() }
    let result = try body(transaction)
    try commit(transaction)
    return result
  }

  /// - Returns: also whether the transaction contains no part of a failed change.
  private func make<Result>(
    _ body: (WriteTransaction) throws -> Result, in transaction: WriteTransaction
  ) -> (outcome: Swift.Result<Result, any Error>, isClean: Bool) {
    let thread = pthread_self()
    state.withLock { $0.runner = thread }
    defer { state.withLock { $0.runner = nil } }
    let before = transaction.changeCount
    let outcome = Swift.Result { try body(transaction) }
    if case .success = outcome { return (outcome, true) }
    return (outcome, transaction.changeCount == before)
  }

  private func takeWaiter() -> Waiter? {
    state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
  }

  private func handOver() {
    let next = state.withLock { state -> Waiter? in
      guard !state.waiting.isEmpty else {
        state.isLed = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.turn.give(.lead)
  }
}

/// A thread whose change can join another thread's transaction.
private final class Waiter: Sendable {
  enum Turn {
    case lead
    case join(WriteTransaction)
  }

  enum Ending: Sendable {
    case committed
    case failed(any Error)
    case begunAgain
  }

  /// A transaction is lent until `isClean` is given.
  let turn = Handed<Turn>()
  /// Whether the transaction contains no part of a failed change.
  let isClean = Handed<Bool>()
  let ending = Handed<Ending>()
}

/// A value that one thread hands to another, which waits for it.
@safe private final class Handed<Value>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let given = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var value: Value?

  init() {
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(given, nil)
  }

  deinit {
    unsafe pthread_cond_destroy(given)
    unsafe pthread_mutex_destroy(mutex)
    unsafe given.deallocate()
    unsafe mutex.deallocate()
  }

  func give(_ value: Value) {
    unsafe pthread_mutex_lock(mutex)
    self.value = value
    unsafe pthread_cond_signal(given)
    unsafe pthread_mutex_unlock(mutex)
  }

  func take() -> Value {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while true {
      if let value { return value }
      unsafe pthread_cond_wait(given, mutex)
    }
  }
}

extension AccessGroup {
  /// Begins a change, and notes whether a log orders it.
  func beginWriting(_ file: AccessGroupFile) throws(VaultError) -> WriteTransaction {
    let transaction = try file.beginWriting()
    let isPublished = transaction.view.state.isPublished
    sharing.withLock { $0 = isPublished ? $0 ?? SharedWriting() : nil }
    return transaction
  }

  /// Makes a change in one transaction. In a published group, it shares a commit with those that other threads make
  /// meanwhile, and is made again if another host was faster.
  func changing<Result>(_ body: (WriteTransaction) throws -> Result) throws -> Result {
    let known = request
    var request = known
    func change(_ transaction: WriteTransaction) throws -> Result {
      if request == nil, transaction.view.state.isPublished { request = ChangeID() }
      transaction.answer(request, isNew: known == nil)
      defer { transaction.answer(nil, isNew: true) }
      return try body(transaction)
    }
    return try inOrder {
      let file = try file
      do {
        if let sharing = sharing.withLock({ $0 }) {
          return try sharing.run(beginning: { try beginning(file) }, committing: commit, change)
        }
        return try SharedWriting.alone({ try beginning(file) }, commit, change)
      } catch VaultError.unordered(_, .outcomeUnknown) {
        throw VaultError.unordered(group: name.description, .outcomeUnknown(request))
      }
    }
  }

  /// As ``changing(_:)``, with the errors of a group's file.
  func writing<Result>(_ body: (WriteTransaction) throws(VaultError) -> Result) throws(VaultError) -> Result {
    do {
      return try observed(.write) { try changing { try inGroup(name.description, body($0)) } }
    } catch {
      throw error as? VaultError ?? .unexpected("an error of a change")
    }
  }

  private func beginning(_ file: AccessGroupFile) throws(VaultError) -> WriteTransaction {
    try inGroup(name.description, beginWriting(file))
  }

  private func commit(_ transaction: WriteTransaction) throws {
    try inGroup(name.description, transaction.commit())
    notices.post(transaction.view.notices)
  }
}
