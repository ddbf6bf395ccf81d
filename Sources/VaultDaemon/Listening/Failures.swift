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

    func count(_ peer: Peer) {
      let (key, minute) = (peer.key, minute)
      counts.withLock { counts in
        // Counts of past minutes do not matter and should not take memory.
        if counts.count >= 4_096 { counts = counts.filter { $0.value.minute == minute } }
        let known = counts[key].flatMap { $0.minute == minute ? $0.count : nil } ?? 0
        counts[key] = Count(minute: minute, count: known + 1)
      }
    }

    func isBlocked(_ peer: Peer) -> Bool {
      let (key, minute) = (peer.key, minute)
      return counts.withLock { $0[key].map { $0.minute == minute && $0.count >= limit } ?? false }
    }

    private var minute: Int64 { start.duration(to: .now).components.seconds / 60 }
  }

  extension Peer {
    /// The key that limits are counted by: a user, or over TCP an address.
    var key: String { user.map { "user \($0)" } ?? address ?? "" }
  }
#endif
