internal import Exchange
internal import Ground
internal import Vault

/// The names of items that hold logins: `git/https/github.com/alice`, `docker/https://index.docker.io/v1/`,
/// `cargo/sparse+https://index.crates.io/`.
///
/// Bytes that a name cannot contain are written as `%` and two digits, so that each login has exactly one name.
enum LoginName {
  /// `git/PROTOCOL/HOST/USERNAME`, with the path, if any, between host and user name. `<AUTHTYPE>` replaces the user
  /// name of a credential without one.
  static func git(_ credential: GitCredential) throws(VaultError) -> String {
    let user =
      credential.username.map { part($0, beside: "<") }
      ?? "<" + part(credential.secrets.authtype ?? [], beside: "<>") + ">"
    return try Item.Name(gitPrefix(credential) + user).description
  }

  /// The common prefix of the names of all credentials with the same known protocol, host and path.
  static func gitPrefix(_ credential: GitCredential) -> String {
    var prefix = "git/"
    guard let scheme = credential.scheme else { return prefix }
    prefix += part(scheme) + "/"
    guard let host = credential.host else { return prefix }
    prefix += part(host) + "/"
    guard let path = credential.path else { return prefix }
    return prefix + part(path, keepsSlash: true) + "/"
  }

  /// The credential that the item's name describes; `nil` if the name is not one of git's.
  static func gitCredential(_ name: Item.Name) -> GitCredential? {
    // This compares bytes, because `/` followed by a combining accent is a single character.
    let parts = Array(name.description.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count > 3, parts[0].elementsEqual("git".utf8) else { return nil }
    var credential = GitCredential()
    credential.scheme = PercentEncoding.decoded(parts[1])
    credential.host = PercentEncoding.decoded(parts[2])
    guard credential.scheme != nil, credential.host != nil else { return nil }
    if parts.count > 4 {
      credential.path = PercentEncoding.decoded(Array(parts[3..<parts.count - 1].joined(separator: "/".utf8)))
      guard credential.path != nil else { return nil }
    }
    if let user = parts.last, user.first != UInt8(ascii: "<") {
      credential.username = PercentEncoding.decoded(user)
      guard credential.username != nil else { return nil }
    }
    return credential
  }

  static let dockerPrefix = "docker/"

  /// Whether a helper stored the item, going by its name: with a URL, or below a protocol of git's.
  static func isHelpers(_ name: String) -> Bool {
    let protocols = ["git/https/", "git/http/", "git/ssh/", "git/smtp/", "git/imap/"]
    if protocols.contains(where: { name.hasPrefix($0) }) { return (try? Item.Name(name)).flatMap(gitCredential) != nil }
    return ["docker/", "cargo/", "python/"].contains { name.hasPrefix($0) } && name.holds("://")
  }

  static func docker(_ server: [UInt8]) throws(VaultError) -> String {
    try Item.Name(dockerPrefix + part(server, keepsSlash: true)).description
  }

  /// `cargo/INDEX-URL`
  static func cargo(_ index: [UInt8]) throws(VaultError) -> String {
    try Item.Name("cargo/" + part(index, keepsSlash: true)).description
  }

  /// The server's URL as it was stored.
  static func dockerServer(_ name: Item.Name) -> [UInt8]? {
    PercentEncoding.decoded(name.description.utf8.dropFirst(dockerPrefix.utf8.count))
  }

  /// A part of a name, in which only bytes that a name cannot contain are escaped.
  private static func part(_ bytes: [UInt8], keepsSlash: Bool = false, beside reserved: String = "") -> String {
    func encoded(upTo last: UInt8) -> String {
      let encoded = PercentEncoding.encoded(bytes) { byte in
        (0x20...last).contains(byte) && byte != 0x7F && (byte != UInt8(ascii: "/") || keepsSlash)
          && !reserved.utf8.contains(byte)
      }
      return String(validating: encoded, as: UTF8.self) ?? ""
    }
    // Two Unicode spellings of a text would be the same name, so text that is not in composed form is escaped byte by
    // byte.
    let text = encoded(upTo: .max)
    if let name = try? Item.Name(text), name.description.utf8.elementsEqual(text.utf8) { return text }
    return encoded(upTo: 0x7E)
  }
}
