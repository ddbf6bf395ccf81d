import ArgumentParser
internal import VaultStore

/// `vault remove NAME`
struct RemoveItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove an item. Its versions are kept, and restore brings it back, unless it is destroyed.",
    usage: "vault remove NAME [-g GROUP] [--destroy]",
    discussion: """
      Example:
        vault remove db/password
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var group: GroupOptions
  @Flag(help: "Delete every version too. Nothing brings them back.") var destroy = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let group = try session.openGroup(group.group, key.source)
    if destroy {
      try group.destroy(name)
    } else {
      try group.remove(name)
    }
  }
}
