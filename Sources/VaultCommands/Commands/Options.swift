import ArgumentParser
internal import VaultStore

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
