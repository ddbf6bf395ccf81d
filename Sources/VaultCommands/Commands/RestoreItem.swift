import ArgumentParser
internal import Vault

/// `vault restore NAME`
struct RestoreItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Bring back a removed item, or an older version, as a new version.",
    usage: "vault restore NAME [-g GROUP] [--version N]",
    discussion: """
      Example:
        vault restore db/password --version 2
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var group: GroupOptions
  @Option(help: ArgumentHelp("The version to bring back; else the last one with a value.", valueName: "n"))
  var version: UInt64?

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    _ = try session.openGroup(group.group, key.source).restore(name, version: version)
  }
}
