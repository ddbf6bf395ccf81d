#if Daemon
  import Foundation
  import Synchronization

  extension EtcdLog {
    func watch(after head: LogHead?) -> AsyncThrowingStream<LogEvent, any Error> {
      let queue = WatchQueue()
      let follower = EtcdFollower(self, after: head, queue)
      let task = Task { await follower.run() }
      let listening = Listening(task)
      return AsyncThrowingStream {
        // The stream keeps `listening`, and with it the task, for as long as somebody may listen.
        defer { withExtendedLifetime(listening) {} }
        return try await queue.next()
      }
    }
  }

  private final class Listening: Sendable {
    private let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) { self.task = task }

    deinit { task.cancel() }
  }

  /// Follows a log over lost connections and changes of server.
  ///
  /// A server that is cut off from the others, and one that withholds, are silent like one where nothing happens. So while it
  /// waits, it asks for the head from time to time, over any server, and connects again if it should have heard of it.
  private struct EtcdFollower: Sendable {
    private struct Place {
      /// All events up to this revision are in the queue.
      var told: Int64
      /// The highest revision in an answer that is not complete yet.
      var begun: Int64 = 0
      /// The head that was told last.
      var head: LogEvent?
      var cluster: UInt64?
      var isConnected = false
    }

    private enum Ending: Sendable {
      case lost(EtcdError)
      case compacted
      case refused(LogError)
      case cancelled
    }

    private let log: EtcdLog
    private let queue: WatchQueue
    private let start: LogHead?
    private let place: Held<Place>

    init(_ log: EtcdLog, after head: LogHead?, _ queue: WatchQueue) {
      (self.log, self.queue, start) = (log, queue, head)
      place = Held(Place(told: head?.revision.number ?? 0, head: head.map(LogEvent.head)))
    }

    func run() async {
      if start == nil, let failure = await begin() { return queue.finish(throwing: failure) }
      var pause = Duration.milliseconds(50)
      while !Task.isCancelled {
        place.change { ($0.isConnected, $0.begun) = (false, 0) }
        let ending = await connection()
        switch ending {
        case .cancelled: break
        case .refused(let error): return queue.finish(throwing: error)
        case .compacted:
          await queue.add(.lostPlace)
          if let failure = await begin() { return queue.finish(throwing: failure) }
        case .lost:
          pause = place.value.isConnected ? .milliseconds(50) : min(pause * 2, .seconds(1))
          try? await Task.sleep(for: pause)
        }
      }
      queue.finish()
    }

    /// Begins with the present state: the head is the first event.
    private func begin() async -> LogError? {
      while !Task.isCancelled {
        do throws(LogError) {
          let (head, store, cluster) = try await headNow()
          place.change { $0 = Place(told: store, head: head, cluster: cluster) }
          if let head { await queue.add(head) }
          return nil
        } catch .refused {
          return .refused
        } catch {
          try? await Task.sleep(for: .milliseconds(500))
        }
      }
      return nil
    }

    /// The head as an event, the newest revision of the server's store, and the cluster that it belongs to.
    private func headNow() async throws(LogError) -> (LogEvent?, Int64, UInt64?) {
      let answer: EtcdRangeAnswer = try await log.read("kv/range", EtcdRange(key: log.keys.head))
      let store = answer.header.revision.value
      let pair = try EtcdLog.onlyPair(of: answer, at: log.keys.head)
      return (try pair.map { pair throws(LogError) in try event(pair) }, store, answer.header.clusterId?.value)
    }

    private func event(_ head: EtcdPair) throws(LogError) -> LogEvent {
      do throws(LogError) {
        guard let head = try log.head(in: head) else { return .headRemoved }
        return .head(head)
      } catch .damaged(let damage) {
        return .damaged(damage)
      } catch {
        throw error
      }
    }

    private func connection() async -> Ending {
      await withTaskGroup(of: Ending.self) { tasks in
        tasks.addTask { await listen() }
        tasks.addTask { await check() }
        let ending = await tasks.next() ?? .cancelled
        tasks.cancelAll()
        return ending
      }
    }

    // MARK: Listening

    private func listen() async -> Ending {
      let (first, end) = log.keys.watched
      let creation = EtcdWatch.Creation(key: first, rangeEnd: end, startRevision: String(place.value.told + 1))
      do throws(EtcdError) {
        try await log.client.lines(of: "watch", EtcdWatch(createRequest: creation), limit: EtcdLog.severalValues) {
          line throws(EtcdError) in
          try await take(line.result)
        }
        return .lost(.unreachable)
      } catch {
        if Task.isCancelled { return .cancelled }
        if error == .compacted { return .compacted }
        if error == .refused || error == .token {
          // A watch is refused in words only. The typed reason comes with another call, which also renews the token.
          log.client.forgetToken()
          do throws(LogError) { _ = try await headNow() } catch .refused { return .refused(.refused) } catch {}
        }
        return .lost(error)
      }
    }

    private func take(_ result: EtcdWatchLine.Result) async throws(EtcdError) {
      if result.compactRevision?.value ?? 0 > 0 { throw .compacted }
      if result.canceled == true { throw .refused }
      if result.created == true { place.change { $0.isConnected = true } }
      if let cluster = result.header.clusterId?.value {
        let isOther = place.change { place in
          defer { place.cluster = cluster }
          return place.cluster.map { $0 != cluster } ?? false
        }
        if isOther { throw .compacted }
      }
      let events = result.events ?? []
      for event in events { try await tell(event) }
      guard result.fragment != true else { return }
      place.change { place in
        if !events.isEmpty {
          place.told = max(place.told, place.begun)
        } else if result.created != true, place.begun <= place.told {
          // All events up to this revision came before. If that is a lie, the next look at the head finds it out.
          place.told = max(place.told, result.header.revision?.value ?? 0)
        }
      }
    }

    private func tell(_ event: EtcdWatchLine.Event) async throws(EtcdError) {
      let pair = event.kv
      guard let revision = pair.revision, revision.number > place.value.told, revision.number >= place.value.begun
      else {
        throw .malformed
      }
      let isRemoval = event.type == "DELETE"
      guard isRemoval || event.type == nil || event.type == "PUT" else { throw .malformed }
      if pair.key == log.keys.head {
        let head: LogEvent
        do throws(LogError) { head = isRemoval ? .headRemoved : try self.event(pair) } catch { throw .malformed }
        await queue.add(head)
        place.change { $0.head = isRemoval ? nil : head }
      } else if pair.key == log.keys.base {
        await queue.add(.baseChanged)
      } else if let epoch = log.keys.epoch(of: pair.key) {
        if isRemoval { await queue.add(.commitRemoved(epoch: epoch)) } else { try await tellCommit(pair, epoch) }
      } else {
        // Somebody's own key below the group's prefix says nothing, and must not keep us from the next event.
        let (first, end) = log.keys.watched
        guard !pair.key.lexicographicallyPrecedes(first), pair.key.lexicographicallyPrecedes(end) else {
          throw .malformed
        }
      }
      // An event that waited for room until the connection was given up was not told.
      guard !Task.isCancelled else { throw .unreachable }
      place.change { $0.begun = revision.number }
    }

    private func tellCommit(_ pair: EtcdPair, _ epoch: UInt64) async throws(EtcdError) {
      do throws(LogError) {
        await queue.add(.commit(try await log.commit(in: pair, epoch)))
      } catch .damaged(let damage) {
        await queue.add(.damaged(damage))
      } catch {
        // Its parts cannot be read now. The event comes again.
        throw .unreachable
      }
    }

    // MARK: Checking

    /// Ends when the connection should have told of something and did not.
    private func check() async -> Ending {
      while !Task.isCancelled {
        try? await Task.sleep(for: log.client.timeLimits.watchCheck)
        guard !Task.isCancelled else { break }
        guard !queue.isFull else { continue }
        do throws(LogError) {
          // Before the question: while it is answered, the connection may tell of what comes later.
          let before = place.value
          let (head, store, cluster) = try await headNow()
          if store < before.told || before.cluster.map({ cluster != nil && cluster != $0 }) ?? false {
            return .compacted
          }
          let known = place.value
          let revision = head?.revision?.number ?? 0
          // Revisions alone do not show that the servers were set back: they may have reached the same numbers again.
          let isSetBack = head != before.head && revision <= before.told
          guard isSetBack || revision > max(known.told, known.begun) else { continue }
          try? await Task.sleep(for: .seconds(1))
          let later = place.value
          if isSetBack, later.head == before.head, !Task.isCancelled { return .compacted }
          if later.told == known.told, later.begun == known.begun, !Task.isCancelled {
            log.client.moveOn()
            return .lost(.unanswered)
          }
        } catch .refused {
          return .refused(.refused)
        } catch {
          // The servers are away. The connection may still live.
        }
      }
      return .cancelled
    }
  }

  extension LogEvent {
    fileprivate var revision: LogRevision? {
      switch self {
      case .head(let head): head.revision
      case .damaged(let damage): damage.revision
      case .commit, .commitRemoved, .headRemoved, .baseChanged, .lostPlace: nil
      }
    }
  }

  /// A value that several tasks share.
  private final class Held<Value: Sendable>: Sendable {
    private let held: Mutex<Value>

    init(_ value: Value) { held = Mutex(value) }

    var value: Value { held.withLock { $0 } }

    @discardableResult
    func change<Result: Sendable>(_ body: (inout sending Value) -> sending Result) -> Result { held.withLock(body) }
  }
#endif
