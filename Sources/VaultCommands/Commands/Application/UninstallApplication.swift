import ArgumentParser
internal import Vault

/// `vault app uninstall APP`
struct UninstallApplication: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall",
    abstract: "Do what each of an application's groups declares for when it is gone.",
    usage: "vault app uninstall APP [--revoke [--accept] [--drop-unproved]] [--yes]",
    discussion: """
      Groups declared purged are removed with all their items, unless another application is a member. The others stay, \
      and the application's place in them, for its next installation: vault app issue APP --again. With --revoke it \
      leaves them, and they get new keys; signed items that cannot be proved any more are left behind with --drop-unproved, and \
      states that this machine refuses are taken with --accept, after it is said what that brings back.

      Where a group would be removed it asks on the terminal first; elsewhere it needs --yes.

      Example:
        vault app uninstall com.example.api --revoke
      """)

  @Argument(help: ArgumentHelp("The application's id.", valueName: "app")) var app: String
  @Flag(help: "Take the application out of the groups that stay.") var revoke = false
  @Flag(help: "With --revoke: take a state of the group that this machine refuses, in the same step.") var accept =
    false
  @Flag(help: "With --revoke: leave behind signed items that cannot be proved any more.") var dropUnproved = false
  @OptionGroup var consent: ConsentOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    guard revoke || !dropUnproved else { throw Failure.usage("--drop-unproved needs --revoke") }
    guard revoke || !accept else { throw Failure.usage("--accept needs --revoke") }
    let store = try session.openStore(key.source)
    let applications = store.applications
    let purged = try purgedGroups(of: store)
    if !purged.isEmpty {
      let groups = purged.map { "'\($0)'" }.joined(separator: ", ")
      try consent.confirm("\(groups) would go with all items, and only a backup brings them back", in: session)
    }
    let report = try applications.uninstall(
      app, revoking: revoke, droppingUnproved: dropUnproved, accepting: accept ? session.takes : nil
    ) { session.showProgress("\($0): \($1.text)") }
    session.endProgress()
    for name in report.purged { session.say("removed '\(name)' with all its items") }
    for name in report.revoked { session.say("kept '\(name)' under a new key; '\(app)' is no member any more") }
    for name in report.kept { session.say("kept '\(name)'; a copy of the credential still opens it") }
    if let failure = UnchangedGroups.failure(report.unchanged, app, session) { throw failure }
    if !report.kept.isEmpty { session.say("to close them to such a copy: vault app uninstall \(app) --revoke") }
  }
  /// The groups that are declared purged and have no other application as a member.
  private func purgedGroups(of store: SecretStore) throws(VaultError) -> [String] {
    var names: [String] = []
    for group in try store.applications.groups(of: app) where group.lifetime == .purged {
      guard try store.group(group.name).info().members.count <= 2 else { continue }
      names.append(group.name)
    }
    return names
  }
}
