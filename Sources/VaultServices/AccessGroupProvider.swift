#if Configuration
  public import Configuration
  import Synchronization
  public import VaultFoundation

  /// The items of an access group as configuration, for `ConfigReader`. Every value is marked as secret.
  ///
  /// The key `database.password` is the item `database/password`: the components of a key, unchanged, with slashes
  /// between them. A key has no value if it cannot be an item's name, or if one of its components is empty or contains
  /// a slash.
  ///
  /// An item is read as the requested type: as text; as an integer, a number, `true` or `false` in its text; as bytes;
  /// and as an array if it is a JSON array, in which bytes are base64. Anything else, including an archive, is an
  /// error.
  ///
  /// `value` and `snapshot` answer from memory, from one state of the whole group. That state follows the group for as
  /// long as the provider exists; `fetchValue` reads the group itself. If the group cannot be read, the last state
  /// stays, watchers of values receive the error, and the provider tries again.
  public final class AccessGroupProvider: ConfigProvider {
    private let group: AccessGroup
    private let board: SnapshotBoard
    private let following: Task<Void, Never>

    /// - Parameter group: preferably one that contains only configuration, because all its values are kept in guarded
    ///   memory.
    /// - Throws: the errors of reading every item of the group.
    public init(_ group: AccessGroup) async throws(VaultError) {
      self.group = group
      // Watch before the first read, so that no change is missed between the two.
      let changes = try await group.changes()
      let board = SnapshotBoard(try await GroupSnapshot(of: group))
      self.board = board
      following = Task { await board.follow(group, changes) }
    }

    deinit { following.cancel() }

    public var providerName: String { board.current.providerName }

    public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
      try board.current.value(forKey: key, type: type)
    }

    public nonisolated(nonsending) func fetchValue(
      forKey key: AbsoluteConfigKey, type: ConfigType
    ) async throws -> LookupResult {
      guard let name = key.itemName else { return LookupResult(encodedKey: key.encoded, value: nil) }
      let opened: OpenedItem
      do { opened = try await group.open(name.description) } catch VaultError.notFound(.item) {
        return LookupResult(encodedKey: key.encoded, value: nil)
      }
      return LookupResult(
        encodedKey: key.encoded,
        value: ConfigValue(try ConfigContent(opened.secret, opened.item.kind, as: type), isSecret: true))
    }

    public nonisolated(nonsending) func watchValue<Return: ~Copyable>(
      forKey key: AbsoluteConfigKey, type: ConfigType,
      updatesHandler:
        nonisolated(nonsending) (
          ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>
        ) async throws -> Return
    ) async throws -> Return {
      let (stream, continuation) = AsyncStream<Result<LookupResult, any Error>>
        .makeStream(bufferingPolicy: .bufferingNewest(1))
      let last = Mutex<LookupResult?>(nil)
      let watcher = board.add { update in
        let result = update.flatMap { snapshot in Result { try snapshot.value(forKey: key, type: type) } }
        // A change of other items is not an update of this one.
        let isNew = last.withLock { last in
          defer { last = try? result.get() }
          return last == nil || last != (try? result.get())
        }
        if isNew { continuation.yield(result) }
      }
      defer { board.remove(watcher) }
      return try await updatesHandler(ConfigUpdatesAsyncSequence(stream))
    }

    public func snapshot() -> any ConfigSnapshot { board.current }

    public nonisolated(nonsending) func watchSnapshot<Return: ~Copyable>(
      updatesHandler:
        nonisolated(nonsending) (
          ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>
        ) async throws -> Return
    ) async throws -> Return {
      let (stream, continuation) = AsyncStream<any ConfigSnapshot>.makeStream(bufferingPolicy: .bufferingNewest(1))
      let watcher = board.add { update in
        if case .success(let snapshot) = update { continuation.yield(snapshot) }
      }
      defer { board.remove(watcher) }
      return try await updatesHandler(ConfigUpdatesAsyncSequence(stream))
    }
  }

  /// The newest snapshot of a group, and the watchers that wait for the next one.
  private final class SnapshotBoard: Sendable {
    typealias Watcher = @Sendable (Result<GroupSnapshot, any Error>) -> Void

    private struct State {
      var snapshot: GroupSnapshot
      var watchers: [UInt64: Watcher] = [:]
      var added: UInt64 = 0
    }

    private let state: Mutex<State>

    init(_ snapshot: GroupSnapshot) { state = Mutex(State(snapshot: snapshot)) }

    var current: GroupSnapshot { state.withLock { $0.snapshot } }

    /// Adds a watcher, which receives the current snapshot at once.
    func add(_ watcher: @escaping Watcher) -> UInt64 {
      state.withLock { state in
        state.added += 1
        state.watchers[state.added] = watcher
        // Under the lock, so that no newer snapshot comes first. Watchers do not call back.
        watcher(.success(state.snapshot))
        return state.added
      }
    }

    func remove(_ watcher: UInt64) { state.withLock { $0.watchers[watcher] = nil } }

    private func post(_ update: Result<GroupSnapshot, any Error>) {
      state.withLock { state in
        if case .success(let snapshot) = update { state.snapshot = snapshot }
        for watcher in state.watchers.values { watcher(update) }
      }
    }

    /// Keeps the snapshot up to date until the task is cancelled.
    func follow(_ group: AccessGroup, _ changes: AsyncThrowingStream<ItemChange, any Error>) async {
      var changes = changes
      while !Task.isCancelled {
        do {
          for try await change in changes {
            if await current.holds(change, of: group) { continue }
            post(.success(try await GroupSnapshot(of: group)))
          }
        } catch {
          post(.failure(error))
        }
        // The watch has ended: the task was cancelled, or the group could not be read.
        while !Task.isCancelled {
          do {
            try await Task.sleep(for: .seconds(1))
            changes = try await group.changes()
            post(.success(try await GroupSnapshot(of: group)))
            break
          } catch {
            continue
          }
        }
      }
    }
  }
#endif
