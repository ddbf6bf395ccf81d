internal import Vault

/// `vault service enroll --output FILE`
struct EnrollService: Command {
  static let about = About(
    "Write a credential for vaultd, which serves groups to applications that it identifies by their processes.",
    usage: """
      vault service enroll --output FILE [--group GROUP[:read|write]]... [--all] [--again]
      vault service enroll --output FILE --replace [--accept] [--drop-unproved] [--group GROUP[:read|write]]...
      """,
    more: """
      The service becomes a member of the named groups (with the right to write unless ':read' follows the name) and \
      of all groups of the applications that are bound with 'vault app bind'. It may read bindings and settings in the \
      group vault.service, and adds to the record in vault.audit. It never gets a key that opens the whole store, so \
      it cannot add members, change bindings, or read the record.

      --again writes the same credential again, and can add groups. If the credential was stolen, --replace gives the \
      service a new one and its groups new keys. If a command was interrupted, the same command finishes it.
      """,
    example: """
      vault service enroll --output /etc/vaultd/credential --group web --group team.shared:read
      """)

  let output: String
  let groups: [String]
  let all: Bool
  let issuance: IssuanceOptions
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    output = try arguments.required(
      "--output", value: "file", "The new file for the credential (mode 0600); it must not exist.", completes: .files)
    groups = arguments.options("--group", value: "group:rights", "A group to serve; with ':read', only for reading.")
    all = arguments.flag("--all", "Serve every group that exists now.")
    issuance = IssuanceOptions(
      &arguments, again: "Write the same credential again.",
      replace: "Write a new credential, and give the service's groups new keys.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let grants = try groups.map(RightsArgument.served)
    let kind = try issuance.kind(granting: grants)
    let store = try session.openStore(key)
    session.circumstances.makesSteps = true
    let issued = try ServiceFault.named {
      try store.enrollService(
        to: output, kind, serving: grants, all: all, droppingUnproved: issuance.renewal.dropsUnproved,
        accepting: issuance.renewal.accepting(in: session)
      ) { session.showProgress("\($0): \($1.text)") }
    }
    session.say("wrote the credential of the service")
    for admission in issued.admissions { session.say(admission.sentence(Applications.service)) }
    for group in try store.service().groups { session.warnOfNoMount(group.name) }
    if let failure = UnchangedGroups.failure(issued.unchanged, Applications.service, session) { throw failure }
  }
}

/// Rewords errors about an application for the service's commands.
private enum ServiceFault {
  static func named<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch VaultError.notFound(.application) {
      throw Failure(.notFound, "no service was enrolled", hint: "enroll one: vault service enroll --output FILE")
    } catch VaultError.exists(.applicationID) {
      throw Failure(
        .exists, "a service is enrolled already",
        hint: "write its credential again: --again; or, if it was stolen: --replace")
    } catch VaultError.contradiction(.interruptedReplacement) {
      throw Failure(
        .conflict, "replacing the service's credential was interrupted",
        hint: "finish it: vault service enroll --output FILE --replace")
    } catch VaultError.contradiction(.revokedApplication) {
      throw Failure(
        .conflict, "the service was revoked",
        hint: "give it a new credential: vault service enroll --output FILE --replace")
    }
  }
}

extension Session {
  /// Warns of groups without which `vaultd` is sealed, and that do not admit its credential, because older copies of them
  /// were restored.
  ///
  /// - Parameter restored: the groups that were restored just now, and still have to be accepted; nil to look at those of
  ///   the store.
  func warnOfSealedService(_ store: SecretStore, restored: [(name: String, members: [Member])]? = nil) {
    guard let service = store.registeredApplications?[Applications.service], service.standing == .issued else { return }
    let own = [Applications.service, "vault.audit", "vault.tokens"]
    let found = restored ?? own.compactMap { name in (try? store.group(name).info().members).map { (name, $0) } }
    let closed = found.filter { group in
      own.contains(group.name)
        && !group.members.contains { $0.who == .application(Applications.service, issue: service.issue) }
    }
    guard !closed.isEmpty else { return }
    let names = closed.map { "'\($0.name)'" }.joined(separator: ", ")
    let first = restored == nil ? "" : "accept that state, then "
    warn(
      "vaultd does not work: its credential does not open \(names); \(first)let it in again: vault service enroll --output FILE --again"
    )
  }
}

