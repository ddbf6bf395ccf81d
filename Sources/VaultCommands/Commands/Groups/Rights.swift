internal import Vault

/// `vault grant GROUP APP`
struct GrantRights: Command {
  static let about = About(
    "Let an application into a group, or change its rights there.",
    usage: "vault grant GROUP APP --rights read|write [--accept]",
    more: """
      A new member can read everything that is kept, including older versions. With --accept the command takes a \
      state of the group that this machine refuses, after saying what that brings back.
      """,
    example: """
      vault grant team.shared com.example.api --rights read
      """)

  let group: String
  let app: String
  let rights: String
  let accept: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = try arguments.argument("group", "The group's name.", completes: .groups)
    app = try arguments.argument("app", "The application's id.", completes: .applications)
    rights = try arguments.required(
      "--rights", value: "rights", "read, or write (which includes read).", completes: .words(["read", "write"]))
    accept = arguments.flag("--accept", "Accept a state of the group that this machine refuses, in the same step.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let rights = try RightsArgument.parse(rights)
    let store = try session.openStore(key)
    let admission = try store.grant(rights, in: group, to: app, accepting: accept ? session.takes(letting: app) : nil)
    session.say(admission.sentence(app))
    session.warnOfUnserved(app, in: store)
  }
}

/// `vault revoke GROUP APP`
struct RevokeRights: Command {
  static let about = About(
    "Remove an application from a group, and give the group a new key.",
    usage: "vault revoke GROUP APP [--accept] [--drop-unproved]",
    more: """
      Unsigned data in the group's file is left behind. Signed items that are lost to damage, or that nobody can \
      open, are left behind only with --drop-unproved; without it the command then changes nothing.

      If the group is not in the state that this machine saw last, because somebody put back an older state or another \
      branch, --accept says what that brings back and accepts it in the same step, so that nobody can act in between.

      If the group is published and the application's credential has its own etcd login, that login loses its \
      permission for the group. If vaultd may not change this in the cluster, the command ends with status 12 and says \
      what to run.

      The application may have copied what it could read. To list the values that are still unchanged: vault exposure
      """,
    example: """
      vault revoke team.shared com.example.api
      """)

  let group: String
  let app: String
  let accept: Bool
  let dropUnproved: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = try arguments.argument("group", "The group's name.", completes: .groups)
    app = try arguments.argument("app", "The application's id.", completes: .applications)
    accept = arguments.flag("--accept", "Accept a state of the group that this machine refuses, in the same step.")
    dropUnproved = arguments.flag("--drop-unproved", "Leave behind signed items that can no longer be proved.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    try store.revoke(
      app, from: group, droppingUnproved: dropUnproved, accepting: accept ? session.takes() : nil
    ) {
      session.showProgress("\(group): \($0.text)")
    }
    session.endProgress()
    session.say("'\(app)' is no longer a member of '\(group)'; to see what it could read: vault exposure")
    try session.withdrawLogin(of: app, from: [group], store)
  }
}

extension Session {
  /// Takes away what the etcd user of an application may do, once the application has left the groups.
  func withdrawLogin(of app: String, from groups: [String], _ store: SecretStore) throws {
    var failure: Failure?
    for group in groups {
      switch try store.withdrawLogin(of: app, from: group) {
      case .notNeeded: break
      case .withdrawn: say("its etcd user no longer has access to the commits of '\(group)'")
      case .refused(let remote):
        failure = Failure(
          .denied, "its etcd user still has access to the commits of '\(group)', which it cannot open",
          hint: "take it away: vault remote provision \(remote)")
      case .shared(let remote, let user):
        failure = Failure(
          .denied,
          "it still has the login of '\(remote)', with access to the commits of '\(group)', which it cannot open",
          hint: "change the password of '\(UTF8Text.onOneLine(user))' in etcd, then: vault remote add --replace")
      }
    }
    if let failure { throw failure }
  }
}

/// `vault exposure`
struct ShowExposure: Command {
  static let about = About(
    "List the values that a removed member could read and that are still unchanged.",
    usage: "vault exposure [--json]",
    more: """
      A value leaves the list when it is changed, and one of several fields when any of them is, so change all that \
      were secret. A value that is set again stays on the list, as does one of 8 bytes or more under another name in \
      its group. A copy in another group is not listed.
      """,
    example: """
      vault exposure
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    var problem: VaultError?
    let exposed = try session.openStore(key).exposure(
      leftOut: { if case .otherDevice = $1 {} else { problem = problem ?? $1 } }, progress: { session.showProgress($0) }
    )
    session.endProgress()
    try show(exposed, in: session)
    // The list is incomplete, so the exit status must say so.
    if let problem { throw problem }
  }

  private func show(_ exposed: [Exposure], in session: Session) throws {
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for value in exposed { try value.write(to: &json) }
      }
    }
    var changed = TimeColumn("CHANGED")
    let times = exposed.map { session.output.isTerminal ? changed.cell($0.changed) : $0.changed.shortText }
    var table = Table(
      columns: ["GROUP", "NAME", "VERSION", changed.header, "READ BY"], keeping: "NAME", whole: [changed.header],
      fixed: ["GROUP"])
    for (value, time) in zip(exposed, times) {
      table.add(
        value.group, value.item.description, String(value.version), time,
        value.readers.map(\.text).joined(separator: ", "))
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension Exposure {
  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("group", group)
      try json.string("name", item.description)
      try json.number("version", version)
      try json.string("changed", changed.text)
      try json.array("readers") { (json) throws(Failure) in
        for reader in readers { try json.string(reader.text) }
      }
    }
  }
}
