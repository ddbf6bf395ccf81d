import ArgumentParser
internal import Vault

/// `vault history NAME`
struct HistoryOfItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "List the versions of an item that are kept, the newest first: when, and by which member.",
    usage: "vault history NAME [-g GROUP] [--json]",
    discussion: """
      A version in the list is read with: vault get NAME --version N. The group's writers vouch for each other: of a member \
      other than the one who wrote to the group last it is only claimed that a version is theirs.

      Example:
        vault history db/password
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var group: GroupOptions
  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let versions = try session.openGroup(group.group, key.source).history(name)
    if json.json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for version in versions { try version.writeVersion(to: &json) }
      }
    }
    var table = Table("VERSION", "STATE", "CHANGED", "BY")
    for version in versions {
      table.add(String(version.version), version.state, version.changed.text, version.writerText)
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}
