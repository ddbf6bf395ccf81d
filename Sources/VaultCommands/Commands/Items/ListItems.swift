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
    group = arguments.group()
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
    group = arguments.option(
      "--group", short: "-g", value: "group", "Only this access group.", completes: .groups)
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

/// A request of `vault list` as typed.
struct ListRequest: Equatable {
  enum Order: String, CaseIterable { case name, changed, expires }

  var prefix = ""
  var group: String?
  /// Searches all groups that can be opened.
  var all = false
  /// Lists the removed items of which a version can come back, instead of present ones.
  var removed = false
  var attributes: [String] = []
  var match: String?
  /// Also searches the URLs and user names of logins, which must be opened for this.
  var opensLogins = false
  var sort: String?
  var limit: Int?
  /// Lists only items that expire up to then.
  var until: Timestamp?
  var json = false
  var key = KeySource()

  /// Whether to list vaultd's companion items, too: if all items are requested, or these.
  private var showsCompanions: Bool { all || prefix.holds("//") }

  /// Items of one group, in the order of the list.
  private struct Section {
    let group: AccessGroup
    var items: [Item] = []
    /// The lines of the group's items, if nothing else is needed of them.
    var lines = ItemTexts()
    var lineLimit = Int.max

    var count: Int { items.count + min(lines.count, lineLimit) }
  }

  /// - Returns: the number of listed items.
  @discardableResult
  func run(in session: Session) throws -> Int {
    let query = try ItemQuery(attributes: AttributeArguments.parse(attributes), text: match, expiresBy: until)
    guard let order = Order(rawValue: sort ?? "name") else {
      throw Failure.usage("there is no such order", hint: "--sort name, changed or expires")
    }
    guard limit ?? 1 > 0 else { throw Failure.usage("the value of --limit is not valid", hint: "use at least 1") }
    guard !all || group == nil else { throw Failure.usage("--all and --group exclude each other") }
    let store = try session.openStore(key)
    let names =
      all ? try store.itemGroupNames() : [group ?? session.variable("VAULT_GROUP") ?? store.defaultGroupName]
    var sections: [Section] = []
    var problem: (any Error)?
    for name in names {
      let group = try session.group(name, of: store)
      switch look(in: group, query, order, session) {
      case .success(let (section, strange)):
        sections.append(section)
        guard let row = strange.first else { continue }
        problem = problem ?? ListRequest.strange(row, strange.count, group)
      // A group that this member is not in is not an error.
      case .failure(.denied(.notAMember)) where all: continue
      case .failure(let error):
        guard all else { throw error }
        session.warn("'\(name)' was skipped: \(error.message)")
        problem = problem ?? error
      }
    }
    for (name, vanished) in all ? store.vanishedGroups() : [] {
      session.warn("'\(name)' was skipped: \(vanished.message)")
      problem = problem ?? vanished
    }
    session.endProgress()
    if !all, sections.allSatisfy({ $0.count == 0 }) { try sayWhatWasMeant(store, in: session) }
    sort(&sections, by: order)
    if let limit { cut(&sections, to: limit) }
    let count = sections.reduce(0) { $0 + $1.count }
    try write(&sections, in: session)
    if let problem { throw problem }
    return count
  }

  private func look(
    in group: AccessGroup, _ query: ItemQuery, _ order: Order, _ session: Session
  ) -> Result<(section: Section, strange: [StrangeRow]), VaultError> {
    Result { () throws(VaultError) in
      var named = ItemQuery(prefix: prefix)
      named.skipsCompanions = !showsCompanions
      let progress: (Int) -> Void = { session.showProgress("\($0) items read") }
      var section = Section(group: group)
      let strange: [StrangeRow]
      if query == ItemQuery(), order == .name, !json, !removed, !session.output.isTerminal {
        (section.lines, strange) = try group.texts(named, removed: false, progress: progress, text: line(of: group))
      } else {
        (section.items, strange) = try group.listing(named, removed: removed, progress: progress)
      }
      for row in strange { session.warn("row \(row.token) was skipped: \(row.reason)") }
      if query != ItemQuery() || removed {
        let items = section.items
        section.items = []
        for item in items where try accepts(item, query, group) { section.items.append(item) }
      }
      return (section, strange)
    }
  }

