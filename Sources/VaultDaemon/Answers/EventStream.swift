#if Daemon
  import Exchange
  import Hummingbird
  import HummingbirdCore
  import NIOCore
  import ServiceLifecycle
  import Synchronization
  import VaultFoundation

  /// `/v1/events`: the names that change in groups that the caller may read, as server-sent events, until the caller
  /// disconnects, or one of the groups can no longer be watched.
  struct EventStream: Sendable {
    let visit: Visit
    /// The token that was sent, if the caller is identified by one.
    let token: String?

    func answer() async throws -> Response {
      guard let application = visit.application else {
        try await visit.record(.watch, .denied)
        throw Refusal.unknownCaller
      }
      let (opened, access) = (visit.opened, visit.opened.access)
      let groups = try await Blocking.list { try access.groups(of: application).map(\.name) }
      let listening: Changes.Listening
      do { listening = try await opened.changes.listen(to: groups) } catch {
        try await visit.record(.watch, Refusal(error).outcome, detail: groups.joined(separator: " "))
        throw error
      }
      try await visit.record(.watch, detail: groups.joined(separator: " "))
      let body = ResponseBody { writer in
        try await writer.write(ByteBuffer(string: ": \(groups.count) groups\n\n"))
        for await event in listening.events.cancelOnGracefulShutdown() {
          guard case .change(let group, let name, let version) = event else {
            try await writer.write(ByteBuffer(string: ": still here\n\n"))
            continue
          }
          // What vaultd keeps beside an item has no value of its own.
          guard !name.hasSuffix(Item.Name.companionEnding) else { continue }
          // Since then, the owner may have removed the group or the binding, or the token may have ended.
          guard await isStill(application) else { break }
          guard await mayRead(group, application) else { continue }
          let json: JSONValue = ["group": .string(group), "name": .string(name), "version": .number(version)]
          try await writer.write(
            ByteBuffer(string: "event: change\ndata: \(String(decoding: json.json, as: UTF8.self))\n\n"))
        }
        try await writer.finish(nil)
      }
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }

    private func isStill(_ application: String) async -> Bool {
      await Blocking.$caller.withValue(visit.caller) {
        (try? await visit.opened.visit(visit.connection, token: token))?.application == application
      }
    }

    private func mayRead(_ group: String, _ application: String) async -> Bool {
      let access = visit.opened.access
      return await Blocking.$caller.withValue(visit.caller) {
        (try? await Blocking.read { _ = try access.group(group, for: application, .read) }) != nil
      }
    }
  }

  /// Watches each group once for all listeners.
  final class Changes: Sendable {
    enum Event: Sendable {
      case change(group: String, name: String, version: UInt64)
      case pause
    }

    /// A listener, until this is released: its client may have left before the answer began.
    final class Listening: Sendable {
      let events: AsyncStream<Event>
      private let id: UInt64
      private let changes: Changes

      fileprivate init(_ events: AsyncStream<Event>, _ id: UInt64, _ changes: Changes) {
        (self.events, self.id, self.changes) = (events, id, changes)
      }

      deinit { changes.stop(id) }
    }

    private struct Listener {
      let groups: Set<String>
      let continuation: AsyncStream<Event>.Continuation
    }

    private struct Watch {
      let id: UInt64
      /// Ends when the watch has begun, or cannot.
      let beginning: Task<AsyncThrowingStream<ItemChange, any Error>, any Error>
      let task: Task<Void, Never>
    }

    private struct State {
      var listeners: [UInt64: Listener] = [:]
      /// The number of the newest listener or watch.
      var number: UInt64 = 0
      var watches: [String: Watch] = [:]
      var pauses: Task<Void, Never>?
      var hasEnded = false

      mutating func next() -> UInt64 {
        number += 1
        return number
      }

      mutating func endWatches() {
        for watch in watches.values { watch.task.cancel() }
        pauses?.cancel()
        (watches, pauses) = ([:], nil)
      }
    }

    /// How many events may wait for one listener. A listener that falls further behind is disconnected.
    private static let waitingLimit = 1_024

    private let store: SecretStore
    private let state = Mutex(State())

    init(_ store: SecretStore) { self.store = store }

    deinit { end() }

    /// Ends all streams and watches, and those that begin later.
    func end() {
      state.withLock { state in
        for listener in state.listeners.values { listener.continuation.finish() }
        (state.listeners, state.hasEnded) = ([:], true)
        state.endWatches()
      }
    }

    /// Starts listening: every later change is an event. The stream ends when a group can no longer be watched.
    ///
    /// - Throws: the error that kept the watch of a group from beginning.
    func listen(to groups: [String]) async throws -> Listening {
      let (stream, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingOldest(Self.waitingLimit))
      // The listener first, so that no other one that leaves meanwhile ends its watches.
      let (id, watches) = state.withLock { state in
        let id = state.next()
        guard !state.hasEnded else {
          continuation.finish()
          return (id, [Watch]())
        }
        state.listeners[id] = Listener(groups: Set(groups), continuation: continuation)
        if state.pauses == nil { state.pauses = pausing() }
        return (id, groups.map { watch($0, &state) })
      }
      let listening = Listening(stream, id, self)
      for watch in watches { _ = try await watch.beginning.value }
      return listening
    }

    /// Ends a listener. The watches go on for a while, because making one takes a thread and others may come.
    private func stop(_ id: UInt64) {
      state.withLock { $0.listeners.removeValue(forKey: id) }?.continuation.finish()
    }

    private func watch(_ name: String, _ state: inout State) -> Watch {
      if let known = state.watches[name] { return known }
      let (id, store) = (state.next(), store)
      let beginning = Task { try await store.group(name).changes() }
      let task = Task { [weak self] in
        do {
          for try await change in try await beginning.value {
            self?.post(.change(group: name, name: change.name.description, version: change.version ?? 0), in: name)
          }
        } catch {}
        self?.ended(id, name)
      }
      let watch = Watch(id: id, beginning: beginning, task: task)
      state.watches[name] = watch
      return watch
    }

    /// Ends the streams of all who listen to the group, so that they notice and ask again. Another watch of the group
    /// may have begun since.
    private func ended(_ id: UInt64, _ name: String) {
      state.withLock { state in
        guard state.watches[name]?.id == id else { return }
        state.watches[name] = nil
        for (id, listener) in state.listeners where listener.groups.contains(name) {
          listener.continuation.finish()
          state.listeners[id] = nil
        }
      }
    }

    private func pausing() -> Task<Void, Never> {
      Task { [weak self] in
        while !Task.isCancelled {
          try? await Task.sleep(for: .seconds(15))
          self?.pause()
        }
      }
    }

    private func pause() {
      state.withLock { if $0.listeners.isEmpty { $0.endWatches() } }
      post(.pause, in: nil)
    }

    private func post(_ event: Event, in group: String?) {
      state.withLock { state in
        for (id, listener) in state.listeners where group.map(listener.groups.contains) ?? true {
          if case .dropped = listener.continuation.yield(event) {
            listener.continuation.finish()
            state.listeners[id] = nil
          }
        }
      }
    }
  }
#endif
