#if Daemon
  import Exchange
  import Glibc
  import HTTPTypes
  import Hummingbird
  import HummingbirdCore
  import Logging
  import NIOCore
  import VaultFoundation

  /// Answers requests, whichever socket they came on.
  struct Interface: Sendable {
    let seal: Seal
    /// The path of the store that the daemon serves.
    let home: String
    let limits: Limits
    /// For applications.
    let bodies: BodyBudget
    /// For all others, who must not use up what applications need.
    let strangersBodies: BodyBudget
    /// For programs that order changes of published groups, and for SSH clients.
    let messages: BodyBudget
    let answers: BodyBudget
    let failures: Failures
    let metrics: DaemonMetrics
    let replication: Replication
    let logger: Logger

    private var system: SystemAnswers { SystemAnswers(seal: seal, replication: replication) }

    @Sendable func answer(_ request: Request, over connection: Connection) async -> Response {
      let start = ContinuousClock.now
      var response = await answered(request, connection)
      // A client would take a body for the next answer.
      if request.method == .head { response = Response(status: response.status, headers: [.cacheControl: "no-store"]) }
      metrics.count(await countedStatus(of: response, request), start.duration(to: .now))
      return response
    }

    /// The status in the metrics: anyone may choose that of an answer about the daemon's health.
    private func countedStatus(of response: Response, _ request: Request) async -> Int {
      guard request.uri.query != nil, request.method == .get || request.method == .head,
        (try? Target(request))?.rest(after: 0) == SystemAnswers.health
      else { return response.status.code }
      return await seal.problem() == nil ? 200 : 503
    }

    private func answered(_ request: Request, _ connection: Connection) async -> Response {
      do {
        return try await route(request, connection)
      } catch {
        let refusal = Refusal(error)
        if refusal.status.kind == .serverError, refusal != .sealed {
          logger.error("a request failed", metadata: refusal.metadata)
        }
        return Response(refusal)
      }
    }

    private func route(_ request: Request, _ connection: Connection) async throws -> Response {
      if let refusal = refusalOfOtherStore(request, connection.peer) { return refusal }
      let target = try Target(request)
      // Anyone may ask whether the daemon works.
      if let answer = await system.publicAnswer(to: request, target) { return answer }
      if target.parts == ["metrics"], request.method == .get, !connection.isTLS {
        let text = try await metrics.text(seal, replication.conditions())
        return Response(.ok, "text/plain; version=0.0.4", Array(text.utf8))
      }
      if let answer = try await changeSeal(request, target, connection) { return answer }
      let cluster = ClusterAnswers(
        seal: seal, replication: replication, limits: limits, bodies: messages, failures: failures)
      if let answer = try await cluster.answer(to: request, target, connection) { return answer }
      guard let opened = seal.current else { throw Refusal.sealed }
      let arrival = ContinuousClock.now
      func identify() async throws -> Visit {
        try await Blocking.$caller.withValue(connection.peer.key) {
          try await opened.visit(connection, token: connection.token(of: request))
        }
      }
      let visit = try await identify()
      let (caller, isKnown) = (visit.caller, visit.application != nil)
      guard !failures.isBlocked(caller) else { throw Refusal.tooManyFailures }
      do {
        let answer = try await (isKnown ? bodies : strangersBodies).lend(
          request.body, to: caller, upTo: isKnown ? limits.body : limits.strangersBody,
          else: isKnown ? .tooLarge : .unknownCaller
        ) { body in
          // While a body arrives late, the daemon may be sealed, and a token or a binding may end.
          guard !seal.isSealed else { throw Refusal.sealed }
          if arrival.duration(to: .now) > Visit.trust {
            guard try await identify().application == visit.application else { throw Refusal.denied }
          }
          return try await Blocking.$caller.withValue(caller) { try await dispatch(request, target, body, visit) }
        }
        return try answers.count(answer, for: caller)
      } catch let answered as AnsweredOtherwise {
        if answered.outcome == .denied { failures.count(caller) }
        return answered.response
      } catch {
        // Losing a race for a version is not an attack, if the application is known; a wrong login always is.
        let (refusal, isGuess) = (Refusal(error), !isKnown || target.parts.starts(with: ["v1", "auth"]))
        if refusal.status == .forbidden || isGuess && refusal.status == .badRequest || refusal == .tooManyTokens {
          failures.count(caller)
        }
        throw error
      }
    }

    /// The answer to a request of a process here that means another store; `nil` for any other request. A caller that sees
    /// no store, or is older, does not say which one it means. The path of this store is told only to who may seal it.
    private func refusalOfOtherStore(_ request: Request, _ peer: Peer) -> Response? {
      guard peer.user != nil, let name = HTTPField.Name("X-Vault-Store"), let meant = request.headers[name],
        let own = StoreLocation.mark(of: home), meant != own
      else { return nil }
      return Response(.misdirectedRequest, "text/plain", peer.isDaemonsUser ? Array(home.utf8) : [])
    }

    /// Seals or unseals the daemon for root and for the daemon's own user, who could also end its process.
    ///
    /// - Returns: `nil` for any other request.
    private func changeSeal(
      _ request: Request, _ target: Target, _ connection: Connection
    ) async throws -> Response? {
      guard target.parts.count == 3, target.parts.starts(with: ["v1", "sys"]),
        ["seal", "unseal"].contains(target.parts[2]), request.method == .put || request.method == .post
      else { return nil }
      let isSealing = target.parts[2] == "seal"
      let before = seal.current
      guard connection.peer.isDaemonsUser else {
        failures.count(connection.peer.key)
        if let before { try await record(isSealing, in: before, connection, .denied) }
        throw Refusal.denied
      }
      if isSealing { seal.seal() } else { try await Blocking.read { try seal.unseal() } }
      // The record is in the store that was open before or is open now. Sealing must always be possible, even when the
      // record cannot be written.
      if (before == nil) != isSealing, let changed = before ?? seal.current {
        do { try await record(isSealing, in: changed, connection, .allowed) } catch {
          logger.error(
            "sealing or unsealing was not recorded", metadata: ["error": "\(error.messages.joined(separator: "; "))"])
        }
      }
      return isSealing ? .nothing : await system.sealStatus()
    }

    private func record(
      _ isSealing: Bool, in opened: OpenedStore, _ connection: Connection, _ outcome: AuditRecord.Outcome
    ) async throws(Refusal) {
      try await Visit(opened: opened, connection: connection, application: nil)
        .record(isSealing ? .stop : .start, outcome, detail: isSealing ? "seal" : "unseal")
    }

    private func dispatch(
      _ request: Request, _ target: Target, _ body: ByteBuffer, _ visit: Visit
    ) async throws -> Response {
      switch target.parts.first {
      case "vault" where target.parts == ["vault", "1", "call"]:
        guard request.method == .post else { throw Refusal.unknownMethod }
        return try await Blocking.read { try NativeCall(body) }
          .answer(visit, BodyBudget.Drafts(budget: answers, caller: visit.caller))
      case "v1":
        guard !request.wantsWrapping else { throw Refusal.invalid("response wrapping is not supported") }
        guard !request.namesNamespace else { throw Refusal.invalid("namespaces are not supported") }
        switch target.parts.dropFirst().first {
        case "sys":
          let json = try await Blocking.read { try JSONValue.body(body) }
          return try await system.answer(to: request, target, visit, body: json)
        case "auth":
          let json = try await Blocking.read { try JSONValue.body(body) }
          return try await TokenAnswers(request: request, body: json, visit: visit)
            .answer(Array(target.parts.dropFirst(2)))
        case "events" where target.parts.count == 2:
          guard request.method == .get else { throw Refusal.unknownMethod }
          return try await EventStream(visit: visit, token: visit.connection.token(of: request)).answer()
        case let name? where AccessGroup.namesOfInterface.contains(name):
          throw Refusal.unsupported(name, target.parts.dropFirst(2).first)
        case nil: throw Refusal.notFound
        default:
          let request = try KVRequest(request, target, body)
          // A large body takes long to parse, and the settings may be read again.
          let drafts = BodyBudget.Drafts(budget: answers, caller: visit.caller)
          let operation = try await Blocking.read { [opened = visit.opened] in
            try request.operation(in: opened.mountVersion(of: request.mount), drafts)
          }
          return try await visit.perform(operation)
        }
      default: throw Refusal.notFound
      }
    }
  }

  extension Request {
    /// Whether the client expects a token for the answer in place of the answer.
    fileprivate var wantsWrapping: Bool {
      guard let name = HTTPField.Name("X-Vault-Wrap-TTL"), let time = headers[name] else { return false }
      return !["", "0", "0s"].contains(time)
    }

    /// Whether the client means a part of the store that this one does not have.
    fileprivate var namesNamespace: Bool {
      HTTPField.Name("X-Vault-Namespace").flatMap { headers[$0] }.map { !["", "/"].contains($0) } ?? false
    }
  }

  /// The path of a request, percent-decoded.
  struct Target: Sendable {
    /// The components, including empty ones; the first is the one after the first slash.
    let parts: [String]

    /// - Throws: ``Refusal`` for a path that is not UTF-8 once it is decoded, or is not encoded correctly.
    init(_ request: Request) throws(Refusal) {
      let path = request.uri.path
      guard path.hasPrefix("/") else { throw .invalid("the path must begin with a slash") }
      // The whole path is decoded, so a slash in an item's name is a slash, whether or not the client encodes it.
      guard let text = path.dropFirst().removingURLPercentEncoding() else {
        throw .invalid("the path is not encoded as a URL")
      }
      parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    /// The rest of the path after `count` components, with its slashes.
    func rest(after count: Int) -> String { parts.dropFirst(count).joined(separator: "/") }
  }

  extension Substring {
    fileprivate func removingURLPercentEncoding() -> String? {
      var bytes: [UInt8] = []
      var rest = utf8[...]
      while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
          bytes.append(byte)
          continue
        }
        let digits = String(decoding: rest.prefix(2), as: UTF8.self)
        guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else {
          return nil
        }
        bytes.append(value)
        rest = rest.dropFirst(2)
      }
      return String(validating: bytes, as: UTF8.self)
    }
  }
#endif