  private func accepts(_ item: Item, _ query: ItemQuery, _ group: AccessGroup) throws(VaultError) -> Bool {
    guard !removed || item.oldestVersion < item.version else { return false }
    if query.accepts(item) { return true }
    guard opensLogins, item.kind == .json, let text = query.text?.lowercased(), query.hasAttributes(item) else {
      return false
    }
    let opened = try group.open(item.name.description)
    let value = unsafe opened.secret.withUnsafeBytes { unsafe Array($0) }
    return ["url", "username"].contains { field in
      JSONField.string(of: field, in: value).map { String(decoding: $0, as: UTF8.self).lowercased().holds(text) }
        == true
    }
  }

  /// Orders the sections, whose items are sorted by name, across groups.
  private func sort(_ sections: inout [Section], by order: Order) {
    guard order != .name else { return }
    let all = sections.flatMap { section in section.items.map { (group: section.group, item: $0) } }
    let sorted =
      switch order {
      case .name: all
      case .changed: all.sorted { $0.item.changed > $1.item.changed }
      case .expires:
        all.compactMap { found in found.item.expires.map { (found, $0) } }
          .sorted { $0.1 < $1.1 }.map(\.0)
      }
    sections = sorted.map { Section(group: $0.group, items: [$0.item]) }
  }

  private func cut(_ sections: inout [Section], to limit: Int) {
    var rest = limit
    for index in sections.indices {
      sections[index].items.removeLast(max(0, sections[index].items.count - rest))
      sections[index].lineLimit = rest
      rest -= sections[index].count
    }
  }

  /// A group's name given as a prefix usually matches no item.
  private func sayWhatWasMeant(_ store: SecretStore, in session: Session) throws {
    guard !prefix.isEmpty, (try? store.location.groupNames().contains(prefix)) == true else { return }
    session.say("no item begins with '\(prefix)'; to list the group with this name: vault list -g \(prefix)")
  }

  private static func strange(_ row: StrangeRow, _ count: Int, _ group: AccessGroup) -> Failure {
    var failure = Failure(
      .damaged, "a writer of '\(group.name)' signed \(count == 1 ? "a row" : "\(count) rows") that no item can be",
      hint: "the owner removes it: vault remove --row \(row.token) -g \(group.name)")
    failure.level = "row"
    return failure
  }

  /// Writes the items and removes each from its section: an item is freed while the processor still has it in its cache.
  private func write(_ sections: inout [Section], in session: Session) throws(Failure) {
    func take(_ body: (AccessGroup, Item) throws(Failure) -> Void) throws(Failure) {
      sections.reverse()
      while var section = sections.popLast() {
        section.items.reverse()
        while let item = section.items.popLast() { try body(section.group, item) }
        try unsafe section.lines.write(first: section.lineLimit) { (line) throws(Failure) in
          try unsafe session.output.write(line)
        }
      }
    }
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        try take { (group, item) throws(Failure) in try item.write(to: &json, group: group.name) }
      }
    }
    guard session.output.isTerminal else {
      var bytes: [UInt8] = []
      return try take { (group, item) throws(Failure) in
        bytes.removeAll(keepingCapacity: true)
        item.withSummary { line(of: group)($0, &bytes) }
        try unsafe bytes.span.withUnsafeBytes { (bytes) throws(Failure) in try unsafe session.output.write(bytes) }
      }
    }
    var (rows, changed, expires) = ([[String]](), TimeColumn(removed ? "REMOVED" : "CHANGED"), TimeColumn("EXPIRES"))
    try take { (group, item) throws(Failure) in
      let times = [changed.cell(item.changed), expires.cell(item.expires)]
      let cells = [item.name.description, item.label ?? "", String(item.version)] + times
      rows.append(all ? [group.name.description] + cells : cells)
    }
    let times = [changed.header, expires.header]
    var table = Table(
      columns: (all ? ["GROUP"] : []) + ["NAME", "LABEL", "VERSION"] + times, keeping: "NAME", whole: times,
      fixed: ["GROUP"])
    for row in rows { table.add(row) }
    try table.write(to: session.output, style: session.outputStyle)
  }

  /// The line of an item of `group` in a pipe, with tabs between its columns.
  private func line(of group: AccessGroup) -> ItemText {
    let group = all ? group.name.description : nil
    return { item, line in
      if let group { Table.append(group, to: &line, then: UInt8(ascii: "\t")) }
      unsafe Table.append(item.name, to: &line, then: UInt8(ascii: "\t"))
      unsafe Table.append(item.label, to: &line, then: UInt8(ascii: "\t"))
      Table.append(String(item.version), to: &line, then: UInt8(ascii: "\t"))
      item.changed.appendShortText(to: &line)
      line.append(UInt8(ascii: "\t"))
      item.expires?.appendShortText(to: &line)
      line.append(UInt8(ascii: "\n"))
    }
  }
}
