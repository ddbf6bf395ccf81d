import ArgumentParser
internal import VaultStore

/// `vault group rotate NAME`
struct RotateGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Give a group a new key: every version of every item is proved and sealed again.",
    usage: "vault group rotate NAME",
    discussion: """
      The members stay. A process killed meanwhile leaves the group as it was.

      Example:
        vault group rotate team.shared
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let generation = try session.openStore(key.source).rotateGroup(name) {
      session.showProgress("\(name): \($0.text)")
    }
    session.endProgress()
    session.say("'\(name)' has key \(generation) now")
  }
}
