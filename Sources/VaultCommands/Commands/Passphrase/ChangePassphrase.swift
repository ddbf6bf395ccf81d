import ArgumentParser
internal import VaultStore

/// `vault passphrase change`
struct ChangePassphrase: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "change",
    abstract: "Replace the passphrase, or add the first one to a store with a key file.",
    usage: "vault passphrase change [--new-passphrase-fd N]",
    discussion: """
      Only the passphrase's slot is written anew, never the data. Old copies of the store's identity file still open with \
      the old passphrase.

      Example:
        vault passphrase change
      """)

  @Option(
    name: .customLong("new-passphrase-fd"),
    help: ArgumentHelp("Read the new passphrase from this descriptor: its first line.", valueName: "n"))
  var descriptor: Int32?

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    try store.changePassphrase(to: newPassphrase(in: session))
    session.say("the passphrase is changed")
  }

  private func newPassphrase(in session: Session) throws -> Secret {
    if let descriptor { return try KeySource.passphrase(descriptor: descriptor) }
    guard let terminal = Terminal(path: session.streams.terminal) else {
      throw Failure(
        .locked, "there is no terminal to ask for the new passphrase on", hint: "name --new-passphrase-fd")
    }
    return try terminal.askTwice("new passphrase: ", again: "the same again: ").secret()
  }
}