/// `vault service show`
struct ShowService: Command {
  static let about = About(
    "Show the service: its credential, the groups that it serves, and the applications that are bound.",
    usage: "vault service show [--json]",
    example: """
      vault service show
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let service = try session.openStore(key).service()
    if json {
      var json = JSONWriter(session.output)
      return try service.write(to: &json)
    }
    if let credential = service.credential {
      try session.output.write("state: \(credential.standing.rawValue)\nissue: \(credential.issue)\n")
      try session.output.write("issued: \(credential.issued.map(session.told) ?? "never")\n")
    } else {
      try session.output.write("state: not enrolled\n")
    }
    for group in service.groups { try session.output.write("group: \(group.name), may \(group.rights.rawValue)\n") }
    for binding in service.bindings {
      for alternative in binding.alternatives {
        let line = "bound: \(binding.application), \(alternative.description)"
        try session.output.write(UTF8Text.onOneLine(line) + "\n")
      }
    }
    guard service.credential?.standing == .issued else { return }
    for unserved in service.unserved { session.warn(unserved.sentence) }
  }
}

extension ServiceInfo.Unserved {
  /// What is missing, and the command that adds it.
  fileprivate var sentence: String {
    "'\(group.name)' is not served with the rights of '\(application)'; to serve it: "
      + "vault grant \(group.name) \(Applications.service) --rights \(group.rights.rawValue)"
  }
}

extension Session {
  /// Warns if HashiCorp's interface uses the group's name for something else.
  func warnOfNoMount(_ group: String) {
    guard AccessGroup.namesOfInterface.contains(group) else { return }
    warn(
      "'\(group)' cannot be a mount, because HashiCorp's interface uses that name itself: "
        + "vaultd serves the group only to 'vault' and the library")
  }

  /// Warns of a bound application's groups that an enrolled service cannot open with the application's rights.
  func warnOfUnserved(_ application: String, in store: SecretStore) {
    guard let service = try? store.service(), service.credential?.standing == .issued else { return }
    for unserved in service.unserved where unserved.application == application { warn(unserved.sentence) }
  }
}

extension ServiceInfo {
  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("state", orNull: credential?.standing.rawValue)
      if let credential { try json.number("issue", UInt64(credential.issue)) }
      try json.string("issued", orNull: credential?.issued?.text)
      try json.array("groups") { (json) throws(Failure) in
        for group in groups {
          try json.object { (json) throws(Failure) in
            try json.string("name", group.name)
            try json.string("rights", group.rights.rawValue)
          }
        }
      }
      try json.array("bindings") { (json) throws(Failure) in
        for binding in bindings {
          try json.object { (json) throws(Failure) in
            try json.string("app", binding.application)
            try binding.write(to: &json)
          }
        }
      }
      try json.array("unserved") { (json) throws(Failure) in
        for unserved in unserved {
          try json.object { (json) throws(Failure) in
            try json.string("app", unserved.application)
            try json.string("group", unserved.group.name)
            try json.string("rights", unserved.group.rights.rawValue)
          }
        }
      }
    }
  }
}

/// `vault service revoke`
struct RevokeService: Command {
  static let about = About(
    "Remove vaultd from all groups, and give the groups new keys.",
    usage: "vault service revoke [--accept] [--drop-unproved]",
    more: """
      Its credential then opens nothing that is written later. Bindings and the record are kept. The service may have \
      copied what it could read; to list the values that are still unchanged: vault exposure. To enroll it again with \
      a new credential: vault service enroll --replace
      """,
    example: """
      vault service revoke
      """)

  let renewal: RenewalOptions
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    renewal = RenewalOptions(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    session.circumstances.makesSteps = true
    let report = try ServiceFault.named {
      try store.revokeService(
        droppingUnproved: renewal.dropsUnproved, accepting: renewal.accepting(in: session)
      ) { session.showProgress("\($0): \($1.text)") }
    }
    for name in report.revoked { session.say("'\(name)' has a new key, which the service does not have") }
    if let failure = UnchangedGroups.failure(report.unchanged, Applications.service, session) { throw failure }
  }
}
