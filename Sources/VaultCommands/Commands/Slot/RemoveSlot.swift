import ArgumentParser
internal import Vault

/// `vault slot remove NUMBER`
struct RemoveSlot: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a slot: what opened it opens the store no more. The last one stays.",
    usage: "vault slot remove NUMBER [--yes]",
    discussion: """
      Where one slot would be left, or nothing but recovery codes, it asks on the terminal first; elsewhere it needs --yes.
      Old copies of the identity file, in backups for instance, still open with it.

      Example:
        vault slot remove 2
      """)

  @Argument(help: ArgumentHelp("The slot's number, as vault slot list shows it.", valueName: "number")) var number: Int
  @OptionGroup var consent: ConsentOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    let slots = try store.location.identity().slots
    let left = slots.filter { $0.number != number }
    // The last slot stays, and one that is not there is told, without a question.
    if left.count < slots.count, let first = left.first {
      if left.allSatisfy({ $0.kind == .recoveryCode }) {
        try consent.confirm("nothing but a recovery code would open the store then", in: session)
      } else if left.count == 1 {
        try consent.confirm(
          "nothing but slot \(first.number) (\(first.kind.rawValue)) would open the store then", in: session)
      }
    }
    try store.removeSlot(number)
    session.say("slot \(number) is removed; old copies of the identity file still open with what opened it")
  }
}
