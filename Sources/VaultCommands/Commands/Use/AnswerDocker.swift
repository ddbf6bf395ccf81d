internal import Exchange
internal import Vault

/// `vault credential docker OPERATION`
struct AnswerDocker: Command {
  static let about = About(
    "Be docker's credential helper: keep the passwords of docker login.",
    usage: "vault credential docker store|get|erase|list|version [-g GROUP]",
    more: """
      To use it, add "credsStore": "vault" to ~/.docker/config.json, and leave the rest of that file as it is. \
      Logins are items such as docker/https://index.docker.io/v1/: JSON with username and password; other fields \
      stay. Errors go to stdout with status 1, as docker expects.
      """,
    example: """
      echo https://index.docker.io/v1/ | vault credential docker get
      """)

  let operations: [String]
  let group: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    operations = arguments.anyArguments(
      "operation", "store, get, erase, list or version.",
      completes: .words(["store", "get", "erase", "list", "version"]))
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  /// The maximum input in bytes: the size of a value after JSON's escapes.
  private static let limit = 1 << 21

  private static let usage = "Usage: docker-credential-vault <store|get|erase|list|version>"
  private static let notFound = "credentials not found in native keychain"
  private static let noServer = "no credentials server URL"
  private static let noUsername = "no credentials username"

  func run(in session: Session) throws {
    do {
      try perform(in: session)
    } catch {
      if let failure = error as? Failure, failure.isSilent { throw failure }
      try session.output.write(session.line(of: error) + "\n")
      try session.output.flush()
      throw Failure.told
    }
  }

  private func perform(in session: Session) throws {
    guard operations.count == 1 else { throw Failure(.usage, Self.usage) }
    switch operations[0] {
    case "store": try store(Self.input(session), session)
    case "get": try get(Self.server(session), session)
    case "erase": try erase(Self.server(session), session)
    case "list": try list(session)
    case "version": try session.output.write("docker-credential-vault (vault) v\(Versions.vault)\n")
    default: throw Failure(.usage, "docker-credential-vault: unknown action")
    }
  }

  // MARK: Input

  private static func input(_ session: Session) throws(Failure) -> [UInt8] {
    let input = try DescriptorInput(session.streams.input, "stdin").readAll(limit: limit)
    guard input.count <= limit else { throw Failure(.overLimit, "stdin holds more than 2097152 bytes (2 MiB)") }
    return input.exportInsecurely()
  }

  /// The URL alone, with white space around it.
  private static func server(_ session: Session) throws(Failure) -> [UInt8] {
    try server(input(session))
  }

  private static func server(_ text: [UInt8]) throws(Failure) -> [UInt8] {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    var server = text.drop(while: isSpace)
    while let last = server.last, isSpace(last) { server.removeLast() }
    guard !server.isEmpty else { throw Failure(.usage, noServer) }
    return Array(server)
  }

  // MARK: Steps

  private func store(_ input: [UInt8], _ session: Session) throws {
    guard let text = String(validating: input, as: UTF8.self), (try? ValueText.canonical(text, .json)) != nil else {
      throw Failure(.usage, "stdin is not JSON")
    }
    let server = try Self.server(JSONField.string(of: "ServerURL", in: input) ?? [])
    guard let username = JSONField.string(of: "Username", in: input), !username.isEmpty else {
      throw Failure(.usage, Self.noUsername)
    }
    let secret = JSONField.string(of: "Secret", in: input)
    guard secret != nil || JSONField.value(of: "Secret", in: input) == nil else {
      throw Failure(.usage, "the secret is not a string")
    }
    let name = try LoginName.docker(server)
    let group = try session.openGroup(group, key)
    let present = try group.login(name)
    // The fields that only git knows are not docker's to remove.
    var login = present?.login ?? Login(username: nil, secrets: GitCredential.Secrets())
    login.username = username
    login.secrets.password = secret ?? []
    if let present, present.login == login, !present.item.hasExpired { return }
    try group.set(name, to: login)
  }

  private func get(_ server: [UInt8], _ session: Session) throws {
    // A server that is too long for a name cannot have been stored.
    let name = try? LoginName.docker(server)
    guard let name, let (login, item) = try session.openGroup(group, key).login(name), !item.hasExpired,
      let password = login.secrets.password
    else {
      throw Failure(.notFound, Self.notFound)
    }
    guard let username = login.username else { throw Failure(.notFound, Self.noUsername) }
    guard String(validating: password, as: UTF8.self) != nil else { throw Failure(.usage, "the secret is not UTF-8") }
    var object = JSONObject()
    object.add("ServerURL", server)
    object.add("Username", username)
    object.add("Secret", password)
    try write(object, session)
  }

  private func erase(_ server: [UInt8], _ session: Session) throws {
    guard let name = try? LoginName.docker(server) else { return }
    do {
      try session.openGroup(group, key).remove(name)
    } catch VaultError.notFound(.item) {
      // Docker erases three spellings of each server.
      return
    }
  }

  private func list(_ session: Session) throws {
    let group = try session.openGroup(group, key)
    var object = JSONObject()
    for item in try group.items(prefix: LoginName.dockerPrefix) where !item.hasExpired {
      guard let server = LoginName.dockerServer(item.name), let (login, _) = try group.login(item.name.description),
        let username = login.username
      else { continue }
      object.add(String(decoding: server, as: UTF8.self), username)
    }
    try write(object, session)
  }

  private func write(_ object: JSONObject, _ session: Session) throws(Failure) {
    let line = object.bytes + [0x0A]
    try session.output.requireTextIfTerminal(line, hint: "pipe it")
    try session.output.write(line)
  }
}

extension Failure {
  /// The error has already been written to stdout, where docker looks for it.
  fileprivate static let told: Failure = {
    var failure = Failure(.unexpected, "told on stdout")
    failure.isSilent = true
    return failure
  }()
}
