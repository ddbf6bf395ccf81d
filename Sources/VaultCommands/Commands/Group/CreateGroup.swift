import ArgumentParser
internal import Vault

/// `vault group create NAME`
struct CreateGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make an access group: an encrypted file of its own.",
    usage: """
      vault group create NAME [--keep N] [--lifetime survives|purged]
                                [--this-device-only | --unix-group GROUP]
      """,
    discussion: """
      A name has 1 to 128 of the characters a-z 0-9 . _ - and begins with a letter or digit, without '..'.

      A group of this device only opens beside this machine's device key, which is in the state folder and in no backup: \
      a copy of the store opens everything else.

      Example:
        vault group create team.shared --keep 50
        vault group create web.shared --unix-group web
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @Option(help: ArgumentHelp("Keep this many versions of an item, the present one included.", valueName: "n"))
  var keep: Int = 10
  @Option(
    help: ArgumentHelp("What happens when its application is uninstalled: survives or purged.", valueName: "lifetime"))
  var lifetime = "survives"
  @Flag(help: "Bind it to this machine: nothing else opens it, not even a copy of the whole store.")
  var thisDeviceOnly = false
  @Option(
    help: ArgumentHelp("Let the users of this Unix group open its files: see 'group share'.", valueName: "unix-group"))
  var unixGroup: String?

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let new = NewGroup(
      keep: keep, lifetime: try LifetimeArgument.parse(lifetime), isThisDeviceOnly: thisDeviceOnly,
      unixGroup: try unixGroup.map { (name) throws(VaultError) in try UnixGroup(name) })
    try session.openStore(key.source).createGroup(name, new)
  }
}
