import ArgumentParser
internal import VaultStore

/// `vault group rotate NAME`
struct RotateGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Give a group a new key: every version of every item is proved and sealed again.",
    usage: "vault group rotate NAME [--drop-unproved]",
    discussion: """
      The members stay. A process killed meanwhile leaves the group as it was. What nobody signed is left behind, and signed \
      items that cannot be proved any more with --drop-unproved.

      Example:
        vault group rotate team.shared
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @Flag(help: "Leave behind signed items that cannot be proved any more.") var dropUnproved = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let generation = try session.openStore(key.source).rotateGroup(name, droppingUnproved: dropUnproved) {
      session.showProgress("\(name): \($0.text)")
    }
    session.endProgress()
    session.say("'\(name)' has key \(generation) now")
  }
}
