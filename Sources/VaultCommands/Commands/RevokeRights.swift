import ArgumentParser
internal import VaultStore

/// `vault revoke GROUP APP`
struct RevokeRights: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Take an application out of a group, and give the group a new key.",
    usage: "vault revoke GROUP APP",
    discussion: """
      What the application could read it may have copied. What is still unchanged is listed by: vault exposure

      Example:
        vault revoke team.shared com.example.api
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "group")) var group: String
  @Argument(help: ArgumentHelp("The application's id.", valueName: "app")) var app: String
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    try session.openStore(key.source).revoke(app, from: group) { session.showProgress("\(group): \($0.text)") }
    session.endProgress()
    session.say("'\(app)' is no member of '\(group)' any more; see what it could read: vault exposure")
  }
}
