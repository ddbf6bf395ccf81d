#if Daemon
  import Logging
  import Sealing
  import ServiceLifecycle
  import Synchronization
  import VaultFoundation

  /// Keeps the copies of all published groups that this daemon serves or has joined.
  final class Replication: Service {
    typealias MakeLog = @Sendable (_ remote: Remote, _ group: GroupID) throws -> any CommitLog

    private struct Entry {
      let replica: Replica
      let remote: Remote
      /// Keeps the copy up to date; `nil` for one that names another member.
      let task: Task<Void, Never>?
    }

    private let sources: @Sendable () throws -> [ReplicaSource]
    private let makeLog: MakeLog
    private let logger: Logger
    private let entries = Mutex<[String: Entry]>([:])
    /// When another member went on with a group in the place of one that was put out.
    private let exclusions = Mutex<[String: ContinuousClock.Instant]>([:])
    /// Anyone may ask for it.
    private let look = SharedLook<[CopyCondition]>(for: .seconds(1))
    /// How often all copies were let go. A list of sources that was made before does not count.
    private let endings = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - sources: the published groups as they are now.
    ///   - makeLog: connects to a group's log.
    init(
      _ sources: @escaping @Sendable () throws -> [ReplicaSource], _ logger: Logger, log makeLog: @escaping MakeLog
    ) {
      (self.sources, self.makeLog, self.logger) = (sources, makeLog, logger)
    }

    func run() async throws {
      await withTaskGroup(of: Void.self) { tasks in
        tasks.addTask { [self] in
          while !Task.isCancelled {
            await refresh()
            try? await Task.sleep(for: .seconds(30))
          }
        }
        try? await gracefulShutdown()
        tasks.cancelAll()
      }
      for entry in entries.withLock({ $0.values }) { entry.task?.cancel() }
    }

    /// The copy of `group`; `nil` if the group is not published, or not served here.
    ///
    /// - Parameter ordersFile: whether to order a file that may let this daemon's member in: then the copy need not name it.
    func replica(of group: String, ordersFile: Bool = false) async -> Replica? {
      func known() -> Replica? {
        entries.withLock { $0[group] }.flatMap { $0.task != nil || ordersFile ? $0.replica : nil }
      }
      // The owner may just have made another group of this name.
      if !ordersFile, let known = known(), !known.isExcluded { return known }
      await refresh()
      return known()
    }

    /// Brings a copy up to date. If the group no longer has the member that follows it, another one that joined here does.
    ///
    /// - Parameter limit: how long to wait; `nil` for the time that a caller has.
    func catchUp(_ replica: Replica, within limit: Duration? = nil) async throws(VaultError) {
      var present = replica
      var tried: [SecretStore] = []
      while true {
        do throws(VaultError) { return try await present.catchUp(within: limit ?? present.patience) } catch {
          guard error == .denied(.notAMember) else { throw error }
          tried.append(present.store)
          guard let next = await self.replica(of: replica.group), !tried.contains(where: { $0 === next.store }) else {
            throw error
          }
          present = next
        }
      }
    }

    /// The state of the copies that are followed, at most a second old; sorted by id.
    func conditions() async -> [CopyCondition] {
      let found = try? await look.value { [self] in
        var conditions: [CopyCondition] = []
        for entry in entries.withLock({ $0.values }) {
          // Nothing follows a group that has let nobody in who is here.
          let unfollowed = CopyCondition(id: entry.replica.id.hexadecimal, isBehind: true)
          let condition = entry.task == nil ? unfollowed : await entry.replica.condition()
          if let condition { conditions.append(condition) }
        }
        return conditions.sorted { $0.id < $1.id }
      }
      return found ?? []
    }

    /// The epoch that the group's log has on the servers of `remote`; `nil` if it lacks the state of the copy.
    func epoch(of replica: Replica, on remote: Remote) async throws -> UInt64? {
      let log: any CommitLog
      do { log = try makeLog(remote, replica.id) } catch { throw replica.meaning(of: .untrusted, isChange: false) }
      return try await replica.epoch(in: log)
    }

    /// Takes up credentials that were joined since, and fetches their groups.
    ///
    /// - Returns: the epoch of each group that is followed now.
    func join() async throws -> [JoinedGroup] {
      // The first file of a group may be large. Whoever waits does so for ten minutes, for all groups together.
      let end = ContinuousClock.now + .seconds(580)
      await refresh()
      var groups: [JoinedGroup] = []
      var failure: (any Error)?
      for entry in entries.withLock({ $0.values.sorted { $0.replica.group < $1.replica.group } })
      where entry.task != nil {
        let left = max(.zero, ContinuousClock.now.duration(to: end))
        do { try await catchUp(entry.replica, within: left) } catch VaultError.notFound(.publication) {
          // The group has neither a log nor a copy.
          continue
        } catch {
          // A group that was never published is refused, too, and must not hide what keeps the others.
          let isRefusal = if case .unordered(_, .refused)? = failure as? VaultError { true } else { false }
          if failure == nil || isRefusal { failure = error }
          continue
        }
        let group = entry.replica.group
        if let copy = try await replica(of: group)?.copy() {
          groups.append(JoinedGroup(name: group, epoch: copy.state.epoch))
        }
      }
      if groups.isEmpty, let failure { throw failure }
      return groups
    }

    /// Orders the changes that this process makes in groups of `store`.
    func orderChanges(of store: SecretStore) {
      store.publish { [weak self] name in
        ReplicaPublisher { [weak self] in await self?.replica(of: name.description) }
      }
    }

    /// Looks which groups are published, begins to follow new ones and lets go of others.
    func refresh() async {
      let endings = endings.load(ordering: .acquiring)
      let found: [ReplicaSource]
      do { found = try await Blocking.read { [sources] in try sources() } } catch {
        logger.warning(
          "the published groups are not known", metadata: ["reason": "\((error as? VaultError)?.message ?? "")"])
        return
      }
      let sources = Dictionary(grouping: found, by: \.group)
      let present = entries.withLock { $0 }
      let wanted = sources.compactMapValues { Replication.source(of: $0, after: present[$0[0].group]) }
      let ended = entries.withLock { entries in
        let ended = entries.filter { group, entry in
          wanted[group].map {
            $0.store !== entry.replica.store || $0.id != entry.replica.id || !$0.remote.isSame(as: entry.remote)
              || $0.follows != (entry.task != nil)
          } ?? true
        }
        for group in ended.keys { entries[group] = nil }
        return ended
      }
      for entry in ended.values { entry.task?.cancel() }
      for source in wanted.values where entries.withLock({ $0[source.group] == nil }) {
        begin(source, unlessEndedSince: endings)
      }
    }

    /// The source that a group is followed with: as before, or the next one if the group no longer has that member.
    private static func source(of group: [ReplicaSource], after entry: Entry?) -> ReplicaSource? {
      var sources = group[...]
      if let entry, let present = group.firstIndex(where: { $0.store === entry.replica.store }) {
        let next = entry.replica.isExcluded ? present + 1 : present
        sources = group[next...] + group[..<next]
      }
      return sources.first(where: \.follows) ?? sources.first
    }

    /// Lets go of all copies at once, and of the stores that opened them.
    func endAll() {
      let ended = entries.withLock { entries in
        endings.add(1, ordering: .acquiringAndReleasing)
        // Cancelling the task does not reach what others wait for, too.
        for entry in entries.values { entry.replica.end() }
        defer { entries = [:] }
        return entries
      }
      for entry in ended.values { entry.task?.cancel() }
    }

    /// Follows a group with another member that has joined here, after the present one was put out. If all are put out,
    /// each finds that out in turn, so this happens only now and then.
    private func goOn(with group: String) async {
      let isSoon = exclusions.withLock { exclusions in
        if let last = exclusions[group], .now < last + .seconds(15) { return true }
        exclusions[group] = .now
        return false
      }
      if !isSoon { await refresh() }
    }

    private func begin(_ source: ReplicaSource, unlessEndedSince endings: UInt64) {
      let log: any CommitLog
      do { log = try makeLog(source.remote, source.id) } catch {
        logger.error(
          "a remote cannot be used", metadata: ["remote": "\(source.remote.name)", "group": "\(source.group)"])
        return
      }
      orderChanges(of: source.store)
      let replica = Replica(
        of: source.group, source.id, in: source.store, log, logger, isJoined: source.isJoined)
      let isNew = entries.withLock { entries in
        guard entries[source.group] == nil, endings == self.endings.load(ordering: .acquiring) else { return false }
        entries[source.group] = Entry(
          replica: replica, remote: source.remote,
          task: source.follows
            ? Task {
              // Another member that has joined here goes on in the place of one that is put out.
              let exclude = { @Sendable [weak self] () async -> Void in await self?.goOn(with: source.group) }
              async let beating: Void = replica.beat(every: source.remote.heartbeat)
              async let probing: Void = replica.probe(every: .seconds(15), exclude)
              await replica.follow(exclude)
              _ = await (beating, probing)
            } : nil)
        return source.follows
      }
      if isNew { logger.info("following a published group", metadata: ["group": "\(source.group)"]) }
    }
  }

  extension Replica {
    /// The epoch of another log of the group; `nil` if it has no state that follows the copy's, and not that state itself.
    /// What follows is proved when the log is followed.
    fileprivate func epoch(in other: any CommitLog) async throws -> UInt64? {
      let copy = try await copy()
      do throws(LogError) {
        guard let found = try await other.head() else { return nil }
        guard let state = copy?.state, found.link.bytes != state.link.bytes else { return found.epoch }
        guard found.epoch > state.epoch else { return nil }
        switch await Replica.result({ () async throws(LogError) in try await other.commits(after: state.epoch, limit: 1)
        })
        {
        case .success(let commits):
          let next = commits.first.flatMap { try? GroupCommit(parsing: $0.commit.bytes) }
          return next?.previousLink == state.link ? found.epoch : nil
        // The copy is further behind than the log's complete file.
        case .failure(.baseNeeded): return found.epoch
        case .failure(let error): throw error
        }
      } catch {
        throw meaning(of: error, isChange: false)
      }
    }
  }

  extension OpenedStore {
    /// The published groups. Those that are here and that the daemon is no member of are not followed.
    func publishedCopies() throws(VaultError) -> [ReplicaSource] {
      var remotes: [String: Remote] = [:]
      for remote in try store.remotes() { remotes[remote.name] = remote }
      return try store.publications().compactMap { publication in
        guard let remote = remotes[publication.remote] else { return nil }
        return ReplicaSource(
          group: publication.group, id: publication.id, store: store, remote: remote,
          follows: store.mayFollow(publication.group))
      }
    }
  }

  extension SecretStore {
    /// Whether the daemon can open its copy, or has none: another source may be a member.
    fileprivate func mayFollow(_ group: String) -> Bool {
      do throws(VaultError) { _ = try copy(of: group) } catch {
        if case .denied = error { return false }
      }
      return true
    }
  }

  extension StoreLocation {
    /// The groups of the applications that were joined here, each with a store that its credential opens.
    ///
    /// - Parameter known: the stores of before, which are taken again while the credential stays.
    func joinedCopies(_ known: JoinedStores) throws(VaultError) -> [ReplicaSource] {
      var found: [ReplicaSource] = []
      for application in try joinedApplications() {
        let path = try joinedCredential(of: application)
        // One that cannot be used must not keep the others' groups from being followed.
        guard let credential = try? ApplicationCredential(at: path), let remote = credential.remote,
          let store = try? known.store(
            application, credential, { () throws(VaultError) in try SecretStore.open(at: self, credential: path) })
        else { continue }
        for floor in credential.floors {
          found.append(
            ReplicaSource(group: floor.group, id: floor.state.groupID, store: store, remote: remote, isJoined: true))
        }
      }
      return found
    }
  }

  /// The stores that joined credentials have opened.
  final class JoinedStores: Sendable {
    private let stores = Mutex<[String: (credential: ApplicationCredential, store: SecretStore)]>([:])

    func close() { stores.withLock { $0 = [:] } }

    fileprivate func store(
      _ application: String, _ credential: ApplicationCredential, _ open: () throws(VaultError) -> SecretStore
    ) throws(VaultError) -> SecretStore {
      // The same identity, which knows the same states of the same groups.
      if let known = stores.withLock({ $0[application] }), known.credential.issue == credential.issue,
        known.credential.floors == credential.floors
      {
        return known.store
      }
      let store = try open()
      stores.withLock { $0[application] = (credential, store) }
      return store
    }
  }

  /// A published group, and how this daemon opens its copy.
  struct ReplicaSource: Sendable {
    let group: String
    let id: GroupID
    let store: SecretStore
    let remote: Remote
    /// Whether the copy here can be opened, or there is none. Otherwise only a file of the owner is ordered, which may let
    /// the store's member in.
    var follows = true
    /// Whether the store's member is that of a joined credential.
    var isJoined = false
  }
#endif
