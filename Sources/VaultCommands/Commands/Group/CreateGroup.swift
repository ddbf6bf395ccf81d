import ArgumentParser
internal import VaultStore

/// `vault group create NAME`
struct CreateGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make an access group: an encrypted file of its own.",
    usage: "vault group create NAME [--keep N]",
    discussion: """
      A name has 1 to 128 of the characters a-z 0-9 . _ - and begins with a letter or digit, without '..'.

      Example:
        vault group create team.shared --keep 50
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @Option(help: ArgumentHelp("Keep this many versions of an item, the present one included.", valueName: "n"))
  var keep: Int = 10

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws { try session.openStore(key.source).createGroup(name, keep: keep) }
}
