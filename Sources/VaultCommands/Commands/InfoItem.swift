import ArgumentParser
internal import Vault

/// `vault info NAME`
struct InfoItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "info",
    abstract: "Show everything about an item but its value.",
    usage: "vault info NAME [-g GROUP] [--json]",
    discussion: """
      Example:
        vault info db/password
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var group: GroupOptions
  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let group = try session.openGroup(group.group, key.source)
    let item = try group.item(name)
    if json.json {
      var json = JSONWriter(session.output)
      return try item.write(to: &json, group: group.name)
    }
    for (title, text) in item.lines(group: group.name) {
      try session.output.write("\(title): \(UTF8Text.onOneLine(text))\n")
    }
  }
}
