internal import Exchange
import Glibc
internal import Ground
internal import Synchronization
internal import Vault

/// Parameters of several commands.
extension Arguments {
  mutating func json() -> Bool { flag("--json", "Print JSON, and errors as one JSON object on stderr.") }

  /// The access group of a command on items.
  mutating func group() -> String? {
    option(
      "--group", short: "-g", value: "group",
      "The access group (else VAULT_GROUP, else default or the application's own).", completes: .groups)
  }

  /// The access group of a command that otherwise searches all groups.
  mutating func onlyGroup() -> String? {
    option("--group", short: "-g", value: "group", "Only this access group.", completes: .groups)
  }

  /// A file for the command's output; `nil` and `-` mean standard output.
  mutating func outputFile(
    short: String? = nil, _ help: String = "Write to this file, which is made or replaced and readable by you alone."
  ) -> String? {
    let path = option("--output", short: short, value: "file", help, completes: .files)
    return path == "-" ? nil : path
  }

  /// The field of a JSON value that a command reads or changes.
  mutating func field() -> String? {
    option(
      "--field", value: "field", "This field of the value, as NAME#FIELD; an empty one means the whole value.")
  }

  mutating func commonPassphrase() -> Bool {
    flag("--common-passphrase", "Accept a new passphrase even if it is one of the most common.")
  }
}

/// The part of an item that a command reads or writes: the whole value or one field.
struct ItemPlace: Equatable {
  let name: String
  /// A member of the item's JSON value; nil for the whole value.
  let field: String?

  /// Reads `NAME` or `NAME#FIELD`.
  ///
  /// An item with the whole name takes precedence. Otherwise the part after the last `#` is a field.
  ///
  /// - Parameter field: the argument of `--field`. If it is given, the name is taken literally, and an empty text means
  ///   the whole value.
  /// - Throws: `conflict` if both the item and the field exist.
  init(_ typed: String, field: String?, in group: AccessGroup) throws {
    let typed = try Item.Name(typed).description
    let scalars = typed.unicodeScalars
    guard field == nil, let sign = scalars.lastIndex(of: "#"), sign > scalars.startIndex,
      scalars.index(after: sign) < scalars.endIndex
    else {
      (name, self.field) = (typed, field?.isEmpty == true ? nil : field)
      return
    }
    let (owner, member) = (String(scalars[..<sign]), String(scalars[scalars.index(after: sign)...]))
    guard try ItemPlace.isPresent(typed, in: group) else {
      (name, self.field) = (owner, member)
      return
    }
    guard try !ItemField.isPresent(member, of: owner, in: group) else {
      let shown = (UTF8Text.onOneLine(typed), UTF8Text.onOneLine(owner))
      throw Failure(
        .conflict, "'\(shown.0)' is both an item and a field of the item '\(shown.1)'",
        hint: "for the item: --field ''; for the field: the name before '#', and the part after it with --field")
    }
    (name, self.field) = (typed, nil)
  }

  private static func isPresent(_ name: String, in group: AccessGroup) throws(VaultError) -> Bool {
    do { _ = try group.item(name) } catch .notFound(.item) { return false }
    return true
  }
}

/// Which items of a group become variables, and the names of these.
struct VariableOptions {
  let prefix: String?
  let only: String?
  let environmentPrefix: String?
  let trustNames: Bool

  init(_ arguments: inout Arguments) {
    prefix = arguments.option(
      "--prefix", value: "prefix", "Use only items that begin with this, and remove it from their names.")
    only = arguments.option("--only", value: "names", "Set only these variables, separated by commas.")
    environmentPrefix = arguments.option("--env-prefix", value: "text", "Put this before each variable.")
    trustNames = arguments.flag("--trust-names", "Accept all names that the group's writers chose.")
  }

  var isEmpty: Bool { prefix == nil && only == nil && environmentPrefix == nil && !trustNames }

  /// - Throws: `usage` for a prefix that cannot start a variable's name.
  func selection(of group: String?) throws(Failure) -> GroupVariables {
    let names = Set((only ?? "").split(separator: ",").map(String.init))
    let before = environmentPrefix ?? ""
    guard only == nil || !names.isEmpty else { throw .usage("--only lists no variable") }
    guard environmentPrefix == nil || VariableName.isValid(before) else {
      throw .usage("--env-prefix cannot start a variable's name", hint: "use letters, digits and '_', such as APP_")
    }
    return GroupVariables(
      group: group, prefix: prefix ?? "", only: names, environmentPrefix: before, trustsNames: trustNames)
  }
}

