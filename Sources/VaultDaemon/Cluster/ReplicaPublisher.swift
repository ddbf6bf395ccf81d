#if Daemon
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
        // What the cluster has may contradict the copy, or there may be no room for it.
        if !isChange, [.damaged, .rolledBack, .storage].contains(error.exitStatus) { throw error }
        guard case .unordered = error else { throw .unordered(.unreachable(error.message)) }
        throw error
      }
    }
  }
#endif
