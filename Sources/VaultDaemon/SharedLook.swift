#if Daemon
  import Synchronization

  /// A look that takes long and that anybody may ask for: one serves all who ask while it lasts, and for a time after it
  /// began those who ask later.
  final class SharedLook<Value: Sendable>: Sendable {
    private struct Look {
      let begin = ContinuousClock.now
      var hasEnded = false
      let task: Task<Value, any Error>
    }

    private let time: Duration
    private let last = Mutex<Look?>(nil)

    init(for time: Duration) { self.time = time }

    /// - Parameter find: is called if a new look is due. If it throws, the next caller looks again.
    func value(_ find: @escaping @Sendable () async throws -> Value) async throws -> Value {
      let task = last.withLock { last in
        // One that still waits for a lock is joined, however old it is: another one would wait for the lock, too.
        if let last, !last.hasEnded || last.begin.duration(to: .now) < time { return last.task }
        let task = Task { [self] in
          do {
            let value = try await find()
            self.last.withLock { $0?.hasEnded = true }
            return value
          } catch {
            self.last.withLock { $0 = nil }
            throw error
          }
        }
        last = Look(task: task)
        return task
      }
      return try await task.value
    }
  }
#endif
