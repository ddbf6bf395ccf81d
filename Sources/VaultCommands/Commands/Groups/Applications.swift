internal import Vault

/// `vault app issue APP --output FILE`
struct IssueApplication: Command {
  static let about = About(
    "Write a credential for an application, which opens only that application's groups.",
    usage: """
      vault app issue APP --output FILE [--group GROUP:read|write]... [--lifetime survives|purged] [--passphrase]
                          [--remote NAME [--own-login|--shared-login]]
      vault app issue APP --output FILE --again | --replace [--accept] [--drop-unproved] [--group GROUP:read|write]...
                          [--remote NAME [--own-login|--shared-login]]
      """,
    more: """
      The application gets a private group with its own name. After a reinstall, or if the credential was lost, \
      --again writes the same identity, which opens everything it had. If a credential was stolen, --replace gives the \
      application a new identity and its groups new keys, so that the old credential opens nothing written later. A \
      group with signed items that can no longer be proved gets a new key only with --drop-unproved, which leaves them \
      behind; a group in a state that this machine refuses gets one only with --accept, which first says what that \
      state brings back. A group that cannot be changed is named at the end; once it is repaired, the same command \
      finishes the work. If the new credential is stolen before that, use --replace with a different FILE, which gives \
      yet another identity.

      --passphrase seals the credential with a new passphrase, for a colleague: vault asks for it when the credential \
      is used.

      With --remote, the credential also says where the application's groups are published and how to log in there, \
      for 'vault join' on another machine. An older vault reports a newer format (status 17) for such a credential. \
      With --own-login the application gets its own etcd user, vault-APP, which 'vault remote provision' makes in etcd \
      and whose permission 'vault revoke' removes. With --replace that user gets a new password, so run 'vault remote \
      provision' again before the machine joins. Later credentials of the application keep this login; with \
      --shared-login they have the remote's own again.
      """,
    example: """
      vault app issue com.example.api --output api.credential --group team.shared:read
      """)

  let app: String
  let output: String
  let groups: [String]
  let lifetime: String?
  let issuance: IssuanceOptions
  let remote: String?
  let ownLogin: Bool
  let sharedLogin: Bool
  let passphrase: Bool
  let newPassphraseDescriptor: Int32?
  let commonPassphrase: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    app = try arguments.argument("app", "The application's id, such as com.example.api.", completes: .applications)
    output = try arguments.required(
      "--output", value: "file", "The new file for the credential (mode 0600); it must not exist.", completes: .files)
    groups = arguments.options(
      "--group", value: "group:rights", "Rights in another group: its name, a colon, read or write.")
    lifetime = arguments.option(
      "--lifetime", value: "what", "What uninstalling does to its private group: survives or purged.",
      completes: .words(GroupLifetime.allCases.map(\.rawValue)))
    issuance = IssuanceOptions(
      &arguments, again: "Write the same identity again.",
      replace: "Give the application a new identity and its groups new keys.")
    remote = arguments.option(
      "--remote", value: "name", "Write this remote's address and login into the credential, for another machine.",
      completes: .remotes)
    ownLogin = arguments.flag("--own-login", "With --remote: give the application its own etcd user.")
    sharedLogin = arguments.flag("--shared-login", "With --remote: give it the remote's etcd user again.")
    passphrase = arguments.flag("--passphrase", "Seal the credential with a passphrase, which is asked for.")
    newPassphraseDescriptor = try arguments.descriptor(
      "--new-passphrase-fd", "Seal it with the passphrase on the first line of this descriptor.")
    commonPassphrase = arguments.commonPassphrase()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard !(ownLogin && sharedLogin) else { throw Failure.usage("--own-login and --shared-login exclude each other") }
    guard remote != nil || !(ownLogin || sharedLogin) else {
      throw Failure.usage("\(ownLogin ? "--own-login" : "--shared-login") needs --remote")
    }
    let lifetime = try lifetime.map(LifetimeArgument.parse)
    let grants = try groups.map(RightsArgument.grant)
    let kind = try issuance.kind(granting: grants)
    let store = try session.openStore(key)
    let applications = store.applications
    if passphrase { try store.openOwner() }
    session.circumstances.makesSteps = true
    let hasOwnLogin = ownLogin ? true : sharedLogin ? false : nil
    let formerLogin = try remote.flatMap { try store.ownLogin(of: app, at: $0) }
    let issued = try applications.issue(
      app, to: output, kind, grants: grants, lifetime: lifetime, remote: remote, hasOwnLogin: hasOwnLogin,
      sealedBy: newPassphrase(in: session), droppingUnproved: issuance.renewal.dropsUnproved,
      accepting: issuance.renewal.accepting(in: session)
    ) { session.showProgress("\($0): \($1.text)") }
    let application = try applications.application(app)
    session.say("wrote a credential of '\(app)', issue \(application.issue); its private group has the same name")
    for admission in issued.admissions { session.say(admission.sentence(app)) }
    // A new password, which etcd does not have yet.
    if let remote, kind == .replacing || formerLogin == nil, let login = try store.ownLogin(of: app, at: remote) {
      session.say("it cannot log in as '\(login)' until etcd has its new password: vault remote provision \(remote)")
    }
    if !grants.isEmpty { session.warnOfUnserved(app, in: store) }
    if let failure = UnchangedGroups.failure(issued.unchanged, app, session) { throw failure }
  }

  private func newPassphrase(in session: Session) throws -> Secret? {
    if let descriptor = newPassphraseDescriptor {
      return try NewPassphrase.read(descriptor: descriptor, isMeant: commonPassphrase, KeySource.newPassphrase)
    }
    guard passphrase else { return nil }
    return try NewPassphrase.ask(in: session, of: "the credential", isMeant: commonPassphrase)
  }
}

