#if Daemon
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import NIOPosix
  import Synchronization
  import VaultFoundation

  /// What a request asks to do in a group, before it is decided whether that is allowed.
  struct Operation: Sendable {
    let action: AuditRecord.Action
    let group: String
    var item: String?
    /// The rights that the application needs in the group.
    var needed = MemberRights.read
    /// The requested version, for the record.
    var version: UInt64?
    /// Performs the operation; it may block on disks and locks.
    let perform: @Sendable (AccessGroup) throws -> Response
  }

  /// Threads that may block on disks and locks, so that the threads that answer clients never do. One caller never has
  /// all of them: its further calls wait, so that those of others begin at once.
  enum Blocking {
    private static let readers = Threads(16)
    private static let writers = Threads(32)
    private static let orderers = Threads(64)
    private static let appliers = Threads(4)

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

  extension Refusal {
    init(_ error: any Error) {
      switch error {
      case let refusal as Refusal: self = refusal
      case let error as VaultError: self.init(error)
      default: self = .unexpected
      }
    }

    /// The error as an outcome in the record.
    var outcome: AuditRecord.Outcome {
      switch status {
      case .forbidden: .denied
      case .notFound: AuditRecord.Outcome(.notFound)
      case .badRequest, .methodNotAllowed, .unsupportedMediaType: AuditRecord.Outcome(.usage)
      case .contentTooLarge: AuditRecord.Outcome(.overLimit)
      case .serviceUnavailable: AuditRecord.Outcome(.locked)
      default: AuditRecord.Outcome(.unexpected)
      }
    }
  }
#endif
