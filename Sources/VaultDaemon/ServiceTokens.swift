#if Daemon
  import Sealing
  import VaultFoundation

  /// The tokens of the service, which identify an application for a limited time.
  ///
  /// Only hashes are stored, in the group `vault.tokens`, which only the service can write and only the service and the
  /// owner can open. So tokens survive a restart, and a copy of the store or a backup contains no usable token.
  struct ServiceTokens: Sendable {
    private let store: SecretStore
    private let group: AccessGroup

    /// The application that a token identifies, and how long.
    struct Token: Sendable, Equatable {
      let application: String
      /// How the caller was identified: `unix`, `approle` or `cert`.
      let method: String
      let issued: Timestamp
      let expires: Timestamp
      /// It expires at this time at the latest, even if it is renewed.
      let limit: Timestamp
    }

    /// The length of a token's secret part in bytes.
    private static let byteCount = 32
    private static let prefix = "hvs."
    private static let groupName = "vault.tokens"

    init(of store: SecretStore) throws(VaultError) { (self.store, group) = (store, try store.group(Self.groupName)) }

    /// - Parameter seconds: how long it is valid; it can be renewed until `limit` seconds have passed.
    /// - Returns: the only copy of its text.
    /// - Throws: ``VaultError/notFound(_:)`` if the service was enrolled before there were tokens.
    func issue(
      for application: String, by method: String, lasting seconds: UInt64, limit: UInt64, at now: Timestamp = .now
    ) throws(VaultError) -> (text: String, token: Token) {
      let text = Self.prefix + Randomness.bytes(Self.byteCount).hexadecimal
      let token = Token(
        application: application, method: method, issued: now, expires: now.later(by: min(seconds, limit)),
        limit: now.later(by: limit))
      try group.set(
        Self.name(of: text), to: [UInt8](),
        Details(
          attributes: [
            "application": application, "method": method, "issued": String(now.milliseconds),
            "limit": String(token.limit.milliseconds),
          ],
          expires: .to(token.expires)))
      return (text, token)
    }

    /// The token with this text; `nil` if there is none or it has ended.
    func find(_ text: String, at now: Timestamp = .now) throws(VaultError) -> Token? {
      guard text.hasPrefix(Self.prefix), text.utf8.count <= 256 else { return nil }
      let item: Item
      do { item = try group.item(Self.name(of: text)) } catch .notFound { return nil }
      // One that was issued while the clock was ahead would be valid for as long.
      guard let token = Token(item), now < token.expires, token.issued <= now.later(by: 300) else { return nil }
      return token
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
      do { try group.destroy(Self.name(of: text)) } catch .notFound {}
    }

    /// Removes tokens that have expired.
    ///
    /// - Parameter removed: how many rows of tokens that have ended may stay. Each is in the way of every later sweep.
    func sweep(keeping removed: Int = 1_000, at now: Timestamp = .now) throws {
      let items = try group.listing().items
      let ended = items.filter { ($0.expires ?? now) <= now }.map(\.name.description)
      if !ended.isEmpty {
        try group.transaction { edit in
          // Some may have been renewed or revoked since.
          let names = try ended.filter { name in
            try edit.state.item(name).map { !$0.isRemoved && ($0.expires ?? now) <= now } ?? false
          }
          for name in names { edit.destroy(name) }
        }
      }
      let left = items.count - ended.count
      if Int(try group.info().itemCount) - left > removed { try store.compactGroup(Self.groupName) }
    }

    private static func name(of text: String) -> String {
      Hash.digest(Label("vault1.token"), Array(text.utf8)).hexadecimal
    }
  }

  extension ServiceTokens.Token {
    fileprivate init?(_ item: Item) {
      func time(_ key: String) -> Timestamp? {
        item.attributes[key].flatMap { UInt64($0) }.map(Timestamp.init(milliseconds:))
      }
      guard let application = item.attributes["application"], let method = item.attributes["method"],
        let issued = time("issued"), let limit = time("limit"), let expires = item.expires
      else { return nil }
      self.init(application: application, method: method, issued: issued, expires: expires, limit: limit)
    }
  }

  extension Timestamp {
    /// - Parameter seconds: at most a few million years.
    func later(by seconds: UInt64) -> Timestamp {
      Timestamp(milliseconds: min(milliseconds + min(seconds, 1 << 42) * 1_000, 1 << 53 - 1))
    }
  }
#endif
