import ArgumentParser
internal import VaultStore

/// `vault group accept NAME`
struct AcceptGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Take a group as it is now, although this machine has seen another state.",
    usage: "vault group accept NAME",
    discussion: """
      For a copy that you put back yourself, or a group's file that you deleted. Do not use it to silence an error that \
      you cannot explain: somebody may have put back an old copy.

      Example:
        vault group accept team.shared
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    switch try session.openStore(key.source).acceptGroup(name) {
    case .nothingToAccept: session.say("there was nothing to accept")
    case .accepted(let epoch): session.say("accepted, at epoch \(epoch)")
    case .removal: session.say("accepted that the group is gone; its name is free")
    }
  }
}
