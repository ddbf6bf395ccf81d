#if Daemon
  /// Does something whenever it is asked for, never twice at the same time. Whoever asks while it is being done waits for
  /// the next turn, together with all others who ask meanwhile.
  actor Turns {
    private var last: Task<Void, any Error>?
    private var hasBegun = true
    /// How many calls joined a turn that another one had asked for and that had not begun.
    private(set) var joinedCount = 0

    /// - Throws: what `body` throws, to all who waited for it.
    func take(_ body: @escaping @Sendable () async throws -> Void) async throws {
      if let last, !hasBegun {
        joinedCount += 1
        return try await last.value
      }
      let before = last
      hasBegun = false
      let task = Task {
        _ = await before?.result
        begin()
        try await body()
      }
      last = task
      try await task.value
    }

    private func begin() { hasBegun = true }
  }
#endif
