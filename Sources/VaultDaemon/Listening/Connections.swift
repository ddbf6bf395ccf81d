#if Daemon
  import Synchronization

  /// How many connections each user has open, and all together.
  final class Connections: Sendable {
    private struct State {
      var all = 0
      var ofUsers: [UInt32?: Int] = [:]
    }

    private let limits: Limits
    private let state = Mutex(State())

    init(_ limits: Limits) { self.limits = limits }

    var count: Int { state.withLock { $0.all } }

    /// Counts a connection.
    ///
    /// - Parameter user: the caller's uid; `nil` over TCP, where nobody is known yet.
    /// - Returns: false if there are too many already.
    func enter(_ user: UInt32?) -> Bool {
      state.withLock { state in
        // Root's connections count among all, but no other user can take them away from root.
        guard state.all < limits.connections || user == 0 else { return false }
        guard state.ofUsers[user, default: 0] < limits.connectionsPerUser else { return false }
        state.all += 1
        state.ofUsers[user, default: 0] += 1
        return true
      }
    }

    func leave(_ user: UInt32?) {
      state.withLock { state in
        state.all -= 1
        let left = state.ofUsers[user, default: 1] - 1
        state.ofUsers[user] = left > 0 ? left : nil
      }
    }
  }
#endif
