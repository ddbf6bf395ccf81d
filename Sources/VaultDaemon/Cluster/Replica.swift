#if Daemon
  import Logging
  import Sealing
  import Synchronization
  import VaultFoundation

  /// A host's copy of a published group, and the log that orders its changes.
  ///
  /// The log is not trusted: what comes from it is proved against the copy before it changes anything.
  final class Replica: Sendable {
    let group: String
    /// The group's id, which names the log. Another group may have had the name before.
    let id: GroupID
    let store: SecretStore
    let log: any CommitLog
    let logger: Logger
    /// Whether the member is that of a joined credential, and not of the daemon's own.
    private let isJoined: Bool
    /// The head as it was seen last.
    let head = Mutex<LogHead?>(nil)
    /// The copy as it was read last.
    let lastCopy = Mutex<GroupCopy?>(nil)
    private let failures = Mutex<(problem: VaultError?, last: Timestamp?)>((nil, nil))
    /// Why this machine's clock keeps it from signing empty changes.
    let clockProblem = Mutex<VaultError?>(nil)
    /// Until when this host signs no empty changes.
    let quietEnd = Mutex(ContinuousClock.now - .seconds(300))
    private let exclusion = Atomic(false)
    let renewal = Mutex(Renewal())
    /// The base that could not be used, why, and until when it is not fetched again.
    let badBase = Mutex<(base: LogBase, error: VaultError, end: ContinuousClock.Instant)?>(nil)
    private let turns = Turns()
    let renewals = Turns()
    private let ending = Atomic(false)
    /// How long a caller waits for the log's newest state: a little less than programs wait for an answer.
    let patience: Duration

    init(
      of group: String, _ id: GroupID, in store: SecretStore, _ log: any CommitLog, _ logger: Logger,
      isJoined: Bool = false, patience: Duration = .seconds(25)
    ) {
      (self.group, self.id, self.store, self.log, self.isJoined) = (group, id, store, log, isJoined)
      self.patience = patience
      var logger = logger
      logger[metadataKey: "group"] = "\(group)"
      self.logger = logger
    }

    /// The epoch of the head as it was seen last; `nil` if there was none.
    var logEpoch: UInt64? { head.withLock { $0?.epoch } }

    /// Why the copy could not be brought up to date the last time, or why this host signs no empty changes.
    var lastProblem: VaultError? { lastFault ?? clockProblem.withLock { $0 } }

    /// Why the copy could not be brought up to date the last time.
    var lastFault: VaultError? { failures.withLock { $0.problem } }

    /// When the copy last could not be brought up to date, since the daemon follows it; `nil` if that never happened.
    var lastFailure: Timestamp? { failures.withLock { $0.last } }

    /// Whether the last attempt to bring the copy up to date found that the group no longer has this member.
    var isExcluded: Bool { exclusion.load(ordering: .relaxed) }

    /// Whether the daemon was sealed: then nothing is taken from the log or written to it any more.
    var isEnded: Bool { ending.load(ordering: .acquiring) }

    func end() { ending.store(true, ordering: .releasing) }

    /// The copy, which others may change meanwhile.
    ///
    /// - Throws: `anotherGroup` for the copy of a group that had the name before or has it since.
    func copy() async throws -> GroupCopy? {
      let copy = try await Blocking.read { [self] in try store.copy(of: group) }
      if let copy { try requireOurs(copy.state.groupID) }
      lastCopy.withLock { $0 = copy }
      return copy
    }

    /// Brings the copy to the state of the log's head, as ``catchUp(within:)`` with the time that a caller has.
    func catchUp() async throws(VaultError) { try await catchUp(within: patience) }

    /// Brings the copy to the state of the log's head.
    ///
    /// - Parameter limit: how long to wait for that; `nil` for as long as it takes.
    /// - Throws: `unordered(.unreachable)` if the time is over. The copy is brought up to date all the same.
    func catchUp(within limit: Duration?) async throws(VaultError) {
      do {
        try await turns.take(within: limit) { try await self.takeSteps() }
        failures.withLock { $0.problem = nil }
        exclusion.store(false, ordering: .relaxed)
        beginRenewalIfDue()
      } catch let error as VaultError {
        exclusion.store(error == .denied(.notAMember), ordering: .relaxed)
        note(error)
        throw error
      } catch let error as LogError {
        let error = meaning(of: error, isChange: false)
        note(error)
        throw error
      } catch is Turns.Late {
        throw .unordered(group: group, .unreachable("the copy is still being brought up to date"))
      } catch {
        throw .unordered(group: group, .unreachable("\(type(of: error))"))
      }
    }

    /// Remembers why the copy is not up to date. A group that is not published yet is no failure.
    func note(_ error: VaultError) {
      guard error != .notFound(.publication) else { return }
      let isKnown = failures.withLock { failures in
        defer { failures = (error, .now) }
        return failures.problem == error
      }
      // A group of an application that is not published may be refused for ever.
      logger.log(
        level: isKnown ? .debug : .warning, "the copy is not up to date", metadata: ["reason": "\(error.message)"])
    }

    /// Notes that the log had a commit or a head that can be nobody's, although the copy may go on without it.
    private func noteForgery() { failures.withLock { $0.last = .now } }

    /// Takes steps until the copy has the head's state, or until none has led anywhere for too long.
    private func takeSteps() async throws {
      // Those who wait are to hear the reason.
      let limit = patience / 2
      var (steps, state, end) = (0, PublishedState?.none, ContinuousClock.now + limit)
      while try await !step() {
        steps += 1
        // A host that is far behind needs a few steps. More come from somebody who keeps on changing the log.
        guard steps > Replica.quickSteps else { continue }
        if let new = try? await copy()?.state, new != state { (state, end) = (new, .now + limit) }
        guard .now < end else {
          throw VaultError.unordered(group: group, .unreachable("its log only names states that nobody can prove"))
        }
        try await Task.sleep(for: .milliseconds(200))
      }
    }

    /// Takes the next commits, or the base.
    ///
    /// - Returns: whether the copy has the head's state.
    private func step() async throws -> Bool {
      try requireOpen()
      var refusal: VaultError?
      let copy: GroupCopy?
      do { copy = try await self.copy() } catch let error as VaultError where isJoined && error.isMendedByFetching {
        (copy, refusal) = (nil, error)
      }
      let found: LogHead?
      switch await Replica.result({ () async throws(LogError) in try await self.log.head() }) {
      case .success(let head): found = head
      case .failure(.damaged(let damage)):
        try await replaceHead(at: damage.revision, by: copy)
        return false
      case .failure(let error): throw error
      }
      head.withLock { $0 = found }
      guard let found else {
        // It is about to be published.
        guard let copy else { throw refusal ?? .notFound(.publication) }
        if !copy.isPublished { return true }
        try await restoreLog(copy, after: nil)
        return true
      }
      guard let copy else {
        guard try await adoptFirstBase(below: found) else {
          throw refusal ?? damage("no complete file is in its log")
        }
        return false
      }
      if found.link.bytes == copy.state.link.bytes {
        if found.epoch == copy.state.epoch { return true }
        // The link says which state it is, so the number is forged.
        try await replaceHead(at: found.revision, by: copy)
        return false
      }
      if found.epoch <= copy.state.epoch {
        // The copy is read before the head, so honest hosts cannot be the reason.
        let (group, store) = (group, store)
        let isDescendant = try await Blocking.read {
          try store.copyDescends(from: found.epoch, found.link.bytes, of: group)
        }
        guard isDescendant else {
          if copy.isWriter, copy.isPublished, try await !hasAnotherBranch(than: copy, at: found) {
            logger.error("the head of the log cannot be proved", metadata: ["epoch": "\(found.epoch)"])
            try await restoreLog(copy, after: found)
            return true
          }
          throw fork(copy, at: found.epoch)
        }
        // It was changed without the log since its publication ended.
        guard copy.isPublished else { return true }
        try await restoreLog(copy, after: found)
        return true
      }
      let commits: [StoredCommit]
      let epoch = copy.state.epoch
      switch await Replica.result({ () async throws(LogError) in try await self.log.commits(after: epoch, limit: 256) })
      {
      case .success(let following): commits = following
      case .failure(.baseNeeded): commits = []
      case .failure(.damaged(let damage)) where damage.place == .commit(epoch: epoch + 1):
        noteForgery()
        try await pass(copy, to: found, because: "a commit in its log cannot be read")
        return false
      case .failure(let error): throw error
      }
      if commits.isEmpty {
        try await pass(copy, to: found, because: "its log lacks commits, and has no complete file that follows them")
      }
      for stored in commits where try await !apply(stored, at: found) { return false }
      // What others have added meanwhile is not waited for: they may never pause.
      return try await self.copy()?.state.link.bytes == found.link.bytes
    }

    /// - Returns: `false` if the commit was passed over.
    private func apply(_ stored: StoredCommit, at found: LogHead) async throws -> Bool {
      try requireOpen()
      let (place, bytes, group, store) = (stored.commit.epoch, stored.commit.bytes, group, store)
      let detail: String
      do {
        try await Blocking.apply {
          // An old commit is known already, so nothing would ever follow it.
          guard try GroupCommit(parsing: bytes).epoch == place else {
            throw VaultError.damaged(group: group, level: .commit, detail: "another one is in its place")
          }
          // `false` says that the copy has come to this epoch by other ways.
          _ = try store.apply(bytes, to: group)
        }
        return true
      } catch VaultError.damaged(_, .commit, let found) {
        detail = found
      } catch VaultError.anotherGroup {
        detail = "another group's"
      } catch VaultError.unordered(_, .overtaken) {
        detail = "it does not follow"
      }
      noteForgery()
      logger.log(level: faultLevel, "a commit is not proved", metadata: ["epoch": "\(place)", "reason": "\(detail)"])
      if let copy = try await copy() { try await pass(copy, to: found, because: "a commit in its log: \(detail)") }
      return false
    }

    /// Goes on from a later complete file, because the next commit is of no use. If there is none that proves, sets the
    /// head to the copy's state, because the commits that lead to it cannot be anybody's.
    ///
    /// - Throws: `damaged` if somebody who has the group's key made one of them for a later state than the copy's: then the
    ///   log has states that this host does not have. A host that may write and has them puts a complete file there.
    ///   `rolledBack` if that commit follows another state with the copy's number.
    private func pass(_ copy: GroupCopy, to found: LogHead, because detail: String) async throws {
      // A base that does not prove is as good as none.
      do { if try await adoptBase(over: copy) { return } } catch VaultError.damaged(_, .commit, _) {}
      // The copy has moved on meanwhile.
      guard copy.state.epoch < found.epoch else { return }
      let (group, store) = (group, store)
      var (epoch, rosters) = (copy.state.epoch, [GroupCommit]())
      let end = copy.isWriter ? min(found.epoch, epoch + Replica.searchedCommits) : epoch + 1
      while epoch < end {
        let place = epoch
        let following = await Replica.result { () async throws(LogError) in
          try await self.log.commits(after: place, limit: 1)
        }
        switch following {
        case .success(let commits):
          guard let commit = commits.first.flatMap({ try? GroupCommit(parsing: $0.commit.bytes) }) else { break }
          let known = rosters
          if let manifest = try await Blocking.read({ try store.signedManifest(of: commit, with: known, in: group) }),
            manifest.epoch > copy.state.epoch
          {
            guard manifest.epoch == copy.state.epoch + 1, manifest.previousLink != copy.state.link else {
              throw damage(detail)
            }
            throw fork(copy, at: manifest.epoch)
          }
          if commit.changesRoster { rosters.append(commit.withoutRows) }
        case .failure(.damaged), .failure(.baseNeeded): break
        case .failure(let error): throw error
        }
        epoch += 1
      }
      guard copy.isPublished else { throw fork(copy, at: found.epoch) }
      guard copy.isWriter else { throw damage(detail) }
      try await replaceHead(at: found.revision, by: copy)
      suspect()
    }

    /// How many steps a host takes without a pause.
    private static let quickSteps = 8

    /// How many commits are looked at before a head counts as forged.
    private static let searchedCommits: UInt64 = 64

    /// Sets the head to the copy's state, because what it named cannot be anybody's state.
    private func replaceHead(at revision: LogRevision?, by copy: GroupCopy?) async throws {
      guard let copy, copy.isWriter, let link = CommitLink(copy.state.link.bytes) else {
        throw damage("the head of its log")
      }
      noteForgery()
      try requireOpen()
      let new = try await log.replaceHead(at: revision, with: copy.state.epoch, link: link)
      head.withLock { $0 = new }
      logger.notice("the head of the log was set to the copy's state", metadata: ["epoch": "\(copy.state.epoch)"])
    }
  }
#endif
