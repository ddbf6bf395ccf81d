#if Daemon
  import Exchange
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import NIOCore
  import VaultFoundation

  /// Answers programs on this machine that work with published groups: they order their own changes, and ask for copies
  /// to be brought up to date. A commit needs no other permission, because a writer of the group has signed it.
  struct ClusterAnswers: Sendable {
    let seal: Seal
    let replication: Replication
    let limits: Limits
    let bodies: BodyBudget
    let failures: Failures

    /// - Returns: `nil` for any other request.
    func answer(to request: Request, _ target: Target, _ connection: Connection) async throws -> Response? {
      let parts = target.parts
      guard parts.starts(with: ["vault", "1"]), parts != ["vault", "1", "call"] else { return nil }
      guard !failures.isBlocked(connection.peer.key) else { throw Refusal.tooManyFailures }
      guard !seal.isShut else { throw Refusal.sealed }
      if parts == ["vault", "1", "join"], request.method == .post { return Response(try await join(connection)) }
      guard parts.count == 4, connection.peer.user != nil, let wanted = ClusterRequest(rawValue: parts[2]) else {
        return nil
      }
      do {
        guard request.method == .post else { throw Refusal.unknownMethod }
        let number =
          wanted == .provision
          ? try await provision(request, connection) : try await perform(wanted, on: parts[3], request, connection)
        return Response(ServiceAnswer(number: number))
      } catch {
        // Failures of the cluster, lost races and a sealed daemon are not the caller's fault.
        if !connection.peer.isDaemonsUser, !error.isNobodysFault { failures.count(connection.peer.key) }
        if error is Replica.UnsignedCommit {
          return Response(ServiceAnswer(failure: .unordered(group: parts[3], .overtaken)))
        }
        guard let error = error as? VaultError else { throw error }
        return Response(ServiceAnswer(failure: error))
      }
    }

    /// A daemon without a store of its own has no record.
    private func recordDenial(_ connection: Connection, _ what: String) async throws {
      guard let opened = seal.current else { return }
      try await Visit(opened: opened, connection: connection, application: nil).record(.login, .denied, detail: what)
    }

    private func join(_ connection: Connection) async throws -> ServiceAnswer {
      guard connection.peer.isDaemonsUser else {
        failures.count(connection.peer.key)
        try await recordDenial(connection, "join")
        return ServiceAnswer(failure: .service(.denied, "permission denied"))
      }
      do {
        var answer = ServiceAnswer()
        answer.joined = try await replication.join()
        return answer
      } catch let error as VaultError {
        return ServiceAnswer(failure: error)
      }
    }

    /// - Returns: the epoch of the log, as last known to the daemon.
    private func perform(
      _ wanted: ClusterRequest, on group: String, _ request: Request, _ connection: Connection
    ) async throws -> UInt64? {
      guard let replica = await replication.replica(of: group, ordersFile: wanted == .base) else {
        guard !seal.isShut else { throw Refusal.sealed }
        throw VaultError.notFollowed
      }
      let isTrusted = connection.peer.isDaemonsUser
      // Only the owner makes complete files and changes remotes, as root or as the user that the daemon runs as.
      guard wanted != .base && wanted != .servers || isTrusted else { throw VaultError.denied(.ownerOnly) }
      if wanted == .servers { return try await epoch(of: replica, request) }
      let limit =
        switch wanted {
        case .commit, .commitAgain: isTrusted ? GroupCommit.byteLimit : limits.body
        case .base, .sync, .status, .servers, .provision: limits.strangersBody
        }
      if isTrusted {
        try await perform(wanted, replica, request.body.collect(upTo: limit), for: nil)
      } else {
        let caller = connection.peer.key
        try await bodies.lend(request.body, to: caller, upTo: limit, else: .tooLarge) {
          try await perform(wanted, replica, $0, for: caller)
        }
      }
      return replica.logEpoch
    }

    /// - Parameter caller: whose turn it takes to prove a commit; `nil` for the daemon's own user.
    private func perform(
      _ wanted: ClusterRequest, _ replica: Replica, _ body: ByteBuffer, for caller: String?
    ) async throws {
      // It may have been sealed while the body arrived.
      guard !seal.isShut else { throw Refusal.sealed }
      let bytes = Array(body.readableBytesView)
      switch wanted {
      case .sync: try await replication.catchUp(replica)
      case .commit, .commitAgain:
        let commit = try await Blocking.$caller.withValue(caller) {
          try await Blocking.read {
            do { return try GroupCommit(parsing: bytes) } catch { throw VaultError.invalid("not a commit") }
          }
        }
        try await replica.order(commit, isRepeated: wanted == .commitAgain, for: caller)
      case .base: try await replica.order(Blocking.read { try PublishedFile(decoding: bytes) })
      case .status: if let problem = replica.lastProblem { throw problem }
      case .servers, .provision: break
      }
    }

    /// The epoch that other servers have, with a login that comes with the request and is not kept.
    private func epoch(of replica: Replica, _ request: Request) async throws -> UInt64? {
      let body = try await request.body.collect(upTo: limits.body)
      let remote = try unsafe body.withUnsafeReadableBytes { bytes in
        try unsafe Remote(parsing: bytes, orThrow: .invalid("a request that does not follow the protocol"))
      }
      return try await replication.epoch(of: replica, on: remote)
    }

    /// Makes users and permissions in etcd, with a login that comes with the request and is not kept.
    ///
    /// - Returns: 0 if etcd checks no logins, else 1.
    private func provision(_ request: Request, _ connection: Connection) async throws -> UInt64? {
      guard connection.peer.isDaemonsUser else {
        try await recordDenial(connection, "provision")
        throw VaultError.denied(.ownerOnly)
      }
      let body = try await request.body.collect(upTo: limits.body)
      let plan = try unsafe body.withUnsafeReadableBytes { try unsafe ProvisioningPlan(decoding: $0) }
      return try await EtcdProvisioning.carryOut(plan) ? 1 : 0
    }
  }

  extension Error {
    fileprivate var isNobodysFault: Bool {
      switch self as? VaultError {
      case .notFollowed?: false
      case .unordered, .busy, .storage: true
      default: [.tooManyBodies, .sealed].contains(self as? Refusal)
      }
    }
  }
#endif
