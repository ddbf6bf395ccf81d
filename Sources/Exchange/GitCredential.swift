/// A credential as git describes it to a helper: where it is used and, if known, the user and the secrets.
///
/// A description that lacks a path, a username and so on matches every credential that agrees with the fields it has.
public struct GitCredential: Sendable, Equatable {
  /// The protocol used to reach the host, such as `https`: git's `protocol`.
  public var scheme: [UInt8]?
  /// The host, with a port if it has one.
  public var host: [UInt8]?
  public var path: [UInt8]?
  public var username: [UInt8]?
  public var secrets = Secrets()
  /// When the password expires, in seconds since 1970.
  public var expiry: UInt64?

  /// The secrets of a credential, and the fields that belong to them.
  public struct Secrets: Sendable, Equatable {
    public var password: [UInt8]?
    public var oauthRefreshToken: [UInt8]?
    /// The scheme of an `Authorization` header, such as `Bearer`; `credential` is the value that follows it there.
    public var authtype: [UInt8]?
    public var credential: [UInt8]?
    /// State that helpers asked git to pass back to them.
    public var state: [[UInt8]] = []

    public init() {}

    /// Whether these are enough to log in.
    public func areUsable(withAuthtype: Bool) -> Bool {
      password != nil || withAuthtype && authtype != nil && credential != nil
    }

    /// Whether these match `other`, which may lack a password or a credential.
    public func agree(with other: Secrets) -> Bool {
      (other.password == nil || password == other.password)
        && (other.credential == nil || credential == other.credential)
    }
  }

  public init() {}

  /// Whether `pattern` matches this credential, regardless of their secrets.
  public func isMeant(by pattern: GitCredential) -> Bool {
    (pattern.scheme == nil || scheme == pattern.scheme) && (pattern.host == nil || host == pattern.host)
      && (pattern.path == nil || path == pattern.path) && (pattern.username == nil || username == pattern.username)
  }
}

extension GitCredential {
  /// The extensions of the first protocol version that git supports.
  public struct Capabilities: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// `authtype`, `credential` and `ephemeral`.
    public static let authtype = Capabilities(rawValue: 1)
    /// `state[]`.
    public static let state = Capabilities(rawValue: 2)

    /// Their names, in the order in which they are announced.
    public static let names: [(capability: Capabilities, name: String)] = [(.authtype, "authtype"), (.state, "state")]

    public init(_ message: GitCredentialMessage) {
      let told = message.list(of: "capability")
      self = Capabilities(Capabilities.names.filter { told.contains(Array($0.name.utf8)) }.map(\.capability))
    }
  }

  /// Reads a description. Fields of a capability that was not announced are left out.
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
    // As in git: only the leading digits count. Zero, or text that is not a number, means no expiry.
    expiry = message.value(of: "password_expiry_utc").flatMap {
      UInt64(String(decoding: $0.prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
    }
    if expiry == 0 { expiry = nil }
  }

  /// Whether `message` forbids storing its credential.
  public static func isEphemeral(_ message: GitCredentialMessage) -> Bool {
    !["", "0", "false", "no", "off"].contains(
      String(decoding: message.value(of: "ephemeral") ?? [], as: UTF8.self).lowercased())
  }

  /// The answer to git: the shared capabilities, and the fields of the credential that they permit.
  ///
  /// - Throws: `unfit` if a field cannot be sent.
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

/// A message between git and a credential helper (git-credential's input and output): lines `key=value`, up to a blank
/// line or the end.
///
/// A key may have any bytes but `=`. A value may have any bytes but NUL and line feed; a carriage return is part of it.
/// `key[]` is a list whose lines stay in order; an empty line clears it. For other keys the last line counts.
public struct GitCredentialMessage: Sendable, Equatable {
  public struct Line: Sendable, Equatable {
    public let key: [UInt8]
    public let value: [UInt8]
  }

  public private(set) var lines: [Line] = []

  /// The largest size of a line in bytes, including its end.
  public static let lineLimit = 65_535

  /// What is wrong with a line. Its text is not included, because it may contain a secret.
  public enum Fault: Error, Sendable, Equatable {
    /// A line, counted from 1, that is not `key=value`, or contains a zero byte.
    case malformed(line: Int)
    /// A key or a value that does not fit on a line.
    case unfit
  }

  public init() {}

  /// Reads a message. Lines may have any length: one that exceeds the writer's limit is still read as one line, and no
  /// part of it is read as another.
  public init(_ bytes: [UInt8]) throws(Fault) {
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      guard !line.isEmpty else { return }
      guard let equals = line.firstIndex(of: UInt8(ascii: "=")), !line.contains(0) else {
        throw .malformed(line: index + 1)
      }
      lines.append(Line(key: Array(line[..<equals]), value: Array(line[(equals + 1)...])))
    }
  }

  /// Adds a line.
  ///
  /// - Throws: `unfit` for a value with a line feed or a zero byte, which a reader would take for further lines, and
  ///   for a line beyond `lineLimit`. Nothing is added in that case.
  public mutating func add(_ key: [UInt8], _ value: [UInt8]) throws(Fault) {
    guard !(key + value).contains(where: { $0 == 0x0A || $0 == 0 }), !key.contains(UInt8(ascii: "=")),
      key.count + value.count + 2 <= GitCredentialMessage.lineLimit
    else { throw .unfit }
    lines.append(Line(key: key, value: value))
  }

  /// Adds a line, as `add` for bytes.
  public mutating func add(_ key: String, _ value: some Sequence<UInt8>) throws(Fault) {
    try add(Array(key.utf8), Array(value))
  }

  /// The value of `key`; `nil` if there is none.
  public func value(of key: String) -> [UInt8]? { lines.last { $0.key.elementsEqual(key.utf8) }?.value }

  /// The values of the list `key`, whose lines are written as `key[]`.
  public func list(of key: String) -> [[UInt8]] {
    let values = lines.filter { $0.key.elementsEqual((key + "[]").utf8) }.map(\.value)
    return Array(values[(values.lastIndex(of: []).map { $0 + 1 } ?? 0)...])
  }

  /// The message as bytes, without a blank line at the end.
  public var bytes: [UInt8] { lines.flatMap { $0.key + [UInt8(ascii: "=")] + $0.value + [0x0A] } }
}
