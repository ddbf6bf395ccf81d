import Glibc
internal import Vault

/// `vault remote add NAME ADDRESS`
struct AddRemote: Command {
  static let about = About(
    "Name an etcd cluster that keeps access groups for several machines.",
    usage: """
      vault remote add NAME etcd://HOST:PORT[,HOST:PORT]... [--ca FILE] [--cert FILE --key FILE]
                       [--user NAME [--password-fd N]] [--max-age TIME] [--heartbeat TIME]
                       [--replace [--unchecked]]
      """,
    more: """
      The servers order and keep what members of a group write, and can neither read nor forge it. With etcds:// \
      instead of etcd://, or with certificates, connections are encrypted with TLS; --ca names the authorities that \
      must have issued the servers' certificates, instead of those of the system. The command asks for the password of \
      --user, or reads it from a descriptor. It is kept in the group vault.service, which vaultd can read, and in the \
      credentials that 'vault app issue --remote' writes.

      Servers can withhold what others wrote. With --max-age, items of a group cannot be read (status 12) if the \
      newest proved signature is older. With --heartbeat, a vaultd that may write signs an empty change if there was \
      no other for that long; it should be well below --max-age.

      --replace changes the address, the certificates, the login and these times of a remote. Credentials that were \
      written earlier keep the old values. If groups are published there, vaultd first asks new servers whether they \
      have these groups, because in another cluster this machine would begin a new history. --unchecked skips this \
      check, for a cluster that replaces a lost one.
      """,
    example: """
      vault remote add office etcds://etcd1.example:2379,etcd2.example:2379 --user vault
      """)

  let name: String
  let address: String
  let authority: String?
  let certificate: String?
  let privateKey: String?
  let user: String?
  let passwordDescriptor: Int32?
  let maxAge: String?
  let heartbeat: String?
  let replace: Bool
  let unchecked: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "A name of your choice, such as office.")
    address = try arguments.argument("address", "The servers, as etcd://HOST:PORT[,HOST:PORT]... or etcds://...")
    authority = arguments.option(
      "--ca", value: "file", "The certificates of the servers' authorities, in PEM.", completes: .files)
    certificate = arguments.option("--cert", value: "file", "The client's certificate, in PEM.", completes: .files)
    privateKey = arguments.option("--key", value: "file", "The private key of --cert, in PEM.", completes: .files)
    user = arguments.option("--user", value: "name", "The etcd user.")
    passwordDescriptor = try arguments.descriptor(
      "--password-fd", "Read the password of --user from the first line of this descriptor.")
    maxAge = arguments.option("--max-age", value: "time", "How old the newest proved state may be: 90s, 15m, 12h, 30d.")
    heartbeat = arguments.option(
      "--heartbeat", value: "time", "Sign an empty change after this long without a change.")
    replace = arguments.flag("--replace", "Change a remote that exists.")
    unchecked = arguments.flag(
      "--unchecked", "With --replace: do not ask whether new servers have the groups that are published there.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard user != nil || passwordDescriptor == nil else { throw Failure.usage("--password-fd needs --user") }
    guard replace || !unchecked else { throw Failure.usage("--unchecked needs --replace") }
    guard (certificate == nil) == (privateKey == nil) else { throw Failure.usage("--cert and --key need each other") }
    let (maxAge, heartbeat) = try (seconds(maxAge, "--max-age"), seconds(heartbeat, "--heartbeat"))
    if let maxAge, let heartbeat, heartbeat >= maxAge {
      throw Failure.usage("--heartbeat must be well below --max-age, or copies become too old before the next change")
    }
    let remote = try Remote(
      name, at: address, authority: authority.map { try Self.text(of: $0, "--ca") },
      certificate: certificate.map { try Self.text(of: $0, "--cert") }, key: readKey(), user: user,
      password: readPassword(in: session), maxAge: maxAge, heartbeat: heartbeat)
    let store = try session.openStore(key)
    if replace, !unchecked { try requireLogs(on: remote, store) }
    try store.addRemote(remote, replacing: replace)
    guard user != nil, !remote.usesTLS, !remote.endpoints.allSatisfy(\.isOnThisMachine) else { return }
    session.warn("the password goes over the network unencrypted; to use TLS: etcds://, or --ca")
  }

  /// Refuses new servers that do not have the logs of the groups that are published at the remote.
  private func requireLogs(on remote: Remote, _ store: SecretStore) throws {
    guard let old = try store.remotes().first(where: { $0.name == remote.name }),
      !Set(remote.endpoints).isSubset(of: old.endpoints)
    else { return }
    for group in try store.publishedGroups().filter({ $0.value == remote.name }).keys.sorted() {
      do { try store.requireLog(of: group, at: remote) } catch {
        let isOther = error == .otherCluster(group: group)
        let way =
          isOther
          ? "to move to another cluster, end the publication first: vault group unpublish \(group)"
          : "vaultd must run and reach the new servers"
        throw Failure(
          error.exitStatus, error.message,
          hint: "\(way); if they belong to the same cluster, or replace a lost one: --unchecked")
      }
    }
  }

  private func seconds(_ text: String?, _ option: String) throws(Failure) -> UInt32? {
    guard let text else { return nil }
    guard let length = TimeLength.milliseconds(text), let seconds = UInt32(exactly: length / 1_000), seconds > 0 else {
      throw .usage("\(option) is a length of time, such as 90s, 15m, 12h or 30d")
    }
    return seconds
  }

  private func readKey() throws -> Secret? {
    guard let privateKey else { return nil }
    return try Self.contents(of: privateKey, "--key").secret()
  }

  private func readPassword(in session: Session) throws -> Secret? {
    guard let user else { return nil }
    if let passwordDescriptor {
      return try KeySource.firstLine(of: passwordDescriptor, namedBy: "--password-fd").secret()
    }
    return try session.askPassword(of: user, or: "--password-fd N")
  }

  private static func text(of path: String, _ option: String) throws -> String {
    let bytes = try contents(of: path, option)
    guard let text = bytes.exportInsecurelyAsString() else {
      throw Failure.usage("the file of \(option) is not text")
    }
    return text
  }

  /// A remote is at most 64 KiB, so a larger file is refused before it is read completely.
  private static func contents(of path: String, _ option: String) throws(Failure) -> WipedBytes {
    let source = "the file of \(option)"
    let bytes = try DescriptorInput.contents(of: path, source, limit: Remote.byteLimit)
    guard bytes.count <= Remote.byteLimit else { throw Failure(.overLimit, "\(source) has more than 64 KiB") }
    return bytes
  }
}

