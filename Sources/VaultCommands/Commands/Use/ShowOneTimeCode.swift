internal import Authenticators
internal import Exchange
internal import Vault

/// `vault totp NAME`
struct ShowOneTimeCode: Command {
  static let about = About(
    "Write the current one-time code.",
    usage: "vault totp NAME [-g GROUP] [--json | --clip [TIME]]",
    more: """
      The item's value is an otpauth://totp/… URL, as in the QR codes of services, or the secret in base32. In a \
      value of type json it is the field totp, otpauth or otp, as import makes it. SHA1, SHA256 and SHA512 with 6 to \
      8 digits are supported, and Steam's codes where the URL has encoder=steam or begins with steam://. --json says \
      for how many seconds the code stays valid. --clip copies it, as vault get --clip does.
      """,
    example: """
      printf %s "$OTPAUTH_URL" | vault set github/totp
      vault totp github/totp
      """)

  let name: String
  let group: String?
  let clip: String?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    group = arguments.group()
    clip = arguments.time(
      "--clip", short: "-c", value: "time", "Copy to the clipboard and clear it after this time.", without: "45s")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard clip == nil || !json else { throw Failure.usage("--clip excludes --json") }
    if let clip { try Clipboard.require(length: clip) }
    let group = try session.openGroup(group, key)
    let opened = try group.open(name)
    let source = try OneTimeSource(of: opened)
    let code = try source.code(at: .now)
    if let clip {
      let (told, more) = try unsafe Array(code.text.utf8).withUnsafeBytes { bytes in
        try unsafe Clipboard.copy(bytes, for: clip, terminal: session.streams.terminal)
      }
      return ([told] + more).forEach(session.say)
    }
    guard json else {
      return try session.output.write(code.text + (session.output.isTerminal ? "\n" : ""))
    }
    var json = JSONWriter(session.output)
    try json.object { (json) throws(Failure) in
      try json.string("name", opened.item.name.description)
      try json.string("group", group.name.description)
      try json.string("code", code.text)
      try json.number("secondsLeft", code.secondsLeft)
      try json.number("period", source.period)
    }
  }
}

extension OneTimeSource {
  /// The one-time code parameters in an item's value.
  ///
  /// - Throws: `conflict` with the fault.
  init(of opened: borrowing OpenedItem) throws(Failure) {
    var bytes = opened.secret.exportInsecurely()
    if opened.item.kind == .json {
      guard let field = ["totp", "otpauth", "otp"].lazy.compactMap({ JSONField.value(of: $0, in: bytes) }).first
      else {
        throw Failure(.conflict, "the value has no field 'totp', 'otpauth' or 'otp'", hint: "see it: vault get NAME")
      }
      bytes = field
    }
    do throws(Fault) {
      guard let text = String(validating: bytes, as: UTF8.self) else { throw .noSource }
      try self.init(text)
    } catch {
      throw OneTimeSource.failure(error)
    }
  }

  /// The code at a given time.
  ///
  /// - Throws: `conflict` for an unknown hash.
  func code(at time: Timestamp) throws(Failure) -> OneTimeCode {
    guard let algorithm = OneTimeCode.Algorithm(rawValue: algorithm) else { throw OneTimeSource.failure(.badAlgorithm) }
    return OneTimeCode(key: key, algorithm: algorithm, digits: isSteam ? nil : digits, period: period, at: time)
  }

  private static func failure(_ fault: Fault) -> Failure {
    Failure(.conflict, fault.words, hint: fault == .countsUses ? nil : "otpauth://totp/NAME?secret=BASE32")
  }
}

extension OneTimeSource.Fault {
  /// A description of the fault for people.
  var words: String {
    switch self {
    case .noSource: "the value is neither an otpauth://totp/ URL nor a secret in base32"
    case .countsUses:
      "the value is for counter codes (hotp), and reading one would use it up; only totp is supported"
    case .noSecret: "the URL holds no secret"
    case .badSecret: "the URL's secret is not base32"
    case .badAlgorithm: "the URL's algorithm is not SHA1, SHA256 or SHA512"
    case .badDigits: "the URL's digits are not 6 to 8, or 5 with encoder=steam"
    case .badPeriod: "the URL's period is not a number of seconds"
    case .badEncoder: "the URL's encoder is not steam"
    }
  }
}
