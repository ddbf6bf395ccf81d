import ArgumentParser
internal import VaultStore

/// `vault group compact NAME`
struct CompactGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Forget removed items with their versions, and give the freed space back.",
    usage: "vault group compact NAME",
    discussion: """
      Example:
        vault group compact default
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let count = try session.openStore(key.source).compactGroup(name) { count in
      session.showProgress("\(name): \(count) items proved")
    }
    session.say(count == 1 ? "1 removed item was forgotten" : "\(count) removed items were forgotten")
  }
}
