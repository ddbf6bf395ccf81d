import ArgumentParser
internal import VaultStore

/// `vault slot remove NUMBER`
struct RemoveSlot: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a slot: what opened it opens the store no more. The last one stays.",
    usage: "vault slot remove NUMBER",
    discussion: """
      Old copies of the identity file, in backups for instance, still open with it.

      Example:
        vault slot remove 2
      """)

  @Argument(help: ArgumentHelp("The slot's number, as vault slot list shows it.", valueName: "number")) var number: Int
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    try session.openStore(key.source).removeSlot(number)
    session.say("slot \(number) is removed; old copies of the identity file still open with what opened it")
  }
}
