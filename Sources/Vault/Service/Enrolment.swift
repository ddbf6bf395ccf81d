internal import Glibc
internal import Sealing

extension AccessGroup.Name {
  /// Bindings and settings of the service, and the public key of the record. Only the owner writes to it.
  static let service = AccessGroup.Name(trusted: "vault.service")
  static let audit = AccessGroup.Name(trusted: "vault.audit")
  /// The hashes of the service's tokens.
  static let tokens = AccessGroup.Name(trusted: "vault.tokens")

  /// What the group is for, if it is one of the store's own groups.
  public var purpose: String? {
    switch self {
    case .service: "bindings and settings of the service"
    case .audit: "the record of decisions"
    case .tokens: "tokens of the service"
    default: nil
    }
  }
}

extension AccessGroup {
  /// The names of groups that `vaultd` cannot offer as mounts, because HashiCorp's interface uses these paths itself.
  package static let namesOfInterface: Set<String> = ["auth", "cubbyhole", "events", "identity", "sys"]
}

extension Applications {
  /// The id under which the service is a member of groups. No other application can have it.
  public static let service = AccessGroup.Name.service.description
}

/// The service's credential and what it opens, as the owner sees them.
public struct ServiceInfo: Sendable, Equatable {
  /// The service's entry in the registry; `nil` if it was never enrolled.
  public let credential: Application?
  /// The groups that it serves, with its rights in them, sorted by name; without the store's own groups.
  public let groups: [ApplicationGroup]
  public let bindings: [ServiceBinding]
  /// Groups of bound applications that it does not serve with the application's rights.
  public let unserved: [Unserved]

  /// A group that an application is a member of, but that the service cannot open with the same rights.
  public struct Unserved: Sendable, Equatable {
    public let application: String
    public let group: ApplicationGroup
  }
}

