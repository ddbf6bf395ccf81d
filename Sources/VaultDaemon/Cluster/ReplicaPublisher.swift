#if Daemon
  import Foundation
  import Synchronization
  import VaultFoundation

  /// Orders the changes that this process makes itself.
  struct ReplicaPublisher: CommitPublishing {
    /// Finds the replica, which may have been made after the publisher.
    let replica: @Sendable () async -> Replica?

    func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) {
      try run { try await $0.publish(commit, isRepeated: isRepeated) }
    }

    func publish(
      fileAt path: String, holding state: PublishedState, after previous: PublishedState
    ) throws(VaultError) {
      try run { try await $0.publish(fileAt: path, holding: state, after: previous) }
    }

    func catchUp() throws(VaultError) { try run(isChange: false) { try await $0.catchUp() } }

    private func run(
      isChange: Bool = true, _ body: @escaping @Sendable (Replica) async throws -> Void
    ) throws(VaultError) {
      do {
        try Blocking.wait {
          guard let replica = await replica() else { throw VaultError.unordered(.notHere) }
          try await body(replica)
        }
      } catch {
        let error = error as? VaultError ?? .unexpected("\(type(of: error))")
        // What the cluster has may contradict the copy.
        if !isChange, [.damaged, .rolledBack].contains(error.exitStatus) { throw error }
        guard case .unordered = error else { throw .unordered(.unreachable(error.message)) }
        throw error
      }
    }
  }

  extension Blocking {
    /// Waits in a thread that may block until an asynchronous call has ended.
    static func wait<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
      let done = DispatchSemaphore(value: 0)
      let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
      Task.detached {
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        outcome.withLock { $0 = result }
        done.signal()
      }
      done.wait()
      guard let result = outcome.withLock({ $0 }) else { throw CancellationError() }
      return try result.get()
    }
  }
#endif
