#if Daemon
  import Foundation
  import Logging
  import Sealing
  import Synchronization
  import VaultFoundation

  // The changes of this host, and the complete files that a log begins with.
  extension Replica {
    /// Orders a commit of another process, after looking at its signature.
    ///
    /// - Parameter isRepeated: as for ``publish(_:isRepeated:)``.
    func order(_ commit: GroupCommit, isRepeated: Bool) async throws {
      try await Blocking.read { [self] in try store.confirm(commit, of: group) }
      try await publish(commit, isRepeated: isRepeated)
    }

    /// Orders the state of a file of another process, after proving the whole file.
    func order(_ file: PublishedFile) async throws {
      let new = try await Blocking.read { [self] in
        try store.provedCopy(at: file.path, of: group, after: file.previous)
      }
      try await publish(fileAt: file.path, holding: new.state, after: file.previous)
    }

    /// Signs an empty change whenever none was made for `seconds`, until the task is cancelled. So whoever reads can tell a
    /// quiet group from one whose changes are withheld.
    func beat(every seconds: UInt32?) async {
      guard let seconds else { return }
      while !Task.isCancelled {
        let length = Int64(seconds) * 1_000
        var pause = length
        if let copy = try? await copy(), copy.isPublished, copy.isWriter {
          let now = UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
          let age = now > copy.time ? Int64(clamping: now - copy.time) : 0
          if age >= length {
            let (group, store) = (group, store)
            do {
              _ = try await Blocking.write { try store.renew(group, olderThan: seconds, at: now) }
            } catch {
              logger.warning(
                "no empty change was made", metadata: ["reason": "\((error as? VaultError)?.message ?? "")"])
            }
          } else {
            // The other hosts wait for another moment.
            pause = length - age + Int64.random(in: 0...max(1, length / 8))
          }
        }
        try? await Task.sleep(for: .milliseconds(pause))
      }
    }

    /// Makes `commit` the group's next state. It is durable in the log when the call returns, and not in the copy.
    ///
    /// - Parameter isRepeated: whether an earlier call may have done so already.
    func publish(_ commit: GroupCommit, isRepeated: Bool) async throws(VaultError) {
      guard let link = CommitLink(commit.link.bytes) else { throw .unexpected("a link") }
      let logged = LoggedCommit(epoch: commit.epoch, link: link, bytes: commit.serialized())
      if isRepeated, try await isOrdered(logged) { return renewal.withLock { $0.note(commit) } }
      let previous = try await head(linking: commit.previousLink.bytes)
      var stranger: LogRevision?
      while true {
        do throws(LogError) {
          let new = try await log.append(logged, after: previous, over: stranger)
          head.withLock { $0 = new }
          return renewal.withLock { $0.note(commit) }
        } catch {
          // The head does not count a commit that is in its place, so no host has ever taken that.
          guard stranger == nil, let found = error.stranger(at: commit.epoch) else {
            throw meaning(of: error, isChange: true)
          }
          stranger = found
        }
      }
    }

    /// Whether the log has a commit, although nobody has confirmed it.
    private func isOrdered(_ commit: LoggedCommit) async throws(VaultError) -> Bool {
      do throws(LogError) {
        let found = try await log.head()
        head.withLock { $0 = found }
        guard let found, found.epoch >= commit.epoch else { return false }
        if found.link == commit.link { return true }
        return try await log.commits(after: commit.epoch - 1, limit: 1).first?.commit == commit
      } catch {
        // A log that does not reach back so far cannot tell.
        throw error == .baseNeeded ? .unordered(group: group, .outcomeUnknown(nil)) : meaning(of: error, isChange: true)
      }
    }

    /// Makes the state of the complete file at `path` the group's next one.
    func publish(
      fileAt path: String, holding state: PublishedState, after previous: PublishedState
    ) async throws(VaultError) {
      guard let link = CommitLink(state.link.bytes) else { throw .unexpected("a link") }
      let pieces = FilePieces(path)
      let found = try await newestHead()
      let hidings = renewal.withLock { $0.hidings }
      let isAncestor: Bool
      do { isAncestor = try found.map { try precedes($0, previous) } ?? true } catch {
        throw error as? VaultError ?? .unexpected("an error of a store")
      }
      guard isAncestor, state.epoch > found?.epoch ?? 0 else { throw .unordered(group: group, .overtaken) }
      do throws(LogError) {
        let new = try await log.publish(epoch: state.epoch, link: link, after: found) { index throws(LogError) in
          try pieces.piece(index)
        }
        head.withLock { $0 = new }
        renewal.withLock { $0.note(base: new.epoch, after: hidings) }
      } catch {
        throw meaning(of: error, isChange: true)
      }
    }

    private func newestHead() async throws(VaultError) -> LogHead? {
      do throws(LogError) { return try await log.head() } catch { throw meaning(of: error, isChange: false) }
    }

    /// Whether a new file may follow the head `found`: that is `previous`, or a state from which the group went on without
    /// the log after its publication had ended.
    private func precedes(_ found: LogHead, _ previous: PublishedState) throws -> Bool {
      if found.link.bytes == previous.link.bytes { return true }
      return try store.copyDescends(from: found.epoch, found.link.bytes, of: group)
        && store.copy(of: group)?.isPublished == false
    }

    /// If it fails, it is tried again later.
    func renewBaseIfDue() async {
      do { try await renewBase() } catch {
        suspect(after: .seconds(15))
        logger.warning("the log keeps its old complete file", metadata: ["reason": "\(type(of: error))"])
      }
    }

    /// Has the log begin with the copy as it is now, if that is due, or if commits between the complete file and the head
    /// are missing or were written a second time.
    private func renewBase() async throws {
      let (isSuspected, isDue, hidings) = renewal.withLock { ($0.takeSuspicion(), $0.isDue, $0.hidings) }
      guard isSuspected || isDue else { return }
      let old = try await Replica.result { () async throws(LogError) in try await self.log.base() }.replaceable()
      renewal.withLock { $0.found(base: old?.epoch ?? 0) }
      if renewal.withLock({ !$0.isDue }) {
        guard isSuspected, let copy = try await copy(), copy.isWriter, copy.isPublished,
          let head = head.withLock({ $0 })
        else { return }
        guard head.link.bytes == copy.state.link.bytes else {
          // A change is on its way. Its head looks again.
          return renewal.withLock { $0.isSuspected = true }
        }
        let start = old.map { $0.epoch <= head.epoch ? $0.epoch : 0 } ?? 0
        // Whoever rewrites commits, and then the head, leaves no trace but for those who saw them before.
        let isWatched = renewal.withLock { $0.isWatched } || start == head.epoch
        if isWatched, try await log.isWhole(from: start, to: head) {
          return renewal.withLock { $0.watch(since: hidings) }
        }
        logger.notice("commits in the log may be missing or changed", metadata: ["epoch": "\(head.epoch)"])
      }
      let log = log
      let base = try await lendingFile { (state, link, pieces) in
        try await log.putBase(epoch: state.epoch, link: link, replacing: old, keeping: Renewal.margin, pieces: pieces)
      }
      renewal.withLock { $0.note(base: base.epoch, after: hidings) }
      logger.info("the log has a new complete file", metadata: ["epoch": "\(base.epoch)"])
    }

    /// Lends a complete file with the copy's state to a call of the log.
    private func lendingFile<Result: Sendable>(
      _ body: @escaping @Sendable (PublishedState, CommitLink, @escaping BasePieces) async throws -> Result
    ) async throws -> Result {
      let (group, store) = (group, store)
      return try await Blocking.apply {
        try store.copyFile(of: group) { (path, state) throws(VaultError) in
          let pieces = FilePieces(path)
          guard let link = CommitLink(state.link.bytes) else { throw .unexpected("a link") }
          do {
            return try Blocking.wait {
              try await body(state, link) { index throws(LogError) in try pieces.piece(index) }
            }
          } catch let error as LogError {
            throw Replica.meaning(of: error, group, isChange: false)
          } catch {
            throw .unexpected("an error of a log")
          }
        }
      }
    }

    /// Fetches the newest complete file and the commits that follow it, if it is later than the copy.
    ///
    /// - Returns: `false` if the copy stays as it is.
    func adoptBase(over copy: GroupCopy?) async throws -> Bool {
      let (group, store, log) = (group, store, log)
      for attempt in 1...8 {
        guard let base = try await log.base(), base.epoch > copy?.state.epoch ?? 0 else { return false }
        do {
          let isAdopted = try await Blocking.apply {
            try store.adopt(
              group, { (path) throws(VaultError) in try Replica.fetch(base, of: group, from: log, to: path) },
              following: { (state) throws(VaultError) in try Replica.commits(after: state.epoch, of: group, from: log) }
            )
          }
          guard isAdopted else { break }
          logger.info("a complete file was taken from the log", metadata: ["epoch": "\(base.epoch)"])
          return true
        } catch VaultError.unordered(_, .overtaken) where attempt < 8 {
          // A newer one took its place meanwhile.
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

    /// Begins the log anew with the copy's state: the cluster has lost the group, or was set back to an older state.
    func restoreLog(_ copy: GroupCopy, after found: LogHead?) async throws {
      guard copy.isWriter else {
        throw VaultError.unordered(group: group, .unreachable("its log is gone, until a host that may write is back"))
      }
      let (log, hidings) = (log, renewal.withLock { $0.hidings })
      let new = try await lendingFile { (state, link, pieces) in
        try await log.publish(epoch: state.epoch, link: link, after: found, pieces: pieces)
      }
      head.withLock { $0 = new }
      renewal.withLock { $0.note(base: new.epoch, after: hidings) }
      logger.notice("the log was begun anew", metadata: ["epoch": "\(new.epoch)"])
    }

    /// The log's head, if it is the state with `link`.
    private func head(linking link: [UInt8]) async throws(VaultError) -> LogHead {
      if let known = head.withLock({ $0 }), known.link.bytes == link { return known }
      let found = try await newestHead()
      head.withLock { $0 = found }
      guard let found, found.link.bytes == link else { throw .unordered(group: group, .overtaken) }
      return found
    }
  }

  extension LogError {
    /// The revision of what is in the place of a commit of `epoch` and cannot be one.
    fileprivate func stranger(at epoch: UInt64) -> LogRevision? {
      if case .occupied(let found) = self { return found.revision }
      if case .damaged(let found) = self, found.place == .commit(epoch: epoch) { return found.revision }
      return nil
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
    /// Members whom the old file does not name cannot begin with it.
    private var hasNewMembers = false
    /// Whether something happened that may have taken commits from hosts that are behind.
    var isSuspected = false
    /// Whether somebody is going to look at that.
    private var isScheduled = false
    /// How often something may have happened that this host has not seen.
    private(set) var hidings = 0
    /// The ``hidings`` before which everything that happened to the commits since the complete file is accounted for.
    private var watchedSince: Int?

    /// Whether this host has seen everything that happened to the commits since the complete file.
    var isWatched: Bool { watchedSince == hidings }

    var isDue: Bool { hasNewMembers || newest > base && newest - base >= Renewal.commitLimit }

    /// - Returns: whether nobody else is going to look at it.
    mutating func suspect() -> Bool {
      defer { (isSuspected, isScheduled) = (true, true) }
      return !isScheduled
    }

    /// From now on, whoever suspects something has to look at it.
    mutating func beginLooking() { isScheduled = false }

    mutating func takeSuspicion() -> Bool {
      defer { isSuspected = false }
      return isSuspected
    }

    mutating func note(_ commit: GroupCommit) {
      newest = commit.epoch
      hasNewMembers = hasNewMembers || commit.changesRoster
    }

    /// - Parameter hidings: as they were before the new complete file was begun.
    mutating func note(base epoch: UInt64, after hidings: Int) {
      (base, hasNewMembers) = (epoch, false)
      watch(since: hidings)
    }

    mutating func found(base epoch: UInt64) {
      // A base above the newest commit is nobody's.
      base = epoch <= newest ? epoch : 0
    }

    mutating func watch(since hidings: Int) { watchedSince = hidings }

    mutating func hide() { hidings += 1 }
  }
#endif
