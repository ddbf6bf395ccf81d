internal import Vault

/// `vault grant GROUP APP`
struct GrantRights: Command {
  static let about = About(
    "Let an application into a group, or change its rights there.",
    usage: "vault grant GROUP APP --rights read|write [--accept]",
    more: """
      A new member can read everything that is kept, including older versions. With --accept the command accepts a \
      state of the group that this machine refuses, after saying what it brings back.
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
    session.circumstances.changesMembers = true
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
      what to run. If the cluster has no users, the command only says so.

      The application may have copied what it could read. To list the values that are still unchanged: vault exposure
      """,
    example: """
      vault revoke team.shared com.example.api
      """)

  let group: String
  let app: String
  let renewal: RenewalOptions
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = try arguments.argument("group", "The group's name.", completes: .groups)
    app = try arguments.argument("app", "The application's id.", completes: .applications)
    renewal = RenewalOptions(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    session.circumstances.changesMembers = true
    do throws(VaultError) {
      try store.revoke(
        app, from: group, droppingUnproved: renewal.dropsUnproved, accepting: renewal.accepting(in: session)
      ) {
        session.showProgress("\(group): \($0.text)")
      }
    } catch {
      // A command that was killed after the removal has left the login.
      if error == .notFound(.member) { try session.withdrawLogin(of: app, from: [group], store, isLeaving: false) }
      throw error
    }
    session.say("'\(app)' is no longer a member of '\(group)'; to see what it could read: vault exposure")
    try session.withdrawLogin(of: app, from: [group], store)
  }
}

extension Session {
  /// Takes away what the etcd user of an application may do, once the application has left the groups.
  ///
  /// - Parameter isLeaving: whether it has left them just now.
  func withdrawLogin(
    of app: String, from groups: [String], _ store: SecretStore, isLeaving: Bool = true
  ) throws {
    var failure: Failure?
    for group in groups {
      switch try store.withdrawLogin(of: app, from: group) {
      case .notNeeded: if isLeaving { try warnOfOpenLog(of: group, app, store) }
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

  /// Warns if the group is published at a cluster without users.
  private func warnOfOpenLog(of group: String, _ app: String, _ store: SecretStore) throws {
    guard let publication = try store.publications().first(where: { $0.group == group }),
      try store.remote(publication.remote).user == nil
    else { return }
    warn(
      "the cluster '\(publication.remote)' asks for no login, so '\(app)' can still delete and overwrite the commits of "
        + "'\(group)', which it cannot open; with users in etcd and 'vault remote add --replace --user' it could not")
  }
}

/// `vault exposure`
struct ShowExposure: Command {
  static let about = About(
    "List the values that a removed member could read and that are still unchanged.",
    usage: "vault exposure [--fields] [--json]",
    more: """
      A value leaves the list when it is changed. A value with several fields leaves it as soon as one of them is \
      changed; with --fields, its other fields stay on the list until they are changed, too, as far as the versions \
      that could be read are still kept. Fields are compared as they are written, and only under the same name: after \
      vault move they are not listed. The same value, set again, stays on the list, and so does a value of 8 bytes or \
      more under another name in its group. A copy in another group is not listed.
      """,
    example: """
      vault exposure
      """)

  let fields: Bool
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    fields = arguments.flag("--fields", "Also list the unchanged fields of changed values.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    var problem: VaultError?
    let store = try session.openStore(key)
    let exposed = try store.exposure(
      includingChanged: true, leftOut: { if case .otherDevice = $1 {} else { problem = problem ?? $1 } },
      progress: { session.showProgress($0) })
    let (whole, unchanged) = try ExposedPlace.all(exposed, in: store) { session.showProgress($0) }
    if !unchanged.isEmpty, !fields, !json {
      let count =
        unchanged.count == 1 ? "1 field of a changed value is" : "\(unchanged.count) fields of changed values are"
      session.atEnd { $0.say("\(count) still the same; to list them: vault exposure --fields") }
    }
    // With a problem the list is incomplete.
    try session.report(problem) { try show(fields ? whole + unchanged : whole, in: session) }
  }

  private func show(_ exposed: [ExposedPlace], in session: Session) throws {
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for place in exposed { try place.write(to: &json, withField: fields) }
      }
    }
    var changed = TimeColumn("CHANGED")
    let times = exposed.map { session.output.isTerminal ? changed.cell($0.value.changed) : $0.value.changed.shortText }
    var table = Table(
      columns: ["GROUP", "NAME", "VERSION", changed.header, "READ BY"], keeping: "NAME", whole: [changed.header],
      fixed: ["GROUP"])
    for (place, time) in zip(exposed, times) {
      let (value, field) = (place.value, place.field.map { "#" + $0 } ?? "")
      table.add(
        value.group, value.item.description + field, String(value.version), time,
        value.readers.map(\.text).joined(separator: ", "))
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

/// A value that removed members could read, or a field of one that was changed since.
private struct ExposedPlace {
  let value: Exposure
  let field: String?

  /// The values that are unchanged, and the unchanged fields of others.
  static func all(
    _ exposed: [Exposure], in store: SecretStore, progress: (String) -> Void
  ) throws -> (whole: [ExposedPlace], fields: [ExposedPlace]) {
    let whole = exposed.filter { $0.readVersion == nil }
    let known = Set(whole.map { [$0.group, $0.item.description] })
    let others = exposed.filter { !known.contains([$0.group, $0.item.description]) }
    let fields = try others.flatMap { (value) throws -> [ExposedPlace] in
      progress("\(value.group) \(value.item)")
      do {
        return try unchangedFields(of: value, in: store.group(value.group)).map {
          ExposedPlace(value: value, field: $0)
        }
      } catch VaultError.notFound {
        // It was changed or removed meanwhile.
        return []
      }
    }
    return (whole.map { ExposedPlace(value: $0, field: nil) }, fields)
  }

  /// The fields with a value that they had in one of the versions that the readers could read, sorted.
  private static func unchangedFields(of value: Exposure, in group: AccessGroup) throws -> [String] {
    let name = value.item.description
    var now = ItemField.values(of: try group.open(name, version: value.version))
    // An empty text or a constant is no secret.
    for (field, bytes) in now where ["", "true", "false", "null"].contains(where: { bytes.elementsEqual($0.utf8) }) {
      now[field] = nil
    }
    var unchanged: Set<[UInt8]> = []
    for former in try group.history(name) where former.version <= value.readVersion ?? 0 && !former.isRemoved {
      guard unchanged.count < now.count else { break }
      let then = ItemField.values(of: try group.open(name, version: former.version))
      unchanged.formUnion(now.filter { then[$0.key] == $0.value }.keys)
    }
    return unchanged.map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  func write(to json: inout JSONWriter, withField hasField: Bool) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("group", value.group)
      try json.string("name", value.item.description)
      if hasField { try json.string("field", orNull: field) }
      try json.number("version", value.version)
      try json.string("changed", value.changed.text)
      try json.array("readers") { (json) throws(Failure) in
        for reader in value.readers { try json.string(reader.text) }
      }
    }
  }
}
