internal import Exchange
internal import Vault

/// `vault read REFERENCE`
struct ReadReference: Command {
  static let about = About(
    "Write exactly the bytes of the value that a reference names.",
    usage: "vault read vault://GROUP/NAME[#FIELD]",
    more: """
      A field belongs to a value of type json or to an archived object. White space, '#' and '%' in names are \
      written as '%' and two hexadecimal digits. A reference without a group (vault:///NAME) uses the store's \
      default group.
      """,
    example: """
      vault read vault://team.shared/db/password
      """)

  let reference: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    reference = try arguments.argument("reference", "The reference to read.", completes: .references)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let secret = try References(session, key).value(of: References.parse(reference))
    try unsafe secret.withUnsafeBytes { bytes in
      guard session.output.isTerminal else { return try unsafe session.output.write(bytes) }
      try unsafe session.output.requireTextIfTerminal(bytes, hint: "pipe it")
      try unsafe session.output.write(bytes)
      if unsafe bytes.last != UInt8(ascii: "\n") { try session.output.write("\n") }
    }
  }
}

/// Opens the values that references name. The store is opened once, for the first reference.
final class References {
  let session: Session
  private let key: KeySource
  private var store: SecretStore?

  init(_ session: Session, _ key: KeySource) {
    self.session = session
    self.key = key
  }

  /// The value that `reference` names.
  ///
  /// - Throws: the error that kept it from being read.
  func value(of reference: Reference) throws -> Secret {
    let opened = try group(reference.group).open(reference.name)
    session.warnIfExpired(opened.item)
    guard let field = reference.field else {
      return try unsafe opened.secret.withUnsafeBytes { (bytes) throws(VaultError) in
        try unsafe Secret(copying: bytes)
      }
    }
    return try Secret(ItemField(field, of: opened).value())
  }

  /// The login that `reference` names.
  func login(_ reference: Reference) throws -> Login {
    let opened = try group(reference.group).open(reference.name)
    session.warnIfExpired(opened.item)
    return Login(opened)
  }

  /// A member other than the owner and the caller who may write the group; `nil` if there is none.
  func otherWriter(of group: AccessGroup) throws -> String? {
    let own = store?.application
    for member in try group.info().members where member.rights == .write {
      if case .application(let name, _) = member.who, name != own { return name }
    }
    return nil
  }

  /// The group with this name; nil means VAULT_GROUP or the store's default.
  func group(_ name: String?) throws -> AccessGroup {
    let store = try self.store ?? session.openStore(key)
    self.store = store
    session.circumstances.group = name
    return try session.group(name, of: store)
  }

  /// Runs `body`, which reads a reference or what a file names, and adds the place of that to an error:
  /// `--set: no such item`.
  func naming<Result: ~Copyable>(
    _ place: String, isReference: Bool = true, _ body: () throws -> Result
  ) throws -> Result {
    do { return try body() } catch let error as VaultError {
      var circumstances = Circumstances(group: "GROUP")
      circumstances.closedUnixGroup = session.closedUnixGroup
      // Two slashes instead of three make a name's beginning a group.
      let hint = isReference && error == .notFound(.group) ? "an item of the default group is vault:///NAME; " : ""
      throw Failure(
        error.exitStatus, "\(place): \(error.message)", hint: error.hint(in: circumstances).map { hint + $0 })
    } catch let error as Failure {
      throw Failure(error.status, "\(place): \(error.message)", hint: error.hint)
    }
  }

  /// Parses a typed reference.
  ///
  /// - Throws: `usage`. The text is not repeated, because it may be a secret.
  static func parse(_ text: String) throws(Failure) -> Reference {
    do {
      return try Reference(text)
    } catch {
      throw .usage("this is not a reference: \(error.words)", hint: hint)
    }
  }

  static let hint = "vault://GROUP/NAME, or vault://GROUP/NAME#FIELD"
}

extension Reference.Fault {
  /// A description of the fault for people.
  var words: String {
    switch self {
    case .noScheme: "it does not begin with vault://"
    case .noName: "it names no item"
    case .badEscape: "a '%' in it is not followed by two hexadecimal digits of UTF-8"
    case .unescaped: "white space, '#' and control characters are written as '%' and two digits"
    case .emptyField: "nothing follows the '#'"
    }
  }
}
