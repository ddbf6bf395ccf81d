import ArgumentParser
internal import Vault

/// `vault slot add systemd`
struct AddSystemdCredential: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "systemd",
    abstract: "Add a key for systemd: exactly 32 random bytes in a new file.",
    usage: "vault slot add systemd --output FILE",
    discussion: """
      A service whose unit says LoadCredential=vault:FILE, or whose credential vault was made of the file by systemd-creds \
      encrypt, opens the store as its owner, without being asked. The file is its owner's alone, and nothing is \
      overwritten.

      Example:
        vault slot add systemd --output vault.key
        systemd-creds encrypt --name=vault vault.key vault.cred && rm vault.key
      """)

  @Option(help: ArgumentHelp("The new file for the key.", valueName: "file")) var output: String
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let slot = try session.openStore(key.source).addSystemdCredential(at: output)
    session.say("the key opens slot \(slot.number)")
  }
}
