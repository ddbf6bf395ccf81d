#if Daemon
  import Synchronization

  /// Events between one task that finds them and one that takes them. Whoever finds them waits while too many are there.
  final class WatchQueue: Sendable {
    private struct State {
      var events: [LogEvent] = []
      var byteCount = 0
      var end: Result<Void, LogError>?
      var taker: CheckedContinuation<Void, Never>?
      var finder: CheckedContinuation<Void, Never>?

      var isFull: Bool { events.count >= 64 || byteCount >= 16 * LogLimits.part }
    }

    private let state = Mutex(State())

    /// Whether whoever takes events is behind.
    var isFull: Bool { state.withLock(\.isFull) }

    /// Adds an event as soon as there is room; not if the task was cancelled.
    func add(_ event: LogEvent) async {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let waits = state.withLock { state in
            guard state.isFull, state.end == nil else { return false }
            state.finder = continuation
            return true
          }
          if !waits { continuation.resume() } else if Task.isCancelled { release(.finder) }
        }
      } onCancel: {
        release(.finder)
      }
      guard !Task.isCancelled else { return }
      state.withLock { state in
        guard state.end == nil else { return }
        state.events.append(event)
        state.byteCount += event.byteCount
      }
      release(.taker)
    }

    /// Ends the queue; what is in it is still taken.
    func finish(throwing error: LogError? = nil) {
      state.withLock { state in
        if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
      }
      release(.taker)
      release(.finder)
    }

    /// - Returns: `nil` at the end.
    func next() async throws(LogError) -> LogEvent? {
      while true {
        let (event, end) = state.withLock { state -> (LogEvent?, Result<Void, LogError>?) in
          guard !state.events.isEmpty else { return (nil, state.end) }
          let event = state.events.removeFirst()
          state.byteCount -= event.byteCount
          return (event, nil)
        }
        if let event {
          release(.finder)
          return event
        }
        if let end {
          try end.get()
          return nil
        }
        guard !Task.isCancelled else { return nil }
        await wait()
      }
    }

    private func wait() async {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let waits = state.withLock { state in
            guard state.events.isEmpty, state.end == nil else { return false }
            state.taker = continuation
            return true
          }
          if !waits { continuation.resume() } else if Task.isCancelled { release(.taker) }
        }
      } onCancel: {
        release(.taker)
      }
    }

    private enum Side { case taker, finder }

    private func release(_ side: Side) {
      let continuation = state.withLock { state in
        switch side {
        case .taker: state.taker.take()
        case .finder: state.finder.take()
        }
      }
      continuation?.resume()
    }
  }

  extension LogEvent {
    fileprivate var byteCount: Int { if case .commit(let stored) = self { stored.commit.bytes.count } else { 0 } }
  }
#endif
