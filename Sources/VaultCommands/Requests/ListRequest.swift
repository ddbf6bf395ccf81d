internal import VaultStore

/// What `vault list` is asked to do, as it was typed.
struct ListRequest: Equatable {
  var prefix = ""
  var group: String?
  var attributes: [String] = []
  var match: String?
  var json = false
  var key = KeySource()

  func run(in session: Session) throws {
    let filter = try ItemFilter(attributes: AttributeArguments.parse(attributes), match: match)
    let group = try session.openGroup(group, key)
    let found = try group.listing(prefix: prefix) { session.showProgress("\($0) items read") }
    session.endProgress()
    try write(found.items.filter(filter.accepts), group, in: session)
    for row in found.strange { session.warn("row \(row.token) was passed over: \(row.reason)") }
    if let row = found.strange.first { throw ListRequest.strange(row, found.strange.count, group) }
  }

  private static func strange(_ row: StrangeRow, _ count: Int, _ group: AccessGroup) -> Failure {
    var failure = Failure(
      .damaged, "a writer of '\(group.name)' signed \(count == 1 ? "a row" : "\(count) rows") that no item can be",
      hint: "the owner removes it: vault remove --row \(row.token) -g \(group.name)")
    failure.level = "row"
    return failure
  }

  private func write(_ items: [Item], _ group: AccessGroup, in session: Session) throws(Failure) {
    if json { return try writeJSON(items, group, to: session.output) }
    var table = Table("NAME", "LABEL", "VERSION", "CHANGED", "EXPIRES")
    for item in items {
      table.add(
        item.name.description, item.label ?? "", String(item.version), item.changed.shortText,
        item.expires?.shortText ?? "")
    }
    try table.write(to: session.output, style: session.outputStyle)
  }

  private func writeJSON(_ items: [Item], _ group: AccessGroup, to output: Output) throws(Failure) {
    var json = JSONWriter(output)
    try json.array { (json) throws(Failure) in
      for item in items { try item.write(to: &json, group: group.name) }
    }
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
