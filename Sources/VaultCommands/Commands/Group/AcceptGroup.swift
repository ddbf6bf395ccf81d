import ArgumentParser
internal import VaultStore

/// `vault group accept NAME`
struct AcceptGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Take a group as it is now, although this machine has seen another state.",
    usage: "vault group accept NAME",
    discussion: """
      For a copy that you put back yourself, or a group's file that you deleted. Do not use it to silence an error that \
      you cannot explain: somebody may have put back an old copy. A copy with an older list of members is the owner's to \
      accept: it says first who comes back, and gives the group a new key.

      Example:
        vault group accept team.shared
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let state = try session.openStore(key.source).acceptGroup(name) { announce($0, in: session) }
    switch state {
    case .nothingToAccept: session.say("there was nothing to accept")
    case .accepted(let epoch): session.say("accepted, at epoch \(epoch)")
    case .removal: session.say("accepted that the group is gone; its name is free")
    }
  }

  /// Said before anything is changed: who and what an older state brings back.
  private func announce(_ state: SecretStore.ReturningState, in session: Session) {
    session.say("the state of \(state.changed.text) comes back, with \(state.itemCount) items")
    for member in state.members { session.say("comes back: \(member.who.text), may \(member.rights.rawValue)") }
    for member in state.left {
      session.say("stays out: \(member.who.text), whose credential was replaced or revoked")
    }
  }
}
