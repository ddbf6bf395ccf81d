import ArgumentParser
internal import Vault

/// `vault group rotate NAME`
struct RotateGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Give a group a new key: every version of every item is proved and sealed again.",
    usage: "vault group rotate NAME [--accept] [--drop-unproved]",
    discussion: """
      The members stay. A process killed meanwhile leaves the group as it was. What nobody signed is left behind, and signed \
      items that cannot be proved any more with --drop-unproved. A state that this machine refuses, also one \
      of a damaged file, is taken with --accept, after it is said what that brings back.

      Example:
        vault group rotate team.shared
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @Flag(help: "Take a state of the group that this machine refuses, in the same step.") var accept = false
  @Flag(help: "Leave behind signed items that cannot be proved any more.") var dropUnproved = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let generation = try session.openStore(key.source).rotateGroup(
      name, droppingUnproved: dropUnproved, accepting: accept ? session.takes : nil
    ) {
      session.showProgress("\(name): \($0.text)")
    }
    session.endProgress()
    session.say("'\(name)' has key \(generation) now")
  }
}
