import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Testing
import VaultFoundation

@testable import VaultDaemon

/// Tokens, and what comes over TCP with them.
struct TokenTests {
  /// The value of a member `name` in an answer's text.
  private static func text(_ name: String, in body: String) -> String? {
    body.range(of: "\"\(name)\":\"").flatMap { start in
      body[start.upperBound...].firstIndex(of: "\"").map { String(body[start.upperBound..<$0]) }
    }
  }

  /// Whether a token that was just made or renewed is valid for about an hour. On a busy machine seconds have passed.
  static func lastsAnHour(_ body: String) -> Bool {
    // The envelope has a member of that name, too.
    let digits = body.range(of: #""lease_duration":"#, options: .backwards).map {
      body[$0.upperBound...].prefix(while: \.isNumber)
    }
    return digits.flatMap { Int($0) }.map { (3_000...3_600).contains($0) } ?? false
  }

  static func token(in body: String) throws -> String { try #require(text("client_token", in: body)) }

  private static func logIn(_ daemon: RunningDaemon) async throws -> String {
    let answer = try await daemon.curl("/v1/auth/unix/login", "-X", "POST")
    #expect(answer.status == 200)
    return try token(in: answer.body)
  }

  @Test func `a token identifies the application until it is revoked, even after a restart`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    let token = try await Self.logIn(daemon)
    // From here on, only the token says who it is.
    try daemon.bind("other", user: String(getuid()))
    #expect(try await daemon.curl("/v1/web/data/a").status == 403)
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Token: \(token)").status == 200)
    daemon.seal.seal()
    try daemon.seal.unseal()
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "Authorization: Bearer \(token)").status == 200)
    let look = try await daemon.curl("/v1/auth/token/lookup-self", "-H", "X-Vault-Token: \(token)")
    #expect(look.body.contains(#""application":"web""#))
    let renewed = try await daemon.curl("/v1/auth/token/renew-self", "-X", "POST", "-H", "X-Vault-Token: \(token)")
    #expect(Self.lastsAnHour(renewed.body))
    #expect(
      try await daemon.curl("/v1/auth/token/revoke-self", "-X", "POST", "-H", "X-Vault-Token: \(token)").status == 204)
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Token: \(token)").status == 403)
  }

  @Test func `unbinding an application, or revoking it, ends its tokens at once and no others`() async throws {
    let daemon = try RunningDaemon(binds: false)
    for application in ["web", "other"] {
      try daemon.bind(application, unit: "nowhere.service")
      try daemon.set("a", in: application, to: "value")
      try daemon.set("settings/approle/\(application)", in: "vault.service", to: "0123456789abcdef")
    }
    func logIn(_ role: String) async throws -> String {
      let answer = try await daemon.curl(
        "/v1/auth/approle/login", "-d", #"{"role_id":"\#(role)","secret_id":"0123456789abcdef"}"#)
      return try Self.token(in: answer.body)
    }
    func read(_ group: String, _ token: String) async throws -> Int {
      try await daemon.curl("/v1/\(group)/data/a", "-H", "X-Vault-Token: \(token)").status
    }
    let (web, other) = (try await logIn("web"), try await logIn("other"))
    #expect(try await [read("web", web), read("other", other)] == [200, 200])
    try daemon.unbind("web")
    #expect(try await [read("web", web), read("other", other)] == [403, 200])
    _ = try daemon.owner().applications.uninstall("other", revoking: true)
    #expect(try await read("other", other) == 403)
    #expect(try daemon.items(of: "vault.tokens").isEmpty)
  }

  @Test func `a token ends with the binding for which it was given, before the token itself is removed`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    var tokens: [String] = []
    for _ in 0..<3 { tokens.append(try await Self.logIn(daemon)) }
    try daemon.bind("web", unit: "nowhere.service")
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Token: \(tokens[0])").status == 200)
    // As a command does that is interrupted afterwards.
    try await daemon.owner().group("vault.service").remove("bind/web")
    for token in tokens {
      #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Token: \(token)").status == 403)
    }
    #expect(try daemon.items(of: "vault.tokens").count == 3)
  }

  @Test func `all tokens of an application are removed in one change`() async throws {
    let daemon = try RunningDaemon()
    for _ in 0..<3 { _ = try await Self.logIn(daemon) }
    let before = try await daemon.owner().group("vault.tokens").info().epoch
    try daemon.unbind("web")
    #expect(try daemon.items(of: "vault.tokens").isEmpty)
    #expect(try await daemon.owner().group("vault.tokens").info().epoch == before + 1)
  }

  @Test func `a token ends when the secret of its login is replaced, and not when that expires`() async throws {
    let daemon = try RunningDaemon(binds: false)
    try daemon.bind("web", unit: "nowhere.service")
    try daemon.set("a", in: "web", to: "value")
    let (service, name) = (try daemon.owner().group("vault.service"), "settings/approle/web")
    try await service.set(name, to: "0123456789abcdef-secret")
    let login = #"{"role_id":"web","secret_id":"0123456789abcdef-secret"}"#
    let token = try Self.token(in: try await daemon.curl("/v1/auth/approle/login", "-d", login).body)
    func read() async throws -> Int { try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Token: \(token)").status }
    #expect(try await read() == 200)
    try await service.change(name, Details(expires: .to(Timestamp(milliseconds: 1_000))))
    #expect(try await daemon.curl("/v1/auth/approle/login", "-d", login).status == 400)
    #expect(try await read() == 200)
    try await service.set(name, to: "another-0123456789abcdef")
    #expect(try await read() == 403)
  }

  @Test func `a token that has ended is refused before it is removed, and no renewal outlasts its limit`() throws {
    let daemon = try RunningDaemon(serves: false)
    let tokens = try #require(daemon.seal.current).tokens
    let (now, match) = (Timestamp.now, Callers.Match(application: "web", basis: ""))
    let (text, token) = try tokens.issue(for: match, by: "unix", lasting: 60, limit: 90, at: now)
    #expect(try tokens.find(text, at: now.later(by: 59)) == token)
    #expect(try tokens.find(text, at: now.later(by: 60)) == nil)
    #expect(try tokens.renew(text, lasting: 60, at: now.later(by: 60)) == nil)
    #expect(try tokens.renew(text, lasting: 60, at: now.later(by: 50))?.expires == now.later(by: 90))
    #expect(try tokens.find(text, at: now.later(by: 90)) == nil)
  }

  @Test func `a token that claims a longer time than vaultd gives ends after a day`() throws {
    let daemon = try RunningDaemon(serves: false)
    let tokens = try ServiceTokens(of: #require(daemon.seal.current).store)
    let match = Callers.Match(application: "web", basis: "")
    func isValid(after seconds: UInt64) throws -> Bool {
      let issued = Timestamp(milliseconds: Timestamp.now.milliseconds - seconds * 1_000)
      let text = try tokens.issue(for: match, by: "unix", lasting: 1_000_000, limit: 1_000_000, at: issued).text
      return try tokens.find(text) != nil
    }
    #expect(try isValid(after: 86_000))
    #expect(try !isValid(after: 86_500))
  }

  @Test func `an application with too many tokens gets no more until some have ended, and another one does`() throws {
    let daemon = try RunningDaemon(serves: false)
    let tokens = try ServiceTokens(of: #require(daemon.seal.current).store, limit: 2)
    let past = Timestamp(milliseconds: 1_000)
    func issue(_ application: String, at time: Timestamp = .now) throws -> String {
      let match = Callers.Match(application: application, basis: "")
      return try tokens.issue(for: match, by: "unix", lasting: 3_600, limit: 3_600, at: time).text
    }
    let first = try issue("web")
    _ = try issue("web", at: past)
    #expect(throws: Refusal.tooManyTokens) { try issue("web") }
    _ = try issue("other")
    try tokens.sweep()
    _ = try issue("web")
    #expect(throws: Refusal.tooManyTokens) { try issue("web") }
    try tokens.revoke(first)
    _ = try issue("web")
    // The next daemon counts those that exist.
    let next = try ServiceTokens(of: #require(daemon.seal.current).store, limit: 2)
    #expect(throws: Refusal.tooManyTokens) {
      try next.issue(for: .init(application: "web", basis: ""), by: "unix", lasting: 1, limit: 1)
    }
    #expect(Refusal.tooManyTokens.status == .tooManyRequests)
  }

  @Test func `the scheme of a token's header is recognized in any case, and a namespace is refused`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    let token = try await Self.logIn(daemon)
    for scheme in ["bearer", "BEARER", "Bearer "] {
      #expect(try await daemon.curl("/v1/web/data/a", "-H", "Authorization: \(scheme) hvs.00").status == 403)
      #expect(try await daemon.curl("/v1/web/data/a", "-H", "Authorization: \(scheme) \(token)").status == 200)
    }
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Namespace: tenant2").status == 400)
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Namespace;").status == 200)
  }

  @Test func `an unknown token is refused, even if a binding matches the process`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    #expect(try await daemon.curl("/v1/web/data/a").status == 200)
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Token: hvs.0000").status == 403)
  }

  @Test func `a caller on the Unix socket logs in whatever token it sends`() async throws {
    let daemon = try RunningDaemon()
    let tokens = [try await Self.logIn(daemon), "hvs.0000"]
    for token in tokens {
      let answer = try await daemon.curl("/v1/auth/unix/login", "-X", "POST", "-H", "X-Vault-Token: \(token)")
      #expect(answer.status == 200)
    }
    #expect(try daemon.items(of: "vault.tokens").count == 3)
  }

  @Test func `the group of tokens contains no usable token`() async throws {
    let daemon = try RunningDaemon()
    let token = try await Self.logIn(daemon)
    let items = try daemon.items(of: "vault.tokens")
    #expect(items.count == 1)
    #expect(!items.contains { "\($0)".contains(token.dropFirst(4)) })
  }

  @Test func `a sweep removes expired tokens alone, and drops the rows of many that have ended`() throws {
    let daemon = try RunningDaemon(serves: false)
    let tokens = try #require(daemon.seal.current).tokens
    let match = Callers.Match(application: "web", basis: "")
    let (text, token) = try tokens.issue(for: match, by: "unix", lasting: 3_600, limit: 3_600)
    let past = Timestamp(milliseconds: 1_000)
    for _ in 0..<10 { _ = try tokens.issue(for: match, by: "unix", lasting: 1, limit: 1, at: past) }
    func rows() throws -> UInt64 { try daemon.owner().group("vault.tokens").info().itemCount }
    try tokens.sweep(keeping: 10)
    #expect(try daemon.items(of: "vault.tokens").count == 1)
    #expect(try rows() == 11)
    try tokens.sweep(keeping: 9)
    #expect(try rows() == 1)
    #expect(try tokens.find(text) == token)
    try tokens.revoke(text)
    #expect(try tokens.find(text) == nil)
    let ahead = Timestamp(milliseconds: Timestamp.now.milliseconds + 86_400_000)
    let early = try tokens.issue(for: match, by: "unix", lasting: 3_600, limit: 3_600, at: ahead).text
    #expect(try tokens.find(early, at: ahead) != nil && tokens.find(early) == nil, "the clock was ahead")
  }

  @Test(.timeLimit(.minutes(5)))
  func `expired tokens are removed by the daemon in the background and not by a login`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let tokens = try #require(daemon.seal.current).tokens
    _ = try tokens.issue(
      for: Callers.Match(application: "web", basis: ""), by: "unix", lasting: 1, limit: 1,
      at: Timestamp(milliseconds: 1_000))
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/v1/auth/unix/login")
    var peer = Peer()
    peer.user = getuid()
    let login = await daemon.interface().answer(
      Request(head: head, body: .init(buffer: ByteBuffer())), over: Connection(peer: peer))
    #expect(login.status == .ok)
    #expect(try daemon.items(of: "vault.tokens").count == 2)
    let upkeep = await Upkeep(
      seal: daemon.seal, notices: SystemdNotices([:]), logger: RunningDaemon.logger,
      reloads: Handover.Signals(ends: []).reload)
    let running = Task { try await upkeep.run() }
    while try daemon.items(of: "vault.tokens").count == 2 { try await Task.sleep(for: .milliseconds(20)) }
    running.cancel()
    #expect(try daemon.items(of: "vault.tokens").count == 1)
  }

  @Test func `a role and its secret get a token`() async throws {
    let daemon = try RunningDaemon(binds: false)
    try daemon.bind("web", unit: "nowhere.service")
    try daemon.set("a", in: "web", to: "value")
    try daemon.set("settings/approle/web", in: "vault.service", to: "0123456789abcdef-secret")
    let wrong = try await daemon.curl(
      "/v1/auth/approle/login", "-d", #"{"role_id":"web","secret_id":"0123456789abcdef-Secret"}"#)
    #expect(wrong.status == 400)
    let right = try await daemon.curl(
      "/v1/auth/approle/login", "-d", #"{"role_id":"web","secret_id":"0123456789abcdef-secret"}"#)
    let token = try #require(Self.text("client_token", in: right.body))
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-Vault-Token: \(token)").status == 200)
    let capabilities = try await daemon.curl(
      "/v1/sys/capabilities-self", "-H", "X-Vault-Token: \(token)", "-d", #"{"paths":["web/data/a","default/data/a"]}"#)
    #expect(capabilities.body.contains(#""default/data/a":["deny"]"#))
    // The answer to somebody without a valid token is a refusal, which counts as one.
    #expect(try await daemon.curl("/v1/sys/capabilities-self", "-d", #"{"path":"web/data/a"}"#).status == 403)
    #expect(try daemon.records().contains { $0.action == .login && $0.outcome == .denied })
  }

  @Test func `a role's secret of fewer than 16 bytes gets no token`() async throws {
    let daemon = try RunningDaemon(binds: false)
    try daemon.bind("web", unit: "nowhere.service")
    for (secret, status) in [("0123456789abcde", 400), ("0123456789abcdef", 200)] {
      try daemon.set("settings/approle/web", in: "vault.service", to: secret)
      let login = #"{"role_id":"web","secret_id":"\#(secret)"}"#
      #expect(try await daemon.curl("/v1/auth/approle/login", "-d", login).status == status)
    }
  }

  @Test func `a role's secret that has expired gets no token`() async throws {
    let daemon = try RunningDaemon(binds: false)
    try daemon.bind("web", unit: "nowhere.service")
    let service = try daemon.owner().group("vault.service")
    let login = #"{"role_id":"web","secret_id":"0123456789abcdef-secret"}"#
    for (minutes, status) in [(10, 200), (-1, 400)] {
      let end = Timestamp(milliseconds: UInt64(Int(Timestamp.now.milliseconds) + minutes * 60_000))
      try await service.set("settings/approle/web", to: "0123456789abcdef-secret", Details(expires: .to(end)))
      #expect(try await daemon.curl("/v1/auth/approle/login", "-d", login).status == status)
    }
    // An expiry that comes while nothing changes counts, too.
    let end = Timestamp(milliseconds: Timestamp.now.milliseconds + 2_000)
    try await service.set("settings/approle/web", to: "0123456789abcdef-secret", Details(expires: .to(end)))
    while try await daemon.curl("/v1/auth/approle/login", "-d", login).status == 200 {}
    #expect(Timestamp.now >= end)
  }

  @Test func `a login that gets no token has a second record that says so`() async throws {
    let daemon = try RunningDaemon(binds: false)
    try daemon.bind("web", unit: "nowhere.service")
    try daemon.set("settings/approle/web", in: "vault.service", to: "0123456789abcdef-secret")
    try daemon.owner().removeGroup("vault.tokens")
    let login = #"{"role_id":"web","secret_id":"0123456789abcdef-secret"}"#
    #expect(try await daemon.curl("/v1/auth/approle/login", "-d", login).status != 200)
    let records = try daemon.records().filter { $0.action == .login }
    #expect(records.map(\.subject) == ["web", "web"])
    #expect(records.first?.outcome == .allowed)
    #expect(records.last?.outcome != .allowed)
  }

  @Test func `wrong secrets of strangers do not fill the record`() async throws {
    let daemon = try RunningDaemon(binds: false)
    let socket = daemon.socket
    let body = #"{"role_id":"\#(String(repeating: "x", count: 4_000))","secret_id":"0123456789abcdef"}"#
    let statuses = await onThread { () -> [Int?] in
      guard let client = RawClient(socket) else { return [] }
      return (0..<200).map { _ in client.request("POST", "/v1/auth/approle/login", body)?.status }
    }
    #expect(statuses.count == 200 && statuses.allSatisfy { $0 == 400 })
    daemon.seal.seal()
    func told() throws -> (records: [AuditRecord], refusals: Int) {
      let records = try daemon.records().filter { $0.action == .login }
      let counts = records.map { $0.subject == nil ? Int($0.detail?.prefix { $0 != " " } ?? "") ?? 0 : 1 }
      return (records, counts.reduce(0, +))
    }
    // Sealing does not wait for the counts. A new minute may have begun.
    while try told().refusals < 200 {}
    #expect(try told().records.count <= 2 * Recorder.strangersLimit + 2)
    #expect(try told().records.allSatisfy { $0.subject?.utf8.count ?? 0 < 1_000 })
  }

  @Test func `wrong tokens keep an address from logging in, but not from using valid tokens`() async throws {
    let address = try ListeningSocket.tcp("127.0.0.1:0")
    let port = try #require(address.port)
    let daemon = try RunningDaemon(others: [address]) { $0.limits = .allowing(failures: 3) }
    try daemon.set("a", in: "web", to: "value")
    let (trust, authority) = ("--cacert", try await daemon.useTLS().path("ca.pem"))
    let (url, token) = ("https://127.0.0.1:\(port)/v1/", try daemon.token(of: "web"))
    let (login, secret) = (url + "auth/approle/login", #"{"role_id":"web","secret_id":"0123456789abcdef"}"#)
    func statuses(of url: String, _ option: String, _ value: String) async throws -> [Int] {
      var statuses: [Int] = []
      for _ in 0..<5 { statuses.append(try await daemon.status(of: url, trust, authority, option, value)) }
      return statuses
    }
    #expect(try await statuses(of: url + "web/data/a", "-H", "X-Vault-Token: hvs.0000") == [403, 403, 403, 429, 429])
    #expect(try await statuses(of: login, "-d", secret) == [429, 429, 429, 429, 429])
    let right = "X-Vault-Token: \(token)"
    #expect(try await daemon.status(of: url + "web/data/a", trust, authority, "-H", right) == 200)
  }

  @Test func `an application that guesses the secrets of roles is ignored for a while`() async throws {
    let daemon = try RunningDaemon { $0.limits = .allowing(failures: 3) }
    var statuses: [Int] = []
    for _ in 0..<5 {
      let guess = #"{"role_id":"other","secret_id":"0123456789abcdef"}"#
      statuses.append(try await daemon.curl("/v1/auth/approle/login", "-d", guess).status)
    }
    #expect(statuses == [400, 400, 400, 429, 429])
  }

  @Test func `TCP answers only with TLS, and only tokens count there`() async throws {
    let address = try ListeningSocket.tcp("127.0.0.1:0")
    let port = try #require(address.port)
    let daemon = try RunningDaemon(others: [address])
    try daemon.set("a", in: "web", to: "value")
    let url = "https://127.0.0.1:\(port)/v1/web/data/a"
    #expect(try await daemon.status(of: url, "--insecure") == 0)
    let (trust, authority) = ("--cacert", try await daemon.useTLS().path("ca.pem"))
    #expect(try await daemon.status(of: url, trust, authority) == 403)
    let token = try await Self.logIn(daemon)
    #expect(try await daemon.status(of: url, trust, authority, "-H", "X-Vault-Token: \(token)") == 200)
    // Plain HTTP is no TLS.
    #expect(try await daemon.status(of: "http://127.0.0.1:\(port)/v1/sys/health") == 0)
    let login = "https://127.0.0.1:\(port)/v1/auth/unix/login"
    #expect(try await daemon.status(of: login, trust, authority, "-X", "POST") == 403)
  }
}
