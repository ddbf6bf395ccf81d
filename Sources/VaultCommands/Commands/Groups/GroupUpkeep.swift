import Glibc
internal import Vault

/// `vault group accept NAME`
struct AcceptGroup: Command {
  static let about = About(
    "Take a group as it is now, although this machine has seen another state.",
    usage: "vault group accept NAME [--another-group]",
    more: """
      For a copy that you put back yourself, or a group's file that you deleted. Do not use it to silence an error that \
      you cannot explain: somebody may have put back an old copy. It says first what comes back, and on a terminal it asks. \
      What the owner accepts gets a new key; a copy with an older list of members is the owner's alone to accept. Where \
      somebody shall leave the group, or its file is damaged, too, do both in one step: vault revoke GROUP APP --accept, or \
      vault group rotate GROUP --accept.
      """,
    example: """
      vault group accept team.shared
      """)

  let name: String
  let anotherGroup: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    anotherGroup = arguments.flag("--another-group", "Take another group than the one that belongs to the name.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
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

/// `vault group compact NAME`
struct CompactGroup: Command {
  static let about = About(
    "Forget removed items with their versions, and give the freed space back.",
    usage: "vault group compact NAME [--yes]",
    more: """
      Where there are removed items it asks on the terminal first; elsewhere it needs --yes.
      """,
    example: """
      vault group compact default
      """)

  let name: String
  let consent: Consent
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    consent = Consent(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
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

/// `vault group rotate NAME`
struct RotateGroup: Command {
  static let about = About(
    "Give a group a new key: every version of every item is proved and sealed again.",
    usage: "vault group rotate NAME [--accept] [--drop-unproved]",
    more: """
      The members stay. A process killed meanwhile leaves the group as it was. What nobody signed is left behind, and signed \
      items that cannot be proved any more with --drop-unproved. A state that this machine refuses, also one \
      of a damaged file, is taken with --accept, after it is said what that brings back.
      """,
    example: """
      vault group rotate team.shared
      """)

  let name: String
  let accept: Bool
  let dropUnproved: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    accept = arguments.flag("--accept", "Take a state of the group that this machine refuses, in the same step.")
    dropUnproved = arguments.flag("--drop-unproved", "Leave behind signed items that cannot be proved any more.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let generation = try session.openStore(key).rotateGroup(
      name, droppingUnproved: dropUnproved, accepting: accept ? session.takes : nil
    ) {
      session.showProgress("\(name): \($0.text)")
    }
    session.endProgress()
    session.say("'\(name)' has key \(generation) now")
  }
}

/// `vault group remove NAME`
struct RemoveGroup: Command {
  static let about = About(
    "Remove a group with all its items. Nothing brings them back but a backup.",
    usage: "vault group remove NAME [--yes]",
    more: """
      It asks on the terminal first; elsewhere it needs --yes.
      """,
    example: """
      vault group remove team.old
      """)

  let name: String
  let consent: Consent
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    consent = Consent(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
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
