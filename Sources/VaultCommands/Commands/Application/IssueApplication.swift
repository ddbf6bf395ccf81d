import ArgumentParser
internal import Vault

/// `vault app issue APP --output FILE`
struct IssueApplication: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "issue",
    abstract: "Write a credential for an application: it opens the application's groups and no others.",
    usage: """
      vault app issue APP --output FILE [--group GROUP:read|write]... [--lifetime survives|purged]
      vault app issue APP --output FILE --again | --replace [--accept] [--drop-unproved] [--group GROUP:read|write]...
      """,
    discussion: """
      The application gets a private group named as itself. After it was installed again, or lost its credential, --again \
      writes the same identity, which opens everything it had. Where a credential was stolen, --replace gives the \
      application a new identity and its groups new keys: the old one opens nothing from then on. Signed items that cannot be \
      proved any more keep a group from a new key, unless --drop-unproved leaves them behind; so does a state that this \
      machine refuses, unless --accept takes it, after it is said what that brings back. A group that cannot be changed \
      is named at the end; when it is in order, the same command finishes it.

      Example:
        vault app issue com.example.api --output api.credential --group team.shared:read
      """)

  @Argument(help: ArgumentHelp("The application's id, such as com.example.api.", valueName: "app")) var app: String
  @Option(help: ArgumentHelp("Where the credential goes (mode 0600); nothing may be there.", valueName: "file"))
  var output: String
  @Option(
    name: .customLong("group"),
    help: ArgumentHelp("Rights in another group: its name, a colon, read or write.", valueName: "group:rights"))
  var groups: [String] = []

  @Option(help: ArgumentHelp("What uninstalling does to its private group: survives or purged.", valueName: "what"))
  var lifetime: String?

  @Flag(help: "Write the same identity again.") var again = false
  @Flag(help: "Give the application a new identity, and its groups new keys.") var replace = false
  @Flag(help: "With --replace: take a state of the group that this machine refuses, in the same step.") var accept =
    false
  @Flag(help: "With --replace: leave behind signed items that cannot be proved any more.") var dropUnproved = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    guard !(again && replace) else { throw Failure.usage("--again and --replace exclude each other") }
    guard replace || !dropUnproved else { throw Failure.usage("--drop-unproved needs --replace") }
    guard replace || !accept else { throw Failure.usage("--accept needs --replace") }
    let lifetime = try lifetime.map(LifetimeArgument.parse)
    let grants = try groups.map(RightsArgument.grant)
    guard Set(grants.map(\.group)).count == grants.count else { throw Failure.usage("--group names a group twice") }
    let applications = try session.openStore(key.source).applications
    let issued = try applications.issue(
      app, to: output, again ? .again : replace ? .replacing : .first, grants: grants, lifetime: lifetime,
      droppingUnproved: dropUnproved, accepting: accept ? session.takes : nil
    ) { session.showProgress("\($0): \($1.text)") }
    session.endProgress()
    let application = try applications.application(app)
    session.say("wrote a credential of '\(app)', issue \(application.issue); its private group has the same name")
    for admission in issued.admissions { session.say(admission.sentence(app)) }
    if let failure = UnchangedGroups.failure(issued.unchanged, app, session) { throw failure }
  }
}
