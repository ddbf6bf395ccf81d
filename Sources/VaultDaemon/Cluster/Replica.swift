#if Daemon
  import Dispatch
  import GroupFile
  import Logging
  import Sealing
  import Synchronization
  import VaultFoundation

  /// A host's copy of a published group, and the log that orders its changes.
  ///
  /// The log is not trusted: what comes from it is proved against the copy before it changes anything.
  final class Replica: Sendable {
    let group: String
    let remote: String
    private let store: SecretStore
    private let log: any CommitLog
    private let logger: Logger
    /// The head as it was seen last.
    private let head = Mutex<LogHead?>(nil)
    private let problem = Mutex<VaultError?>(nil)
    private let renewal = Mutex(Renewal())
    private let turns = Turns()

    init(of group: String, in store: SecretStore, at remote: String, _ log: any CommitLog, _ logger: Logger) {
      (self.group, self.remote, self.store, self.log) = (group, remote, store, log)
      var logger = logger
      logger[metadataKey: "group"] = "\(group)"
      self.logger = logger
    }

    /// The epoch that the log had last; `nil` if it was never reached.
    var logEpoch: UInt64? { head.withLock { $0?.epoch } }

    /// Why the copy could not be brought up to date the last time.
    var lastProblem: VaultError? { problem.withLock { $0 } }

    /// The copy, which others may change meanwhile.
    func copy() async throws -> GroupCopy? { try await Blocking.read { [self] in try store.copy(of: group) } }

    // MARK: Changes of this host

    /// Orders a commit of another process, after looking at its signature.
    func order(_ commit: GroupCommit) async throws {
      try await Blocking.read { [self] in try store.confirm(commit, of: group) }
      try await publish(commit)
    }

    /// Orders the state of a file of another process, after proving the whole file.
    func order(_ file: PublishedFile) async throws {
      let new = try await Blocking.read { [self] in try store.provedCopy(at: file.path, of: group) }
      try await publish(fileAt: file.path, holding: new.state, after: file.previous)
    }

    /// Makes `commit` the group's next state. It is durable in the log when the call returns, and not in the copy.
    func publish(_ commit: GroupCommit) async throws(VaultError) {
      guard let link = CommitLink(commit.link.bytes) else { throw .unexpected("a link") }
      let logged = LoggedCommit(epoch: commit.epoch, link: link, bytes: commit.serialized())
      let previous = try await head(linking: commit.previousLink.bytes)
      var stranger: LogRevision?
      while true {
        do throws(LogError) {
          let new = try await log.append(logged, after: previous, over: stranger)
          head.withLock { $0 = new }
          return renewal.withLock { $0.note(commit) }
        } catch {
          // The head does not count a commit that is in its place, so no host has ever taken that.
          guard case .occupied(let found) = error, stranger == nil else { throw meaning(of: error, isChange: true) }
          stranger = found.revision
        }
      }
    }

    /// Makes the state of the complete file at `path` the group's next one.
    func publish(
      fileAt path: String, holding state: PublishedState, after previous: PublishedState
    ) async throws(VaultError) {
      guard let link = CommitLink(state.link.bytes) else { throw .unexpected("a link") }
      let pieces = FilePieces(path)
      do throws(LogError) {
        let found = try await log.head()
        guard found == nil || found?.link.bytes == previous.link.bytes else { throw .conflict(found) }
        let new = try await log.publish(epoch: state.epoch, link: link, after: found) { index throws(LogError) in
          try pieces.piece(index)
        }
        head.withLock { $0 = new }
        renewal.withLock { $0.note(base: new.epoch) }
      } catch {
        throw meaning(of: error, isChange: true)
      }
    }

    /// If it fails, the next change tries again.
    private func renewBaseIfDue() async {
      do { try await renewBase() } catch {
        logger.warning("the log keeps its old complete file", metadata: ["reason": "\(type(of: error))"])
      }
    }

    /// Has the log begin with the copy as it is now, if that is due.
    private func renewBase() async throws {
      guard renewal.withLock({ $0.isDue }) else { return }
      let old = try await log.base()
      renewal.withLock { $0.note(base: old?.epoch ?? 0, isNew: false) }
      guard renewal.withLock({ $0.isDue }) else { return }
      let log = log
      let base = try await lendingFile { (state, link, pieces) in
        try await log.putBase(epoch: state.epoch, link: link, replacing: old, keeping: Renewal.margin, pieces: pieces)
      }
      renewal.withLock { $0.note(base: base.epoch) }
      logger.info("the log has a new complete file", metadata: ["epoch": "\(base.epoch)"])
    }

    /// Lends a complete file with the copy's state to a call of the log.
    private func lendingFile<Result: Sendable>(
      _ body: @escaping @Sendable (PublishedState, CommitLink, @escaping BasePieces) async throws -> Result
    ) async throws -> Result {
      let (group, store) = (group, store)
      return try await Blocking.write {
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

    /// Begins the log anew with the copy's state: the cluster has lost the group, or was set back to an older state.
    private func restoreLog(_ copy: GroupCopy, after found: LogHead?) async throws {
      guard copy.isWriter else {
        throw VaultError.unordered(group: group, .unreachable("its log is gone, until a host that may write is back"))
      }
      let log = log
      let new = try await lendingFile { (state, link, pieces) in
        try await log.publish(epoch: state.epoch, link: link, after: found, pieces: pieces)
      }
      head.withLock { $0 = new }
      renewal.withLock { $0.note(base: new.epoch) }
      logger.notice("the log was begun anew", metadata: ["epoch": "\(new.epoch)"])
    }

    /// The log's head, if it is the state with `link`.
    private func head(linking link: [UInt8]) async throws(VaultError) -> LogHead {
      if let known = head.withLock({ $0 }), known.link.bytes == link { return known }
      let found: LogHead?
      do throws(LogError) { found = try await log.head() } catch { throw meaning(of: error, isChange: false) }
      head.withLock { $0 = found }
      guard let found, found.link.bytes == link else { throw .unordered(group: group, .overtaken) }
      return found
    }

    // MARK: Changes of other hosts

    /// Follows the log until the task is cancelled, or until the group is no longer published.
    func follow() async {
      var pause = Duration.milliseconds(200)
      while !Task.isCancelled {
        do {
          // A group that is not published yet may be so later.
          _ = try await catchUpIfPublished()
          pause = .milliseconds(200)
          for try await event in log.watch(after: head.withLock { $0 }) {
            try await take(event)
            if try await copy()?.isPublished == false { return }
          }
        } catch is CancellationError {
          return
        } catch {
          let found =
            error as? VaultError ?? (error as? LogError).map { meaning(of: $0, isChange: false) }
            ?? .unexpected("\(type(of: error))")
          problem.withLock { $0 = found }
          logger.warning("the copy is not up to date", metadata: ["reason": "\(found.message)"])
        }
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(15))
      }
    }

    private func take(_ event: LogEvent) async throws {
      switch event {
      case .commit(let stored):
        let (bytes, group, store) = (stored.commit.bytes, group, store)
        // What does not follow or prove is looked at when the head names it.
        _ = try? await Blocking.write { try store.apply(bytes, to: group) }
      case .head(let new):
        head.withLock { $0 = new }
        if try await copy()?.state.link.bytes != new.link.bytes { try await catchUp() } else { await renewBaseIfDue() }
      case .headRemoved, .damaged, .lostPlace: try await catchUp()
      }
    }

    /// - Returns: `false` if the group has neither a log nor a copy.
    func catchUpIfPublished() async throws(VaultError) -> Bool {
      do {
        try await catchUp()
        return true
      } catch {
        guard error == .notFound(.publication) else { throw error }
        return false
      }
    }

    /// Brings the copy to the state of the log's head.
    func catchUp() async throws(VaultError) {
      do {
        try await turns.take { while try await !self.step() {} }
        problem.withLock { $0 = nil }
        await renewBaseIfDue()
      } catch let error as VaultError {
        throw error
      } catch let error as LogError {
        throw meaning(of: error, isChange: false)
      } catch {
        throw .unordered(group: group, .unreachable("\(type(of: error))"))
      }
    }

    /// Takes the next commits, or the base.
    ///
    /// - Returns: whether the copy has the head's state.
    private func step() async throws -> Bool {
      let copy = try await copy()
      let found: LogHead?
      switch await Replica.result({ () async throws(LogError) in try await self.log.head() }) {
      case .success(let head): found = head
      case .failure(.damaged(let damage)):
        try await replaceHead(at: damage.revision, by: copy)
        return true
      case .failure(let error): throw error
      }
      head.withLock { $0 = found }
      guard let found else {
        // It is about to be published.
        guard let copy else { throw VaultError.notFound(.publication) }
        if !copy.isPublished { return true }
        try await restoreLog(copy, after: nil)
        return true
      }
      guard let copy else { return try await adoptBase() }
      if found.link.bytes == copy.state.link.bytes { return true }
      if found.epoch <= copy.state.epoch {
        // The copy is read before the head, so honest hosts cannot be the reason.
        let (group, store) = (group, store)
        let isDescendant = try await Blocking.read {
          try store.copyDescends(from: found.epoch, found.link.bytes, of: group)
        }
        guard isDescendant, copy.isPublished else {
          throw VaultError.rolledBack(group: group, found: found.epoch, known: copy.state.epoch, reason: .fork)
        }
        try await restoreLog(copy, after: found)
        return true
      }
      let commits: [StoredCommit]
      let epoch = copy.state.epoch
      switch await Replica.result({ () async throws(LogError) in try await self.log.commits(after: epoch, limit: 256) })
      {
      case .success(let following): commits = following
      case .failure(.baseNeeded): return try await adoptBase()
      case .failure(.damaged(let damage)) where damage.place == .commit(epoch: epoch + 1):
        try await replaceHead(at: found.revision, by: copy)
        return true
      case .failure(let error): throw error
      }
      guard !commits.isEmpty else { return try await adoptBase() }
      for stored in commits where try await !apply(stored, at: found) { return true }
      return false
    }

    private static func result<Success>(
      _ body: () async throws(LogError) -> Success
    ) async -> Result<Success, LogError> {
      do throws(LogError) { return .success(try await body()) } catch { return .failure(error) }
    }

    /// - Returns: `false` if the commit does not prove, and the head was set back to the copy's state.
    private func apply(_ stored: StoredCommit, at found: LogHead) async throws -> Bool {
      let (bytes, group, store) = (stored.commit.bytes, group, store)
      do {
        _ = try await Blocking.write {
          _ = try store.apply(bytes, to: group)
        }
        return true
      } catch VaultError.damaged(_, .commit, let detail) {
        logger.error("a commit does not prove", metadata: ["epoch": "\(stored.commit.epoch)", "reason": "\(detail)"])
        guard let copy = try await copy(), copy.isWriter else {
          throw VaultError.damaged(group: group, level: .commit, detail: detail)
        }
        try await replaceHead(at: found.revision, by: copy)
        return false
      } catch VaultError.unordered(_, .overtaken) {
        // The commit follows another state than the copy's.
        throw VaultError.rolledBack(
          group: group, found: stored.commit.epoch, known: stored.commit.epoch, reason: .fork)
      }
    }

    /// Sets the head to the copy's state, because what it named cannot be anybody's state.
    private func replaceHead(at revision: LogRevision?, by copy: GroupCopy?) async throws {
      guard let copy, copy.isWriter, let link = CommitLink(copy.state.link.bytes) else {
        throw VaultError.damaged(group: group, level: .commit, detail: "the head of its log")
      }
      let new = try await log.replaceHead(at: revision, with: copy.state.epoch, link: link)
      head.withLock { $0 = new }
      logger.notice("the head of the log was set to the copy's state", metadata: ["epoch": "\(copy.state.epoch)"])
    }

    /// Fetches the newest complete file.
    ///
    /// - Returns: `false`, because commits may follow it.
    private func adoptBase() async throws -> Bool {
      guard let base = try await log.base() else { throw VaultError.notFound(.publication) }
      let before = try await copy()
      let (group, store, log) = (group, store, log)
      let isAdopted = try await Blocking.write {
        try store.adopt(group) { (path) throws(VaultError) in
          let file = try NewFile(path)
          do {
            try Blocking.wait { try await log.readBase(base) { piece throws(LogError) in try file.append(piece) } }
          } catch let error as LogError {
            throw Replica.meaning(of: error, group, isChange: false)
          } catch {
            throw .unexpected("an error of a log")
          }
        }
      }
      guard isAdopted else {
        // A change of this machine may come first.
        for _ in 0..<20 {
          guard try await copy() == before else { return false }
          try await Task.sleep(for: .milliseconds(50))
        }
        throw VaultError.damaged(
          group: group, level: .commit, detail: "commits are missing, and no complete file follows")
      }
      logger.info("a complete file was taken from the log", metadata: ["epoch": "\(base.epoch)"])
      return false
    }

    private func meaning(of error: LogError, isChange: Bool) -> VaultError {
      Replica.meaning(of: error, group, isChange: isChange)
    }

    private static func meaning(of error: LogError, _ group: String, isChange: Bool) -> VaultError {
      switch error {
      case .conflict, .occupied, .baseReplaced: .unordered(group: group, .overtaken)
      case .outcomeUnknown: .unordered(group: group, .outcomeUnknown)
      case .unavailable: .unordered(group: group, .unreachable("no server answers"))
      case .refused: .unordered(group: group, .unreachable("the cluster refuses the login, or does not permit this"))
      case .untrusted: .unordered(group: group, .unreachable("a server's certificate is not trusted, or ours is unfit"))
      case .malformed: .unordered(group: group, .unreachable("a server's answer is not understood"))
      case .full: .unordered(group: group, .unreachable("the cluster's disk quota is used up"))
      case .tooLarge(let limit): .overLimit("\(limit) bytes in one change of a published group")
      case .baseNeeded: .notFound(.publication)
      case .damaged: .damaged(group: group, level: .commit, detail: "its log")
      case .stopped: .storage(.inputOutput)
      }
    }
  }

  /// Lets one task after the other do something.
  private actor Turns {
    private var last: Task<Void, Never>?

    func take(_ body: @escaping @Sendable () async throws -> Void) async throws {
      let before = last
      let task = Task {
        await before?.value
        try await body()
      }
      last = Task { _ = await task.result }
      try await task.value
    }
  }

  /// When a host that adds commits to a log puts a new complete file under them.
  private struct Renewal {
    /// The most commits that a host has to take one by one.
    private static let commitLimit: UInt64 = 512
    /// How many commits stay for hosts that are a little behind.
    static let margin: UInt64 = 64

    private var base: UInt64 = 0
    private var newest: UInt64 = 0
    /// Members whom the old file does not name cannot begin with it.
    private var hasNewMembers = false

    var isDue: Bool { hasNewMembers || newest >= base + Renewal.commitLimit }

    mutating func note(_ commit: GroupCommit) {
      newest = commit.epoch
      hasNewMembers = hasNewMembers || commit.changesRoster
    }

    mutating func note(base epoch: UInt64, isNew: Bool = true) {
      base = max(base, epoch)
      if isNew { hasNewMembers = false }
    }
  }

  /// Orders the changes that this process makes itself.
  struct ReplicaPublisher: CommitPublishing {
    /// Finds the replica, which may have been made after the publisher.
    let replica: @Sendable () async -> Replica?

    func publish(_ commit: GroupCommit) throws(GroupFileError) {
      try run { try await $0.publish(commit) }
    }

    func publish(
      fileAt path: String, holding state: PublishedState, after previous: PublishedState
    ) throws(GroupFileError) {
      try run { try await $0.publish(fileAt: path, holding: state, after: previous) }
    }

    func catchUp() throws(GroupFileError) { try run { try await $0.catchUp() } }

    private func run(_ body: @escaping @Sendable (Replica) async throws -> Void) throws(GroupFileError) {
      do {
        try Blocking.wait {
          guard let replica = await replica() else { throw GroupFileError.published }
          try await body(replica)
        }
      } catch let error as GroupFileError {
        throw error
      } catch VaultError.unordered(_, let disorder) {
        switch disorder {
        case .overtaken: throw .behind
        case .outcomeUnknown: throw .outcomeUnknown
        case .unreachable(let reason): throw .unreachable(reason)
        default: throw .published
        }
      } catch {
        throw .unreachable((error as? VaultError)?.message ?? "\(type(of: error))")
      }
    }
  }

  extension Blocking {
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
#endif
