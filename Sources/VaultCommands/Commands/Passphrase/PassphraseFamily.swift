import ArgumentParser

/// `vault passphrase …`
struct PassphraseFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "passphrase",
    abstract: "Change the passphrase that opens the store.",
    usage: "vault passphrase change",
    discussion: """
      Example:
        vault passphrase change
      """,
    subcommands: [ChangePassphrase.self])
}
