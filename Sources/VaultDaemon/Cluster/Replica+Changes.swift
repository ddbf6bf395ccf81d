#if Daemon
  import Foundation
  import Logging
  import Sealing
  import Synchronization
  import VaultFoundation

  // The changes of this host.
  extension Replica {
    /// Orders a commit of another process, after proving it.
    ///
    /// - Parameters:
    ///   - isRepeated: as for ``publish(_:isRepeated:)``.
    ///   - caller: whose turn it takes to prove the commit; `nil` for the daemon itself. What follows is done for all.
    /// - Throws: ``VaultError/notFollowed`` if the group no longer has this host's member; ``UnsignedCommit``.
    func order(_ commit: GroupCommit, isRepeated: Bool, for caller: String? = nil) async throws {
      do {
        try await Blocking.$caller.withValue(caller) {
          try await Blocking.read { [self] in try store.confirm(commit, of: group) }
        }
      } catch VaultError.denied(.notAMember) {
        throw VaultError.notFollowed
      } catch let error as VaultError {
        guard case .unordered(_, .overtaken) = error else { throw error }
        let manifest = try await Blocking.read { [self] in try store.signedManifest(of: commit, in: group) }
        throw manifest == nil ? UnsignedCommit() : error
      }
      try await publish(commit, isRepeated: isRepeated)
    }

    /// A commit follows another state than the copy's, and no member who may write has signed it: its sender has not just
    /// lost a race.
    struct UnsignedCommit: Error {}

    /// Orders the state of a file of the owner, after proving the whole file, unless that puts this host's member out.
    ///
    /// - Throws: ``VaultError/notFollowed`` if the member was put out before.
    func order(_ file: PublishedFile) async throws {
      try await Blocking.read { [self] in
        do {
          let new = try store.provedCopy(at: file.path, of: group, after: file.previous)
          guard new.state == file.state else { throw VaultError.invalid("the file has another state") }
        } catch VaultError.denied(.notAMember) {
          // Nobody else may be here to order the change, and the other hosts prove it.
          guard (try? store.copy(of: group)) != nil else { throw VaultError.notFollowed }
        }
      }
      try await publish(fileAt: file.path, holding: file.state, after: file.previous)
    }

    /// Makes `commit` the group's next state. It is durable in the log when the call returns, and not in the copy.
    ///
    /// - Parameter isRepeated: whether an earlier call may have done so already.
    func publish(_ commit: GroupCommit, isRepeated: Bool) async throws(VaultError) {
      try requireOurs(commit.groupID)
      guard let link = CommitLink(commit.link.bytes) else { throw .unexpected("a link") }
      let logged = LoggedCommit(epoch: commit.epoch, link: link, bytes: commit.serialized())
      if isRepeated, try await isOrdered(logged) { return renewal.withLock { $0.note(commit) } }
      let previous = try await head(linking: commit.previousLink.bytes)
      var stranger: LogRevision?
      while true {
        try requireOpen()
        do throws(LogError) {
          let new = try await log.append(logged, after: previous, over: stranger)
          head.withLock { $0 = new }
          return renewal.withLock { $0.note(commit) }
        } catch {
          if try await isMade(despite: error, { () async throws(VaultError) in try await isOrdered(logged) }) {
            return renewal.withLock { $0.note(commit) }
          }
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

    /// Makes the state of the complete file at `path` the group's next one, unless an earlier call has done so.
    func publish(
      fileAt path: String, holding state: PublishedState, after previous: PublishedState
    ) async throws(VaultError) {
      try requireOurs(state.groupID)
      guard let link = CommitLink(state.link.bytes) else { throw .unexpected("a link") }
      let found = try await newestHead()
      if let found, try await isBase(state, link, of: found) { return head.withLock { $0 = found } }
      let hidings = renewal.withLock { $0.hidings }
      do {
        if let found, try await !precedes(found, previous) || state.epoch <= found.epoch,
          try await !isStuck(at: previous)
        {
          throw VaultError.unordered(group: group, .overtaken)
        }
      } catch {
        throw error as? VaultError ?? .unexpected("an error of a store")
      }
      do throws(LogError) {
        let new = try await log.publish(epoch: state.epoch, link: link, after: found, pieces: pieces(of: path))
        head.withLock { $0 = new }
        renewal.withLock { $0.note(base: new.epoch, after: hidings) }
      } catch {
        let isThere = try await isMade(despite: error) { () async throws(VaultError) in
          guard let found = try await newestHead(), try await isBase(state, link, of: found) else { return false }
          head.withLock { $0 = found }
          return true
        }
        guard isThere else { throw meaning(of: error, isChange: true) }
        renewal.withLock { $0.note(base: state.epoch, after: hidings) }
      }
    }

    /// Whether the log has a change that the cluster answered with `error`, as `look` finds. etcd makes the change that
    /// takes its last room, and answers that there is none.
    private func isMade(
      despite error: LogError, _ look: () async throws(VaultError) -> Bool
    ) async throws(VaultError) -> Bool {
      guard error == .full else { return false }
      do { return try await look() } catch { throw .unordered(group: group, .outcomeUnknown(nil)) }
    }

    /// Whether the log goes on from `state` as a complete file, or from the commits that follow it.
    private func isBase(_ state: PublishedState, _ link: CommitLink, of head: LogHead) async throws(VaultError) -> Bool
    {
      if head.epoch < state.epoch { return false }
      do throws(LogError) {
        if try await log.base()?.link == link { return true }
        // A host that puts a newer file in its place keeps the commits before that.
        let next = try await log.commits(after: state.epoch, limit: 1).first
        return next.flatMap { try? GroupCommit(parsing: $0.commit.bytes) }?.previousLink == state.link
      } catch .baseNeeded {
        return false
      } catch {
        throw meaning(of: error, isChange: true)
      }
    }

    private func newestHead() async throws(VaultError) -> LogHead? {
      do throws(LogError) { return try await log.head() } catch { throw meaning(of: error, isChange: false) }
    }

    /// Whether a new file may follow the head `found`: it is `previous`, or the group went on without the log, because its
    /// publication had ended with that state, or because nobody here knew that it had been published.
    private func precedes(_ found: LogHead, _ previous: PublishedState) async throws -> Bool {
      if found.link.bytes == previous.link.bytes { return true }
      let (group, store) = (group, store)
      let hasEnded = try await Blocking.read {
        try store.copyDescends(from: found.epoch, found.link.bytes, of: group)
          && store.copy(of: group)?.isPublished == false
      }
      if hasEnded { return true }
      return try await isUnnoticed(found)
    }

    /// Whether no host can come from `state` to the head, because the next commit is one that a member signed although its
    /// rows do not make the state. Who has a login for etcd can put it there, and only a new complete file leads past it.
    private func isStuck(at state: PublishedState) async throws -> Bool {
      let (group, store, log) = (group, store, log)
      let base = await Replica.result { () async throws(LogError) in try await log.base() }
      guard try await copy()?.state == state, try base.get()?.epoch ?? 0 <= state.epoch,
        case .success(let commits) = await Replica.result({ () async throws(LogError) in
          try await log.commits(after: state.epoch, limit: 1)
        }), let next = try? commits.first.map({ try GroupCommit(parsing: $0.commit.bytes) })
      else { return false }
      do { try await Blocking.read { try store.confirm(next, of: group) } } catch VaultError.damaged(_, .commit, _) {
        return true
      }
      return false
    }

    /// Whether the log has nothing but the complete file of a publication whose answer was lost: the copy went on from the
    /// state before that one, and nobody has written to the log.
    private func isUnnoticed(_ found: LogHead) async throws -> Bool {
      let base = await Replica.result { () async throws(LogError) in try await self.log.base() }
      guard let base = try? base.get(), base.epoch == found.epoch, base.epoch > 0, base.link == found.link,
        try await copy()?.isPublished == false
      else { return false }
      let (group, store) = (group, store)
      return try await Blocking.carry { [self] in
        var published: GroupCopy?
        _ = try? store.adopt(group) { (path) throws(VaultError) in
          try fetch(base, to: path)
          published = try store.provedCopy(at: path, of: group, after: nil)
          // Whoever publishes holds the group's lock, so nothing can be adopted.
          throw .unordered(.overtaken)
        } following: { _ in
          []
        }
        guard let published, published.isPublished, published.state.link.bytes == base.link.bytes else { return false }
        return try store.copyDescends(from: base.epoch - 1, published.previousLink.bytes, of: group)
      }
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

  extension Replica {
    static func result<Success>(
      _ body: () async throws(LogError) -> Success
    ) async -> Result<Success, LogError> {
      do throws(LogError) { return .success(try await body()) } catch { return .failure(error) }
    }

    func damage(_ detail: String) -> VaultError { .damaged(group: group, level: .commit, detail: detail) }

    /// - Throws: `anotherGroup` for another id than that of the log.
    func requireOurs(_ found: GroupID) throws(VaultError) { if found != id { throw .anotherGroup(group) } }

    func requireOpen() throws(VaultError) { if isEnded { throw sealed } }

    private var sealed: VaultError { .unordered(group: group, .unreachable("vaultd was sealed")) }

    func meaning(of error: LogError, isChange: Bool) -> VaultError {
      error == .stopped && isEnded ? sealed : Replica.meaning(of: error, group, isChange: isChange)
    }

    static func meaning(of error: LogError, _ group: String, isChange: Bool) -> VaultError {
      switch error {
      case .conflict, .occupied, .baseReplaced: .unordered(group: group, .overtaken)
      case .outcomeUnknown: .unordered(group: group, .outcomeUnknown(nil))
      case .unavailable: .unordered(group: group, .unreachable("no server answers"))
      case .refused: .unordered(group: group, .refused)
      case .untrusted:
        .unordered(group: group, .unreachable("a server's certificate is not trusted, or ours is unsuitable"))
      case .malformed: .unordered(group: group, .unreachable("a server's answer cannot be understood"))
      case .full: .unordered(group: group, .unreachable("the cluster's disk quota is used up"))
      case .tooLarge(let limit): .overLimit("\(limit) bytes in one change of a published group")
      case .baseNeeded: .notFound(.publication)
      case .damaged: .damaged(group: group, level: .commit, detail: "its log")
      case .stopped: .storage(.inputOutput)
      }
    }
  }

  extension VaultError {
    /// A request about a group that is not published, or that the daemon here is no member of.
    static let notFollowed = VaultError.unordered(.unreachable("vaultd here does not follow the group"))
  }
#endif
