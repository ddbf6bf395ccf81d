internal import Exchange
internal import Glibc
internal import Vault

/// `vault app bind APP`
struct BindApplication: Command {
  static let about = About(
    "Let vaultd identify an application by its process, without a credential file.",
    usage: """
      vault app bind APP [--unit NAME] [--user NAME|UID] [--exe PATH] [--label LABEL]
                         [--load-credential ID=NAME[#FIELD]]...
      vault app bind APP --certificate NAME|FINGERPRINT
      """,
    more: """
      All named conditions must hold. Each call adds an alternative; a call with the same conditions adds its \
      credentials to that alternative. An application that does not exist yet is registered, and gets a private group. \
      The service becomes a member of the application's groups, with the application's rights.

      What a condition proves: --unit, that the system's service manager started the process for this unit, or a \
      process of the unit did; units of a user's own manager never match. --user, the user of the process. --exe, \
      which file the process was started from: it narrows a user or a unit and proves nothing alone, because anyone \
      who controls the process can make it do something else; an interpreter such as /usr/bin/python3 runs any \
      program. --label, what AppArmor or SELinux said of the process that made the socket, in full: 'web (enforce)' \
      or 'system_u:system_r:web_t:s0'. If the kernel reports no label, as with AppArmor before Linux 6.17 except on \
      Ubuntu, no process matches.

      --load-credential gives systemd an item for LoadCredential=ID:/run/vault/credentials.sock: an item of the \
      application's own group, a field of it, or a reference vault://GROUP/NAME#FIELD.

      --certificate is for callers over TLS, who get a token for their certificate. Name a DNS name or URI of a \
      certificate issued by an authority in the item settings/client-ca of the group vault.service, or the \
      certificate's SHA-256 fingerprint.
      """,
    example: """
      vault app bind com.example.web --unit web.service --user www-data
      vault app bind com.example.web --unit web.service --user www-data --load-credential db=db/password
      """)

  let app: String
  let conditions: BindingConditions
  let credentials: [String]
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    app = try arguments.argument("app", "The application's id.", completes: .applications)
    conditions = BindingConditions(&arguments)
    credentials = arguments.options(
      "--load-credential", value: "id=name", "The item for an id in the unit's LoadCredential=.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let alternative = try conditions.alternative(credentials: references())
    let bound = try session.openStore(key).applications.bind(app, alternative)
    let count = bound.binding.alternatives.count
    session.say(
      "vaultd recognizes a \(alternative.certificate == nil ? "process" : "client") as '\(app)' by "
        + "\(count == 1 ? "these conditions" : "\(count) alternatives"); to see them: vault app show \(app)")
    warnOfUnmet(alternative, in: session)
    guard !bound.unserved.isEmpty else { return }
    let options = bound.unserved.map { " --group \($0.name):\($0.rights.rawValue)" }.joined()
    session.warn("no service is enrolled, so nothing serves it yet: vault service enroll --output FILE\(options)")
  }

  /// Warns of conditions that nothing on this machine meets.
  private func warnOfUnmet(_ alternative: ServiceBinding.Alternative, in session: Session) {
    if alternative.exe != nil, alternative.unit == nil, alternative.user == nil, alternative.label == nil {
      session.warn(
        "an executable alone matches no process, because any process can start it: name --unit or --user too")
    }
    if let user = alternative.user, UnixUser.number(of: user) == nil {
      session.warn("this machine has no user of this name, so no process matches here yet")
    }
    if let exe = alternative.exe, unsafe access(exe, X_OK) != 0 {
      session.warn("there is no such program on this machine, so no process matches here yet")
    }
  }

  private func references() throws -> [String: ServiceBinding.Reference] {
    var references: [String: ServiceBinding.Reference] = [:]
    for text in credentials {
      guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
        throw Failure.usage("--load-credential needs ID=NAME, or ID=NAME#FIELD")
      }
      let reference = try BindApplication.reference(String(text[text.index(after: sign)...]))
      guard references.updateValue(reference, forKey: String(text[..<sign])) == nil else {
        throw Failure.usage("--load-credential names an id twice")
      }
    }
    return references
  }

  private static func reference(_ text: String) throws -> ServiceBinding.Reference {
    if Reference.isMeant(by: text) {
      let reference = try References.parse(text)
      return try ServiceBinding.Reference(item: reference.name, field: reference.field, group: reference.group)
    }
    guard let sign = text.lastIndex(of: "#"), sign > text.startIndex else {
      return try ServiceBinding.Reference(item: text)
    }
    return try ServiceBinding.Reference(item: String(text[..<sign]), field: String(text[text.index(after: sign)...]))
  }
}

