/// `get`, `set` and `list` as scripts write them, read here: setting up the argument parser takes longer than all the rest
/// of a `get`. Whatever is unusual or wrong is left to the parser, which also has the words for it.
enum PlainForm: Equatable {
  case get(GetRequest)
  case set(SetRequest)
  case list(ListRequest)

  /// - Returns: nil unless the parser would understand the same.
  init?(_ arguments: [String]) {
    guard let command = arguments.first else { return nil }
    var words = PlainArguments(arguments.dropFirst())
    switch command {
    case "get": self = .get(GetRequest(&words))
    case "set": self = .set(SetRequest(&words))
    case "list": self = .list(ListRequest(&words))
    default: return nil
    }
    guard words.areUnderstood else { return nil }
  }

  func run(in session: Session) throws {
    switch self {
    case .get(let request): try request.run(in: session)
    case .set(let request): try request.run(in: session)
    case .list(let request): try request.run(in: session)
    }
  }
}

extension GetRequest {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(
      name: words.name(), group: words.option("--group", "-g"), version: words.number("--version"),
      output: words.option("--output"), json: words.flag("--json"), key: KeySource(&words))
  }
}

extension SetRequest {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(
      name: words.name(), group: words.option("--group", "-g"), label: words.option("--label"),
      attributes: words.options("--attribute", "-a"), expires: words.option("--expires"),
      descriptor: words.number("--fd"), file: words.option("--file"), keepsValue: words.flag("--keep-value"),
      type: words.option("--type"), archive: words.option("--archive"), allowed: words.options("--allow"),
      exact: words.flag("--exact"), ifVersion: words.number("--if-version"), json: words.flag("--json"),
      key: KeySource(&words))
  }
}

extension ListRequest {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(
      prefix: words.nameIfAny() ?? "", group: words.option("--group", "-g"),
      attributes: words.options("--attribute", "-a"), match: words.option("--match"), json: words.flag("--json"),
      key: KeySource(&words))
  }
}

extension KeySource {
  fileprivate init(_ words: inout PlainArguments) {
    self.init(
      keyFile: words.option("--key-file"), passphraseDescriptor: words.number("--passphrase-fd"),
      recoveryDescriptor: words.number("--recovery-fd"), credential: words.option("--credential"))
  }
}
