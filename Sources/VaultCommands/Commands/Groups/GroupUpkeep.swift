import Glibc
internal import Vault

/// `vault group accept NAME`
struct AcceptGroup: Command {
  static let about = About(
    "Accept a group's current state although this machine has seen another one.",
    usage: "vault group accept NAME [--another-group] [--drop-unproved] [--yes]",
    more: """
      Use this after you put back a copy or deleted a group's file yourself. Do not use it to silence an error that \
      you cannot explain, because somebody may have put back an old copy. The command first says what comes back, and \
      asks on a terminal; elsewhere it needs --yes. It also asks before it gives up a group whose files are gone. A \
      state that the owner accepts gets a new key; only the owner can accept a copy with an older list of members. If \
      a member has to leave the group as well, do both in one step: vault revoke GROUP APP --accept; another group has \
      to be accepted first. Signed items that damage destroyed are left behind only with --drop-unproved. If the list \
      of groups and applications, vault.owner, is gone or nothing in it can be proved, a new one is built from what \
      the groups show.
      """,
    example: """
      vault group accept team.shared
      """)

  let name: String
  let anotherGroup: Bool
  let dropUnproved: Bool
  let consent: Consent
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    anotherGroup = arguments.flag("--another-group", "Accept a group other than the one that has this name.")
    dropUnproved = arguments.flag("--drop-unproved", "Leave behind signed items that can no longer be proved.")
    consent = Consent(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    session.circumstances.changesMembers = true
    let store = try session.openStore(key)
    if try isGone(store) {
      try consent.confirm(
        "'\(name)' and all its items would be given up; vault restore-backup brings back a copy", in: session)
    }
    let accepted = try store.acceptGroup(name, another: anotherGroup, droppingUnproved: dropUnproved) {
      [consent] state in
      session.describe(state)
      return consent.yes || session.asks() ?? false
    }
    switch accepted {
    case .nothingToAccept: session.say("there was nothing to accept")
    case .accepted(let epoch): session.say("accepted, at epoch \(epoch)")
    case .declined where !session.canAsk:
      throw Failure(.usage, "there is no terminal to ask", hint: "to accept it without asking: --yes")
    case .declined: throw Failure(.interrupted, "nothing was accepted")
    case .removal: session.say("accepted that the group is gone; its name can be used again")
    }
  }
}

extension AcceptGroup {
  /// Whether the group has no files, although it was never removed.
  private func isGone(_ store: SecretStore) throws -> Bool {
    // A new one is made instead.
    if name == "vault.owner" { return false }
    if store.vanishedGroups().contains(where: { $0.name == name && $0.problem.isVanished }) { return true }
    do throws(VaultError) { _ = try store.group(name).info() } catch {
      // Another error is one that accepting the group finds, too, or mends.
      return error.isVanished
    }
    return false
  }
}

extension VaultError {
  fileprivate var isVanished: Bool { if case .rolledBack(_, _, _, .vanished) = self { true } else { false } }
}

/// `--accept` and `--drop-unproved`, on commands that give groups new keys.
struct RenewalOptions {
  private let accept: Bool
  let dropsUnproved: Bool

  /// - Parameter option: the option that both need; nil if the command always gives new keys.
  init(_ arguments: inout Arguments, with option: String? = nil) {
    let (accepts, leaves) = option.map { ("With \($0): accept", "With \($0): leave") } ?? ("Accept", "Leave")
    accept = arguments.flag(
      "--accept", "\(accepts) a state of the group that this machine refuses, in the same step.")
    dropsUnproved = arguments.flag(
      "--drop-unproved", "\(leaves) behind signed items that can no longer be proved.")
  }

  /// - Throws: `usage` if one of them was given without `option`.
  func require(_ option: String, isGiven: Bool) throws(Failure) {
    guard isGiven || !dropsUnproved else { throw .usage("--drop-unproved needs \(option)") }
    guard isGiven || !accept else { throw .usage("--accept needs \(option)") }
  }

  /// Decides whether to take a state that this machine refuses; nil to take none.
  func accepting(in session: Session) -> ((ReturningState) -> Bool)? { accept ? session.takes() : nil }
}

extension Session {
  /// Describes a state that a command was told to accept as part of another change, and asks on a terminal.
  ///
  /// - Parameter app: the application that the other change lets in.
  func takes(letting app: String? = nil) -> (ReturningState) -> Bool {
    { [self] state in
      say("'\(state.group)' is not in the state that this machine saw last; accepting this state:")
      describe(state, letting: app)
      return asks() ?? true
    }
  }

  /// Whether a user can read a description and answer.
  fileprivate var canAsk: Bool { isatty(streams.errors) == 1 && terminal != nil }

