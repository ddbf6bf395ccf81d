/// A credential as git describes it to a helper: where it is for, and as far as it is known who and what.
///
/// A description without a path, a username and so on stands for every credential that agrees with what it has.
public struct GitCredential: Sendable, Equatable {
  /// How the host is spoken to, such as `https`: git's `protocol`.
  public var scheme: [UInt8]?
  /// The host, with a port where there is one.
  public var host: [UInt8]?
  public var path: [UInt8]?
  public var username: [UInt8]?
  public var secrets = Secrets()
  /// When the password is of no use any more, in seconds since 1970.
  public var expiry: UInt64?

  /// What nobody else shall know, and what goes with it.
  public struct Secrets: Sendable, Equatable {
    public var password: [UInt8]?
    public var oauthRefreshToken: [UInt8]?
    /// The scheme of an `Authorization` header, such as `Bearer`, and what stands behind it there.
    public var authtype: [UInt8]?
    public var credential: [UInt8]?
    /// What helpers said to be told again.
    public var state: [[UInt8]] = []

    public init() {}

    /// Whether it is enough to log in with.
    public func areUsable(withAuthtype: Bool) -> Bool {
      password != nil || withAuthtype && authtype != nil && credential != nil
    }

    /// Whether these may be what `other` describes, which may lack either.
    public func agree(with other: Secrets) -> Bool {
      (other.password == nil || password == other.password)
        && (other.credential == nil || credential == other.credential)
    }
  }

  public init() {}

  /// Whether this is a credential that `pattern` stands for, whatever their secrets are.
  public func isMeant(by pattern: GitCredential) -> Bool {
    (pattern.scheme == nil || scheme == pattern.scheme) && (pattern.host == nil || host == pattern.host)
      && (pattern.path == nil || path == pattern.path) && (pattern.username == nil || username == pattern.username)
  }
}

extension GitCredential {
  /// What git can do beyond the first version of the protocol.
  public struct Capabilities: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// `authtype`, `credential` and `ephemeral`.
    public static let authtype = Capabilities(rawValue: 1)
    /// `state[]`.
    public static let state = Capabilities(rawValue: 2)

    /// Their names, in the order in which they are told.
    public static let names: [(capability: Capabilities, name: String)] = [(.authtype, "authtype"), (.state, "state")]

    public init(_ message: GitCredentialMessage) {
      let told = message.list(of: "capability")
      self = Capabilities(Capabilities.names.filter { told.contains(Array($0.name.utf8)) }.map(\.capability))
    }
  }

  /// Reads a description; what goes with a capability that was not told is left out.
  public init(_ message: GitCredentialMessage) {
    let capabilities = Capabilities(message)
    scheme = message.value(of: "protocol")
    host = message.value(of: "host")
    path = message.value(of: "path")
    username = message.value(of: "username")
    secrets.password = message.value(of: "password")
    secrets.oauthRefreshToken = message.value(of: "oauth_refresh_token")
    if capabilities.contains(.authtype) {
      secrets.authtype = message.value(of: "authtype")
      secrets.credential = message.value(of: "credential")
    }
    if capabilities.contains(.state) { secrets.state = message.list(of: "state") }
    // As git reads it: the digits at the beginning; zero, and what is no number, mean that there is none.
    expiry = message.value(of: "password_expiry_utc").flatMap {
      UInt64(String(decoding: $0.prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
    }
    if expiry == 0 { expiry = nil }
  }

  /// Whether `message` forbids that its credential is kept.
  public static func isEphemeral(_ message: GitCredentialMessage) -> Bool {
    !["", "0", "false", "no", "off"].contains(
      String(decoding: message.value(of: "ephemeral") ?? [], as: UTF8.self).lowercased())
  }

  /// The answer to git: the capabilities that both know, and of the credential what goes with them.
  ///
  /// - Throws: `unfit` where something in it cannot be told.
  public func answer(_ capabilities: Capabilities) throws(GitCredentialMessage.Fault) -> GitCredentialMessage {
    var answer = GitCredentialMessage()
    for (capability, name) in Capabilities.names where capabilities.contains(capability) {
      try answer.add("capability[]", name.utf8)
    }
    if let username { try answer.add("username", username) }
    if let password = secrets.password { try answer.add("password", password) }
    if let expiry { try answer.add("password_expiry_utc", String(expiry).utf8) }
    if let token = secrets.oauthRefreshToken { try answer.add("oauth_refresh_token", token) }
    if capabilities.contains(.authtype), let authtype = secrets.authtype, let credential = secrets.credential {
      try answer.add("authtype", authtype)
      try answer.add("credential", credential)
    }
    if capabilities.contains(.state) {
      for state in secrets.state { try answer.add("state[]", state) }
    }
    return answer
  }
}
