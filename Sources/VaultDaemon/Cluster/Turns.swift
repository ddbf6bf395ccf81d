#if Daemon
  /// Does something whenever it is asked for, never twice at the same time. Whoever asks while it is being done waits for
  /// the next turn, together with all others who ask meanwhile.
  actor Turns {
    /// The time was over for somebody who waited. The turn goes on.
    struct Late: Error {}

    private var last: Task<Void, Never>?
    private var hasBegun = true
    private var turnCount = 0
    private(set) var callCount = 0
    /// Those who wait for the end of a turn, by its number and theirs.
    private var waiting: [Int: [Int: AsyncThrowingStream<Void, any Error>.Continuation]] = [:]
    /// How many calls joined a turn that another one had asked for and that had not begun.
    private(set) var joinedCount = 0

    /// - Parameter limit: how long to wait for the end of the turn; `nil` for as long as it takes.
    /// - Throws: what `body` throws, to all who waited for it; ``Late``; `CancellationError`.
    func take(within limit: Duration? = nil, _ body: @escaping @Sendable () async throws -> Void) async throws {
      if hasBegun { begin(body) } else { joinedCount += 1 }
      callCount += 1
      let (turn, call) = (turnCount, callCount)
      let (end, ending) = AsyncThrowingStream<Void, any Error>.makeStream()
      waiting[turn, default: [:]][call] = ending
      let alarm = limit.map { limit in
        Task {
          try await Task.sleep(for: limit)
          ending.finish(throwing: Late())
        }
      }
      defer {
        alarm?.cancel()
        waiting[turn]?[call] = nil
      }
      for try await _ in end {}
      try Task.checkCancellation()
    }

    private func begin(_ body: @escaping @Sendable () async throws -> Void) {
      hasBegun = false
      turnCount += 1
      let (turn, before) = (turnCount, last)
      last = Task {
        await before?.value
        hasBegun = true
        var failure: (any Error)?
        do { try await body() } catch { failure = error }
        for ending in (waiting.removeValue(forKey: turn) ?? [:]).values { ending.finish(throwing: failure) }
      }
    }
  }
#endif
