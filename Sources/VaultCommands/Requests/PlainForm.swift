/// `get`, `set`, `list` and `credential` as programs write them, read here: setting up the argument parser takes longer than all
/// the rest of a `get`. Whatever is unusual or wrong is left to the parser, which also has the words for it.
enum PlainForm: Equatable {
  case get(GetRequest)
  case set(SetRequest)
  case list(ListRequest)
  case git(GitCredentialRequest)
  case docker(DockerCredentialRequest)

  /// - Returns: nil unless the parser would understand the same.
  init?(_ arguments: [String]) {
    let depth = arguments.first == "credential" ? 2 : 1
    var words = PlainArguments(arguments.dropFirst(depth))
    switch Array(arguments.prefix(depth)) {
    case ["get"]: self = .get(GetRequest(&words))
    case ["set"]: self = .set(SetRequest(&words))
    case ["list"]: self = .list(ListRequest(&words))
    case ["credential", "git"]: self = .git(GitCredentialRequest(&words))
    case ["credential", "docker"]: self = .docker(DockerCredentialRequest(&words))
    default: return nil
    }
    guard words.areUnderstood else { return nil }
  }

  func run(in session: Session) throws {
    switch self {
    case .get(let request): try request.run(in: session)
    case .set(let request): try request.run(in: session)
    case .list(let request): try request.run(in: session)
    case .git(let request): try request.run(in: session)
    case .docker(let request): try request.run(in: session)
    }
  }
}

extension GetRequest {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(
      name: words.name(), field: words.option("--field"), group: words.option("--group", "-g"),
      version: words.number("--version"),
      output: words.option("--output"), json: words.flag("--json"), key: KeySource(&words))
  }
}

extension SetRequest {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(
      name: words.name(), field: words.option("--field"), group: words.option("--group", "-g"),
      label: words.option("--label"),
      attributes: words.options("--attribute", "-a"), expires: words.option("--expires"),
      descriptor: words.number("--fd"), file: words.option("--file"), keepsValue: words.flag("--keep-value"),
      replacesFields: words.flag("--replace-fields"),
      type: words.option("--type"), archive: words.option("--archive"), allowed: words.options("--allow"),
      exact: words.flag("--exact"), ifVersion: words.number("--if-version"), json: words.flag("--json"),
      key: KeySource(&words))
  }
}

extension ListRequest {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(
      prefix: words.nameIfAny() ?? "", group: words.option("--group", "-g"), all: words.flag("--all"),
      removed: words.flag("--removed"),
      attributes: words.options("--attribute", "-a"), match: words.option("--match"), sort: words.option("--sort"),
      limit: words.number("--limit"), json: words.flag("--json"),
      key: KeySource(&words))
  }
}

extension GitCredentialRequest {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(operation: words.name(), group: words.option("--group", "-g"), key: KeySource(&words))
  }
}

extension DockerCredentialRequest {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(operations: [words.name()], group: words.option("--group", "-g"), key: KeySource(&words))
  }
}

extension KeySource {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(
      keyFile: words.option("--key-file"), passphraseDescriptor: words.number("--passphrase-fd"),
      recoveryDescriptor: words.number("--recovery-fd"), credential: words.option("--credential"))
  }
}
