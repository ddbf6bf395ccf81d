internal import Exchange
internal import Vault

/// `vault list [PREFIX]`
struct ListItems: Command {
  static let about = About(
    "List items: names, labels, versions and dates. Opens no secret.",
    usage: """
      vault list [PREFIX] [-g GROUP | --all] [-a KEY=VALUE[*]]... [--match TEXT] [--removed]
                 [--sort name|changed|expires] [--limit N] [--json]
      """,
    more: """
      --all lists all groups that can be opened, except the store's own. It also lists the items NAME//kv, in which \
      vaultd keeps the version counts of HashiCorp's interface. --removed lists what vault restore can bring back. \
      --sort expires lists only items that expire, the soonest first; --sort changed starts with the newest.

      In a pipe each item is a line with tabs between group (with --all), name, label, version, change and expiry.
      """,
    example: """
      vault list db/ -a env=prod
      """)

  private(set) var request = ListRequest()

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    request.prefix =
      arguments.optionalArgument("prefix", "List only names that begin with this.", completes: .items) ?? ""
    request.group = arguments.group()
    request.attributes = arguments.itemAttributes()
    request.match = arguments.option(
      "--match", value: "text", "List only items with this text in their name, label or attributes, ignoring case.")
    request.all = arguments.flag("--all", "List all groups that can be opened.")
    request.removed = arguments.flag("--removed", "List removed items that can come back, instead of present ones.")
    request.sort = arguments.option(
      "--sort", value: "order", "The order: name, changed or expires.",
      completes: .words(["name", "changed", "expires"]))
    request.limit = try arguments.number("--limit", value: "n", "List at most this many items.")
    request.json = arguments.json()
    request.key = try KeySource(&arguments)
  }

  func run(in session: Session) throws { try request.run(in: session) }
}

/// `vault search TEXT`
struct SearchItems: Command {
  static let about = About(
    "Search all groups that can be opened: names, labels, attributes, and URLs and user names of logins.",
    usage: "vault search TEXT [-g GROUP] [-a KEY=VALUE[*]]... [--limit N] [--json]",
    more: """
      Logins are opened for the search, but their content is not shown. Case is ignored.
      """,
    example: """
      vault search github
      """)

  private var request = ListRequest(opensLogins: true)

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    request.match = try arguments.argument("text", "The text to search for.")
    request.group = arguments.onlyGroup()
    request.all = request.group == nil
    request.attributes = arguments.itemAttributes()
    request.limit = try arguments.number("--limit", value: "n", "List at most this many items.")
    request.json = arguments.json()
    request.key = try KeySource(&arguments)
  }

  func run(in session: Session) throws { try request.run(in: session) }
}

extension Arguments {
  fileprivate mutating func itemAttributes() -> [String] {
    options(
      "--attribute", short: "-a", value: "key=value",
      "List only items with this attribute; VALUE* matches the beginning of the value.")
  }
}

/// `vault expiring`
struct ExpiringItems: Command {
  static let about = About(
    "List items that have expired or soon will, in all groups that can be opened.",
    usage: "vault expiring [--within LENGTH] [-g GROUP] [--json]",
    more: """
      The soonest comes first. The exit status is 24 if the list has an entry, for monitoring.
      """,
    example: """
      vault expiring --within 14d
      """)

  let within: String
  let group: String?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    within = arguments.option("--within", value: "length", "How far ahead to look: 90s, 15m, 12h or 30d.", else: "30d")
    group = arguments.onlyGroup()
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let now = Timestamp.now.milliseconds
    guard let length = TimeLength.milliseconds(within).map(UInt64.init), length < UInt64.max - now else {
      throw Failure.usage("the value of --within is not valid", hint: "use 90s, 15m, 12h or 30d")
    }
    let request = ListRequest(
      group: group, all: group == nil, sort: "expires", until: Timestamp(milliseconds: now + length), json: json,
      key: key, found: .expiring)
    try request.run(in: session)
  }
}
