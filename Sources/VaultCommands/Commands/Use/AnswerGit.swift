internal import Exchange
internal import Vault

/// `vault credential git OPERATION`
struct AnswerGit: Command {
  static let about = About(
    "Be git's credential helper: get, store or erase what stdin describes.",
    usage: "vault credential git get|store|erase|capability [-g GROUP]",
    more: """
      Credentials are items such as git/https/github.com/alice: JSON with username, password and git's other fields. \
      Fields that you add stay. A credential stored by hand may be just a token. An expired one is not returned. \
      erase keeps a login whose password is a different one, and erased logins can be restored. If the store is \
      locked and there is no terminal, git asks for the password itself.
      """,
    example: """
      git config --global credential.helper vault
      git config --global credential.helper '!vault credential git -g work'
      """)

  let operation: String
  let group: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    operation = try arguments.argument(
      "operation", "get, store, erase or capability.", completes: .words(["get", "store", "erase", "capability"]))
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  /// The maximum size of a message in bytes.
  private static let limit = 1 << 20

  func run(in session: Session) throws {
    switch operation {
    case "get", "store", "erase": try perform(in: session)
    case "capability":
      try session.output.write("version 0\n")
      for (_, name) in GitCredential.Capabilities.names { try session.output.write("capability \(name)\n") }
    // An operation that a later git adds is not an error.
    default: break
    }
  }

  private func perform(in session: Session) throws {
    let message = try Self.message(session.streams.input)
    let credential = GitCredential(message)
    // This is too little to identify a credential. Git would not ask for it.
    guard credential.scheme != nil, credential.host != nil else { return }
    do {
      switch operation {
      case "get":
        let group = try session.openGroup(group, key)
        guard let answer = try find(credential, GitCredential.Capabilities(message), in: group) else { return }
        try session.output.requireTextIfTerminal(answer.bytes, hint: "pipe it")
        try session.output.write(answer.bytes)
      case "store":
        guard !GitCredential.isEphemeral(message) else { return }
        try store(credential, session)
      default:
        // A client without this capability sends nothing to compare with, and its message must not erase every
        // credential.
        guard message.value(of: "credential") == nil || credential.comparesSecrets else { return }
        try erase(credential, in: session.openGroup(group, key))
      }
    } catch let error as VaultError {
      // Git shows this above its own question, so it has one line.
      throw Failure(error.exitStatus, session.line(of: error))
    }
  }

  private static func message(_ descriptor: Int32) throws(Failure) -> GitCredentialMessage {
    let input = try DescriptorInput(descriptor, "stdin").readAll(limit: limit)
    guard input.count <= limit else { throw Failure(.overLimit, "stdin holds more than 1048576 bytes (1 MiB)") }
    do {
      return try GitCredentialMessage(input.exportInsecurely())
    } catch {
      guard case .malformed(let line) = error else { throw Failure(.usage, "stdin is not a message of git") }
      throw Failure(.usage, "stdin, line \(line): not KEY=VALUE")
    }
  }

  // MARK: Steps

  /// The best credential that has not expired. One for the exact path comes first, then one without a path, then the
  /// newest.
  private func find(
    _ pattern: GitCredential, _ capabilities: GitCredential.Capabilities, in group: AccessGroup
  ) throws(VaultError) -> GitCredentialMessage? {
    if pattern.username != nil {
      let name: String
      do { name = try LoginName.git(pattern) } catch { return nil }
      if let answer = try answer(name, pattern, capabilities, group) { return answer }
      // No other credential has this path.
      guard pattern.path == nil else { return nil }
    }
    let matches = try matches(pattern, in: group).sorted {
      let isFirst = ($0.credential.path == pattern.path, $1.credential.path == pattern.path)
      return isFirst.0 == isFirst.1 ? $0.item.changed > $1.item.changed : isFirst.0
    }
    for match in matches where !match.item.hasExpired {
      if let answer = try answer(match.item.name.description, match.credential, capabilities, group) { return answer }
    }
    return nil
  }

  private func answer(
    _ name: String, _ place: GitCredential, _ capabilities: GitCredential.Capabilities, _ group: AccessGroup
  ) throws(VaultError) -> GitCredentialMessage? {
    guard let (login, item) = try group.login(name), !item.hasExpired,
      login.secrets.areUsable(withAuthtype: capabilities.contains(.authtype))
    else { return nil }
    var credential = GitCredential()
    credential.username = place.username
    credential.secrets = login.secrets
    credential.expiry = item.expires.map { $0.milliseconds / 1_000 }
    // A value stored by hand may have several lines, which git could take for other keys.
    return try? credential.answer(capabilities)
  }

  private func store(_ credential: GitCredential, _ session: Session) throws {
    var secrets = credential.secrets
    guard credential.username != nil && secrets.password != nil || secrets.authtype != nil && secrets.credential != nil
    else { return }
    // An item's expiry cannot be later than this.
    var expires = credential.expiry.flatMap { $0 < (1 << 53) / 1_000 ? Timestamp(milliseconds: $0 * 1_000) : nil }
    let name = try LoginName.git(credential)
    let group = try session.openGroup(group, key)
    let present = try group.login(name)
    // An older git does not send back all fields that it received.
    if let before = present?.login.secrets, before.agree(with: secrets) {
      secrets.oauthRefreshToken = secrets.oauthRefreshToken ?? before.oauthRefreshToken
      secrets.authtype = secrets.authtype ?? before.authtype
      secrets.credential = secrets.credential ?? before.credential
      if secrets.state.isEmpty { secrets.state = before.state }
      // A password that works has not expired, whatever its old expiry says.
      if let item = present?.item, !item.hasExpired { expires = expires ?? item.expires }
    }
    // Git stores again a credential that it received and that worked.
    if let present, present.login.secrets == secrets, present.item.expires == expires { return }
    try group.set(name, to: Login(username: credential.username, secrets: secrets), expires: expires)
  }

  private func erase(_ pattern: GitCredential, in group: AccessGroup) throws(VaultError) {
    for match in try matches(pattern, in: group) {
      let name = match.item.name.description
      do {
        if pattern.comparesSecrets {
          guard let (login, item) = try group.login(name), login.secrets.agree(with: pattern.secrets) else { continue }
          try group.remove(name, ifVersion: item.version)
        } else {
          try group.remove(name)
        }
      } catch .notFound(.item), .conflict {
        // Another process removed it or stored another password.
        continue
      }
    }
  }

  private func matches(
    _ pattern: GitCredential, in group: AccessGroup
  ) throws(VaultError) -> [(credential: GitCredential, item: Item)] {
    var matches: [(GitCredential, Item)] = []
    let prefix = LoginName.gitPrefix(pattern)
    // An invalid name cannot exist in the group.
    guard (try? Item.Name(prefix)) != nil else { return [] }
    for item in try group.items(prefix: prefix) {
      guard let credential = LoginName.gitCredential(item.name), credential.isMeant(by: pattern) else { continue }
      matches.append((credential, item))
    }
    return matches
  }
}

extension GitCredential {
  /// Whether the message asks only for a credential with these secrets.
  fileprivate var comparesSecrets: Bool { secrets.password != nil || secrets.credential != nil }
}
