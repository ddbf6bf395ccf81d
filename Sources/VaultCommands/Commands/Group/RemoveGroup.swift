import ArgumentParser
internal import VaultStore

/// `vault group remove NAME`
struct RemoveGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a group with all its items. Nothing brings them back but a backup.",
    usage: "vault group remove NAME",
    discussion: """
      Example:
        vault group remove team.old
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    try session.openStore(key.source).removeGroup(name)
    session.say("the group is gone, with all its items")
  }
}
