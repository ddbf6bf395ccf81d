internal import Exchange
internal import Vault

/// `vault credential cargo`
struct AnswerCargo: Command {
  static let about = About(
    "Be cargo's credential provider: keep the tokens of cargo login.",
    usage: "vault credential cargo [-g GROUP]",
    more: """
      To use it, put global-credential-providers = ["cargo-credential-vault"] into the table [registry] of \
      ~/.cargo/config.toml. Tokens are items such as cargo/sparse+https://index.crates.io/. Cargo 1.74 or newer starts this command under \
      the name cargo-credential-vault and speaks the first version of its protocol, one JSON object on each line. An \
      expired token is not returned, and a token that cargo logout removes can be restored.
      """,
    example: """
      cargo login
      """)

  let group: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    _ = arguments.flag("--cargo-plugin", "Ignored; cargo always gives it.")
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  /// The maximum size of a request in bytes: that of a value after JSON's escapes.
  private static let limit = 1 << 21

  func run(in session: Session) throws {
    let output = session.output
    try output.write(#"{"v":[1]}"# + "\n")
    try output.flush()
    let input = try DescriptorInput(session.streams.input, "stdin")
    var store = Store(session, key, group)
    while true {
      var json = JSONWriter(output)
      let line: WipedBytes
      do { line = try input.readLine(limit: Self.limit) } catch {
        // The input that follows is the rest of the line, not a request.
        try Self.write(session.line(of: error), to: &json)
        return try output.flush()
      }
      guard line.count > 0 else { return }
      do {
        let answer = try Self.answer(to: Request(line), &store)
        try json.object { (json) throws(Failure) in
          try json.object("Ok") { (json) throws(Failure) in try answer.write(to: &json) }
        }
      } catch let refusal as Refusal {
        try json.object { (json) throws(Failure) in
          try json.object("Err") { (json) throws(Failure) in try json.string("kind", refusal.rawValue) }
        }
      } catch {
        try Self.write(session.line(of: error), to: &json)
      }
      try output.flush()
    }
  }

  private static func write(_ message: String, to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.object("Err") { (json) throws(Failure) in
        try json.string("kind", "other")
        try json.string("message", message)
        try json.array("caused-by") { (_) throws(Failure) in }
      }
    }
  }

  // MARK: The protocol

  /// The errors that cargo distinguishes. After `notFound` it asks its next provider.
  private enum Refusal: String, Error {
    case notFound = "not-found"
    case unknownOperation = "operation-not-supported"
  }

  private struct Request {
    let kind: String?
    /// The URL of the registry's index, which identifies the registry.
    let index: String
    let token: String?
    /// The page on which the registry shows a token.
    let page: String?
    /// The group after `-g` in cargo's settings.
    let group: String?

    init(_ line: WipedBytes) throws(Failure) {
      let text = line.exportInsecurelyAsString()
      guard let text, let request = try? JSONValue(parsing: text), let index = request["registry"]?["index-url"]?.text,
        case .number("1")? = request["v"]
      else { throw Failure(.usage, "this is not a request of cargo's protocol, version 1") }
      kind = request["kind"]?.text
      self.index = index
      token = request["token"]?.text
      page = request["login-url"]?.text
      guard case .array(let words)? = request["args"], !words.isEmpty else {
        group = nil
        return
      }
      guard words.count == 2, ["-g", "--group"].contains(words[0].text), let name = words[1].text else {
        throw Failure(.usage, "cargo's settings may only give the arguments -g GROUP")
      }
      group = name
    }
  }

  private enum Answer {
    case token([UInt8], expires: Timestamp?)
    case loggedIn, loggedOut

    func write(to json: inout JSONWriter) throws(Failure) {
      switch self {
      case .loggedIn: try json.string("kind", "login")
      case .loggedOut: try json.string("kind", "logout")
      case .token(let token, let expires):
        try json.string("kind", "get")
        try unsafe token.span.withUnsafeBytes { (bytes) throws(Failure) in try unsafe json.text("token", bytes) }
        try json.string("cache", expires == nil ? "session" : "expires")
        if let expires { try json.number("expiration", expires.milliseconds / 1_000) }
        try json.flag("operation_independent", true)
      }
    }
  }

  private static func answer(to request: Request, _ store: inout Store) throws -> Answer {
    let name = try LoginName.cargo(Array(request.index.utf8))
    switch request.kind {
    case "get":
      let group = try store.group(request.group)
      do {
        let opened = try group.open(name)
        let token = opened.secret.exportInsecurely()
        guard !opened.item.hasExpired, String(validating: token, as: UTF8.self) != nil else { throw Refusal.notFound }
        return .token(token, expires: opened.item.expires)
      } catch VaultError.notFound(.item) {
        throw Refusal.notFound
      }
    case "login":
      let group = try store.group(request.group)
      let token = try request.token.map { Array($0.utf8) } ?? store.ask(for: request)
      guard !token.isEmpty else { throw Failure(.usage, "the token is empty") }
      try group.set(name, to: Secret(token), kind: .string)
      return .loggedIn
    case "logout":
      do {
        try store.group(request.group).remove(name)
      } catch VaultError.notFound(.item) {
        throw Refusal.notFound
      }
      return .loggedOut
    default: throw Refusal.unknownOperation
    }
  }

  /// The groups, opened when the first request needs one.
  private struct Store {
    let session: Session
    let key: KeySource
    let standard: String?
    private var opened: (name: String?, group: AccessGroup)?

    init(_ session: Session, _ key: KeySource, _ standard: String?) {
      (self.session, self.key, self.standard) = (session, key, standard)
    }

    mutating func group(_ name: String?) throws -> AccessGroup {
      let name = name ?? standard
      if let opened, opened.name == name { return opened.group }
      let group = try session.openGroup(name, key)
      opened = (name, group)
      return group
    }

    func ask(for request: Request) throws -> [UInt8] {
      let page = request.page.map { " from \(UTF8Text.onOneLine($0))" } ?? ""
      let secret = try session.askSecret(
        "token\(page) for \(UTF8Text.onOneLine(request.index)): ",
        else: VaultError.locked(.nobodyToAsk("there is no terminal to ask for the token")))
      return secret.exportInsecurely()
    }
  }
}