extension ItemPlace {
  /// - Throws: `usage` for a reference in place of a new item's name. It would become part of the name, and programs would
  ///   go on reading the item that it means.
  static func refuseReference(_ name: String) throws(Failure) {
    guard Reference.isMeant(by: name) else { return }
    throw .usage(
      "a reference cannot be an item's name", hint: "write the name alone, and name its group: NAME -g GROUP")
  }
}

/// `--yes`, on commands whose losses cannot be undone.
struct Consent {
  let yes: Bool

  init(_ arguments: inout Arguments) {
    yes = arguments.flag("--yes", "Do not ask first; for scripts.")
  }

  /// Says what would be lost for good, and asks.
  ///
  /// - Throws: `usage` if nobody can be asked, `interrupted` if the answer is no. Nothing has been changed then.
  func confirm(_ loss: String, in session: Session) throws(Failure) {
    guard !yes else { return }
    let loss = UTF8Text.onOneLine(loss)
    guard let terminal = session.terminal else {
      throw Failure(.usage, "\(loss); there is no terminal to ask", hint: "to do it without asking: --yes")
    }
    guard try terminal.confirm("\(loss). Continue? (yes/no) ") else {
      throw Failure(.interrupted, "nothing was changed")
    }
  }
}

/// Keys and values of `-a KEY=VALUE`.
enum AttributeArguments {
  /// - Throws: `usage` if `=` or the key is missing, or a key occurs twice.
  static func parse(_ arguments: [String]) throws(Failure) -> [String: String] {
    var attributes: [String: String] = [:]
    for argument in arguments {
      guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else {
        throw .usage("an attribute has the form KEY=VALUE")
      }
      let key = String(argument[..<sign])
      guard attributes.updateValue(String(argument[argument.index(after: sign)...]), forKey: key) == nil else {
        throw .usage("the same attribute is given twice")
      }
    }
    return attributes
  }
}

/// The source of the key, as named on the command line. If one is named, no other is tried.
struct KeySource: Equatable {
  var keyFile: String?
  var passphraseDescriptor: Int32?
  var recoveryDescriptor: Int32?
  var credential: String?
  var credentialDescriptor: Int32?

  /// The longest passphrase, in bytes.
  static let passphraseLimit = 1_024

  enum Named: Equatable {
    case keyFile(String)
    case passphrase(descriptor: Int32)
    case recoveryCode(descriptor: Int32)
    case credential(String)
    case credentialBytes(descriptor: Int32)
  }

  /// The source of a sealed credential's passphrase; nil for the terminal.
  var credentialPassphrase: Int32? { credential != nil || credentialDescriptor != nil ? passphraseDescriptor : nil }

  /// - Returns: nil if nothing was named.
  /// - Throws: `usage` if more than one was.
  func named() throws(Failure) -> Named? {
    let sources = [
      keyFile.map { ("--key-file", Named.keyFile($0)) },
      credentialPassphrase != nil
        ? nil : passphraseDescriptor.map { ("--passphrase-fd", Named.passphrase(descriptor: $0)) },
      recoveryDescriptor.map { ("--recovery-fd", Named.recoveryCode(descriptor: $0)) },
      credential.map { ("--credential", Named.credential($0)) },
      credentialDescriptor.map { ("--credential-fd", Named.credentialBytes(descriptor: $0)) },
    ].compactMap { $0 }
    guard sources.count < 2 else { throw .usage("\(sources[0].0) and \(sources[1].0) exclude each other") }
    return sources.first?.1
  }

  static func passphrase(descriptor: Int32) throws -> Secret {
    try passphraseLine(descriptor: descriptor).secret()
  }

  /// Like `passphrase`, for callers that need it more than once.
  static func passphraseLine(descriptor: Int32) throws -> WipedBytes {
    try firstLine(of: descriptor, namedBy: "--passphrase-fd")
  }

  static func newPassphrase(descriptor: Int32) throws -> Secret {
    try firstLine(of: descriptor, namedBy: "--new-passphrase-fd").secret()
  }

  static func recoveryCode(descriptor: Int32) throws -> Secret {
    try firstLine(of: descriptor, namedBy: "--recovery-fd").secret()
  }

