#if Daemon
  import Foundation
  import NIOCore
  import NIOPosix
  import Synchronization

  /// Threads that may block on disks and locks, so that the threads that answer clients never do. One caller never has
  /// all of them, nor has one group that is locked: further calls wait, so that those of others begin at once.
  enum Blocking {
    private static let readers = Threads(16)
    private static let listers = Threads(4)
    private static let writers = Threads(32)
    private static let orderers = Threads(64)
    private static let appliers = Threads(4)
    private static let carriers = Threads(8)

    /// For whom the current task calls; `nil` for the daemon itself, which never waits for its turn.
    @TaskLocal static var caller: String?

    static func read<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await readers.run(body)
    }

    /// For what looks at all items of a group, or at all groups: it lasts long, and no single answer waits for it.
    static func list<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await listers.run(body)
    }

    /// Writers block each other, so they have their own threads.
    ///
    /// - Parameter group: the group that they wait for.
    static func write<Result: Sendable>(
      in group: String? = nil, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
      try await writers.run(in: group, body)
    }

    /// For changes of published groups, which wait for their cluster: for one caller half as many as can share a commit.
    /// Changes of other groups, and logins, do not wait for it.
    static func order<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await orderers.run(body)
    }

    /// For changes from other hosts, which a writer waits for if they came first.
    static func apply<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await appliers.run(body)
    }

    /// For complete files on their way from a log or to it. A slow server can make each last for hours, and the changes of
    /// other groups must not wait for that.
    static func carry<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await carriers.run(body)
    }

    /// Waits in a thread that may block until an asynchronous call has ended.
    static func wait<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
      let done = DispatchSemaphore(value: 0)
      let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
      Task.detached {
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        outcome.withLock { $0 = result }
        done.signal()
      }
      done.wait()
      guard let result = outcome.withLock({ $0 }) else { throw CancellationError() }
      return try result.get()
    }
  }

  /// Threads that callers share. A caller gets another one only while at least as many are free for others, and so do the
  /// calls that may wait for one group: the first has half of the threads at most, the next half of the others, and so on.
  private final class Threads: Sendable {
    /// What a call takes a share for: its caller, and the group that it may wait for.
    private struct Key: Hashable {
      /// The caller's, and the group's if it may wait for one.
      let shares: [String]

      init(caller: String, group: String?) { shares = ["caller " + caller] + (group.map { ["group " + $0] } ?? []) }
    }

    private typealias Waiting = (ticket: UInt64, continuation: CheckedContinuation<Void, Never>)

    private struct State {
      var free: Int
      var ticket: UInt64 = 0
      var running: [String: Int] = [:]
      var lines: [Key: CircularBuffer<Waiting>] = [:]

      func admits(_ key: Key) -> Bool { key.shares.allSatisfy { running[$0, default: 0] < free } }

      mutating func begin(_ key: Key) {
        free -= 1
        for share in key.shares { running[share, default: 0] += 1 }
      }

      mutating func end(_ key: Key) {
        free += 1
        for share in key.shares {
          let left = running[share, default: 1] - 1
          running[share] = left > 0 ? left : nil
        }
      }

      /// The next call that may begin: of the caller with the fewest, and then the one that has waited for longest.
      mutating func next() -> CheckedContinuation<Void, Never>? {
        guard free > 0 else { return nil }
        func rank(_ key: Key) -> (Int, UInt64) { (running[key.shares[0], default: 0], lines[key]?.first?.ticket ?? 0) }
        guard let key = lines.keys.filter({ admits($0) }).min(by: { rank($0) < rank($1) }) else { return nil }
        let first = lines[key]?.popFirst()
        if lines[key]?.isEmpty == true { lines[key] = nil }
        begin(key)
        return first?.continuation
      }
    }

    private let pool: NIOThreadPool
    private let state: Mutex<State>

    init(_ count: Int) {
      pool = NIOThreadPool(numberOfThreads: count)
      state = Mutex(State(free: count))
      pool.start()
    }

    /// - Parameter group: the group that the call may wait for.
    func run<Result: Sendable>(
      in group: String? = nil, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
      guard let caller = Blocking.caller else { return try await pool.runIfActive(body) }
      let key = Key(caller: caller, group: group)
      await withCheckedContinuation { enter($0, key) }
      defer { leave(key) }
      return try await pool.runIfActive(body)
    }

    private func enter(_ continuation: CheckedContinuation<Void, Never>, _ key: Key) {
      let isNext = state.withLock { state in
        guard state.lines[key] != nil || !state.admits(key) else {
          state.begin(key)
          return true
        }
        state.ticket += 1
        state.lines[key, default: []].append((state.ticket, continuation))
        return false
      }
      if isNext { continuation.resume() }
    }

    private func leave(_ key: Key) {
      let next = state.withLock { state in
        state.end(key)
        var next: [CheckedContinuation<Void, Never>] = []
        while let continuation = state.next() { next.append(continuation) }
        return next
      }
      for continuation in next { continuation.resume() }
    }
  }
#endif