/// `--again` and `--replace`, on commands that write a credential.
struct IssuanceOptions {
  private let again: Bool
  private let replace: Bool
  let renewal: RenewalOptions

  /// - Parameters:
  ///   - again: the help of `--again`.
  ///   - replace: the help of `--replace`.
  init(_ arguments: inout Arguments, again: String, replace: String) {
    self.again = arguments.flag("--again", again)
    self.replace = arguments.flag("--replace", replace)
    renewal = RenewalOptions(&arguments, with: "--replace")
  }

  /// - Throws: `usage` for options that exclude or need each other, or if `grants` name a group twice.
  func kind(granting grants: [Applications.Grant]) throws(Failure) -> Applications.Issuance {
    guard !(again && replace) else { throw .usage("--again and --replace exclude each other") }
    try renewal.require("--replace", isGiven: replace)
    guard Set(grants.map(\.group)).count == grants.count else { throw .usage("--group names a group twice") }
    return again ? .again : replace ? .replacing : .first
  }
}

/// `vault app list`
struct ListApplications: Command {
  static let about = About(
    "List the applications that have been issued a credential.",
    usage: "vault app list [--json]",
    example: """
      vault app list
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    let applications = try store.applications.list()
    let bound = try Self.bound(in: store)
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for application in applications {
          try json.object { (json) throws(Failure) in
            try application.writeFields(to: &json)
            try json.flag("bound", bound.contains(application.id))
          }
        }
      }
    }
    var table = Table("APP", "STATE", "ISSUE", "ISSUED", "LIFETIME", "BOUND")
    for application in applications {
      table.add(
        application.id, application.standing.rawValue, String(application.issue), session.shown(application.issued),
        application.lifetime.rawValue, bound.contains(application.id) ? "bound" : "")
    }
    try table.write(to: session.output, style: session.outputStyle)
  }

  /// The ids of the applications that have a binding, whether or not it follows the format.
  private static func bound(in store: SecretStore) throws(VaultError) -> Set<String> {
    guard try store.location.hasGroup(AccessGroup.Name(Applications.service)) else { return [] }
    let items = try store.group(Applications.service).items(prefix: ServiceBinding.prefix)
    return Set(items.map { String($0.name.description.dropFirst(ServiceBinding.prefix.count)) })
  }
}

extension Application {
  func writeFields(to json: inout JSONWriter) throws(Failure) {
    try json.string("app", id)
    try json.string("state", standing.rawValue)
    try json.number("issue", UInt64(issue))
    try json.string("created", created.text)
    try json.string("issued", orNull: issued?.text)
    try json.string("lifetime", lifetime.rawValue)
  }
}

/// `vault app show APP`
struct ShowApplication: Command {
  static let about = About(
    "Show an application: its state, its groups, and its rights in them.",
    usage: "vault app show APP [--json]",
    example: """
      vault app show com.example.api
      """)

  let app: String
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    app = try arguments.argument("app", "The application's id.", completes: .applications)
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    let application = try store.applications.application(app)
    let groups = try store.applications.groups(of: app)
    let binding = app == Applications.service ? nil : try store.serviceBinding(of: app)
    let unserved = binding == nil ? [] : try store.applications.unserved(app).map(\.name)
    if json {
      var json = JSONWriter(session.output)
      return try json.object { (json) throws(Failure) in
        try application.writeFields(to: &json)
        try json.array("groups") { (json) throws(Failure) in
          for group in groups {
            try json.object { (json) throws(Failure) in
              try json.string("name", group.name)
              try json.string("rights", group.rights.rawValue)
              try json.string("lifetime", group.lifetime.rawValue)
              if binding != nil { try json.flag("served", !unserved.contains(group.name)) }
            }
          }
        }
        if let binding { try binding.write(to: &json) }
      }
    }
    for (title, text) in application.lines(session.told) { try session.output.write("\(title): \(text)\n") }
    for group in groups {
      let served = binding == nil ? "" : unserved.contains(group.name) ? ", not served" : ", served"
      try session.output.write(
        "group: \(group.name), may \(group.rights.rawValue), \(group.lifetime.rawValue)\(served)\n")
    }
    for alternative in binding?.alternatives ?? [] {
      try session.output.write("bound: \(UTF8Text.onOneLine(alternative.description))\n")
    }
  }
}

extension Application {
  fileprivate func lines(_ told: (Timestamp) -> String) -> [(title: String, text: String)] {
    [
      ("app", id), ("state", standing.rawValue), ("issue", String(issue)), ("created", told(created)),
      ("issued", issued.map(told) ?? "never"),
    ]
  }
}

/// `vault app uninstall APP`
struct UninstallApplication: Command {
  static let about = About(
    "Uninstall an application: remove or keep each of its groups as declared.",
    usage: "vault app uninstall APP [--revoke [--accept] [--drop-unproved]] [--yes]",
    more: """
      Groups declared purged are removed with all their items, unless another application is a member. In the others \
      the application stays a member, for its next installation: vault app issue APP --again. With --revoke it is \
      removed from them, and they get new keys; --drop-unproved leaves behind signed items that can no longer be \
      proved, and with --accept the command accepts states that this machine refuses, after saying what they bring \
      back.

      If a group would be removed, the command asks on a terminal; elsewhere it needs --yes. A group that cannot be read \
      at that moment is removed only with --revoke and --yes; with --revoke alone it stays, under a new key.
      """,
    example: """
      vault app uninstall com.example.api --revoke
      """)

  let app: String
  let revoke: Bool
  let renewal: RenewalOptions
  let consent: Consent
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    app = try arguments.argument("app", "The application's id.", completes: .applications)
    revoke = arguments.flag("--revoke", "Remove the application from the groups that stay.")
    renewal = RenewalOptions(&arguments, with: "--revoke")
    consent = Consent(&arguments)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    try renewal.require("--revoke", isGiven: revoke)
    let store = try session.openStore(key)
    let applications = store.applications
    var refusal: (any Error)?
    let asking = { (purged: [String]) in
      let groups = purged.map { "'\($0)'" }.joined(separator: ", ")
      do {
        try consent.confirm("\(groups) would be lost with all items, and only a backup brings them back", in: session)
      } catch {
        refusal = error
      }
      return refusal == nil
    }
    session.circumstances.makesSteps = true
    let report: Uninstallation
    do throws(VaultError) {
      report = try applications.uninstall(
        app, revoking: revoke, droppingUnproved: renewal.dropsUnproved, removing: consent.yes ? nil : asking,
        accepting: renewal.accepting(in: session)
      ) { session.showProgress("\($0): \($1.text)") }
    } catch {
      throw refusal ?? error
    }
    for name in report.purged { session.say("removed '\(name)' with all its items") }
    for name in report.revoked { session.say("kept '\(name)' under a new key; '\(app)' is no longer a member") }
    for name in report.kept { session.say("kept '\(name)'; a copy of the credential still opens it") }
    for group in report.notRemoved {
      session.warn("'\(group.name)' was not removed (status \(group.problem.status)): \(group.problem.message)")
    }
    if let failure = UnchangedGroups.failure(report.unchanged, app, session) { throw failure }
    if let group = report.notRemoved.first {
      throw Failure(
        group.problem.exitStatus,
        "\(report.notRemoved.count == 1 ? "1 group was" : "\(report.notRemoved.count) groups were") not removed",
        hint: "vault group remove \(group.name)")
    }
    if revoke { try session.withdrawLogin(of: app, from: report.revoked, store) }
    if !report.kept.isEmpty { session.say("to lock such copies out: vault app uninstall \(app) --revoke") }
  }
}
