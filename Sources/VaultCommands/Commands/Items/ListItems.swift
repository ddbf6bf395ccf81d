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

  let prefix: String
  let group: String?
  let attributes: [String]
  let match: String?
  let all: Bool
  let removed: Bool
  let sort: String?
  let limit: Int?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    prefix = arguments.optionalArgument("prefix", "List only names that begin with this.", completes: .items) ?? ""
    group = arguments.group()
    attributes = arguments.itemAttributes()
    match = arguments.option(
      "--match", value: "text", "List only items with this text in their name, label or attributes, ignoring case.")
    all = arguments.flag("--all", "List all groups that can be opened.")
    removed = arguments.flag("--removed", "List removed items that can come back, instead of present ones.")
    sort = arguments.option(
      "--sort", value: "order", "The order: name, changed or expires.",
      completes: .words(["name", "changed", "expires"]))
    limit = try arguments.number("--limit", value: "n", "List at most this many items.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  var request: ListRequest {
    ListRequest(
      prefix: prefix, group: group, all: all, removed: removed, attributes: attributes, match: match, sort: sort,
      limit: limit, json: json, key: key)
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

  let text: String
  let group: String?
  let attributes: [String]
  let limit: Int?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    text = try arguments.argument("text", "The text to search for.")
    group = arguments.onlyGroup()
    attributes = arguments.itemAttributes()
    limit = try arguments.number("--limit", value: "n", "List at most this many items.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    try ListRequest(
      group: group, all: group == nil, attributes: attributes, match: text, opensLogins: true, limit: limit, json: json,
      key: key
    ).run(in: session)
  }
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
      key: key)
    guard try request.run(in: session) > 0 else { return }
    try session.finish()
    throw Failure.expiring
  }
}
