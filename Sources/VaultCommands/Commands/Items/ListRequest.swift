internal import Exchange
internal import Vault

/// A request of `vault list` as typed.
struct ListRequest {
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
  /// Ends the command if the list has an entry.
  var found: Failure?

  /// Whether to list vaultd's companion items, too: if all items are requested, or these.
  private var showsCompanions: Bool { all || prefix.holds("//") }

  /// Items of one group, in the order of the list.
  private struct Section {
    let group: AccessGroup.Name
    var items: [Item] = []
    /// The lines of the group's items, if nothing else is needed of them.
    var lines = ItemTexts()
    var lineLimit = Int.max

    var count: Int { items.count + min(lines.count, lineLimit) }
  }

  func run(in session: Session) throws {
    let query = try ItemQuery(attributes: AttributeArguments.parse(attributes), text: match, expiresBy: until)
    guard let order = Order(rawValue: sort ?? "name") else {
      throw Failure.usage("there is no such order", hint: "--sort name, changed or expires")
    }
    guard limit ?? 1 > 0 else { throw Failure.usage("the value of --limit is not valid", hint: "use at least 1") }
    guard !all || group == nil else { throw Failure.usage("--all and --group exclude each other") }
    let store = try session.openStore(key)
    let names = all ? try store.itemGroupNames() : [session.groupName(group, of: store)]
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
    sort(&sections, by: order)
    if let limit { cut(&sections, to: limit) }
    let count = sections.reduce(0) { $0 + $1.count }
    if count == 0, problem == nil { sayWhyNothing(in: names, store, session) }
    let end = problem ?? (count > 0 ? found : nil)
    try session.report(end) {
      try write(&sections, in: session)
      if (end as? Failure)?.isSilent == true { try session.finish() }
    }
  }

  private func look(
    in group: AccessGroup, _ query: ItemQuery, _ order: Order, _ session: Session
  ) -> Result<(section: Section, strange: [StrangeRow]), VaultError> {
    Result { () throws(VaultError) in
      var named = ItemQuery(prefix: prefix)
      named.skipsCompanions = !showsCompanions
      let progress: (Int) -> Void = { session.showProgress("\($0) items read") }
      var section = Section(group: group.name)
      let strange: [StrangeRow]
      if query == ItemQuery(), order == .name, !json, !removed, !session.output.isTerminal {
        (section.lines, strange) = try group.texts(
          named, removed: false, progress: progress, text: line(of: group.name))
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
    let value = opened.secret.exportInsecurely()
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

  /// Says why the list is empty: in any case if the prefix is a group's name, and otherwise only to a person.
  private func sayWhyNothing(in groups: [String], _ store: SecretStore, _ session: Session) {
    if !all, !prefix.isEmpty, (try? store.location.groupNames().contains(prefix)) == true {
      return session.say("no item begins with '\(prefix)'; to list the group with this name: vault list -g \(prefix)")
    }
    guard !json, session.output.isTerminal else { return }
    let place = all ? "" : " in '\(groups[0])'"
    if until != nil { return session.say("no item\(place) has expired or will within this time") }
    let isNarrowed = !prefix.isEmpty || !attributes.isEmpty || match != nil || sort == Order.expires.rawValue
    let kind = removed ? "removed item" : "item"
    var words = "there is no \(kind)\(place)\(isNarrowed ? " that matches" : removed ? "" : " yet")"
    if !isNarrowed, !removed { words += "; to store one: vault set NAME\(group.map { " -g \($0)" } ?? "")" }
    if !all, let count = try? store.itemGroupNames().count, count > 1 { words += "; to list all groups: --all" }
    session.say(words)
  }

  private static func strange(_ row: StrangeRow, _ count: Int, _ group: AccessGroup) -> Failure {
    var failure = Failure(
      .damaged,
      "a writer of '\(group.name)' signed "
        + (count == 1 ? "a row that is not a valid item" : "\(count) rows that are not valid items"),
      hint: "the owner removes it: vault remove --row \(row.token) -g \(group.name)")
    failure.level = "row"
    return failure
  }

  /// Writes the items and removes each from its section: an item is freed while the processor still has it in its cache.
  private func write(_ sections: inout [Section], in session: Session) throws(Failure) {
    func take(_ body: (AccessGroup.Name, Item) throws(Failure) -> Void) throws(Failure) {
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
        try take { (group, item) throws(Failure) in try item.write(to: &json, group: group) }
      }
    }
    guard session.output.isTerminal else {
      var bytes: [UInt8] = []
      return try take { (group, item) throws(Failure) in
        bytes.removeAll(keepingCapacity: true)
        item.withSummary { line(of: group)($0, &bytes) }
        try session.output.write(bytes)
      }
    }
    var (rows, changed, expires) = ([[String]](), TimeColumn(removed ? "REMOVED" : "CHANGED"), TimeColumn("EXPIRES"))
    try take { (group, item) throws(Failure) in
      let times = [changed.cell(item.changed), expires.cell(item.expires)]
      let cells = [item.name.description, item.label ?? "", String(item.version)] + times
      rows.append(all ? [group.description] + cells : cells)
    }
    let times = [changed.header, expires.header]
    var table = Table(
      columns: (all ? ["GROUP"] : []) + ["NAME", "LABEL", "VERSION"] + times, keeping: "NAME", whole: times,
      fixed: ["GROUP"])
    for row in rows { table.add(row) }
    try table.write(to: session.output, style: session.outputStyle)
  }

  /// The line of an item of `group` in a pipe, with tabs between its columns.
  private func line(of group: AccessGroup.Name) -> ItemText {
    let group = all ? group.description : nil
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
