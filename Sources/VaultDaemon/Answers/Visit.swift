#if Daemon
  import Hummingbird
  import VaultFoundation

  /// What a request asks to do in a group, before it is decided whether that is allowed.
  struct Operation: Sendable {
    let action: AuditRecord.Action
    let group: String
    var item: String?
    /// The rights that the application needs in the group.
    var needed = MemberRights.read
    /// The requested version, for the record.
    var version: UInt64?
    /// Performs the operation; it may block on disks and locks.
    let perform: @Sendable (AccessGroup) throws -> Response
  }

  /// A request whose caller has been identified, if possible. It is decided, performed and recorded, and only then
  /// answered.
  struct Visit: Sendable {
    let opened: OpenedStore
    let connection: Connection
    /// `nil` if neither a binding nor a token identifies the application.
    let application: String?
    /// The token that identifies the application; `nil` if its process does.
    var token: ServiceTokens.Token?
    /// Whether the token or the process still identifies the application; it may block on disks.
    var isStill: @Sendable () throws(VaultError) -> Bool = { true }
    /// For how long it need not be asked again before something is read.
    static let trust = Duration.milliseconds(100)
    /// The key that limits are counted by. Nobody else at an application's address can use up what the application may.
    var caller: String { application.map { "application \($0)" } ?? connection.peer.key }

    /// The answer to `operation`, after its record is durable.
    ///
    /// A change is recorded before it is made: if the record fails, a value can be withheld, but a change cannot be
    /// undone. If the change itself then fails, a second record says so.
    ///
    /// - Throws: ``Refusal``, which is recorded, too; `serviceUnavailable` if the record cannot be written, and then
    ///   nothing is changed.
    func perform(_ operation: Operation) async throws -> Response {
      let isChange = operation.needed != .read
      var isPublished = false
      if isChange {
        do throws(Refusal) { isPublished = try await permission(for: operation).isPublished } catch {
          try await record(operation, error.outcome)
          throw error
        }
        try await record(operation, .allowed)
      }
      let (result, outcome) = await attempt(operation, isPublished: isPublished)
      if !isChange || outcome != .allowed { try await record(operation, outcome) }
      return try result.get()
    }

    /// The group of the operation, if that is allowed.
    private func permission(for operation: Operation) async throws(Refusal) -> GroupInfo {
      guard let application else { throw .unknownCaller }
      let access = opened.access
      do {
        return try await Blocking.read {
          try access.group(operation.group, for: application, operation.needed).info()
        }
      } catch {
        throw Refusal(error)
      }
    }

    private func record(_ operation: Operation, _ outcome: AuditRecord.Outcome) async throws(Refusal) {
      try await record(
        operation.action, group: operation.group, item: operation.item, version: operation.version, outcome)
    }

    private func attempt(
      _ operation: Operation, isPublished: Bool
    ) async -> (Result<Response, Refusal>, AuditRecord.Outcome) {
      guard let application else { return (.failure(.unknownCaller), .denied) }
      let (access, isStill, start, isWanted) = (opened.access, isStill, ContinuousClock.now, connection.isOpen)
      // While it waits for its turn or for the group, a token or a binding may end. A change asks in its transaction.
      let body: @Sendable () throws -> Response = {
        // Its client may have left while it waited for its turn.
        if operation.needed == .read, !isWanted() { throw Refusal.abandoned }
        if operation.needed == .read, start.duration(to: .now) > Self.trust {
          guard try isStill() else { throw Refusal.denied }
        }
        return try operation.perform(access.group(operation.group, for: application, operation.needed, if: isStill))
      }
      do {
        let response =
          if operation.needed != .read {
            try await isPublished ? Blocking.order(body) : Blocking.write(in: operation.group, body)
          } else {
            try await operation.action == .list ? Blocking.list(body) : Blocking.read(body)
          }
        let outcome = response.status.code < 400 ? .allowed : Refusal(status: response.status).outcome
        return (.success(response), outcome)
      } catch let answered as AnsweredOtherwise {
        return (.success(answered.response), answered.outcome)
      } catch {
        let refusal = Refusal(error)
        return (.failure(refusal), refusal.outcome)
      }
    }

    /// Makes the record of a decision durable. Many refusals of callers that are no application are only counted, and
    /// so is much that an application does not find.
    ///
    /// - Throws: ``Refusal`` if that fails; it is then the only permitted answer.
    func record(
      _ action: AuditRecord.Action, group: String? = nil, item: String? = nil, version: UInt64? = nil,
      _ outcome: AuditRecord.Outcome = .allowed, subject: String? = nil, detail: String? = nil
    ) async throws(Refusal) {
      let record = AuditRecord(
        caller: AuditRecord.Caller(connection.peer, application), action: action, group: group, item: item,
        version: version, outcome: outcome, subject: subject, detail: detail)
      let recorder = opened.recorder
      do throws(VaultError) {
        if application == nil ? outcome == .denied : outcome == Refusal.notFound.outcome {
          try await recorder.refuse(record)
        } else {
          try await recorder.write(outcome == .allowed ? record : record.shortened())
        }
      } catch {
        throw .unrecorded(error)
      }
    }

    /// Has the record of an answer that holds no value made durable soon.
    ///
    /// - Throws: as ``record(_:group:item:version:_:subject:detail:)``, while records cannot be written.
    func note(_ action: AuditRecord.Action, group: String?, detail: String) async throws(Refusal) {
      let caller = AuditRecord.Caller(connection.peer, application)
      do throws(VaultError) {
        try await opened.recorder.note(AuditRecord(caller: caller, action: action, group: group, detail: detail))
      } catch {
        throw .unrecorded(error)
      }
    }
  }

  /// An answer whose HTTP status does not say how the operation ended.
  struct AnsweredOtherwise: Error {
    let response: Response
    let outcome: AuditRecord.Outcome
  }
#endif
