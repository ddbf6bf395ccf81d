import ArgumentParser
internal import Vault

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

  func run(in session: Session) throws {
    let filter = try ItemFilter(attributes: AttributeArguments.parse(attributes), match: match)
    let group = try session.openGroup(group.group, key.source)
    let items = try group.items(prefix: prefix).filter(filter.accepts)
    if json.json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for item in items { try item.write(to: &json, group: group.name) }
      }
    }
    var table = Table("NAME", "LABEL", "VERSION", "CHANGED", "EXPIRES")
    for item in items {
      table.add(
        item.name.description, item.label ?? "", String(item.version), item.changed.shortText,
        item.expires?.shortText ?? "")
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

/// What `list` is told to leave out.
struct ItemFilter {
  let attributes: [String: String]
  let match: String?

  init(attributes: [String: String], match: String?) {
    self.attributes = attributes
    self.match = match?.lowercased()
  }

  func accepts(_ item: Item) -> Bool {
    guard attributes.allSatisfy({ item.attributes[$0.key] == $0.value }) else { return false }
    guard let match else { return true }
    return item.name.description.lowercased().contains(match) || item.label?.lowercased().contains(match) == true
  }
}
