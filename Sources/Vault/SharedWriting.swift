internal import Glibc

/// Changes of one group that several threads make at the same time, sharing one commit.
///
/// A commit waits for the disk, and in a published group for the network. Other threads wait meanwhile. Then the first
/// of them begins the next transaction. Each of the others makes its change in it, in turn and on its own thread, and
/// all changes are committed at once. A change that fails does not affect the others: if it has already written
/// something, or if the commit fails before anything was sent or may be durable, all of them start again, each in its
/// own transaction. So a change that must not be made twice shares a commit only in a published group, where each may
/// be repeated anyway.
final class SharedWriting: Sendable {
  private struct State {
    /// The process in which a thread has a transaction, or is about to begin one.
    var leader: pid_t?
    var waiting: [Waiter] = []
    /// The thread whose change is being made.
    var runner: pthread_t?
  }

  private let state = Locked(State())

  /// The maximum number of changes in one commit.
  private static let limit = 64
  /// How long a change waits for those before it at most, in milliseconds.
  private let patience: Int

  init(waiting patience: Int = 10_000) { self.patience = patience }

  /// How many changes wait for the commit before theirs.
  var testOnlyWaitingCount: Int { state.withLock { $0.waiting.count } }

  /// Makes a change in a transaction that others may share, and commits it. A `body` that does nothing but change the
  /// group (`isRepeatable`) is called again if its transaction was abandoned. Throws `busy` after ten seconds,
  /// `invalid` in a `body`, which would wait for itself, and `storage(.forked)` in a forked child.
  func run<Result>(
    isRepeatable: Bool, beginning begin: () throws -> WriteTransaction,
    committing commit: (WriteTransaction) throws -> Void, _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    let waiter = try state.withLock { state throws(VaultError) -> Waiter? in
      if let leader = state.leader, leader != getpid() { throw .storage(.forked) }
      if let runner = state.runner, pthread_equal(runner, pthread_self()) != 0 {
        throw .invalid("a change of a group inside a transaction of the same group")
      }
      if state.leader == nil {
        state.leader = getpid()
        return nil
      }
      let waiter = Waiter(isRepeatable: isRepeatable)
      state.waiting.append(waiter)
      return waiter
    }
    guard let waiter, case .join(let transaction) = try turn(of: waiter) else {
      return try lead(isRepeatable, begin, commit, body)
    }
    let result = make(body, in: transaction)
    waiter.isClean.give(result.isClean)
    // A failure, too, may be due to changes that are committed only now.
    switch waiter.ending.take() {
    case .committed: return try result.outcome.get()
    case .failed(let error):
      guard case .failure = result.outcome else { throw error }
      if case .unordered(_, .overtaken)? = error as? VaultError { throw error }
      // It has no part in the commit that failed.
      return try alone(begin, commit, body)
    case .begunAgain: return try alone(begin, commit, body)
    }
  }

  private func turn(of waiter: Waiter) throws(VaultError) -> Waiter.Turn {
    if let turn = waiter.turn.take(until: Deadline(after: patience)) { return turn }
    let gaveUp = state.withLock { state in
      let count = state.waiting.count
      state.waiting.removeAll { $0 === waiter }
      return state.waiting.count < count
    }
    guard !gaveUp else { throw .busy(group: nil) }
    // Another thread has just called this one.
    return waiter.turn.take()
  }

  private func lead<Result>(
    _ isRepeatable: Bool, _ begin: () throws -> WriteTransaction, _ commit: (WriteTransaction) throws -> Void,
    _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    defer { handOver() }
    let transaction = try begin()
    defer { transaction.rollback() }
    let own = try make(body, in: transaction).outcome.get()
    let isPublished = transaction.view.state.isPublished
    var joined: [Waiter] = []
    while isRepeatable || isPublished, joined.count < SharedWriting.limit, let waiter = takeWaiter(isPublished) {
      waiter.turn.give(.join(transaction))
      guard waiter.isClean.take() else {
        transaction.rollback()
        for other in joined + [waiter] { other.ending.give(.begunAgain) }
        return try alone(begin, commit, body)
      }
      joined.append(waiter)
    }
    do { try commit(transaction) } catch {
      // Nothing is made twice by this call once it was sent or may be durable: the callers decide.
      let isFinal = transaction.hasBegunPublishing || error as? VaultError == .storage(.unconfirmed)
      transaction.rollback()
      for other in joined { other.ending.give(isFinal ? .failed(error) : .begunAgain) }
      guard !isFinal, !joined.isEmpty else { throw error }
      return try alone(begin, commit, body)
    }
    for other in joined { other.ending.give(.committed) }
    return own
  }

