import ArgumentParser
internal import VaultStore

/// `vault init`
struct Init: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a store, and its group default.",
    usage: "vault init [--key-file FILE] [--passphrase-fd N]",
    discussion: """
      The store opens with the key file, which is made if it does not exist, or else with a passphrase, which is asked for \
      twice. Keep the key file apart from the store, and a copy of both.

      Example:
        vault init --key-file ~/.config/vault.key
      """)

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let location = try StoreLocation(environment: session.environment)
    _ = try SecretStore.create(at: location, with: slot(in: session))
    session.say("made a store at \(location.home)")
  }

  private func slot(in session: Session) throws -> NewSlot {
    switch try key.source.named() ?? session.variable("VAULT_KEY_FILE").map(KeySource.Named.keyFile) {
    case .keyFile(let path)?: return .keyFile(path)
    case .passphrase(let descriptor)?: return .passphrase(try KeySource.passphrase(descriptor: descriptor))
    case .recoveryCode?: throw Failure.usage("a new store has no recovery code yet")
    case .credential?: throw Failure.usage("an application cannot make a store")
    case nil:
      guard let terminal = Terminal(path: session.streams.terminal) else {
        throw Failure(
          .locked, "there is no terminal to ask for a passphrase on", hint: "name --key-file or --passphrase-fd")
      }
      let typed = try terminal.askTwice("new passphrase: ", again: "the same again: ")
      return .passphrase(try typed.secret())
    }
  }
}
