internal import Vault

/// `vault group create NAME`
struct CreateGroup: Command {
  static let about = About(
    "Make an access group, which is a separate encrypted file.",
    usage: """
      vault group create NAME [--keep N] [--lifetime survives|purged]
                              [--this-device-only | --unix-group GROUP]
      """,
    more: """
      A name has 1 to 128 of the characters a-z 0-9 . _ -, begins with a letter or digit, and does not contain '..'.

      With --this-device-only, the group opens only with this machine's device key, which is in the state folder and \
      in no backup. On another machine, a copy of the store opens everything else.
      """,
    example: """
      vault group create team.shared --keep 50
      vault group create web.shared --unix-group web
      """)

  let name: String
  let keep: Int
  let lifetime: String
  let thisDeviceOnly: Bool
  let unixGroup: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.")
    keep = try arguments.number(
      "--keep", value: "n", "Keep this many versions of an item, including the current one.", else: 10)
    lifetime = arguments.option(
      "--lifetime", value: "lifetime", "What happens when its application is uninstalled: survives or purged.",
      else: "survives", completes: .words(GroupLifetime.allCases.map(\.rawValue)))
    thisDeviceOnly = arguments.flag(
      "--this-device-only", "Bind it to this machine: nothing else opens it, not even a copy of the whole store.")
    unixGroup = arguments.option(
      "--unix-group", value: "unix-group", "Let the users of this Unix group open its files; see 'group share'.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let new = NewGroup(
      keep: keep, lifetime: try LifetimeArgument.parse(lifetime), isThisDeviceOnly: thisDeviceOnly,
      unixGroup: try unixGroup.map { (name) throws(VaultError) in try UnixGroup(name) })
    let store = try session.openStore(key)
    session.circumstances.makesGroup = true
    try store.createGroup(name, new)
    session.warnOfNoMount(name)
  }
}

