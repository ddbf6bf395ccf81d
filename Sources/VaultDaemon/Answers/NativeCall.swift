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
    func answer(_ visit: Visit, _ drafts: BodyBudget.Drafts) async throws -> Response {
      if call.operation == .hello { return try await hello(visit) }
      // Nothing has such a name, and the record of it would take as much of the disk.
      guard max(call.name.utf8.count, call.group.utf8.count) <= 1_024 else {
        throw Refusal.invalid("a name has at most 1,024 bytes")
      }
      let (call, value) = (call, value)
      do {
        return try await visit.perform(
          Operation(
            action: call.operation.action, group: call.group, item: call.name.isEmpty ? nil : call.name,
            needed: call.operation.isReading ? .read : .write, version: call.version
          ) { group in
            let draft = drafts.begin()
            var answer =
              call.operation == .list
              ? try Self.list(for: call, in: group, draft) : try Self.answer(to: call, Secret(value), in: group)
            var fields = answer.encoded()
            if !answer.items.isEmpty, fields.count > call.answerLimit {
              answer = Self.tooLong
              fields = answer.encoded()
            }
            throw AnsweredOtherwise(
              response: Response(answer, fields), outcome: answer.failure.map { AuditRecord.Outcome($0) } ?? .allowed)
          })
      } catch let refusal as Refusal where refusal.status == .forbidden {
        let reason: VaultError.Denial =
          visit.application != nil && !call.operation.isReading ? .readOnly : .notAMember
        throw AnsweredOtherwise(denied: reason)
      }
    }

    private static let tooLong = ServiceAnswer(
      failure: .overLimit("64 MiB of items in one list: list fewer, with a prefix"))

    /// Makes a call that concerns one item.
    static func answer(
      to call: ServiceCall, _ value: borrowing Secret, in group: AccessGroup
    ) -> ServiceAnswer {
      do throws(VaultError) {
        let group = call.request.map(group.answering) ?? group
        return try group.answer(to: call, call.operation == .set ? value.opened : nil)
      } catch {
        return ServiceAnswer(failure: error)
      }
    }

    /// The present or removed items of a list, in no particular order, unless they are more than an answer may have.
    ///
    /// - Parameter draft: counts them while they are found.
    static func list(for call: ServiceCall, in group: AccessGroup, _ draft: BodyBudget.Draft) throws -> ServiceAnswer {
      var (answer, size) = (ServiceAnswer(), 0)
      do {
        let list = try group.list(ItemQuery(prefix: call.name), removed: call.listsRemoved)
        while let item = try list.next() {
          let texts = [item.name.description, item.label ?? ""] + item.attributes.flatMap { [$0.key, $0.value] }
          let count = texts.reduce(64) { $0 + $1.utf8.count }
          size += count
          guard size <= call.answerLimit else { return tooLong }
          try draft.grow(by: count)
          answer.items.append(item)
        }
      } catch let error as VaultError {
        return ServiceAnswer(failure: error)
      }
      return answer
    }

    private func hello(_ visit: Visit) async throws -> Response {
      guard let application = visit.application else {
        try await visit.record(.login, .denied)
        throw AnsweredOtherwise(denied: .notAMember)
      }
      let (store, access) = (visit.opened.store, visit.opened.access)
      let groups = call.omitsGroups ? [] : try await Blocking.list { try access.groups(of: application).map(\.name) }
      let caller = ServiceAnswer.Caller(application: application, ownerKey: store.ownerKeyBytes, groups: groups)
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
    /// - Parameter encoded: the fields of `answer`, if they are known: those of a long list take long to make.
    init(_ answer: ServiceAnswer, _ encoded: [UInt8]? = nil) {
      let fields = encoded ?? answer.encoded()
      let count = UInt32(fields.count)
      var bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
      bytes.reserveCapacity(bytes.count + fields.count + (answer.secret?.count ?? 0))
      bytes += fields
      if let secret = answer.secret { unsafe secret.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) } }
      self.init(.ok, "application/octet-stream", bytes)
    }
  }
#endif