  /// Makes a change in a transaction of its own.
  private func alone<Result>(
    _ begin: () throws -> WriteTransaction, _ commit: (WriteTransaction) throws -> Void,
    _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    let transaction = try begin()
    defer { transaction.rollback() }
    let result = try make(body, in: transaction).outcome.get()
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

  /// The first waiter, if its change can share a commit.
  private func takeWaiter(_ isPublished: Bool) -> Waiter? {
    state.withLock { state in
      guard let first = state.waiting.first, isPublished || first.isRepeatable else { return nil }
      return state.waiting.removeFirst()
    }
  }

  private func handOver() {
    let next = state.withLock { state -> Waiter? in
      guard !state.waiting.isEmpty else {
        state.leader = nil
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

  let isRepeatable: Bool
  /// A transaction is lent until `isClean` is given.
  let turn = Handed<Turn>()
  /// Whether the transaction contains no part of a failed change.
  let isClean = Handed<Bool>()
  let ending = Handed<Ending>()

  init(isRepeatable: Bool) { self.isRepeatable = isRepeatable }
}

/// A value that one thread hands to another, which waits for it.
private final class Handed<Value>: Sendable {
  private let value = Locked<Value?>(nil)
  private let given = CountingSemaphore()

  func give(_ value: Value) {
    self.value.withLock { $0 = value }
    given.signal()
  }

  /// Takes the value, or returns `nil` if `deadline` passes without it.
  func take(until deadline: Deadline?) -> Value? {
    guard given.wait(until: deadline) else { return nil }
    return value.withLock { value in
      defer { value = nil }
      return value
    }
  }

  func take() -> Value { take(until: nil)! }
}

extension AccessGroup {
  /// Makes a change in one transaction, which it shares with those that other threads make meanwhile. In a published
  /// group, it is made again if another host was faster.
  func changing<Result>(isRepeatable: Bool, _ body: (WriteTransaction) throws -> Result) throws -> Result {
    var (request, isNew) = (request, request == nil)
    func change(_ transaction: WriteTransaction) throws -> Result {
      try requireRights(in: transaction.view.state)
      if request == nil, transaction.view.state.isPublished { request = ChangeID() }
      transaction.answer(request, isNew: isNew)
      defer { transaction.answer(nil, isNew: true) }
      return try body(transaction)
    }
    return try inOrder {
      defer { isNew = false }  // What the servers say that they did not make, they may have made.
      let file = try file
      do {
        return try sharing.run(
          isRepeatable: isRepeatable, beginning: { try inGroup(name.description, file.beginWriting()) },
          committing: commit, change)
      } catch VaultError.busy(nil) {
        throw VaultError.busy(group: name.description)
      } catch VaultError.unordered(_, .outcomeUnknown) {
        throw VaultError.unordered(group: name.description, .outcomeUnknown(request))
      }
    }
  }

  /// As ``changing(isRepeatable:_:)``, with the errors of a group's file.
  func writing<Result>(
    isRepeatable: Bool = true, _ body: (WriteTransaction) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    do {
      return try observed(.write) {
        try changing(isRepeatable: isRepeatable) { try inGroup(name.description, body($0)) }
      }
    } catch {
      throw error as? VaultError ?? .unexpected("an error of a change")
    }
  }

  private func commit(_ transaction: WriteTransaction) throws {
    try inGroup(name.description, transaction.commit())
    notices.post(transaction.view.notices)
  }
}
