import ArgumentParser
internal import VaultStore

/// `vault slot add passphrase`
struct AddPassphrase: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "passphrase",
    abstract: "Add a passphrase to a store that has none; it is asked for twice.",
    usage: "vault slot add passphrase [--new-passphrase-fd N]",
    discussion: """
      A store has one passphrase at most; to replace it: vault passphrase change.

      Example:
        vault slot add passphrase
      """)

  @OptionGroup var new: NewPassphraseOptions
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    let slot = try store.addPassphrase(new.passphrase(in: session))
    session.say("the passphrase opens slot \(slot.number)")
  }
}

/// Where a new passphrase comes from.
struct NewPassphraseOptions: ParsableArguments {
  @Option(
    name: .customLong("new-passphrase-fd"),
    help: ArgumentHelp("Read the new passphrase from this descriptor: its first line.", valueName: "n"))
  var descriptor: Int32?

  func passphrase(in session: Session) throws -> Secret {
    if let descriptor { return try KeySource.newPassphrase(descriptor: descriptor) }
    guard let terminal = Terminal(path: session.streams.terminal) else {
      throw Failure(
        .locked, "there is no terminal to ask for the new passphrase on", hint: "name --new-passphrase-fd")
    }
    return try terminal.askTwice("new passphrase: ", again: "the same again: ").secret()
  }
}
