import ArgumentParser
internal import Vault

/// `vault grant GROUP APP`
struct GrantRights: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "grant",
    abstract: "Let an application into a group, or change what it may do there.",
    usage: "vault grant GROUP APP --rights read|write [--accept]",
    discussion: """
      A new member reads everything that is kept, older versions included. A state of the group that this machine refuses is \
      taken with --accept, after it is said what that brings back.

      Example:
        vault grant team.shared com.example.api --rights read
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "group")) var group: String
  @Argument(help: ArgumentHelp("The application's id.", valueName: "app")) var app: String
  @Option(help: ArgumentHelp("read, or write (which includes read).", valueName: "rights")) var rights: String
  @Flag(help: "Take a state of the group that this machine refuses, in the same step.") var accept = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let rights = try RightsArgument.parse(rights)
    let admission = try session.openStore(key.source).grant(
      rights, in: group, to: app, accepting: accept ? session.takes : nil)
    session.say(admission.sentence(app))
  }
}
