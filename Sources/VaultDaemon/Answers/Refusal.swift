#if Daemon
  import HTTPTypes
  import Hummingbird
  import Logging
  import VaultFoundation

  /// The reason why a request is refused, in the form of HashiCorp's interface: `{"errors":["…"]}`.
  struct Refusal: Error, Equatable {
    let status: HTTPResponse.Status
    /// Texts for people. They contain no secret, and no item's name unless the caller sent it.
    var messages: [String] = []
    /// After how many seconds it makes sense to ask again.
    var retryAfter: Int?
    /// For the log: the name of the error, and what to do about it.
    private var name: String?
    private var hint: String?
    /// The outcome in the record, if the status does not tell it.
    private var recorded: AuditRecord.Outcome?

    static let notFound = Refusal(status: .notFound)
    static let denied = Refusal(status: .forbidden, "permission denied")
    static let unknownCaller = Refusal(
      status: .forbidden, "permission denied", "no binding matches this process and no valid token was sent")
    static let sealed = Refusal(status: .serviceUnavailable, "Vault is sealed")
    static let unexpected = Refusal(status: .internalServerError, "internal error")
    static let tooLarge = Refusal(status: .contentTooLarge, "the request is too large")
    /// - Parameters:
    ///   - name: a name that the interface reserves, even if a group has it.
    ///   - part: what follows it in the path.
    static func unsupported(_ name: String, _ part: String?) -> Refusal {
      guard part == "data" || part == "metadata" else { return Refusal(status: .notFound, "unsupported path") }
      return Refusal(
        status: .notFound, "unsupported path",
        "'\(name)' is not a mount: this interface uses the name itself; 'vault get -g \(name)' reads such a group")
    }
    static let tooManyBodies = Refusal(
      status: .tooManyRequests, retryAfter: 1, "too many large requests or answers at once; try again")
    static let tooManyTokens = Refusal(
      status: .tooManyRequests, retryAfter: 60,
      "the application has too many tokens; use each until it ends, or revoke it (token/revoke-self)")
    static let tooManyFailures = Refusal(
      status: .tooManyRequests, retryAfter: 60, "too many failed requests; wait a minute")
    /// Nobody gets it: the connection is closed.
    static let abandoned = Refusal(status: HTTPResponse.Status(code: 499), "the client has left")
    static let unknownMethod = Refusal(status: .methodNotAllowed, "unsupported operation")

    init(status: HTTPResponse.Status, retryAfter: Int? = nil, _ messages: String...) {
      (self.status, self.retryAfter, self.messages) = (status, retryAfter, messages)
    }

    /// - Parameter error: the error that kept a record from being written.
    static func unrecorded(_ error: any Error) -> Refusal {
      let reason = (error as? VaultError)?.message ?? "\(type(of: error))"
      return Refusal(
        status: .serviceUnavailable, "the record cannot be written, so nothing is answered or changed: \(reason)")
    }

    static func invalid(_ message: String) -> Refusal { Refusal(status: .badRequest, message) }

    /// - Parameter command: the command with which the owner does this.
    static func ownerOnly(_ command: String) -> Refusal {
      Refusal(status: .forbidden, "only the owner may do this: \(command)")
    }

    init(_ error: VaultError) {
      switch error {
      case .notFound: self = .notFound
      case .denied(.notAMember), .denied(.readOnly): self = .denied
      case .denied, .ownerNeeded: self.init(status: .forbidden, error.message)
      case .conflict: self = .invalid("check-and-set parameter did not match the current version")
      case .invalid, .overLimit, .otherType, .archive, .contradiction, .publishedGroup, .otherCluster:
        self = .invalid(error.message)
      case .locked, .noStore, .otherDevice: self = .sealed
      case .busy, .storage, .unordered: self.init(status: .serviceUnavailable, error.message)
      default: self.init(status: .internalServerError, error.message)
      }
      if status.kind == .serverError, self != .sealed { (name, hint) = (error.name, error.hintForOperator) }
      let exact = AuditRecord.Outcome(error)
      if self != .sealed, exact != outcome { recorded = exact }
    }

    init(_ error: any Error) {
      switch error {
      case let refusal as Refusal: self = refusal
      case let error as VaultError: self.init(error)
      default: self = .unexpected
      }
    }

    /// The refusal in the daemon's log. No message of a `VaultError` contains an item's name.
    var metadata: Logger.Metadata {
      var metadata: Logger.Metadata = ["status": "\(status.code)", "reason": "\(messages.joined(separator: "; "))"]
      metadata["error"] = name.map { "\($0)" }
      metadata["hint"] = hint.map { "\($0)" }
      return metadata
    }

    /// The error as an outcome in the record.
    var outcome: AuditRecord.Outcome {
      if let recorded { return recorded }
      return switch status {
      case .forbidden: .denied
      case .notFound: AuditRecord.Outcome(.notFound)
      case .badRequest, .methodNotAllowed, .unsupportedMediaType: AuditRecord.Outcome(.usage)
      case .contentTooLarge, .tooManyRequests: AuditRecord.Outcome(.overLimit)
      case .serviceUnavailable: AuditRecord.Outcome(.locked)
      case Self.abandoned.status: AuditRecord.Outcome(.interrupted)
      default: AuditRecord.Outcome(.unexpected)
      }
    }
  }

  extension VaultError {
    /// The error in the daemon's log.
    var metadata: Logger.Metadata {
      var metadata: Logger.Metadata = ["error": "\(message)"]
      metadata["hint"] = hintForOperator.map { "\($0)" }
      return metadata
    }

    /// What whoever runs the daemon can do about it; `nil` if there is nothing that the message does not say.
    var hintForOperator: String? {
      switch self {
      case .denied(.notAMember):
        "if the owner has put an older copy of the service's groups there, or has revoked the service, they enroll it again: "
          + "vault service enroll --output FILE, with --again or --replace"
      case .rolledBack(let group, _, _, _), .anotherGroup(let group), .damaged(let group?, .witness, _):
        "if the owner put this state there, accept it with the daemon's state folder and credential as well: "
          + "vault group accept \(group), as in docs/guide/backups.md; otherwise find out who did"
          + (group.hasPrefix("vault.")
            ? "; if the owner has replaced the credential since, start the daemon with one that was written after that: "
              + "vault service enroll --output FILE --again" : "")
      default: nil
      }
    }
  }
#endif
