import ArgumentParser
import Glibc
internal import VaultStore

/// `vault group accept NAME`
struct AcceptGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Take a group as it is now, although this machine has seen another state.",
    usage: "vault group accept NAME [--another-group]",
    discussion: """
      For a copy that you put back yourself, or a group's file that you deleted. Do not use it to silence an error that \
      you cannot explain: somebody may have put back an old copy. It says first what comes back, and on a terminal it asks. \
      A copy with an older list of members is the owner's to accept, and gets a new key; so does a group that was removed, \
      and another group than the one that belongs to the name.

      Example:
        vault group accept team.shared
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @Flag(help: "Take another group than the one that belongs to the name.") var anotherGroup = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    switch try store.acceptGroup(name, another: anotherGroup, confirm: { confirms($0, in: session) }) {
    case .nothingToAccept: session.say("there was nothing to accept")
    case .accepted(let epoch): session.say("accepted, at epoch \(epoch)")
    case .declined: throw Failure(.interrupted, "nothing was accepted")
    case .removal: session.say("accepted that the group is gone; its name is free")
    }
  }

  /// Said before anything is changed: what is brought back, who, and what vanishes.
  private func confirms(_ state: ReturningState, in session: Session) -> Bool {
    switch state.reason {
    case .anotherGroup: session.say("this is another group than the one that belongs to the name")
    case .removed: session.say("this group was removed")
    default: break
    }
    session.say("the state of \(state.changed.text) comes back, with \(state.itemCount) items (epoch \(state.epoch))")
    if let known = state.knownEpoch, state.reason != .removed {
      session.say("what was written since vanishes: this machine has seen epoch \(known)")
    }
    for member in state.members {
      session.say("\(comes(state.reason)): \(member.who.text), may \(member.rights.rawValue)")
    }
    for member in state.left {
      session.say("stays out: \(member.who.text), whose credential was replaced or revoked")
    }
    // Who does not see what was said is not asked either.
    guard isatty(session.streams.errors) == 1, let terminal = Terminal(path: session.streams.terminal) else {
      return true
    }
    return (try? terminal.confirm("accept it? (yes/no) ")) ?? false
  }

  private func comes(_ reason: ReturningState.Reason) -> String { reason == .older ? "member" : "comes back" }
}
