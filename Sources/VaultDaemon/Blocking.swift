#if Daemon
  import Foundation
  import NIOCore
  import NIOPosix
  import Synchronization

  /// Threads that may block on disks and locks, so that the threads that answer clients never do. One caller never has
  /// all of them: its further calls wait, so that those of others begin at once.
  enum Blocking {
    private static let readers = Threads(16)
    private static let writers = Threads(32)
    private static let orderers = Threads(64)
    private static let appliers = Threads(4)
    private static let carriers = Threads(8)

    /// For whom the current task calls; `nil` for the daemon itself, which never waits for its turn.
    @TaskLocal static var caller: String?

    static func read<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await readers.run(body)
    }

    /// Writers block each other, so they have their own threads.
    static func write<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await writers.run(body)
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

  /// Threads, of which one caller has at most half at a time.
  private final class Threads: Sendable {
    private struct Line {
      var running = 0
      var waiting = CircularBuffer<CheckedContinuation<Void, Never>>()
    }

    private let pool: NIOThreadPool
    private let limit: Int
    private let lines = Mutex<[String: Line]>([:])

    init(_ count: Int) {
      (pool, limit) = (NIOThreadPool(numberOfThreads: count), count / 2)
      pool.start()
    }

    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      guard let caller = Blocking.caller else { return try await pool.runIfActive(body) }
      await withCheckedContinuation { enter($0, caller) }
      defer { leave(caller) }
      return try await pool.runIfActive(body)
    }

    private func enter(_ continuation: CheckedContinuation<Void, Never>, _ caller: String) {
      let isNext = lines.withLock { lines in
        guard lines[caller, default: Line()].running == limit else {
          lines[caller, default: Line()].running += 1
          return true
        }
        lines[caller]?.waiting.append(continuation)
        return false
      }
      if isNext { continuation.resume() }
    }

    private func leave(_ caller: String) {
      let next = lines.withLock { lines -> CheckedContinuation<Void, Never>? in
        if let next = lines[caller]?.waiting.popFirst() { return next }
        lines[caller]?.running -= 1
        if lines[caller]?.running == 0 { lines[caller] = nil }
        return nil
      }
      next?.resume()
    }
  }
#endif