extension Remote.Endpoint {
  /// Whether the address shows that connections do not leave this machine.
  fileprivate var isOnThisMachine: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}

/// `vault remote list`
struct ListRemotes: Command {
  static let about = About(
    "List the remotes, and the groups that are published there.",
    usage: "vault remote list [--json]",
    example: """
      vault remote list
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    let remotes = try store.remotes()
    let published = try Dictionary(grouping: store.publishedGroups(), by: \.value).mapValues { $0.map(\.key).sorted() }
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for remote in remotes { try remote.write(to: &json, published[remote.name] ?? []) }
      }
    }
    var table = Table("REMOTE", "ADDRESS", "USER", "GROUPS")
    for remote in remotes {
      table.add(remote.name, remote.address, remote.user ?? "", (published[remote.name] ?? []).joined(separator: " "))
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension Remote {
  /// Everything but the key and the password.
  fileprivate func write(to json: inout JSONWriter, _ groups: [String]) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("name", name)
      try json.string("address", address)
      try json.flag("tls", usesTLS)
      try json.flag("ca", authority != nil)
      try json.flag("certificate", certificate != nil)
      try json.string("user", orNull: user)
      try json.number("maxAge", orNull: maxAge.map(UInt64.init))
      try json.number("heartbeat", orNull: heartbeat.map(UInt64.init))
      try json.array("groups") { (json) throws(Failure) in for group in groups { try json.string(group) } }
    }
  }
}

/// `vault remote remove NAME`
struct RemoveRemote: Command {
  static let about = About(
    "Forget an etcd cluster, unless a group is published there.",
    usage: "vault remote remove NAME",
    more: """
      Credentials that were written with it, and older backups of the store, still contain its address and login. To \
      end that login, change the password in etcd.
      """,
    example: """
      vault remote remove office
      """)

  let name: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The remote's name.", completes: .remotes)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws { try session.openStore(key).removeRemote(name) }
}
