#if Daemon
  import Sealing
  import Synchronization
  import VaultFoundation

  /// The tokens of the service, which identify an application for a limited time.
  ///
  /// Only hashes are stored, in the group `vault.tokens`, which only the service can write and only the service and the
  /// owner can open. So tokens survive a restart, and a copy of the store or a backup contains no usable token.
  final class ServiceTokens: Sendable {
    private let store: SecretStore
    private let group: AccessGroup
    private let limit: Int
    /// How many tokens each application has: as of the last sweep, and with those issued and revoked since. `nil` until
    /// they are counted.
    private let counts = Mutex<[String: Int]?>(nil)

    /// How a caller was identified.
    enum Method {
      static let unix = "unix"
      static let role = "approle"
      static let certificate = "cert"
    }

    /// The application that a token identifies, and how long.
    struct Token: Sendable, Equatable {
      let application: String
      /// One of ``Method``.
      let method: String
      /// The name of its item, which is a hash of its text.
      let name: String
      /// A digest of what it rests on: the binding or the secret that identified the caller.
      let basis: String
      let issued: Timestamp
      let expires: Timestamp
      /// It expires at this time at the latest, even if it is renewed.
      let limit: Timestamp

      /// Whether the token was issued for what `basis` says.
      func rests(on basis: String) -> Bool { self.basis == ServiceTokens.digest(of: basis, for: name) }
    }

    /// The most tokens of one application.
    static let limit = 4_000
    /// The most tokens that a sweep removes in one transaction, for which logins wait.
    private static let batchLimit = 500
    /// The length of a token's secret part in bytes.
    private static let byteCount = 32
    private static let prefix = "hvs."
    static let groupName = "vault.tokens"

    /// - Parameter limit: the most tokens of one application.
    init(of store: SecretStore, limit: Int = limit) throws(VaultError) {
      (self.store, group, self.limit) = (store, try store.group(Self.groupName), limit)
    }

    /// - Parameters:
    ///   - match: the application, and what the token rests on.
    ///   - seconds: how long it is valid; it can be renewed until `limit` seconds have passed.
    /// - Returns: the only copy of its text.
    /// - Throws: ``Refusal/tooManyTokens``; ``VaultError/notFound(_:)`` if the service was enrolled before there were
    ///   tokens.
    func issue(
      for match: Callers.Match, by method: String, lasting seconds: UInt64, limit: UInt64, at now: Timestamp = .now
    ) throws -> (text: String, token: Token) {
      let text = Self.prefix + Randomness.bytes(Self.byteCount).hexadecimal
      let name = Self.name(of: text)
      let token = Token(
        application: match.application, method: method, name: name, basis: Self.digest(of: match.basis, for: name),
        issued: now, expires: now.later(by: min(seconds, limit)), limit: now.later(by: limit))
      try countNew(of: token.application)
      do {
        try group.set(
          name, to: [UInt8](),
          Details(
            attributes: [
              "application": token.application, "method": method, "basis": token.basis,
              "issued": String(now.milliseconds), "limit": String(token.limit.milliseconds),
            ],
            expires: .to(token.expires)))
      } catch {
        countRemoved(of: token.application)
        throw error
      }
      return (text, token)
    }

    /// - Throws: ``Refusal/tooManyTokens``.
    private func countNew(of application: String) throws {
      if counts.withLock({ $0 == nil }) {
        var found: [String: Int] = [:]
        try forEach { found[$0.attributes["application"] ?? "", default: 0] += 1 }
        counts.withLock { $0 = $0 ?? found }
      }
      let isCounted = counts.withLock { counts in
        guard counts?[application] ?? 0 < limit else { return false }
        counts?[application, default: 0] += 1
        return true
      }
      guard isCounted else { throw Refusal.tooManyTokens }
    }

    private func countRemoved(of application: String) {
      counts.withLock { counts in
        guard let count = counts?[application] else { return }
        counts?[application] = count > 1 ? count - 1 : nil
      }
    }

    private func forEach(_ body: (Item) -> Void) throws(VaultError) {
      let list = try group.list()
      do { while let item = try list.next() { body(item) } } catch .strangeRows {
        // They are no tokens.
      }
    }

    /// The token with this text; `nil` if there is none or it has ended.
    func find(_ text: String, at now: Timestamp = .now) throws(VaultError) -> Token? {
      guard text.hasPrefix(Self.prefix), text.utf8.count <= 256 else { return nil }
      let item: Item
      do { item = try group.item(Self.name(of: text)) } catch .notFound { return nil }
      // One that was issued while the clock was ahead would be valid for as long.
      guard let token = Token(item), now < token.expires, token.issued <= now.later(by: 300) else { return nil }
      // Who has the service's credential can write a token without this limit.
      return now < token.issued.later(by: TokenAnswers.limit) ? token : nil
    }

    /// Extends a token's time to `seconds` from now, up to its limit.
    ///
    /// - Returns: `nil` if the token has ended.
    func renew(_ text: String, lasting seconds: UInt64, at now: Timestamp = .now) throws(VaultError) -> Token? {
      guard let token = try find(text, at: now) else { return nil }
      try group.change(Self.name(of: text), Details(expires: .to(min(now.later(by: seconds), token.limit))))
      return try find(text, at: now)
    }

    /// Ends a token. If there is none, nothing changes.
    func revoke(_ text: String) throws(VaultError) {
      do {
        let item = try group.item(Self.name(of: text))
        try group.destroy(item.name.description)
        countRemoved(of: item.attributes["application"] ?? "")
      } catch .notFound {}
    }

    /// Removes tokens that have expired.
    ///
    /// - Parameter removed: how many rows of tokens that have ended may stay. Each is in the way of every later sweep.
    func sweep(keeping removed: Int = 1_000, at now: Timestamp = .now) throws {
      var (ended, left) = ([String](), [String: Int]())
      try forEach { item in
        if (item.expires ?? now) <= now {
          ended.append(item.name.description)
        } else {
          left[item.attributes["application"] ?? "", default: 0] += 1
        }
      }
      counts.withLock { $0 = left }
      for start in stride(from: 0, to: ended.count, by: Self.batchLimit) {
        try group.transaction { edit in
          // Some may have been renewed or revoked since.
          let names = try ended[start...].prefix(Self.batchLimit).filter { name in
            try edit.state.item(name).map { !$0.isRemoved && ($0.expires ?? now) <= now } ?? false
          }
          for name in names { edit.destroy(name) }
        }
      }
      let count = left.values.reduce(0, +)
      if Int(try group.info().itemCount) - count > removed { try store.compactGroup(Self.groupName) }
    }

    private static func name(of text: String) -> String {
      Hash.digest(Label("vault1.token"), Array(text.utf8)).hexadecimal
    }

    fileprivate static func digest(of basis: String, for name: String) -> String {
      Hash.digest(Label("vault1.basis"), Array((name + basis).utf8)).hexadecimal
    }
  }

  extension ServiceTokens.Token {
    fileprivate init?(_ item: Item) {
      func time(_ key: String) -> Timestamp? {
        item.attributes[key].flatMap { UInt64($0) }.map(Timestamp.init(milliseconds:))
      }
      guard let application = item.attributes["application"], let method = item.attributes["method"],
        let basis = item.attributes["basis"], let issued = time("issued"), let limit = time("limit"),
        let expires = item.expires
      else { return nil }
      self.init(
        application: application, method: method, name: item.name.description, basis: basis, issued: issued,
        expires: expires, limit: limit)
    }
  }

  extension Timestamp {
    /// - Parameter seconds: at most a few million years.
    func later(by seconds: UInt64) -> Timestamp {
      Timestamp(milliseconds: min(milliseconds + min(seconds, 1 << 42) * 1_000, 1 << 53 - 1))
    }
  }
#endif