/// The options for what the kernel says about a process, or TLS about a client.
struct BindingConditions {
  let unit: String?
  let user: String?
  let exe: String?
  let label: String?
  let certificate: String?

  init(_ arguments: inout Arguments) {
    unit = arguments.option("--unit", value: "name", "A unit of the system's service manager.")
    user = arguments.option("--user", value: "user", "A Unix user, by name or number.")
    exe = arguments.option("--exe", value: "path", "The executable, by its absolute path.", completes: .files)
    label = arguments.option("--label", value: "label", "A label of AppArmor or SELinux, in full.")
    certificate = arguments.option(
      "--certificate", value: "name", "A client certificate, by a DNS name, a URI or its SHA-256 fingerprint.")
  }

  var isEmpty: Bool { unit == nil && user == nil && exe == nil && label == nil && certificate == nil }

  func alternative(
    credentials: [String: ServiceBinding.Reference] = [:]
  ) throws(VaultError) -> ServiceBinding.Alternative {
    // As in systemctl, a name without a suffix is a service.
    let unit = unit.map { $0.contains(".") ? $0 : $0 + ".service" }
    return try ServiceBinding.Alternative(
      unit: unit, user: user, exe: exe, label: label, certificate: certificate.map(BindingConditions.oneForm),
      credentials: credentials)
  }

  /// Converts a fingerprint as programs print it (`AB:CD:…`), or a DNS name in any case, to the form used in bindings.
  private static func oneForm(_ certificate: String) -> String {
    let digits = certificate.lowercased().split(separator: ":").joined()
    if digits.utf8.count == 64, digits.allSatisfy(\.isHexDigit) { return "sha256:\(digits)" }
    return certificate.contains(":") ? certificate : certificate.lowercased()
  }
}

/// `vault app unbind APP`
struct UnbindApplication: Command {
  static let about = About(
    "Remove conditions by which vaultd identifies an application.",
    usage: """
      vault app unbind APP [--unit NAME] [--user NAME|UID] [--exe PATH] [--label LABEL]
      vault app unbind APP --certificate NAME|FINGERPRINT
      vault app unbind APP --all
      """,
    more: """
      Name the same conditions as for 'vault app bind'. The tokens that vaultd has issued to the application end at \
      once. The application keeps its groups, and the service stays a member of them; to change that: vault revoke \
      GROUP vault.service
      """,
    example: """
      vault app unbind com.example.web --unit web.service --user www-data
      """)

  let app: String
  let conditions: BindingConditions
  let all: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    app = try arguments.argument("app", "The application's id.", completes: .applications)
    conditions = BindingConditions(&arguments)
    all = arguments.flag("--all", "Remove all conditions of the application.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard all == conditions.isEmpty else {
      throw Failure.usage(all ? "--all excludes conditions" : "name the conditions, or --all")
    }
    let alternative = all ? nil : try conditions.alternative()
    let left = try session.openStore(key).applications.unbind(app, alternative)
    if left == nil { session.say("vaultd no longer recognizes any process as '\(app)'") }
  }
}

extension ServiceBinding {
  /// The member `alternatives`.
  func write(to json: inout JSONWriter) throws(Failure) {
    try json.array("alternatives") { (json) throws(Failure) in
      for alternative in alternatives {
        try json.object { (json) throws(Failure) in
          for condition in alternative.conditions { try json.string(condition.name, condition.text) }
          try json.object("credentials") { (json) throws(Failure) in
            for (id, reference) in alternative.credentials.sorted(by: { $0.key < $1.key }) {
              try json.member(id, reference.text)
            }
          }
        }
      }
    }
  }
}

extension ServiceBinding.Reference {
  /// The reference as text, with an empty group for the application's own.
  var text: String { Reference(group: group, name: item, field: field).description }
}
