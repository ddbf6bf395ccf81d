internal import Vault

/// `vault remove NAME`
struct RemoveItem: Command {
  static let about = About(
    "Remove an item. Its versions are kept and restore brings it back, unless it is destroyed.",
    usage: """
      vault remove NAME [-g GROUP] [--destroy [--yes]]
      vault remove --prefix P [-g GROUP] [--yes]
      vault remove --row TOKEN [-g GROUP]
      """,
    more: """
      --destroy asks first on a terminal; elsewhere it needs --yes.

      --prefix removes all items whose names begin with P in one step, and asks first in the same way.

      With --row, the owner can remove a row that list skipped because it cannot be an item. The group gets a new \
      key, nothing of the row stays, and an item with its name starts at version 1 again.
      """,
    example: """
      vault remove db/password
      """)

  static let surplus: Failure? = .usage(
    "only one item is removed at a time", hint: "to remove all items with a common prefix: vault remove --prefix P")

  let name: String?
  let group: String?
  let destroy: Bool
  let prefix: String?
  let row: String?
  let consent: Consent
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = arguments.optionalArgument("name", "The item's name.", completes: .items)
    group = arguments.group()
    destroy = arguments.flag("--destroy", "Delete every version too. They cannot be restored.")
    prefix = arguments.option("--prefix", value: "p", "Remove all items whose names begin with this.")
    row = arguments.option("--row", value: "token", "Remove a row that list skipped.")
    consent = Consent(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    if let row {
      guard name == nil, prefix == nil, !destroy else {
        throw Failure.usage("--row cannot be combined with a name or --prefix")
      }
      let store = try session.openStore(key)
      let group = session.groupName(group, of: store)
      try store.removeRow(row, from: group) { session.showProgress("\(group): \($0.text)") }
      return session.say("the row and its history are removed; an item with its name starts at version 1 again")
    }
    if let prefix { return try remove(all: prefix, session) }
    guard let name else { throw Failure.usage("an item's name, --prefix or --row is missing") }
    let group = try session.openGroup(group, key)
    if destroy {
      let count = try group.history(name).count
      let versions = count == 1 ? "its 1 version" : "its \(count) versions"
      try consent.confirm(
        "the item '\(name)' would be lost with \(versions), and only a backup brings it back", in: session)
      try group.destroy(name)
    } else {
      try group.remove(name)
    }
  }

  private func remove(all prefix: String, _ session: Session) throws {
    guard name == nil, !destroy else { throw Failure.usage("--prefix excludes a name and --destroy") }
    guard !prefix.isEmpty else { throw Failure.usage("--prefix is empty") }
    let group = try session.openGroup(group, key)
    let items = try group.items(prefix: prefix)
    guard let first = items.first, let last = items.last else {
      throw Failure(.notFound, "no item's name begins with that", hint: "list the items: vault list")
    }
    let count = items.count == 1 ? "1 item" : "\(items.count) items"
    let (from, to) = (UTF8Text.onOneLine(first.name.description), UTF8Text.onOneLine(last.name.description))
    let which = items.count == 1 ? "'\(from)'" : "from '\(from)' to '\(to)'"
    try consent.confirm("\(count) of '\(group.name)' would be removed, \(which)", in: session)
    try group.transaction { edit in
      for item in items { edit.remove(item.name.description, ifVersion: item.version) }
    }
    session.say("removed \(count); to restore one: vault restore NAME")
  }
}
