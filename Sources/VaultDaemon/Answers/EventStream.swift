#if Daemon
  import Exchange
  import Hummingbird
  import HummingbirdCore
  import NIOCore
  import ServiceLifecycle
  import Synchronization
  import VaultFoundation

  /// `/v1/events`: the names that change in groups that the caller may read, as server-sent events, until the caller
  /// disconnects.
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
      let groups = try await Blocking.read { try access.groups(of: application).map(\.name) }
      let (events, id) = await opened.changes.listen(to: groups)
      try await visit.record(.watch, detail: groups.joined(separator: " "))
      let body = ResponseBody { writer in
        defer { opened.changes.stop(id) }
        try await writer.write(ByteBuffer(string: ": \(groups.count) groups\n\n"))
        for await event in events.cancelOnGracefulShutdown() {
          guard case .change(let group, let name, let version) = event else {
            try await writer.write(ByteBuffer(string: ": still here\n\n"))
            continue
          }
          // Since then, the owner may have removed the group or the binding, or the token may have ended.
          guard await isStill(application) else { break }
          guard await Self.mayRead(group, application, access) else { continue }
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
      (try? await visit.opened.visit(visit.connection, token: token))?.application == application
    }

    private static func mayRead(_ group: String, _ application: String, _ access: Access) async -> Bool {
      (try? await Blocking.read { _ = try access.group(group, for: application, .read) }) != nil
    }
  }

  /// Watches each group once for all listeners.
  final class Changes: Sendable {
    enum Event: Sendable {
      case change(group: String, name: String, version: UInt64)
      case pause
    }

    private struct Listener {
      let groups: Set<String>
      let continuation: AsyncStream<Event>.Continuation
    }

    private struct State {
      var listeners: [UInt64: Listener] = [:]
      var added: UInt64 = 0
      var watches: [String: Task<Void, Never>] = [:]
      var pauses: Task<Void, Never>?
    }

    /// How many events may wait for one listener. A listener that falls further behind is disconnected.
    private static let waitingLimit = 1_024

    private let store: SecretStore
    private let state = Mutex(State())

    init(_ store: SecretStore) { self.store = store }

    deinit { end() }

    /// Ends all streams and watches.
    func end() {
      state.withLock { state in
        for watch in state.watches.values { watch.cancel() }
        state.pauses?.cancel()
        for listener in state.listeners.values { listener.continuation.finish() }
        (state.listeners, state.watches, state.pauses) = ([:], [:], nil)
      }
    }

    /// Starts listening: every later change is an event.
    func listen(to groups: [String]) async -> (AsyncStream<Event>, UInt64) {
      for group in groups { await watch(group) }
      let (stream, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingOldest(Self.waitingLimit))
      let id = state.withLock { state in
        state.added += 1
        state.listeners[state.added] = Listener(groups: Set(groups), continuation: continuation)
        if state.pauses == nil { state.pauses = pausing() }
        return state.added
      }
      return (stream, id)
    }

    func stop(_ id: UInt64) {
      state.withLock { state in
        state.listeners.removeValue(forKey: id)?.continuation.finish()
        guard state.listeners.isEmpty else { return }
        for watch in state.watches.values { watch.cancel() }
        state.watches = [:]
        state.pauses?.cancel()
        state.pauses = nil
      }
    }

    private func watch(_ name: String) async {
      guard state.withLock({ $0.watches[name] == nil }), let group = try? store.group(name),
        let changes = try? await group.changes()
      else { return }
      let task = Task { [weak self] in
        do {
          for try await change in changes {
            self?.post(.change(group: name, name: change.name.description, version: change.version ?? 0), in: name)
          }
        } catch {}
        self?.ended(name)
      }
      let isDouble = state.withLock { state in
        guard state.watches[name] == nil else { return true }
        state.watches[name] = task
        return false
      }
      if isDouble { task.cancel() }
    }

    private func ended(_ name: String) { state.withLock { _ = $0.watches.removeValue(forKey: name) } }

    private func pausing() -> Task<Void, Never> {
      Task { [weak self] in
        while !Task.isCancelled {
          try? await Task.sleep(for: .seconds(15))
          self?.post(.pause, in: nil)
        }
      }
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
