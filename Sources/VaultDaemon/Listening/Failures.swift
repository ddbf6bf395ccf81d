#if Daemon
  import Synchronization

  /// Counts how often each caller was refused in the current minute. A caller that is refused too often is ignored
  /// until the minute ends, so that nobody can guess tokens.
  final class Failures: Sendable {
    private struct Count {
      var minute: Int64
      var count: Int
    }

    private let limit: Int
    private let start = ContinuousClock.now
    private let counts = Mutex<[String: Count]>([:])

    init(limit: Int) { self.limit = limit }

    func count(_ caller: String) {
      let minute = minute
      counts.withLock { counts in
        // Counts of past minutes do not matter and should not take memory.
        if counts.count >= 4_096 { counts = counts.filter { $0.value.minute == minute } }
        let known = counts[caller].flatMap { $0.minute == minute ? $0.count : nil } ?? 0
        counts[caller] = Count(minute: minute, count: known + 1)
      }
    }

    func isBlocked(_ caller: String) -> Bool {
      let minute = minute
      return counts.withLock { $0[caller].map { $0.minute == minute && $0.count >= limit } ?? false }
    }

    private var minute: Int64 { start.duration(to: .now).components.seconds / 60 }
  }

  extension Peer {
    /// The key that the limits of callers that are no application are counted by: a user, or over TCP an address.
    var key: String { user.map { "user \($0)" } ?? address ?? "" }
  }
#endif
