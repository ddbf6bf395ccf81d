import ArgumentParser

/// `vault list [PREFIX]`
struct ListItems: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List items: names, labels, versions and dates. Opens no secret.",
    usage: "vault list [PREFIX] [-g GROUP] [-a KEY=VALUE]... [--match TEXT] [--json]",
    discussion: """
      On a pipe: one item per line, with tabs between name, label, version, day of change, and expiry.

      Example:
        vault list db/ -a env=prod
      """)

  @Argument(help: ArgumentHelp("Only names that begin with this.", valueName: "prefix")) var prefix: String = ""
  @OptionGroup var group: GroupOptions
  @Option(
    name: [.customShort("a"), .customLong("attribute")],
    help: ArgumentHelp("Only items with this attribute.", valueName: "key=value"))
  var attributes: [String] = []

  @Option(help: ArgumentHelp("Only names and labels that hold this text, in any case.", valueName: "text"))
  var match: String?

  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  var request: ListRequest {
    ListRequest(
      prefix: prefix, group: group.group, attributes: attributes, match: match, json: json.json, key: key.source)
  }

  func run(in session: Session) throws { try request.run(in: session) }
}
