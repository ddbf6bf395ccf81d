import ArgumentParser
import Glibc
internal import Vault

/// `vault group accept NAME`
struct AcceptGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Take a group as it is now, although this machine has seen another state.",
    usage: "vault group accept NAME [--another-group]",
    discussion: """
      For a copy that you put back yourself, or a group's file that you deleted. Do not use it to silence an error that \
      you cannot explain: somebody may have put back an old copy. It says first what comes back, and on a terminal it asks. \
      What the owner accepts gets a new key; a copy with an older list of members is the owner's alone to accept. Where \
      somebody shall leave the group, or its file is damaged, too, do both in one step: vault revoke GROUP APP --accept, or \
      vault group rotate GROUP --accept.

      Example:
        vault group accept team.shared
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @Flag(help: "Take another group than the one that belongs to the name.") var anotherGroup = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    switch try store.acceptGroup(name, another: anotherGroup, confirm: session.confirms) {
    case .nothingToAccept: session.say("there was nothing to accept")
    case .accepted(let epoch): session.say("accepted, at epoch \(epoch)")
    case .declined: throw Failure(.interrupted, "nothing was accepted")
    case .removal: session.say("accepted that the group is gone; its name is free")
    }
  }
}

extension Session {
  /// As `confirms`, before a command does to the group what it is there for.
  func takes(_ state: ReturningState) -> Bool {
    say("'\(state.group)' is not in the state that this machine has seen last; this one is taken:")
    return confirms(state)
  }

  /// Says, before anything is changed, what accepting a state brings back, who, and what vanishes; asks on a terminal.
  func confirms(_ state: ReturningState) -> Bool {
    switch state.reason {
    case .anotherGroup: say("this is another group than the one that belongs to the name")
    case .removed: say("this group was removed")
    default: break
    }
    say("the state of \(state.changed.text) comes back, with \(state.itemCount) items (epoch \(state.epoch))")
    if let known = state.knownEpoch, state.reason != .removed {
      say("what was written since vanishes: this machine has seen epoch \(known)")
    }
    for member in state.members {
      say("\(state.reason == .older ? "member" : "comes back"): \(member.who.text), may \(member.rights.rawValue)")
    }
    for member in state.left {
      say("stays out: \(member.who.text), whose credential was replaced or revoked")
    }
    // Who does not see what was said is not asked either.
    guard isatty(streams.errors) == 1, let terminal = Terminal(path: streams.terminal) else {
      return true
    }
    return (try? terminal.confirm("accept it? (yes/no) ")) ?? false
  }
}
