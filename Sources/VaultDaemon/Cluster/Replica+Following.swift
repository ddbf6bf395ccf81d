#if Daemon
  import Foundation
  import Logging
  import Synchronization
  import VaultFoundation

  // What a host does by itself, until it is no longer to follow the group.
  extension Replica {
    /// Follows the log until the task is cancelled, or until the group is no longer published.
    ///
    /// - Parameter exclude: called when the group is found to have this member no longer.
    func follow(_ exclude: () async -> Void = {}) async {
      var pause = Duration.milliseconds(200)
      while !Task.isCancelled {
        do {
          // A group that is not published yet may be so later.
          do throws(VaultError) { try await catchUp(within: nil) } catch {
            guard error == .notFound(.publication) else { throw error }
          }
          pause = .milliseconds(200)
          let known = head.withLock { $0 }
          var newest = known?.epoch ?? 0
          // What happened before was not seen.
          renewal.withLock { $0.hide() }
          suspect()
          for try await event in log.watch(after: known) {
            let hides = event.hidesThePast(of: head.withLock { $0 }, newest)
            if hides { renewal.withLock { $0.hide() } }
            if hides || event == .baseChanged || event.changesThePast(of: newest) { suspect() }
            if case .head(let head) = event { newest = head.epoch }
            try await take(event)
          }
        } catch {
          guard !Task.isCancelled, !(error is CancellationError) else { return }
          let found =
            error as? VaultError ?? (error as? LogError).map { meaning(of: $0, isChange: false) }
            ?? .unexpected("\(type(of: error))")
          note(found)
          if isExcluded { await exclude() }
        }
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(15))
      }
    }

    private func take(_ event: LogEvent) async throws {
      try requireOpen()
      switch event {
      case .commit(let stored):
        let (bytes, group, store) = (stored.commit.bytes, group, store)
        // A commit that does not follow or is not proved is examined when the head names it.
        _ = try? await Blocking.apply { try store.apply(bytes, to: group) }
      case .head(let new):
        head.withLock { $0 = new }
        let state = try await copy()?.state
        let isNews = state?.link.bytes != new.link.bytes || state?.epoch != new.epoch
        if isNews { try await catchUp(within: nil) } else { beginRenewalIfDue() }
      case .commitRemoved, .baseChanged: break
      case .damaged: try await catchUp(within: nil)
      case .headRemoved, .lostPlace:
        await keepQuiet()
        try await catchUp(within: nil)
      }
    }

    /// Brings the copy up to date again and again, until the task is cancelled. A watch waits in silence for servers that do
    /// not answer, so only this shows that they do not.
    ///
    /// - Parameters:
    ///   - pause: between two attempts.
    ///   - exclude: as for ``follow(_:)``.
    func probe(every pause: Duration = .seconds(15), _ exclude: () async -> Void = {}) async {
      while true {
        try? await Task.sleep(for: pause)
        guard !Task.isCancelled, !isEnded else { return }
        do throws(VaultError) { try await catchUp() } catch {
          guard !Task.isCancelled, !isEnded else { return }
          note(error)
          if isExcluded { await exclude() }
        }
      }
    }

    /// - Returns: `nil` for a group that is not published.
    func condition() async -> CopyCondition? {
      // The copy is read every 15 seconds anyway, and one that somebody locks must not hold up who asks for this.
      let known = lastCopy.withLock { $0 }
      let copy = if let known { known } else { try? await self.copy() }
      let problem = lastProblem
      guard copy?.isPublished ?? (problem != nil) else { return nil }
      let (group, store, now) = (group, store, Timestamp.now.milliseconds)
      let limits = try? await Blocking.read { try store.ageLimits(of: group) }
      let age = copy.map { (now - min(now, $0.time)) / 1_000 }
      let lead = copy.map { ($0.time - min(now, $0.time)) / 1_000 } ?? 0
      return CopyCondition(
        id: id.hexadecimal, age: age, limit: limits?.most,
        isBehind: problem != nil || age ?? 0 > limits?.due ?? .max || lead > limits?.most ?? .max,
        lastFailure: lastFailure)
    }

    /// Signs an empty change whenever none was made for `seconds`, until the task is cancelled. So whoever reads can tell a
    /// quiet group from one whose changes are withheld.
    func beat(every seconds: UInt32?) async {
      guard let seconds else { return }
      let length = Int64(seconds) * 1_000
      var seen: (state: PublishedState, since: ContinuousClock.Instant)?
      var hasWarned = false
      while !Task.isCancelled {
        let quietEnd = quietEnd.withLock { $0 }
        guard quietEnd <= .now else {
          try? await Task.sleep(until: quietEnd)
          continue
        }
        var pause = length
        let copy = try? await self.copy()
        if let copy, copy.isPublished, copy.isWriter {
          let now = UInt64(max(0, Date().timeIntervalSince1970 * 1_000))
          let age = now > copy.time ? Int64(clamping: now - copy.time) : 0
          // A state signed with a clock that was ahead must not stop the empty changes until then. But if it is this clock
          // that is behind, the other hosts still make theirs, and this one must not: its own would look old.
          if seen?.state != copy.state { seen = (copy.state, .now) }
          let isAhead = copy.time > now + GroupCopy.clockTolerance
          if isAhead, !hasWarned {
            logger.warning("a state is dated ahead of this machine's clock: either this clock or the writer's is wrong")
          }
          hasWarned = isAhead
          let isOverdue = seen.map { $0.since + .milliseconds(2 * length) <= .now } == true
          if age < length, !isOverdue || !isAhead {
            clockProblem.withLock { $0 = nil }
            // The other hosts wait for another moment.
            pause = length - age + Int64.random(in: 0...max(1, length / 8))
          } else if await isClockTrusted(now) {
            let (group, store) = (group, store)
            do {
              _ = try await Blocking.order { try store.renew(group, olderThan: seconds, at: now) }
            } catch {
              logger.warning(
                "no empty change was made", metadata: ["reason": "\((error as? VaultError)?.message ?? "")"])
            }
          }
        }
        try? await Task.sleep(for: .milliseconds(pause))
      }
    }

    /// Signs no empty change for a while, because the log may have lost states. The hosts that have them put them back once
    /// they see that, and an empty change would fork the group before. Whoever spoils the log again and again must not stop
    /// the empty changes for ever, so the next such time begins no sooner than one of its length after the last.
    func keepQuiet() async {
      let limit = try? await Blocking.read { [self] in try store.ageLimits(of: group).most }
      let length = Duration.seconds(min(limit.flatMap(\.self) ?? .max, 300) / 2)
      quietEnd.withLock { end in if end + length <= .now { end = .now + length } }
    }

    /// Whether an empty change that is signed at `now` would not look to the other hosts as if it came from the future.
    ///
    /// The only ones to ask are the servers. If all that tell their time say that this clock is ahead by more than half of
    /// the maximum age, nothing is signed: such a state may be unreadable elsewhere, and would keep the hosts whose clocks
    /// are right from signing theirs. One server that agrees is enough, so whoever stops the empty changes in this way
    /// controls all servers, and could as well answer nothing. It is asked again each time, so a lie has no effect later.
    private func isClockTrusted(_ now: UInt64) async -> Bool {
      let (group, store) = (group, store)
      guard let most = try? await Blocking.read({ try store.ageLimits(of: group).most }), let time = await log.time()
      else {
        clockProblem.withLock { $0 = nil }
        return true
      }
      let lead = (now - min(now, time)) / 1_000
      let isTrusted = lead <= most / 2
      let why = "this machine's clock is \(lead) seconds ahead of those of all servers, so it signs no empty changes"
      clockProblem.withLock { $0 = isTrusted ? nil : .unordered(group: group, .shut(why)) }
      if !isTrusted { logger.error("\(why)") }
      return isTrusted
    }
  }

  /// How far a copy of a published group is behind, without the group's name.
  struct CopyCondition: Sendable {
    /// The group's id, in hexadecimal digits.
    let id: String
    /// The seconds since the copy's newest state was signed; `nil` without a copy.
    var age: UInt64?
    /// The age in seconds above which the state is not read.
    var limit: UInt64?
    /// Whether the copy could not be brought up to date the last time, or a newer state is overdue.
    var isBehind = false
    /// When it last could not be brought up to date.
    var lastFailure: Timestamp?
  }

  extension LogEvent {
    /// Whether commits up to `epoch` may have been rewritten: one of them was, or the head, or events are lost.
    fileprivate func hidesThePast(of known: LogHead?, _ epoch: UInt64) -> Bool {
      switch self {
      case .head(let head): head.link == known?.link && head.revision != known?.revision
      case .commit(let stored): stored.commit.epoch <= epoch
      case .lostPlace: true
      case .commitRemoved, .headRemoved, .baseChanged, .damaged: false
      }
    }

    /// Whether something happened to a commit that was in its place when the log's newest one was `epoch`.
    fileprivate func changesThePast(of epoch: UInt64) -> Bool {
      switch self {
      case .commit(let stored): stored.commit.epoch <= epoch
      case .commitRemoved(let removed): removed <= epoch
      case .damaged(let damage): if case .commit(let spoilt) = damage.place { spoilt <= epoch } else { false }
      case .lostPlace: true
      case .head, .headRemoved, .baseChanged: false
      }
    }
  }
#endif
