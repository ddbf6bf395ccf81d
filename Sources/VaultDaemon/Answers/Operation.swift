#if Daemon
  import HTTPTypes
  import Hummingbird
  import NIOPosix
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

  /// Threads that may block on disks and locks, so that the threads that answer clients never do.
  enum Blocking {
    private static let readers = started(8)
    private static let writers = started(32)
    private static let orderers = started(32)
    private static let appliers = started(4)

    private static func started(_ count: Int) -> NIOThreadPool {
      let pool = NIOThreadPool(numberOfThreads: count)
      pool.start()
      return pool
    }

    static func read<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await readers.runIfActive(body)
    }

    /// Writers block each other, so they have their own threads.
    static func write<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await writers.runIfActive(body)
    }

    /// For changes of published groups, which wait for their cluster: as many as can share a commit. Changes of other groups,
    /// and logins, do not wait for it.
    static func order<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await orderers.runIfActive(body)
    }

    /// For changes from other hosts, which a writer waits for if they came first.
    static func apply<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
      try await appliers.runIfActive(body)
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
