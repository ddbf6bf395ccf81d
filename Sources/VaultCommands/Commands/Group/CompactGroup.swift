import ArgumentParser
internal import Vault

/// `vault group compact NAME`
struct CompactGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Forget removed items with their versions, and give the freed space back.",
    usage: "vault group compact NAME [--yes]",
    discussion: """
      Where there are removed items it asks on the terminal first; elsewhere it needs --yes.

      Example:
        vault group compact default
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @OptionGroup var consent: ConsentOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    let group = try store.group(name)
    let removed = try group.info().itemCount - UInt64(group.items().count)
    if removed > 0 {
      let items = removed == 1 ? "1 removed item" : "\(removed) removed items"
      try consent.confirm("\(items) of '\(name)' would be forgotten with all versions", in: session)
    }
    let count = try store.compactGroup(name) { count in
      session.showProgress("\(name): \(count) items proved")
    }
    session.say(count == 1 ? "1 removed item was forgotten" : "\(count) removed items were forgotten")
  }
}
