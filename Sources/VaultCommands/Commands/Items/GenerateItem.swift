internal import Ground
internal import Vault

/// `vault generate NAME`
struct GenerateItem: Command {
  static let about = About(
    "Store a new random value without showing it, unless --show is given.",
    usage:
      "vault generate NAME[#FIELD] [-g GROUP] [--length N] [--alphabet SET] [--expires WHEN] [--replace-fields] [--show]",
    more: """
      SET is one of \(RandomText.names), or the characters themselves, as in abc123; if they are only letters, they \
      need a prefix: chars:abc. safe is A-Z a-z 0-9 - _, alnum is alphanumeric, and hex is hexadecimal.
      32 characters of safe hold 192 bits. An existing item gets a new version. NAME#FIELD is one field of a login \
      or another JSON value, as in set; the other fields stay.
      """,
    example: """
      vault generate db/password --length 40
      vault generate web/GitHub#password
      """)

  let name: String
  let field: String?
  let group: String?
  let random: RandomText
  let expires: String?
  let replaceFields: Bool
  let show: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    field = arguments.field()
    group = arguments.group()
    random = try RandomText(&arguments)
    expires = arguments.option("--expires", value: "when", "When the value expires: \(Expiry.forms).")
    replaceFields = arguments.flag("--replace-fields", "Replace JSON and all its fields with the value.")
    show = arguments.flag("--show", "Write the value to stdout.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    try ItemPlace.refuseReference(name)
    let secret = try random.secret()
    var details = Details()
    if let expires { details.expires = try Expiry.change(expires, now: .now) }
    let group = try session.openGroup(group, key)
    let place = try ItemPlace(name, field: field, in: group)
    if let field = place.field {
      let text = try unsafe secret.withUnsafeBytes { (bytes) throws(Failure) in try unsafe WipedBytes(copying: bytes) }
      let present = try ItemField(place, field, in: group)
      _ = try ItemField.set(field, of: place, to: text, as: .string, details, in: group)
      try present.tellIfNew(in: session)
      if expires == nil { session.warnIfExpired(try group.item(place.name)) }
    } else {
      try FieldLoss(place.name, in: group, isMeant: replaceFields)?.confirm(in: session)
      let former = expires == nil ? try? group.item(place.name) : nil
      try group.set(place.name, to: secret, kind: .string, details)
      session.warnOfLostExpiry(of: former)
    }
    session.warnIfPast(details)
    guard show else { return }
    do throws(Failure) {
      try unsafe secret.withUnsafeBytes { (bytes) throws(Failure) in try unsafe session.output.write(bytes) }
      if session.output.isTerminal { try session.output.write("\n") }
      try session.output.flush()
    } catch {
      let options = (field.map { " --field \(Self.word($0))" } ?? "") + (self.group.map { " -g \($0)" } ?? "")
      throw Failure(
        error.isSilent ? .storage : error.status, "the new value was stored, but not shown: \(error.message)",
        hint: "vault get \(Self.word(name))\(options)")
    }
  }

  /// The text as a shell reads it.
  private static func word(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { $0.isLetter || $0.isDigit || "/._-@:+#".utf8.contains($0) }
    return isPlain && !text.isEmpty && text.first != "#" ? text : "'\(text.exchanging("'", for: #"'\''"#))'"
  }
}

/// The options of a new random value.
struct RandomText {
  let length: Int
  let alphabet: String

  init(_ arguments: inout Arguments, in command: String? = nil) throws(ArgumentFault) {
    length = try arguments.number("--length", value: "n", "The number of characters, 1 to 65,536.", else: 32)
    alphabet = arguments.option(
      "--alphabet", value: "set", "The characters to choose from\(command.map { ", as in \($0)" } ?? "").",
      else: "safe", completes: .words(Self.known.map(\.name)))
  }

  /// - Throws: a `Failure` for letters that are probably the name of a set we do not have, which would make a weak secret.
  func secret() throws -> Secret { try Secret.random(length: length, of: chosen()) }

  private func chosen() throws -> Alphabet {
    if let known = Self.known.first(where: { $0.name == alphabet }) { return try known.alphabet() }
    let prefix = "chars:"
    if alphabet.hasPrefix(prefix) { return try Alphabet(String(alphabet.dropFirst(prefix.count))) }
    // As three characters of a set, a range would make a weak secret.
    let bytes = Array(alphabet.utf8)
    func isEnd(_ place: Int) -> Bool { bytes[place].isLetter || 0x30...0x39 ~= bytes[place] }
    let ranges = bytes.indices.dropFirst().dropLast()
    guard !ranges.contains(where: { bytes[$0] == UInt8(ascii: "-") && isEnd($0 - 1) && isEnd($0 + 1) }) else {
      throw Failure(
        .usage, "there is no alphabet of this name, and ranges are not known",
        hint: "use \(Self.names); to draw from these characters only: --alphabet \(prefix)CHARACTERS")
    }
    guard alphabet.utf8.count < 3 || !alphabet.utf8.allSatisfy(\.isLetter) else {
      throw Failure(
        .usage, "there is no alphabet of this name",
        hint: "use \(Self.names); to draw from these letters only: --alphabet \(prefix)LETTERS")
    }
    return try Alphabet(alphabet)
  }

  static var names: String { known.map(\.name).joined(separator: ", ") }

  private static let known: [(name: String, alphabet: @Sendable () throws -> Alphabet)] = [
    ("safe", { .safe }), ("alphanumeric", { .alphanumeric }), ("alnum", { .alphanumeric }),
    ("printable", { .printable }), ("digits", { .digits }), ("hexadecimal", { .hexadecimal }),
    ("hex", { .hexadecimal }),
    ("lower", { try Alphabet("abcdefghijklmnopqrstuvwxyz") }),
    ("upper", { try Alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZ") }),
    ("base64", { try Alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") }),
  ]
}