/// `vault group list`
struct ListGroups: Command {
  static let about = About(
    "List the names of the groups in the store without opening or verifying them.",
    usage: "vault group list [--json]",
    example: """
      vault group list
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let names = try names(in: session)
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for name in names {
          try json.object { (json) throws(Failure) in
            try json.string("name", name)
            if let purpose = purpose(of: name) { try json.string("purpose", purpose) }
          }
        }
      }
    }
    for name in names {
      // In a pipe there are only names, for scripts.
      let purpose = session.output.isTerminal ? purpose(of: name) : nil
      try session.output.write(name + (purpose.map { " (the store's own: \($0))" } ?? "") + "\n")
    }
  }

  private func names(in session: Session) throws -> [String] {
    let location = try StoreLocation(environment: session.environment)
    do throws(VaultError) { return try location.groupNames() } catch {
      guard case .denied = error, !session.owns(location.home) else { throw error }
      throw Failure(
        .denied, error.message,
        hint: "only the store's owner can list all groups; to see those that a credential opens: vault status")
    }
  }

  private func purpose(of name: String) -> String? { (try? AccessGroup.Name(name))?.purpose }
}

/// `vault group show NAME`
struct ShowGroup: Command {
  static let about = About(
    "Show a group: its state, its settings, and its members with their rights.",
    usage: "vault group show NAME [--json]",
    example: """
      vault group show team.shared
      """)

  let name: String
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    let info = try session.group(name, of: store).info()
    var log: Result<UInt64?, VaultError>?
    if info.isPublished || store.application.map(store.location.hasJoined) == true {
      let found = Result { () throws(VaultError) in try store.logEpoch(of: name) }
      // A copy from the end of a publication does not know that the group was published again.
      if info.isPublished || found.isContradiction { log = found }
    }
    if json {
      var json = JSONWriter(session.output)
      return try info.write(to: &json, log)
    }
    for (title, text) in info.lines(session.told) + (log.map { [("published", $0.text)] } ?? []) {
      try session.output.write("\(title): \(UTF8Text.onOneLine(text))\n")
    }
  }
}

extension Result<UInt64?, VaultError> {
  /// Whether the group's log has other states than the copy.
  fileprivate var isContradiction: Bool {
    if case .failure(let error) = self { [.rolledBack, .damaged].contains(error.exitStatus) } else { false }
  }

  /// The state of a published group's log, as far as it is known.
  fileprivate var text: String {
    switch self {
    case .success(let epoch?): "its cluster has epoch \(epoch)"
    case .success(nil): "its cluster has not been reached yet"
    case .failure(let error): "not up to date: \(error.message)"
    }
  }
}

extension GroupInfo {
  fileprivate func lines(_ told: (Timestamp) -> String) -> [(title: String, text: String)] {
    [
      ("name", name), ("id", id), ("epoch", String(epoch)), ("generation", String(generation)),
      ("roster", String(rosterRevision)), ("items", "\(itemCount), including removed ones"),
      ("older versions", String(versionCount)), ("keeps", "\(keep) versions of an item"), ("changed", told(changed)),
      ("lifetime", lifetime.rawValue), ("opens on", isThisDeviceOnly ? "this device only" : "any device"),
      ("unix group", unixGroup?.text ?? "none"),
    ] + members.map { ("member", "\($0.who.text), may \($0.rights.rawValue)") }
  }

  fileprivate func write(to json: inout JSONWriter, _ log: Result<UInt64?, VaultError>?) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("name", name)
      try json.string("id", id)
      try json.number("epoch", epoch)
      try json.number("generation", generation)
      try json.number("roster", rosterRevision)
      try json.number("items", itemCount)
      try json.number("versions", versionCount)
      try json.number("keep", keep)
      try json.string("changed", changed.text)
      try json.string("lifetime", lifetime.rawValue)
      try json.flag("thisDeviceOnly", isThisDeviceOnly)
      try json.flag("published", isPublished)
      if case .success(let epoch?)? = log { try json.number("logEpoch", epoch) }
      if case .failure(let error)? = log { try json.string("notUpToDate", error.message) }
      try unixGroup.write(to: &json)
      try members.write("members", to: &json)
    }
  }
}

extension [Member] {
  /// Writes an array of members under `key`.
  func write(_ key: StaticString, to json: inout JSONWriter) throws(Failure) {
    try json.array(key) { (json) throws(Failure) in
      for member in self {
        try json.object { (json) throws(Failure) in
          try json.string("member", member.who.text)
          try json.string("rights", member.rights.rawValue)
        }
      }
    }
  }
}

extension UnixGroup {
  /// Its name and its access to the files.
  var text: String { "\(name), may \(rights) the files" }

  fileprivate var rights: String { isReadOnly ? "read" : "write" }
}

extension UnixGroup? {
  /// An object, or null.
  func write(to json: inout JSONWriter) throws(Failure) {
    guard let unixGroup = self else { return try json.null("unixGroup") }
    try json.object("unixGroup") { (json) throws(Failure) in
      try json.string("name", unixGroup.name)
      try json.number("number", unixGroup.number)
      try json.string("rights", unixGroup.rights)
    }
  }
}

/// `vault group share NAME`
struct ShareGroup: Command {
  static let about = About(
    "Let the users of a Unix group open a group's files, or make the files private again.",
    usage: "vault group share NAME --unix-group GROUP [--read-only] | --private",
    more: """
      For applications that run as separate Unix users. Sharing gives the group new files and makes nobody a member; a \
      non-member can read nothing. Users who can write the files can also delete them.
      """,
    example: """
      vault group share team.shared --unix-group web
      """)

  let name: String
  let unixGroup: String?
  let readOnly: Bool
  let `private`: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    unixGroup = arguments.option("--unix-group", value: "unix-group", "The Unix group, by its name or number.")
    readOnly = arguments.flag("--read-only", "Let the Unix group read the files but not write them.")
    `private` = arguments.flag("--private", "Make the files accessible to their user alone.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    session.circumstances.changesMembers = true
    switch (unixGroup, `private`) {
    case (let unixGroup?, false):
      let unixGroup = try UnixGroup(unixGroup, isReadOnly: readOnly)
      let store = try session.openStore(key)
      let former = try? store.group(name).info().unixGroup
      try store.shareGroup(name, with: unixGroup)
      if let former, former.number != unixGroup.number {
        session.say("'\(name)' was shared with the Unix group '\(former.name)', which can no longer open its files")
      }
    case (nil, true):
      guard !readOnly else { throw Failure.usage("--read-only needs --unix-group") }
      try session.openStore(key).unshareGroup(name)
    default: throw Failure.usage("name either --unix-group or --private")
    }
  }
}