extension SecretStore {
  /// Writes a credential for the service, which opens the groups that it serves but never the owner's keys.
  ///
  /// The service becomes a reader of `vault.service`, a writer of `vault.audit` and `vault.tokens`, and a member of the
  /// groups in `grants` and of all groups of bound applications. Repeating an interrupted call finishes it.
  ///
  /// - Parameters:
  ///   - path: the credential's file, made with mode 0600; only the output of an unfinished call may exist there.
  ///   - issuance: which identity the credential contains.
  ///   - grants: groups to serve in addition to those that it serves already.
  ///   - servesAll: whether to serve all groups that exist, with the right to write.
  ///   - isDroppingUnproved: whether replacing a credential may drop signed items that can no longer be proved.
  ///   - confirm: if given, replacing also accepts states of groups that contradict what this machine has seen.
  ///   - progress: called now and then with a group's name while the group gets a new key.
  /// - Throws: as ``Applications/issue(_:to:_:grants:lifetime:sealedBy:droppingUnproved:accepting:progress:)``.
  public func enrollService(
    to path: String, _ issuance: Applications.Issuance = .first, serving grants: [Applications.Grant] = [],
    all servesAll: Bool = false, droppingUnproved isDroppingUnproved: Bool = false,
    accepting confirm: ((ReturningState) -> Bool)? = nil,
    progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> IssuedCredential {
    _ = try owner()
    var wanted: [String: MemberRights] = [:]
    for grant in grants {
      let name = try group(grant.group).name
      guard !name.isReserved else { throw .invalid("'\(name)' is the store's own group") }
      wanted[name.description] = grant.rights
    }
    let named = Set(wanted.keys)
    if servesAll {
      for name in try groupNames() where !(try AccessGroup.Name(name).isReserved) && !named.contains(name) {
        wanted[name] = .write
      }
    }
    let unserved: [ServiceInfo.Unserved]
    do throws(VaultError) { unserved = try unservedGroups() } catch {
      // Bindings that cannot be read must not keep a replaced credential valid.
      guard issuance == .replacing else { throw error }
      unserved = []
    }
    for group in unserved.map(\.group) where !named.contains(group.name) {
      wanted[group.name] = max(wanted[group.name] ?? .read, group.rights)
    }
    return try applications.issue(
      .service, to: path, issuance,
      grants: wanted.sorted { $0.key < $1.key }.map { Applications.Grant($0.value, in: $0.key) }, lifetime: nil,
      sealedBy: nil, droppingUnproved: isDroppingUnproved, accepting: confirm, progress: progress)
  }

  /// Removes the service from every group. Its credential then opens nothing that is written later. Bindings and the
  /// record are kept.
  ///
  /// - Returns: as ``Applications/uninstall(_:revoking:droppingUnproved:removing:accepting:progress:)``.
  /// - Throws: as ``Applications/uninstall(_:revoking:droppingUnproved:removing:accepting:progress:)``.
  @discardableResult
  public func revokeService(
    droppingUnproved isDroppingUnproved: Bool = false, accepting confirm: ((ReturningState) -> Bool)? = nil,
    progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> Uninstallation {
    try applications.uninstall(
      Applications.service, revoking: true, droppingUnproved: isDroppingUnproved, accepting: confirm,
      progress: progress)
  }

  /// The service's credential, the groups that it serves, and the bindings.
  ///
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner.
  public func service() throws(VaultError) -> ServiceInfo {
    let credential = try registry().application(Applications.service)
    let groups = credential == nil ? [] : try applications.groups(of: Applications.service)
    return ServiceInfo(
      credential: credential, groups: groups.filter { !$0.name.hasPrefix("vault.") },
      bindings: location.hasGroup(.service) ? try serviceBindings() : [], unserved: try unservedGroups())
  }

  private func unservedGroups() throws(VaultError) -> [ServiceInfo.Unserved] {
    guard location.hasGroup(.service) else { return [] }
    var bound: [String] = []
    for binding in try serviceBindings() where try registry().application(binding.application) != nil {
      bound.append(binding.application)
    }
    return bound.isEmpty ? [] : try applications.unserved(bound)
  }

  /// Whether one of the store's own groups exists, or should: whoever may write the folder can hide it.
  func expects(_ name: AccessGroup.Name) throws(VaultError) -> Bool {
    if location.hasGroup(name) { return true }
    guard access.isOwners, !access.lacksIdentity else { return false }
    do throws(VaultError) { return try registry().entry(of: name)?.presence == .present } catch {
      // Nothing says so any more, and whoever can damage the registry must not keep the owner from acting.
      guard error.meansLostRegistry else { throw error }
      return false
    }
  }

  /// Makes the groups `vault.service` and `vault.audit` if they are missing, and writes the public key of the record.
  /// From then on, the owner's acts are recorded.
  func makeServiceGroups() throws(VaultError) {
    let identity = try owner()
    try makeMissing(.service)
    let key = try sealing(identity.auditKey().publicKey)
    if let found = try ownersItem(AuditLog.keyName) {
      guard found == key.bytes else { throw .damagedServiceRow("the key of the record") }
    } else {
      try group(.service).set(AuditLog.keyName, to: key.bytes)
    }
    if try !expects(.audit) { try registry().forgetVerifiedAudit() }
    // A batch is written only once, so no older versions are kept.
    try makeMissing(.audit, keep: 1)
  }

  /// Begins the record of the owner's acts, on a store without a service. If it has begun, nothing changes.
  ///
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner; as ``createGroup(_:_:)``.
  public func beginAudit() throws(VaultError) {
    let isNew = !location.hasGroup(.audit)
    try makeServiceGroups()
    if isNew { record(.beginAudit) }
  }

  /// Records an act of the owner, and then does it, so that a killed command does not hide it. If the act fails, it is
  /// recorded again, with the error.
  ///
  /// Nothing is recorded of an act whose group is missing, or exists although it is to be created, unless it succeeds.
  func recording<Result: ~Copyable>(
    _ action: AuditRecord.Action, group: String? = nil, subject: String? = nil, detail: String? = nil,
    _ act: () throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    _ = try owner()
    let isThere = group.map { AccessGroupFile.exists(in: location.groupFolder($0)) }
    var isRecorded = (try? expects(.audit)) == true && isThere != (action == .createGroup)
    if isRecorded {
      // An act on the record itself, or on a store without it, may be what makes it writable again, and is then recorded
      // afterwards.
      let mayMend = group == AccessGroup.Name.audit.description || !location.hasGroup(.audit)
      let isWritten = record(action, group: group, subject: subject, detail: detail, telling: !mayMend)
      isRecorded = isWritten || !mayMend
    }
    do throws(VaultError) {
      let result = try act()
      // The act may have begun the record.
      if !isRecorded { record(action, group: group, subject: subject, detail: detail) }
      return result
    } catch {
      if isRecorded { record(action, group: group, subject: subject, detail: detail, AuditRecord.Outcome(error)) }
      throw error
    }
  }

  /// Adds an act of the owner to the record, if the store keeps one. If that fails, a notice says so, and the act goes
  /// on: no full disk keeps the owner from revoking a credential.
  ///
  /// - Returns: whether it was added.
  @discardableResult
  func record(
    _ action: AuditRecord.Action, group: String? = nil, subject: String? = nil, detail: String? = nil,
    _ outcome: AuditRecord.Outcome = .allowed, telling tells: Bool = true
  ) -> Bool {
    guard (try? expects(.audit)) == true else { return false }
    let record = AuditRecord(
      caller: .ownersProcess, action: action, group: group, outcome: outcome, subject: subject, detail: detail)
    do {
      try AuditLog(of: self).append([record])
      return true
    } catch {
      if tells { notices.post(.unrecorded(reason: error.message)) }
      return false
    }
  }
}

extension AuditRecord.Caller {
  /// This process, on the owner's behalf.
  package static var ownersProcess: AuditRecord.Caller {
    let exe = (try? CanonicalPath.target(of: "/proc/self/exe")).flatMap { String(validating: $0, as: UTF8.self) }
    return AuditRecord.Caller(.owner, uid: getuid(), pid: getpid(), exe: exe)
  }
}
