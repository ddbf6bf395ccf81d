import ArgumentParser
internal import Vault

/// `vault slot add key-file`
struct AddKeyFile: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "key-file",
    abstract: "Add a key file, which is made if it does not exist.",
    usage: "vault slot add key-file --new-key-file FILE",
    discussion: """
      The file holds 32 random bytes, for its owner alone, and must lie outside of the store. Commands use it where it is named: \
      --key-file FILE, or VAULT_KEY_FILE.

      Example:
        vault slot add key-file --new-key-file /media/stick/vault.key
      """)

  @Option(
    name: .customLong("new-key-file"), help: ArgumentHelp("The key file to add.", valueName: "file"))
  var path: String

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let slot = try session.openStore(key.source).addKeyFile(path)
    session.say("the key file opens slot \(slot.number)")
  }
}
