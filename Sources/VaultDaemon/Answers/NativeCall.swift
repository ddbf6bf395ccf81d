#if Daemon
  import Hummingbird
  import NIOCore
  import Vault

  /// A call by a program that uses the library or `vault` without a credential: `POST /vault/1/call`.
  struct NativeCall: Sendable {
    private let call: ServiceCall
    private let value: [UInt8]

    /// - Throws: ``Refusal`` for a body that is not a call.
    init(_ body: ByteBuffer) throws(Refusal) {
      var body = body
      guard body.readableBytes <= ServiceCall.byteLimit else { throw .tooLarge }
      guard let count = body.readInteger(as: UInt32.self), let fields = body.readBytes(length: Int(clamping: count)),
        let call = try? ServiceCall(decoding: fields)
      else { throw .invalid("a call that does not follow the protocol") }
      self.call = call
      value = body.readBytes(length: body.readableBytes) ?? []
    }

    /// The answer, after its record is durable. If the store refuses the call, the answer says so, and the HTTP status
    /// is still 200.
    ///
    /// - Throws: ``AnsweredOtherwise`` for a caller who may not make the call.
    func answer(_ visit: Visit) async throws -> Response {
      if call.operation == .hello { return try await hello(visit) }
      let (call, value) = (call, value)
      do {
        return try await visit.perform(
          Operation(
            action: call.operation.action, group: call.group, item: call.name.isEmpty ? nil : call.name,
            needed: call.operation.isReading ? .read : .write, version: call.version
          ) { group in
            var answer = call.answer(in: group, value: try Secret(value))
            if !answer.items.isEmpty, answer.encoded().count > call.answerLimit {
              answer = ServiceAnswer(failure: .overLimit("64 MiB of items in one list: list fewer, with a prefix"))
            }
            throw AnsweredOtherwise(
              response: Response(answer), outcome: answer.failure.map { AuditRecord.Outcome($0) } ?? .allowed)
          })
      } catch let refusal as Refusal where refusal.status == .forbidden {
        let reason: VaultError.Denial =
          visit.application != nil && !call.operation.isReading ? .readOnly : .notAMember
        throw AnsweredOtherwise(denied: reason)
      }
    }

    private func hello(_ visit: Visit) async throws -> Response {
      guard let application = visit.application else {
        try await visit.record(.login, .denied)
        throw AnsweredOtherwise(denied: .notAMember)
      }
      let (store, access) = (visit.opened.store, visit.opened.access)
      let caller = try await Blocking.read {
        ServiceAnswer.Caller(
          application: application, ownerKey: store.ownerKeyBytes,
          groups: try access.groups(of: application).map(\.name))
      }
      try await visit.record(.login)
      return Response(ServiceAnswer(caller: caller))
    }
  }

  extension AnsweredOtherwise {
    fileprivate init(denied reason: VaultError.Denial) {
      self.init(response: Response(ServiceAnswer(failure: .denied(reason))), outcome: .denied)
    }
  }

  extension ServiceCall.Operation {
    fileprivate var action: AuditRecord.Action {
      switch self {
      case .hello: .login
      case .open: .read
      case .item, .history: .inspect
      case .list: .list
      case .set, .change: .write
      case .remove: .remove
      case .destroy: .destroy
      case .restore: .restore
      }
    }
  }

  extension Response {
    init(_ answer: ServiceAnswer) {
      let fields = answer.encoded()
      let count = UInt32(fields.count)
      var bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
      bytes += fields
      if let secret = answer.secret { unsafe secret.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) } }
      self.init(.ok, "application/octet-stream", bytes)
    }
  }
#endif
