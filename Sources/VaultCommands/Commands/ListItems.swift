import ArgumentParser

/// `vault list [PREFIX]`
struct ListItems: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List items: names, labels, versions and dates. Opens no secret.",
    usage: """
      vault list [PREFIX] [-g GROUP | --all] [-a KEY=VALUE]... [--match TEXT] [--removed]
                 [--sort name|changed|expires] [--limit N] [--json]
      """,
    discussion: """
      --all looks through all groups that open. --removed lists what vault restore brings back. --sort expires lists only \
      what expires, the next first; --sort changed begins with the newest.

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

  @Option(help: ArgumentHelp("Only names, labels and attributes that hold this text, in any case.", valueName: "text"))
  var match: String?

  @Flag(help: "All groups that open.") var all = false
  @Flag(help: "Removed items instead of present ones.") var removed = false
  @Option(help: ArgumentHelp("The order: name, changed or expires.", valueName: "order")) var sort: String?
  @Option(help: ArgumentHelp("At most so many items.", valueName: "n")) var limit: Int?
  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  var request: ListRequest {
    ListRequest(
      prefix: prefix, group: group.group, all: all, removed: removed, attributes: attributes, match: match, sort: sort,
      limit: limit, json: json.json, key: key.source)
  }

  func run(in session: Session) throws { try request.run(in: session) }
}

/// `vault search TEXT`
struct SearchItems: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "search",
    abstract: "Look for a text in all groups that open: names, labels, attributes, and URLs and user names of logins.",
    usage: "vault search TEXT [-g GROUP] [--limit N] [--json]",
    discussion: """
      Logins are opened for it, and nothing of them is shown. Upper and lower case are the same.

      Example:
        vault search github
      """)

  @Argument(help: ArgumentHelp("What to look for.", valueName: "text")) var text: String
  @OptionGroup var group: GroupOptions
  @Option(help: ArgumentHelp("At most so many items.", valueName: "n")) var limit: Int?
  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    try ListRequest(
      group: group.group, all: group.group == nil, match: text, opensLogins: true, limit: limit, json: json.json,
      key: key.source
    ).run(in: session)
  }
}
