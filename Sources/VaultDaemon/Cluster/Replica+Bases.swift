#if Daemon
  import Foundation
  import Logging
  import Sealing
  import Synchronization
  import VaultFoundation

  // The complete files that a log begins with.
  extension Replica {
    /// The level for a fault that keeps the copy from going on, and is met again at each attempt: an error the first time.
    var faultLevel: Logger.Level { lastFault == nil ? .error : .debug }

    /// Puts a complete file under the log, if hosts that are behind cannot come to its head without one, and after `pause`,
    /// because the new file of another host removes many commits at once.
    func suspect(after pause: Duration = .milliseconds(200)) {
      guard renewal.withLock({ $0.suspect() }) else { return }
      Task { [weak self] in
        try? await Task.sleep(for: pause)
        self?.renewal.withLock { $0.beginLooking() }
        await self?.renewBaseIfDue()
      }
    }

    /// Looks whether a new complete file is due, and waits until it is there. If it fails, it is tried again later.
    func renewBaseIfDue() async {
      try? await renewals.take { [self] in
        renewal.withLock { $0.beginTurn() }
        do { try await renewBase() } catch {
          guard !isEnded else { return }
          suspect(after: .seconds(15))
          let reason = (error as? VaultError)?.message ?? "\(type(of: error))"
          logger.warning("the log keeps its old complete file", metadata: ["reason": "\(reason)"])
        }
      }
    }

    /// As ``renewBaseIfDue()``, without waiting: sending a large file takes minutes.
    func beginRenewalIfDue() {
      guard renewal.withLock({ $0.takePlace() }) else { return }
      Task { [weak self] in await self?.renewBaseIfDue() }
    }

    /// Has the log begin with the copy as it is now, if that is due, or if commits between the complete file and the head
    /// are missing or were written a second time.
    private func renewBase() async throws {
      let (isSuspected, isDue, hidings) = renewal.withLock { ($0.takeSuspicion(), $0.isDue, $0.hidings) }
      guard isSuspected || isDue else { return }
      try requireOpen()
      let old = try await Replica.result { () async throws(LogError) in try await self.log.base() }.replaceable()
      guard let copy = try await copy(), let head = try await log.head() else { return }
      renewal.withLock { $0.found(base: old?.epoch ?? 0, under: head.epoch) }
      let isNewest = head.link.bytes == copy.state.link.bytes
      if !isNewest, try await !hasPassed(copy.state, since: old) {
        return renewal.withLock { $0.isSuspected = true }
      }
      if renewal.withLock({ !$0.isDue }) {
        guard isSuspected, copy.isWriter, copy.isPublished else { return }
        guard isNewest else {
          // A change is on its way. Its head looks again.
          return renewal.withLock { $0.isSuspected = true }
        }
        // If somebody rewrites commits and then the head, only those who saw the old ones can notice.
        let isWatched = renewal.withLock { $0.isWatched } || old?.epoch == head.epoch
        if isWatched, let old, try await isOnChain(old.epoch, old.link.bytes, of: copy.state),
          try await log.isWhole(from: old.epoch, to: head)
        {
          return renewal.withLock { $0.watch(since: hidings) }
        }
        logger.notice(
          "the complete file in the log, or commits after it, may be missing or changed",
          metadata: ["epoch": "\(head.epoch)"])
      }
      let log = log
      let base = try await lendingFile { (state, link, pieces) in
        try await log.putBase(epoch: state.epoch, link: link, replacing: old, keeping: Renewal.margin, pieces: pieces)
      }
      renewal.withLock { $0.note(base: base.epoch, after: hidings) }
      logger.info("the log has a new complete file", metadata: ["epoch": "\(base.epoch)"])
    }

    /// Whether the log came to the copy's state after its complete file `base`, and went on from there.
    ///
    /// Another host may just have put a file there for a newer state, which has no commit. And the copy may have changes
    /// that the log has lost, or that were made after the publication had ended.
    private func hasPassed(_ state: PublishedState, since base: LogBase?) async throws -> Bool {
      if let base, try await !isOnChain(base.epoch, base.link.bytes, of: state) { return false }
      let place = max(state.epoch, 1) - 1
      switch await Replica.result({ () async throws(LogError) in try await log.commits(after: place, limit: 1) }) {
      case .success(let commits): return commits.first?.commit.link.bytes == state.link.bytes
      case .failure(.damaged), .failure(.baseNeeded): return false
      case .failure(let error): throw error
      }
    }

    /// Whether the copy with `state` was in the state with this epoch and link.
    private func isOnChain(_ epoch: UInt64, _ link: [UInt8], of state: PublishedState) async throws -> Bool {
      if epoch == state.epoch, link == state.link.bytes { return true }
      let (group, store) = (group, store)
      return try await Blocking.read { try store.copyDescends(from: epoch, link, of: group) }
    }

    /// Lends a complete file with the copy's state to a call of the log.
    private func lendingFile<Result: Sendable>(
      _ body: @escaping @Sendable (PublishedState, CommitLink, @escaping BasePieces) async throws -> Result
    ) async throws -> Result {
      try await Blocking.carry { [self] in
        try store.copyFile(of: group) { (path, state) throws(VaultError) in
          try requireOurs(state.groupID)
          let pieces = pieces(of: path)
          guard let link = CommitLink(state.link.bytes) else { throw .unexpected("a link") }
          do { return try Blocking.wait { try await body(state, link, pieces) } } catch let error as LogError {
            throw meaning(of: error, isChange: false)
          } catch {
            throw .unexpected("an error of a log")
          }
        }
      }
    }

    /// Whether the log has a state that does not belong to the copy's chain, which its head may name.
    ///
    /// The newest state of a log is a commit or the base, so a head without either is forged.
    func hasAnotherBranch(than copy: GroupCopy, at head: LogHead) async throws -> Bool {
      let (group, id, store, log) = (group, id, store, log)
      let place = max(head.epoch, 1) - 1
      switch await Replica.result({ () async throws(LogError) in try await log.commits(after: place, limit: 1) }) {
      case .success(let commits):
        if let commit = commits.first.flatMap({ try? GroupCommit(parsing: $0.commit.bytes) }),
          let manifest = try await Blocking.read({ try store.signedManifest(of: commit, in: group) }),
          manifest.epoch == head.epoch, try await !isOnChain(manifest.epoch, manifest.link().bytes, of: copy.state)
        {
          return true
        }
      case .failure(.damaged), .failure(.baseNeeded): break
      case .failure(let error): throw error
      }
      let found = await Replica.result { () async throws(LogError) in try await log.base() }
      if case .failure(.damaged) = found { return false }
      guard let base = try found.get(), try await !isOnChain(base.epoch, base.link.bytes, of: copy.state) else {
        return false
      }
      let proved = Mutex<PublishedState?>(nil)
      let damage = self.damage("another group's complete file")
      do {
        _ = try await Blocking.carry {
          try store.adopt(
            group, { [self] (path) throws(VaultError) in try fetch(base, to: path) },
            following: { (state) throws(VaultError) in
              guard state.groupID == id else { throw damage }
              proved.withLock { $0 = state }
              return []
            })
        }
      } catch let error as VaultError where error.isDamage {
        return false
      }
      // It may say that it is another state than it is.
      guard let state = proved.withLock({ $0 }) else { return true }
      return try await !isOnChain(state.epoch, state.link.bytes, of: copy.state)
    }

    /// The error for a log whose state with this number does not belong to the copy's chain.
    func fork(_ copy: GroupCopy, at epoch: UInt64) -> VaultError {
      .rolledBack(group: group, found: epoch, known: copy.state.epoch, reason: .fork)
    }

    /// Fetches the newest complete file and the commits that follow it, if it is later than the copy.
    ///
    /// - Returns: `false` if the copy stays as it is.
    /// - Throws: `damaged` of level `commit` if the file cannot be read or proved.
    func adoptBase(over copy: GroupCopy?) async throws -> Bool {
      let (group, id, store, log) = (group, id, store, log)
      let damage = self.damage("the complete file in its log")
      for attempt in 1...8 {
        let found = await Replica.result { () async throws(LogError) in try await log.base() }
        if case .failure(.damaged) = found { throw damage }
        guard let base = try found.get(), base.epoch > copy?.state.epoch ?? 0 else { return false }
        // It may be large, and whoever put it there can ask for it again and again.
        if let bad = badBase.withLock({ $0 }), bad.base == base, bad.end > .now { throw bad.error }
        do {
          let isAdopted = try await Blocking.carry {
            try store.adopt(
              group, { [self] (path) throws(VaultError) in try fetch(base, to: path) },
              following: { [self] (state) throws(VaultError) in
                try requireOpen()
                guard state.groupID == id else { throw damage }
                return try Replica.commits(after: state.epoch, of: group, from: log)
              })
          }
          guard isAdopted else { break }
          logger.info("a complete file was taken from the log", metadata: ["epoch": "\(base.epoch)"])
          return true
        } catch VaultError.unordered(_, .overtaken) where attempt < 8 {
          // A newer one took its place meanwhile.
        } catch let error as VaultError where error.isDamage || error == .denied(.notAMember) {
          let meaning = error.isDamage ? damage : error
          badBase.withLock { $0 = (base, meaning, .now + .seconds(60)) }
          logger.log(
            level: faultLevel, "the complete file in the log cannot be used",
            metadata: ["epoch": "\(base.epoch)", "reason": "\(error.message)"])
          throw meaning
        }
      }
      // A change of this machine may come first.
      for _ in 0..<20 {
        guard try await self.copy() == copy else { return true }
        try await Task.sleep(for: .milliseconds(50))
      }
      return false
    }

    /// Fetches the newest complete file where there is no copy.
    ///
    /// A host that has just been let in cannot begin with a file from before that. The host that let it in puts a new one,
    /// so this waits for it, for ten seconds at most.
    func adoptFirstBase(below head: LogHead) async throws -> Bool {
      let old = try await log.base()
      do { return try await adoptBase(over: nil) } catch VaultError.denied(.notAMember) {
        guard let old, old.epoch < head.epoch else { throw VaultError.denied(.notAMember) }
      }
      let deadline = ContinuousClock.now + .seconds(10)
      while ContinuousClock.now < deadline, try await log.base() == old {
        try await Task.sleep(for: .milliseconds(200))
      }
      return try await adoptBase(over: nil)
    }

    /// Restarts the log from the copy's state: the cluster has lost the group, or was set back to an older state.
    func restoreLog(_ copy: GroupCopy, after found: LogHead?) async throws {
      guard copy.isWriter else {
        throw VaultError.unordered(group: group, .unreachable("its log is gone until a host that may write is back"))
      }
      let (log, hidings) = (log, renewal.withLock { $0.hidings })
      let new = try await lendingFile { (state, link, pieces) in
        try await log.publish(epoch: state.epoch, link: link, after: found, pieces: pieces)
      }
      head.withLock { $0 = new }
      renewal.withLock { $0.note(base: new.epoch, after: hidings) }
      await keepQuiet()
      logger.notice("the log was restarted from this copy", metadata: ["epoch": "\(new.epoch)"])
    }
  }

  extension VaultError {
    /// Whether a joined copy that cannot be read may be fetched again: it is from before the owner replaced the credential,
    /// or its file is damaged, and no owner is here who could repair it. The old files are kept aside.
    var isMendedByFetching: Bool {
      switch self {
      case .denied(.notAMember), .damaged(_, .container, _): true
      default: false
      }
    }

    /// Whether what was fetched is not a complete file of the group.
    fileprivate var isDamage: Bool {
      switch self {
      case .damaged(_, .witness, _): false
      // A published group is never bound to a device.
      case .damaged, .otherDevice: true
      default: false
      }
    }
  }

  extension Result<LogBase?, LogError> {
    /// The base, or what stands for one that cannot be read.
    fileprivate func replaceable() throws(LogError) -> LogBase? {
      guard case .failure(.damaged(let damage)) = self,
        let link = CommitLink([UInt8](repeating: 0, count: CommitLink.byteCount))
      else { return try get() }
      return LogBase(epoch: 0, link: link, byteCount: 0, revision: damage.revision)
    }
  }

  /// When a host that adds commits to a log puts a new complete file under them.
  struct Renewal {
    /// The most commits that a host has to take one by one.
    private static let commitLimit: UInt64 = 512
    /// How many commits stay for hosts that are a little behind.
    static let margin: UInt64 = 64

    private var base: UInt64 = 0
    private var newest: UInt64 = 0
    /// The newest state with other members than the one before. Those whom an older file does not name cannot begin with it.
    private var newestRoster: UInt64 = 0
    /// Whether something happened that may have taken commits from hosts that are behind.
    var isSuspected = false
    /// Whether somebody is going to look at that.
    private var isScheduled = false
    /// Whether a turn that looks at it is asked for and has not begun.
    private var isAwaited = false
    /// How often something may have happened that this host has not seen.
    private(set) var hidings = 0
    /// The ``hidings`` before which everything that happened to the commits since the complete file is accounted for.
    private var watchedSince: Int?

    /// Whether this host has seen everything that happened to the commits since the complete file.
    var isWatched: Bool { watchedSince == hidings }

    var isDue: Bool { newest > base && (newestRoster > base || newest - base >= Renewal.commitLimit) }

    /// - Returns: whether nobody else is going to look at it.
    mutating func suspect() -> Bool {
      defer { (isSuspected, isScheduled) = (true, true) }
      return !isScheduled
    }

    /// From now on, whoever suspects something has to look at it.
    mutating func beginLooking() { isScheduled = false }

    /// - Returns: whether something is due that nobody has asked for a turn to look at.
    mutating func takePlace() -> Bool {
      guard isSuspected || isDue, !isAwaited else { return false }
      isAwaited = true
      return true
    }

    mutating func beginTurn() { isAwaited = false }

    mutating func takeSuspicion() -> Bool {
      defer { isSuspected = false }
      return isSuspected
    }

    mutating func note(_ commit: GroupCommit) {
      newest = commit.epoch
      if commit.changesRoster { newestRoster = commit.epoch }
    }

    /// - Parameter hidings: as they were before the new complete file was begun.
    mutating func note(base epoch: UInt64, after hidings: Int) {
      base = epoch
      watch(since: hidings)
    }

    mutating func found(base epoch: UInt64, under head: UInt64) {
      // A base above the head is nobody's.
      base = epoch <= head ? epoch : 0
    }

    mutating func watch(since hidings: Int) { watchedSince = hidings }

    mutating func hide() { hidings += 1 }
  }
#endif
