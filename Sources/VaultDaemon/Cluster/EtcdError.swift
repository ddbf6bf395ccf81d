#if Daemon
  /// Why a call to etcd failed. It says nothing about what was sent or stored.
  enum EtcdError: Error, Equatable {
    /// No server was reached, so nothing was sent.
    case unreachable
    /// A server was reached and did not answer in time, or not to the end.
    case unanswered
    /// A server's certificate is not trusted, ours cannot be used, or what came is no TLS. `isSent` says that this, or an
    /// earlier attempt, may have reached a server.
    case untrusted(isSent: Bool)
    /// The server has no leader now, or ended the call. `isUntouched` says that nothing was proposed.
    case unsettled(isUntouched: Bool)
    case refused
    /// The token is unknown or too old, or there is none although the servers check logins by now.
    case token
    case authenticationIsOff
    case requestTooLarge
    case answerTooLarge
    case full
    case compacted
    case exists
    case notFound
    /// The answer is not one that etcd's gateway gives.
    case malformed
    /// Another error of etcd's.
    case other(code: Int)
    /// The last attempt failed, but an earlier one may have changed something.
    case mayBeDone

    /// - Parameter failure: codes and texts as in etcd's `rpctypes`.
    init(_ failure: EtcdFailure) {
      switch (failure.code, failure.error) {
      case (16, _), (3, "etcdserver: revision of auth store is old"), (3, "etcdserver: user name is empty"):
        self = .token
      case (7, _), (3, "etcdserver: authentication failed, invalid user ID or password"): self = .refused
      case (3, "etcdserver: request is too large"): self = .requestTooLarge
      case (8, "etcdserver: mvcc: database space exceeded"): self = .full
      case (8, _): self = .unsettled(isUntouched: true)
      case (9, "etcdserver: authentication is not enabled"): self = .authenticationIsOff
      case (9, "etcdserver: user name already exists"), (9, "etcdserver: role name already exists"): self = .exists
      case (9, "etcdserver: user name not found"), (9, "etcdserver: role name not found"),
        (9, "etcdserver: role is not granted to the user"), (9, "etcdserver: permission is not granted to the role"):
        self = .notFound
      case (11, _): self = .compacted
      case (14, "etcdserver: no leader"): self = .unsettled(isUntouched: true)
      case (1, _), (2, _), (4, _), (13, _), (14, _): self = .unsettled(isUntouched: false)
      case (let code, _): self = .other(code: code)
      }
    }

    /// Whether another server may answer.
    var isWorthAnotherServer: Bool {
      switch self {
      case .unreachable, .unanswered, .untrusted, .unsettled, .malformed: true
      default: false
      }
    }

    /// Whether the server may have done what it was asked for.
    var leavesOutcomeOpen: Bool {
      switch self {
      case .unanswered, .malformed, .mayBeDone, .unsettled(isUntouched: false), .untrusted(isSent: true): true
      default: false
      }
    }
  }

  /// What the gateway answers besides a status other than 200.
  struct EtcdFailure: Decodable {
    let error: String
    let code: Int
  }
#endif
