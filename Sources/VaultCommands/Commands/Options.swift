import ArgumentParser
internal import Vault

/// What names the key to the store: on every command.
struct KeyOptions: ParsableArguments {
  @Option(
    name: .customLong("key-file"),
    help: ArgumentHelp("Open the store with this key file (else VAULT_KEY_FILE).", valueName: "file"))
  var keyFile: String?

  @Option(
    name: .customLong("passphrase-fd"),
    help: ArgumentHelp("Read the passphrase from this descriptor: its first line.", valueName: "n"))
  var passphraseDescriptor: Int32?

  @Option(
    name: .customLong("recovery-fd"),
    help: ArgumentHelp("Read the recovery code from this descriptor: its first line.", valueName: "n"))
  var recoveryDescriptor: Int32?

  @Option(
    help: ArgumentHelp(
      "Act as the application with this credential (else VAULT_CREDENTIAL).", valueName: "file"))
  var credential: String?

  var source: KeySource {
    KeySource(
      keyFile: keyFile, passphraseDescriptor: passphraseDescriptor, recoveryDescriptor: recoveryDescriptor,
      credential: credential)
  }
}

/// The access group that a command on items works in.
struct GroupOptions: ParsableArguments {
  @Option(
    name: [.customShort("g"), .customLong("group")],
    help: ArgumentHelp(
      "The access group (else VAULT_GROUP, else default or the application's own).", valueName: "group"))
  var group: String?
}

/// The field of a JSON value that a command on an item is about.
struct FieldOptions: ParsableArguments {
  @Option(
    name: .customLong("field"),
    help: ArgumentHelp(
      "This field of the value, as NAME#FIELD; an empty one means the whole value.", valueName: "field"))
  var field: String?
}

/// Which items of a group become variables, and how they are called.
struct VariableOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Only items that begin with this, which is left off.", valueName: "prefix"))
  var prefix: String?

  @Option(help: ArgumentHelp("Only these variables, with commas between them.", valueName: "names"))
  var only: String?

  @Option(name: .customLong("env-prefix"), help: ArgumentHelp("Put this before each variable.", valueName: "text"))
  var environmentPrefix: String?

  @Flag(help: "Take whatever variables the group's writers chose.") var trustNames = false

  var isEmpty: Bool { prefix == nil && only == nil && environmentPrefix == nil && !trustNames }

  /// - Throws: `usage` for what begins no variable.
  func selection(of group: String?) throws(Failure) -> GroupVariables {
    let names = Set((only ?? "").split(separator: ",").map(String.init))
    let before = environmentPrefix ?? ""
    guard only == nil || !names.isEmpty else { throw .usage("--only lists no variable") }
    let letters = before.utf8.allSatisfy {
      (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == 0x5F
    }
    guard letters, before.utf8.first.map({ !(0x30...0x39).contains($0) }) ?? (environmentPrefix == nil) else {
      throw .usage("--env-prefix begins no variable", hint: "it is of letters, digits and '_', such as APP_")
    }
    return GroupVariables(
      group: group, prefix: prefix ?? "", only: names, environmentPrefix: before, trustsNames: trustNames)
  }
}

/// `--yes`, on commands after which nothing brings back what they took.
struct ConsentOption: ParsableArguments {
  @Flag(help: "Do not ask first; for scripts.") var yes = false

  /// Says what would go for good, and asks.
  ///
  /// - Throws: `usage` where nobody can be asked, `interrupted` where the answer is no. Nothing was changed then.
  func confirm(_ loss: String, in session: Session) throws(Failure) {
    guard !yes else { return }
    let loss = UTF8Text.onOneLine(loss)
    guard let terminal = Terminal(path: session.streams.terminal) else {
      throw Failure(.usage, "\(loss), and there is no terminal to ask on", hint: "if you mean it: --yes")
    }
    guard try terminal.confirm("\(loss). Go on? (yes/no) ") else {
      throw Failure(.interrupted, "nothing was changed")
    }
  }
}

struct JSONOption: ParsableArguments {
  @Flag(help: "Print JSON, and errors as one JSON object on stderr.")
  var json = false
}