  /// The user's answer; `nil` if nobody can be asked.
  func asks(_ question: String = "accept it? (yes/no) ") -> Bool? {
    guard canAsk, let terminal else { return nil }
    return (try? terminal.confirm(question)) ?? false
  }

  /// Says what and who returns, and what vanishes, if a state is accepted.
  func describe(_ state: ReturningState, letting app: String? = nil) {
    switch state.reason {
    case .lost:
      say("the list of groups and applications is lost; a new one is built from what the groups show:")
      for group in state.groups { say("group \(group)") }
      for application in state.applications {
        say("application \(application.id), issue \(application.issue), \(application.standing.rawValue)")
      }
      return
    case .anotherGroup: say("this is not the group that had this name before")
    case .removed: say("this group was removed")
    case .unregistered: say("the list of groups, vault.owner, does not name this group; it will be listed again")
    default: break
    }
    say(
      "the state of \(state.changed.text) comes back, with \(state.itemCount == 1 ? "1 item" : "\(state.itemCount) items"), removed ones included (epoch \(state.epoch))"
    )
    if let known = state.knownEpoch, known > state.epoch || state.reason == .older || state.reason == .olderRoster {
      say("everything written since then is lost: this machine has seen epoch \(known)")
    }
    for member in state.members {
      say("\(state.reason == .older ? "member" : "comes back"): \(member.who.text), may \(member.rights.rawValue)")
    }
    if state.reason == .olderRoster {
      say("a member that was removed since then comes back, too, unless it is named here as staying out")
      say("rights that were changed since then return to those named here; vault grant changes them again")
    }
    let left = state.left.filter { app == nil || $0.application != app }
    for member in left {
      say(
        "stays out: \(member.who.text), which was removed, or whose credential was replaced or revoked, or is not listed"
      )
    }
    // The store's own groups get their members by other commands.
    if !left.isEmpty, !state.group.hasPrefix("vault.") {
      say("to let an application in again, with its present credential: vault grant \(state.group) APP --rights read")
    }
  }
}

/// `vault group compact NAME`
struct CompactGroup: Command {
  static let about = About(
    "Delete removed items with their versions, and free their space.",
    usage: "vault group compact NAME [--yes]",
    more: """
      If there are removed items, the command asks on a terminal; elsewhere it needs --yes. An item that is set again \
      afterwards begins at version 1, so an older --if-version can match it.
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
    let removed = try group.listing(removed: true).items.count
    if removed > 0 {
      let items = removed == 1 ? "1 removed item" : "\(removed) removed items"
      try consent.confirm("\(items) of '\(name)' would be deleted with all versions", in: session)
    }
    let count = try store.compactGroup(name) { count in
      session.showProgress("\(name): \(count) items proved")
    }
    session.say(count == 1 ? "1 removed item was deleted" : "\(count) removed items were deleted")
  }
}

/// `vault group rotate NAME`
struct RotateGroup: Command {
  static let about = About(
    "Give a group a new key: prove every version of every item and seal it again.",
    usage: "vault group rotate NAME [--accept] [--drop-unproved]",
    more: """
      The members stay. If the process is killed, the group stays as it was. Unsigned data is left behind; with \
      --drop-unproved so are signed items that can no longer be proved. With --accept the command accepts a state that \
      this machine refuses, even that of a damaged file, after saying what it brings back.
      """,
    example: """
      vault group rotate team.shared
      """)

  let name: String
  let renewal: RenewalOptions
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    renewal = RenewalOptions(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let generation = try session.openStore(key).rotateGroup(
      name, droppingUnproved: renewal.dropsUnproved, accepting: renewal.accepting(in: session)
    ) {
      session.showProgress("\(name): \($0.text)")
    }
    session.say("'\(name)' now has key \(generation)")
  }
}

/// `vault group remove NAME`
struct RemoveGroup: Command {
  static let about = About(
    "Remove a group with all its items. Only a backup brings them back.",
    usage: "vault group remove NAME [--yes]",
    more: """
      The command asks on a terminal; elsewhere it needs --yes.
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
    session.circumstances.changesMembers = true
    let store = try session.openStore(key)
    // The items of a damaged or missing group cannot be counted, nor are those of one that others may write. The group is
    // removed all the same.
    let group = try store.group(name)
    let sharing = Result { () throws(VaultError) in try group.info().unixGroup }
    if sharing != .failure(.notFound(.group)) {
      var count: Int?
      if !consent.yes, case .success(let unixGroup) = sharing, unixGroup?.isReadOnly != false {
        count = try? group.items().count
      }
      let items = count.map { $0 == 1 ? "its 1 item" : "its \($0) items" } ?? "all its items"
      try consent.confirm(
        "the group '\(name)' would be lost with \(items), and only a backup brings it back", in: session)
    }
    try store.removeGroup(name)
    session.say("the group and all its items are removed")
  }
}
