import ArgumentParser

/// `vault copy NAME`
struct CopyItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy",
    abstract: "Copy an item into another group, or under another name.",
    usage: "vault copy NAME [-g GROUP] --to GROUP [--as NAME] [--replace]",
    discussion: """
      Value, kind, label, attributes and expiry go along; older versions do not. An item that is in the place is left as \
      it is (22) unless --replace gives it a new version. -g names the group that is copied from.

      Example:
        vault copy db/password --to team.shared
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var transfer: TransferOptions
  @OptionGroup var group: GroupOptions
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws { try transfer.request(name, group, key, removesSource: false).run(in: session) }
}

/// `vault move NAME`
struct MoveItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "move",
    abstract: "Move an item into another group, or rename it.",
    usage: """
      vault move NAME [-g GROUP] --to GROUP [--as NAME] [--replace]
      vault move NAME [-g GROUP] --as NAME
      """,
    discussion: """
      As copy, and then the item is removed; its versions stay in the old place, where restore finds them. Within a group \
      all of it happens at once. Between two groups the copy comes first: who is stopped in between finds the item in \
      both, never in none.

      Example:
        vault move db/password --to team.shared
        vault move api/key --as api/token
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var transfer: TransferOptions
  @OptionGroup var group: GroupOptions
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws { try transfer.request(name, group, key, removesSource: true).run(in: session) }
}

/// Where an item goes.
struct TransferOptions: ParsableArguments {
  @Option(name: .customLong("to"), help: ArgumentHelp("The group it goes to (else the same).", valueName: "group"))
  var target: String?

  @Option(name: .customLong("as"), help: ArgumentHelp("Its name there (else the same).", valueName: "new-name"))
  var newName: String?

  @Flag(help: "Give an item that is there a new version.") var replace = false

  func request(_ name: String, _ group: GroupOptions, _ key: KeyOptions, removesSource: Bool) -> TransferRequest {
    TransferRequest(
      name: name, source: group.group, target: target, newName: newName, replaces: replace,
      removesSource: removesSource, key: key.source)
  }
}
