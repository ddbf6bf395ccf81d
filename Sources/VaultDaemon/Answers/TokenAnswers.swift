#if Daemon
  import Exchange
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import Vault

  /// Answers requests below `/v1/auth`: logs callers in, and lets them look up, renew and revoke their tokens.
  struct TokenAnswers: Sendable {
    let request: Request
    let body: JSONValue
    let visit: Visit

    /// How long a token is valid unless it is renewed, in seconds.
    private static let lifetime: UInt64 = 3_600
    /// How long a token can be renewed after it was issued, in seconds.
    static let limit: UInt64 = 86_400

    func answer(_ path: [String]) async throws -> Response {
      let isWriting = request.method == .post || request.method == .put
      switch (path.joined(separator: "/"), isWriting) {
      case ("unix/login", true): return try await unixLogin()
      case ("approle/login", true): return try await roleLogin()
      case ("cert/login", true): return try await certificateLogin()
      case ("token/lookup-self", _): return try await lookUp()
      case ("token/renew-self", true): return try await renew()
      case ("token/revoke-self", true): return try await revoke()
      case ("token/create", true): throw Refusal.ownerOnly("vault app bind APP")
      default: throw Refusal.unsupported("auth", path.first)
      }
    }

    // MARK: Logging in

    /// A token for a caller on the Unix socket that matches a binding. As in the other logins, a token that is sent does
    /// not count: a client logs in because that one has expired.
    private func unixLogin() async throws -> Response {
      let (opened, peer) = (visit.opened, visit.connection.peer)
      let match: @Sendable () throws -> Callers.Match? = { try opened.callers.match(of: peer, in: opened.store) }
      guard let found = try await Blocking.read(match) else {
        try await visit.record(.login, .denied, detail: ServiceTokens.Method.unix)
        throw Refusal.unknownCaller
      }
      return try await issue(for: found, ServiceTokens.Method.unix) { try match() == found }
    }

    /// AppRole: the role is the application's id, and the secret is an item that the owner has set.
    private func roleLogin() async throws -> Response {
      guard let role = body["role_id"]?.text, let secret = body["secret_id"]?.text else {
        throw Refusal.invalid("role_id and secret_id are needed")
      }
      let opened = visit.opened
      let isKnown: @Sendable () throws -> Bool = {
        guard let known = try opened.callers.roleSecret(of: role, in: opened.store) else { return false }
        return known.utf8.count >= 16 && Self.isEqual(known, secret)
      }
      guard try await Blocking.read(isKnown) else {
        try await visit.record(.login, .denied, subject: role, detail: ServiceTokens.Method.role)
        throw Refusal(status: .badRequest, "invalid role or secret ID")
      }
      return try await issue(
        for: Callers.Match(application: role, basis: secret), ServiceTokens.Method.role, if: isKnown)
    }

    /// The login with a client certificate, which TLS has verified. The application is the one that it is bound to; if
    /// there are several, the one that the request names.
    private func certificateLogin() async throws -> Response {
      let (opened, name) = (visit.opened, body["name"]?.text)
      let authorities = try await Blocking.read {
        try opened.callers.settings(of: opened.store)[TLSIdentity.authoritiesSetting]
      }
      let certificate = await visit.connection.certificate(signedBy: authorities)
      let match: @Sendable () throws -> Callers.Match? = {
        try certificate.flatMap {
          try opened.callers.match(of: $0, named: name, confirmedBy: authorities, in: opened.store)
        }
      }
      guard let found = try await Blocking.read(match) else {
        try await visit.record(.login, .denied, subject: name, detail: ServiceTokens.Method.certificate)
        throw Refusal(status: .badRequest, "invalid certificate or no client certificate supplied")
      }
      return try await issue(for: found, ServiceTokens.Method.certificate) { try match() == found }
    }

    /// Compares in constant time for texts of equal length.
    private static func isEqual(_ left: String, _ right: String) -> Bool {
      let (left, right) = (Array(left.utf8), Array(right.utf8))
      guard left.count == right.count else { return false }
      return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// - Parameter isStillKnown: called again after the token is stored, because removing a binding ends only the
    ///   tokens that exist at that time.
    private func issue(
      for match: Callers.Match, _ method: String, if isStillKnown: @escaping @Sendable () throws -> Bool
    ) async throws -> Response {
      let tokens = visit.opened.tokens
      let (text, token) = try await recorded(.login, subject: match.application, detail: method) {
        let made = try tokens.issue(for: match, by: method, lasting: Self.lifetime, limit: Self.limit)
        guard try isStillKnown() else {
          try tokens.revoke(made.text)
          throw Refusal.denied
        }
        return made
      }
      return .data(.null, auth: Self.auth(token, text))
    }

    /// Records a change of the tokens and then makes it. If it fails, a second record says so.
    private func recorded<Result: Sendable>(
      _ action: AuditRecord.Action, subject: String? = nil, detail: String? = nil,
      _ change: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
      try await visit.record(action, subject: subject, detail: detail)
      do { return try await Blocking.write(in: ServiceTokens.groupName, change) } catch {
        try await visit.record(action, Refusal(error).outcome, subject: subject, detail: detail)
        throw error
      }
    }

    // MARK: Using tokens

    private func held() async throws -> (String, ServiceTokens.Token) {
      guard let text = visit.connection.token(of: request), let token = visit.token else {
        try await visit.record(.inspect, .denied)
        throw Refusal.denied
      }
      return (text, token)
    }

    private func lookUp() async throws -> Response {
      let (text, token) = try await held()
      try await visit.record(.inspect)
      let ttl = token.secondsLeft
      return .data([
        "accessor": "", "creation_time": .number(token.issued.milliseconds / 1_000),
        "creation_ttl": .number(Self.lifetime),
        "display_name": .string("\(token.method)-\(token.application)"), "entity_id": "",
        "expire_time": .string(token.expires.text), "explicit_max_ttl": .number(Self.limit), "id": .string(text),
        "issue_time": .string(token.issued.text), "meta": ["application": .string(token.application)], "num_uses": 0,
        "orphan": true, "path": .string("auth/\(token.method)/login"), "policies": [.string(token.application)],
        "renewable": true, "ttl": .number(ttl), "type": "service",
      ])
    }

    private func renew() async throws -> Response {
      let (text, _) = try await held()
      let wanted = body["increment"].flatMap(KVDuration.seconds).flatMap(UInt64.init(exactly:)) ?? Self.lifetime
      let seconds = min(wanted == 0 ? Self.lifetime : wanted, Self.limit)
      let (tokens, isStill) = (visit.opened.tokens, visit.isStill)
      let token = try await recorded(.renew) {
        guard try isStill(), let token = try tokens.renew(text, lasting: seconds) else { throw Refusal.denied }
        return token
      }
      return .data(.null, auth: Self.auth(token, text))
    }

    private func revoke() async throws -> Response {
      let (text, _) = try await held()
      let tokens = visit.opened.tokens
      try await recorded(.logout) { try tokens.revoke(text) }
      return .nothing
    }

    private static func auth(_ token: ServiceTokens.Token, _ text: String) -> JSONValue {
      [
        "client_token": .string(text), "accessor": "", "policies": [.string(token.application)],
        "token_policies": [.string(token.application)], "metadata": ["application": .string(token.application)],
        "lease_duration": .number(token.secondsLeft), "renewable": true, "entity_id": "", "token_type": "service",
        "orphan": true, "num_uses": 0,
      ]
    }
  }

  extension ServiceTokens.Token {
    fileprivate var secondsLeft: UInt64 {
      let now = Timestamp.now
      return expires <= now ? 0 : (expires.milliseconds - now.milliseconds + 999) / 1_000
    }
  }

  extension Connection {
    /// The token that came with a request; `nil` if there was none.
    func token(of request: Request) -> String? {
      if let name = HTTPField.Name("X-Vault-Token"), let token = request.headers[name], !token.isEmpty { return token }
      // The scheme's name is case-insensitive.
      guard let bearer = request.headers[.authorization], bearer.prefix(7).lowercased() == "bearer " else { return nil }
      return String(bearer.dropFirst(7).drop(while: { $0 == " " }))
    }
  }
#endif
