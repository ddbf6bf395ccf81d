#if Lifecycle
  public import Logging
  public import ServiceLifecycle
  import Synchronization
  public import VaultFoundation

  /// Keeps an access group open while a service runs: opens the store, reports changes, and releases the keys at the
  /// end.
  ///
  /// Add it to a `ServiceGroup` before the services that use it, so that it ends after them. At a graceful shutdown it
  /// waits for the `onChange` that is running and releases the store; its keys are wiped when nothing else holds it.
  public actor VaultService: Service {
    private let groupName: String?
    private let logger: Logger
    private let openStore: @Sendable () async throws -> SecretStore
    private let onChange: @Sendable (ItemChange, AccessGroup) async throws -> Void
    private var opening: Task<Opened, any Error>?
    private var isOver = false

    private static let observed = ObservedStores()

    private struct Opened: Sendable {
      let store: SecretStore
      let group: AccessGroup
      let changes: AsyncThrowingStream<ItemChange, any Error>
    }

    /// - Parameters:
    ///   - group: the group's name; by default the one that is used if none is named.
    ///   - logger: receives errors, the fact of a change, and as warnings what ``SecretStore/takeNotices()`` returns,
    ///     never the name of an item or a value.
    ///   - opening: opens the store; by default as the command does. Several services may share one store; its calls are
    ///     then logged by the first of them, and counted once.
    ///   - onChange: called for each item that changes after the store was opened, one call after the other, while the
    ///     service runs. Its error ends the service.
    public init(
      group: String? = nil, logger: Logger,
      opening: @escaping @Sendable () async throws -> SecretStore = { try await SecretStore.open() },
      onChange: @escaping @Sendable (ItemChange, AccessGroup) async throws -> Void = { _, _ in }
    ) {
      (groupName, self.logger, openStore, self.onChange) = (group, logger, opening, onChange)
    }

    /// The group. The first call opens the store, even before ``run()``, which then reports every change since.
    ///
    /// - Throws: the error of opening; `CancellationError` after the service has ended.
    public func group() async throws -> AccessGroup { try await opened().group }

    /// Follows the group until a graceful shutdown, or until the task is cancelled.
    ///
    /// - Throws: the errors of opening and of watching, such as ``VaultError/notFound(_:)`` for a removed group; the
    ///   error of `onChange`.
    public func run() async throws {
      defer {
        isOver = true
        opening = nil
      }
      do {
        try await follow(try await opened())
      } catch {
        logger.error("the access group cannot be followed", metadata: ["error": "\(describe(error))"])
        throw error
      }
    }

    private func follow(_ opened: Opened) async throws {
      for try await change in opened.changes.cancelOnGracefulShutdown() {
        logger.info("an item was changed", metadata: ["group": "\(opened.group.name)"])
        opened.store.logNotices(to: logger)
        try await onChange(change, opened.group)
      }
    }

    private func opened() async throws -> Opened {
      guard !isOver else { throw CancellationError() }
      if let opening { return try await opening.value }
      let begin = ContinuousClock.now
      let task = Task { [openStore, logger, groupName] in
        let store = try await openStore()
        // Services can share a store, and one whose group was missing may open it again.
        if Self.observed.isNew(store) {
          store.log(to: logger)
          #if Metrics
            store.recordMetrics()
          #endif
        }
        let group = try store.group(groupName ?? store.defaultGroupName)
        let opened = Opened(store: store, group: group, changes: try await group.changes())
        logger.info("an access group is open", metadata: ["group": "\(group.name)"])
        store.logNotices(to: logger)
        return opened
      }
      opening = task
      do {
        let opened = try await task.value
        hasOpened(nil, begin.duration(to: .now))
        return opened
      } catch {
        opening = nil
        hasOpened(error, begin.duration(to: .now))
        throw error
      }
    }

    private func hasOpened(_ error: (any Error)?, _ duration: Duration) {
      #if Metrics
        recordOpening(error, duration)
      #endif
    }

    /// The messages of this library's errors contain no item's name. Of other errors, only the type is safe to log.
    private nonisolated func describe(_ error: any Error) -> String {
      (error as? VaultError)?.message ?? String(reflecting: type(of: error))
    }
  }

  /// The open stores whose calls are logged and counted by a service, so that no call is counted twice.
  private final class ObservedStores: Sendable {
    private struct Entry: Sendable { weak let store: SecretStore? }
    private let entries = Mutex<[Entry]>([])

    /// Whether the store was not here yet. It is from now on.
    func isNew(_ store: SecretStore) -> Bool {
      entries.withLock { entries in
        entries.removeAll { $0.store == nil }
        guard !entries.contains(where: { $0.store === store }) else { return false }
        entries.append(Entry(store: store))
        return true
      }
    }
  }
#endif