  /// The bytes of a credential. Whoever opened the descriptor decided who may read them.
  static func credential(descriptor: Int32) throws -> Secret {
    let source = "the descriptor named by --credential-fd"
    let bytes = try DescriptorInput(descriptor, source).readAll(limit: 131_072)
    if descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return try bytes.secret()
  }

  static func firstLine(of descriptor: Int32, namedBy option: String) throws -> WipedBytes {
    let source = "the descriptor of \(option)"
    let line = try DescriptorInput(descriptor, source).readLine(limit: passphraseLimit)
    // A program that we start must not be able to read it again.
    if descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return line
  }
}

extension WipedBytes {
  /// The bytes in the library's guarded memory.
  func secret() throws(VaultError) -> Secret {
    try unsafe withUnsafeBytes { (bytes) throws(VaultError) in try unsafe Secret(copying: bytes) }
  }
}

extension Arguments {
  /// An option with the number of an open descriptor. It is looked at before this process opens any itself, because it
  /// would otherwise read one of its own.
  mutating func descriptor(_ long: String, _ help: String) throws(ArgumentFault) -> Int32? {
    let descriptor: Int32? = try number(long, value: "n", help)
    if let descriptor, !Descriptor.isOpen(descriptor) { throw .notOpen(long) }
    return descriptor
  }
}

extension KeySource {
  /// The options that name the key to the store, on every command.
  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    self.init(
      keyFile: arguments.option(
        "--key-file", value: "file", "Open the store with this key file (else VAULT_KEY_FILE).", completes: .files),
      passphraseDescriptor: try arguments.descriptor(
        "--passphrase-fd", "Read the passphrase of the store or credential from the first line of this descriptor."),
      recoveryDescriptor: try arguments.descriptor(
        "--recovery-fd", "Read the recovery code from this descriptor: its first line."),
      credential: arguments.option(
        "--credential", value: "file", "Act as the application with this credential (else VAULT_CREDENTIAL).",
        completes: .files),
      credentialDescriptor: try arguments.descriptor(
        "--credential-fd", "Read an application's credential from this descriptor."))
  }
}

/// Asks for a secret when the library needs one.
final class Question: Sendable {
  private let prompt: @Sendable (_ isOpen: Bool) -> String
  private let path: String
  private let descriptor: Int32?
  private let reason: String
  private let state = Mutex(State())

  // A structure, because a tuple's type is made at run time: a hundredth of a whole get.
  private struct State {
    var failure: Failure?
    var isOpen = false
    var hasRest = false
  }

  /// - Parameters:
  ///   - path: the path of the terminal.
  ///   - descriptor: a descriptor to read the passphrase from instead; `nil` for the terminal.
  ///   - reason: why the store stays locked if there is no terminal.
  ///   - prompt: makes the prompt. It receives whether the store is already open and only the owner's key is missing.
  init(
    on path: String, or descriptor: Int32? = nil,
    else reason: String = "there is no terminal to ask for the passphrase",
    _ prompt: @escaping @Sendable (_ isOpen: Bool) -> String
  ) {
    (self.path, self.descriptor, self.reason, self.prompt) = (path, descriptor, reason, prompt)
  }

  /// The error at the terminal or descriptor. The library can throw only its own errors.
  var failure: Failure? { state.withLock { $0.failure } }

  /// Whether the user had typed more than the answer when it was read.
  var hasRest: Bool { state.withLock { $0.hasRest } }

  /// From now on a prompt is for an operation that an open store alone does not permit.
  func storeIsOpen() { state.withLock { $0.isOpen = true } }

  func ask() throws(VaultError) -> Secret {
    do {
      if let descriptor { return try KeySource.passphrase(descriptor: descriptor) }
      guard let terminal = Terminal(path: path) else { throw VaultError.locked(.nobodyToAsk(reason)) }
      defer { state.withLock { $0.hasRest = terminal.hasRest } }
      return try terminal.ask(prompt(state.withLock { $0.isOpen })).secret()
    } catch let error as VaultError {
      throw error
    } catch {
      let failure = error as? Failure ?? Failure(.unexpected, "something unexpected happened")
      state.withLock { $0.failure = failure }
      throw .locked(.nobodyToAsk(failure.message))
    }
  }
}
