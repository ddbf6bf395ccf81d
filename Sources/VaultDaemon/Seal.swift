#if Daemon
  import Foundation
  import Synchronization
  import VaultFoundation

  /// Whether the daemon has an open store. It opens one with its own credential, and answers nothing from it while it
  /// is sealed.
  final class Seal: Sendable {
    private let open: @Sendable () throws(VaultError) -> SecretStore
    /// `seals` counts how often somebody has sealed the daemon.
    private let state = Mutex<(opened: OpenedStore?, isShut: Bool, seals: Int)>((nil, false, 0))
    private let following = Mutex<Following?>(nil)
    private let watchers = Mutex<[UUID: AsyncStream<Void>.Continuation]>([:])

    /// What the daemon does with published groups when the store is opened or closed.
    struct Following: Sendable {
      /// Called with the open store, if there is one, and with every later store before it is used.
      let prepare: @Sendable (SecretStore) -> Void
      /// Called after the store was opened, and after an attempt that failed.
      let begin: @Sendable () -> Void
      /// Called after the store was closed.
      let end: @Sendable () -> Void
    }

    /// - Parameter open: opens the store with the daemon's credential.
    init(opening open: @escaping @Sendable () throws(VaultError) -> SecretStore) { self.open = open }

    convenience init(_ configuration: Configuration) {
      let (location, credential) = (configuration.location, configuration.credential)
      self.init { () throws(VaultError) in
        guard let credential else { throw .locked(.credential(.missing)) }
        return try SecretStore.open(at: location, credential: credential)
      }
    }

    /// The open store; `nil` while sealed.
    var current: OpenedStore? { state.withLock { $0.opened } }

    var isSealed: Bool { current == nil }

    /// Whether somebody has sealed the daemon, and nobody has tried to open the store since. Then nothing goes on, not even
    /// with credentials that were joined.
    var isShut: Bool { state.withLock { $0.isShut } }

    /// Why the daemon refuses every request; `nil` if it does not.
    func problem() async -> Refusal? {
      guard let current else { return .sealed }
      return await current.problem()
    }

    /// How often somebody has sealed the daemon.
    var seals: Int { state.withLock { $0.seals } }

    /// Opens the store, if it is not open.
    ///
    /// - Throws: the error of opening it; the daemon stays sealed.
    func unseal() throws(VaultError) {
      if isSealed { try reopen() }
    }

    /// Opens the store if no attempt has succeeded yet; not if somebody has sealed the daemon.
    ///
    /// - Throws: as ``unseal()``.
    func retry() throws(VaultError) {
      let (isWaiting, seals) = state.withLock { ($0.opened == nil && !$0.isShut, $0.seals) }
      if isWaiting { try reopen(unlessSealedSince: seals) }
    }

    /// Opens the store again, with the current credential. If that fails, the old one stays open. If somebody seals the
    /// daemon meanwhile, it stays sealed.
    ///
    /// - Parameter earlier: how often the daemon had been sealed when the caller decided this; by default, now.
    func reopen(unlessSealedSince earlier: Int? = nil) throws(VaultError) {
      let following = following.withLock { $0 }
      let seals = earlier ?? state.withLock { $0.seals }
      defer { following?.begin() }
      do {
        let store = try open()
        following?.prepare(store)
        let new = try OpenedStore(store)
        let old = state.withLock { state -> OpenedStore? in
          guard state.seals == seals else { return nil }
          defer { (state.opened, state.isShut) = (new, false) }
          return state.opened
        }
        end(old)
        tellTurn()
        // The list of users may be on the network.
        Task.detached { try? await Blocking.read { new.callers.prime(in: store) } }
      } catch {
        state.withLock { if $0.seals == seals { $0.isShut = false } }
        throw error
      }
    }

    /// An element for each time that the store is opened or closed from now on; for several at once, there may be one.
    func turns() -> AsyncStream<Void> {
      let (turns, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
      let id = UUID()
      continuation.onTermination = { [weak self] _ in self?.watchers.withLock { $0[id] = nil } }
      watchers.withLock { $0[id] = continuation }
      return turns
    }

    private func tellTurn() {
      for watcher in watchers.withLock({ Array($0.values) }) { watcher.yield() }
    }

    func follow(_ new: Following) {
      following.withLock { $0 = new }
      if let current { new.prepare(current.store) }
    }

    /// Closes the store. Its keys are wiped when the calls that have begun end; streams of changes end at once.
    func seal() {
      let old = state.withLock { state in
        defer { state = (nil, true, state.seals + 1) }
        return state.opened
      }
      end(old)
      following.withLock { $0 }?.end()
      tellTurn()
    }

    private func end(_ old: OpenedStore?) {
      old?.changes.end()
      if let old { Task { try? await old.recorder.finish() } }
    }
  }

  /// An open store, and what the daemon has derived from it.
  final class OpenedStore: Sendable {
    let store: SecretStore
    let access: Access
    let log: AuditLog
    let recorder: Recorder
    let tokens: ServiceTokens
    let callers = Callers()
    let changes: Changes
    /// The SSH keys of the groups that were listed for one.
    let keys = Mutex<[String: SSHAgent.Keys]>([:])
    private let look = SharedLook<Refusal?>(for: .seconds(1))

    /// - Throws: the error of opening the record, without which nothing is answered.
    init(_ store: SecretStore) throws(VaultError) {
      self.store = store
      access = Access(store: store)
      tokens = try ServiceTokens(of: store)
      changes = Changes(store)
      let log = try AuditLog(of: store)
      self.log = log
      recorder = Recorder { (records) throws(VaultError) in try log.append(records) }
    }

    /// Identifies the sender of a request: by its token if it has one, otherwise by the process at the other end.
    ///
    /// - Throws: ``Refusal/sealed`` if the owner has revoked the daemon's own credential.
    func visit(_ connection: Connection, token text: String?) async throws -> Visit {
      do {
        let (application, token) = try await Blocking.read { [self] in try identify(connection.peer, text) }
        return Visit(
          opened: self, connection: connection, application: application, token: token,
          isStill: { [self] () throws(VaultError) in try identify(connection.peer, text).application == application })
      } catch VaultError.denied {
        throw Refusal.sealed
      }
    }

    private func identify(
      _ peer: Peer, _ text: String?
    ) throws(VaultError) -> (application: String?, token: ServiceTokens.Token?) {
      guard let text else { return (try callers.application(of: peer, in: store), nil) }
      // Without its binding or its secret a token is worth nothing, even before the owner's command has removed it.
      guard let token = try tokens.find(text),
        try callers.bases(of: token.application, by: token.method, in: store).contains(where: token.rests)
      else { return (nil, nil) }
      return (token.application, token)
    }

    /// Why every request is refused: the owner has revoked the daemon's credential, the settings cannot be read, or the
    /// record cannot be written. `nil` if requests are answered.
    ///
    /// Anyone may ask for it and it takes the lock of the record, so the answer can be a second old.
    func problem() async -> Refusal? {
      do { return try await look.value { [self] in await findProblem() } } catch { return Refusal(error) }
    }

    private func findProblem() async -> Refusal? {
      do { try await Blocking.read { [self] in _ = try callers.settings(of: store) } } catch VaultError.denied {
        return .sealed
      } catch {
        return Refusal(error)
      }
      do {
        // Not among the writers, which may all be waiting for one group.
        try await Blocking.read { [log] in try log.requireWritable() }
        try await recorder.requireWritable()
        return nil
      } catch {
        return .unrecorded(error)
      }
    }

    /// The version of HashiCorp's KV interface that a group is mounted with.
    func mountVersion(of group: String) throws(VaultError) -> Int {
      try callers.settings(of: store)["kv-version/\(group)"] == "1" ? 1 : 2
    }
  }
#endif
