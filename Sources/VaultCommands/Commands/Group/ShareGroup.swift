import ArgumentParser
internal import Vault

/// `vault group share NAME`
struct ShareGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "share",
    abstract: "Let the users of a Unix group open a group's files, or nobody else any more.",
    usage: "vault group share NAME --unix-group GROUP [--read-only] | --private",
    discussion: """
      For applications that run as Unix users of their own. It changes modes and makes nobody a member: who is no member \
      reads nothing. Whoever may write the files may also delete them.

      Example:
        vault group share team.shared --unix-group web
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @Option(help: ArgumentHelp("The Unix group, by its name or number.", valueName: "unix-group"))
  var unixGroup: String?
  @Flag(help: "The Unix group may read the files, and not write them.")
  var readOnly = false
  @Flag(help: "Leave the files to their user alone again.")
  var `private` = false

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    switch (unixGroup, `private`) {
    case (let unixGroup?, false):
      let unixGroup = try UnixGroup(unixGroup, isReadOnly: readOnly)
      try session.openStore(key.source).shareGroup(name, with: unixGroup)
    case (nil, true):
      guard !readOnly else { throw Failure.usage("--read-only needs --unix-group") }
      try session.openStore(key.source).unshareGroup(name)
    default: throw Failure.usage("name either --unix-group or --private")
    }
  }
}
