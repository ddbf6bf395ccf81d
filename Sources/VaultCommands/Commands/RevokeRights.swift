import ArgumentParser
internal import Vault

/// `vault revoke GROUP APP`
struct RevokeRights: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Take an application out of a group, and give the group a new key.",
    usage: "vault revoke GROUP APP [--accept] [--drop-unproved]",
    discussion: """
      What somebody wrote into the group's file and nobody signed is left behind. Signed items that damage took, or that \
      nobody can open, are left behind with --drop-unproved, and keep the command from changing anything without it.

      Where the group is not in the state that this machine has seen last, because somebody put back an older one or another \
      branch, --accept says what that brings back and takes it in the same step: nobody gets between accepting and revoking.

      What the application could read it may have copied. What is still unchanged is listed by: vault exposure

      Example:
        vault revoke team.shared com.example.api
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "group")) var group: String
  @Argument(help: ArgumentHelp("The application's id.", valueName: "app")) var app: String
  @Flag(help: "Take a state of the group that this machine refuses, in the same step.") var accept = false
  @Flag(help: "Leave behind signed items that cannot be proved any more.") var dropUnproved = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    try session.openStore(key.source).revoke(
      app, from: group, droppingUnproved: dropUnproved, accepting: accept ? session.takes : nil
    ) {
      session.showProgress("\(group): \($0.text)")
    }
    session.endProgress()
    session.say("'\(app)' is no member of '\(group)' any more; see what it could read: vault exposure")
  }
}
