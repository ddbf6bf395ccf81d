import ArgumentParser
internal import Vault

/// `vault group remove NAME`
struct RemoveGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a group with all its items. Nothing brings them back but a backup.",
    usage: "vault group remove NAME [--yes]",
    discussion: """
      It asks on the terminal first; elsewhere it needs --yes.

      Example:
        vault group remove team.old
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @OptionGroup var consent: ConsentOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    // What is damaged or not there any more cannot be counted, and is removed all the same.
    let count = Result { () throws(VaultError) in try store.group(name).items().count }
    if count != .failure(.notFound(.group)) {
      let items = (try? count.get()).map { $0 == 1 ? "its 1 item" : "its \($0) items" } ?? "all its items"
      try consent.confirm("the group '\(name)' would go with \(items), and only a backup brings them back", in: session)
    }
    try store.removeGroup(name)
    session.say("the group is gone, with all its items")
  }
}
