internal import Sealing

extension Applications {
  /// Which identity a credential is written for.
  public enum Issuance: Sendable {
    /// The first identity of a new application.
    case first
    /// The same identity as before, after the credential was lost with the disk, or the application was reinstalled.
    case again
    /// A new identity, because someone else may have the old credential. The application's groups get new keys, and the
    /// old credential opens nothing.
    case replacing
  }

  /// Rights in a group that an application gets with its credential.
  public struct Grant: Sendable, Equatable {
    /// The group's name.
    public var group: String
    public var rights: MemberRights

    public init(_ rights: MemberRights, in group: String) { (self.group, self.rights) = (group, rights) }
  }

  /// Writes a credential for the application `id`, and makes it a member of its groups.
  ///
  /// Creates the application's private group, named `id`, if it does not exist. Repeating an interrupted call finishes
  /// it. Replacing again with another file at `path` gives yet another identity, because someone else may have the
  /// unfinished one, too.
  ///
  /// - Parameters:
  ///   - id: `[a-z0-9][a-z0-9._-]{0,127}`, without `..`; not `default` or `owner`, and not beginning with `vault.`.
  ///   - path: the credential's file, made with mode 0600; only the output of an unfinished call may exist there.
  ///   - issuance: which identity the credential holds.
  ///   - grants: rights in other groups, added to the rights that the application already has.
  ///   - lifetime: what happens to the private group at uninstallation; by default it survives.
  ///   - remote: the name of the remote that the credential tells a machine without these groups; older programs
  ///     report a newer format for such a credential.
  ///   - hasOwnLogin: whether the credential gets an etcd user of its own instead of the remote's, as
  ///     ``SecretStore/provision(_:for:as:password:)`` then makes it; `nil` for what its last credential had.
  ///   - passphrase: seals the credential, which then opens only with this passphrase.
  ///   - isDroppingUnproved: whether replacing a credential may drop signed items that can no longer be proved.
  ///   - confirm: if given, replacing also accepts states of groups that contradict what this machine has seen, as
  ///     ``SecretStore/revoke(_:from:droppingUnproved:accepting:progress:)`` does.
  ///   - progress: called now and then with a group's name while the group gets a new key.
  /// - Returns: the contents that the application can read through `grants`, and the groups that could not be changed.
  ///   A damaged or missing group, the private one included, does not stop the others from learning the new credential.
  /// - Throws: ``VaultError/exists(_:)`` if the application has a credential, a group has this name, or a file exists
  ///   at `path`; ``VaultError/notFound(_:)`` for an unknown application, group or remote; ``VaultError/overLimit(_:)``
  ///   for a remote and more than 256 groups; ``VaultError/rolledBack(group:found:known:reason:)`` if a group knows a
  ///   newer credential than the registry, or the private group, or all that name this one, have removed it;
  ///   ``VaultError/contradiction(_:)``, also if another process replaced or revoked the application meanwhile;
  ///   ``VaultError/invalid(_:)``.
  public func issue(
    _ id: String, to path: String, _ issuance: Issuance = .first, grants: [Grant] = [],
    lifetime: GroupLifetime? = nil, remote: String? = nil, hasOwnLogin: Bool? = nil,
    sealedBy passphrase: consuming Secret? = nil, droppingUnproved isDroppingUnproved: Bool = false,
    accepting confirm: ((ReturningState) -> Bool)? = nil,
    progress: (String, MaintenanceProgress) -> Void = { _, _ in }
  ) throws(VaultError) -> IssuedCredential {
    try issue(
      Applications.name(id), to: path, issuance, grants: grants, lifetime: lifetime, remote: remote,
      hasOwnLogin: hasOwnLogin, sealedBy: passphrase?.guarded(), droppingUnproved: isDroppingUnproved,
      accepting: confirm, progress: progress)
  }

  /// Writes a credential for an application, or for the service, which may only read its own group.
  func issue(
    _ name: AccessGroup.Name, to path: String, _ issuance: Issuance, grants: [Grant], lifetime: GroupLifetime?,
    remote: String? = nil, hasOwnLogin: Bool? = nil, sealedBy sealingPassphrase: GuardedBytes?,
    droppingUnproved isDroppingUnproved: Bool, accepting confirm: ((ReturningState) -> Bool)?,
    progress: (String, MaintenanceProgress) -> Void
  ) throws(VaultError) -> IssuedCredential {
    let id = name.description
    let identity = try store.owner()
    let registry = try store.registry()
    let isReplacing = issuance == .replacing
    try store.raiseIssues(isNew: false)
    let known = try registry.application(id)
    let isUnfinished = isReplacing ? known?.wasReplaced == true : known?.standing == .interrupted
    let found = isUnfinished ? try? CredentialFile.read(path, sealedBy: sealingPassphrase) : nil
    // Whether an earlier run of this command wrote the file before it failed to change every group.
    func isWritten(_ entry: Application) -> Bool {
      guard entry.standing == .interrupted, let found else { return false }
      guard found.application == id, found.issue == entry.issue, found.ownerKey == identity.ownerKey else {
        return false
      }
      let known = found.floors.map(\.group)
      return found.remote?.name == remote && (isReplacing || grants.allSatisfy { known.contains($0.group) })
    }
    var entry = try begin(name, known, issuance, lifetime, registry, isWritten)
    var isThere = isWritten(entry)
    // A file that is there has the password that was noted before it was written.
    let login = try remote.map { [isThere] (remote) throws(VaultError) in
      try store.remote(remote, for: id, own: hasOwnLogin, renewing: isReplacing && !isThere)
    }
    if !isReplacing, isThere, let found, let remote = login?.remote { isThere = try isComplete(found, remote) }
    let place = try CredentialFile.Place(path, outside: store.location.home, isWritten: isThere)
    for grant in grants { try check(grant, mayBeBroken: isReplacing) }
    let texts = grants.map { name == .service ? $0.group : "\($0.group)=\($0.rights.rawValue)" }
    let action: AuditRecord.Action = name == .service ? .enroll : isReplacing ? .replace : .issue
    return try store.recording(action, subject: id, detail: texts.joined(separator: " ")) { () throws(VaultError) in
      if entry.standing == .interrupted { try registry.record(entry, since: known) }
      var unchanged: [UnchangedGroup] = []
      // An older registry may not know an application that groups name.
      let hadCredential = try known == nil && entry.issue > 1 ? knownIssues()[id] != nil : known?.issued != nil
      if entry.issue > 1, isReplacing || hadCredential {
        // First of all, so that no group that cannot be used keeps the old credential valid in the others.
        let change = RosterChange(reissue: (id, entry.issue), dropsUnproved: isDroppingUnproved)
        unchanged = try changeEverywhere(change, accepting: confirm, progress)
      }
      func inGroup(_ group: AccessGroup.Name, _ step: () throws(VaultError) -> Void) throws(VaultError) {
        guard !unchanged.contains(where: { $0.name == group.description }) else { return }
        do throws(VaultError) { try step() } catch {
          guard isReplacing else { throw error }
          unchanged.append(UnchangedGroup(name: group.description, problem: error))
        }
      }
      var admissions: [Admission] = []
      func join(_ group: AccessGroup.Name, _ rights: MemberRights) throws(VaultError) {
        try inGroup(group) { () throws(VaultError) in
          let admission = try store.grant(rights, in: group.description, to: id, entry)
          if admission.isReturning { admissions.append(admission) }
        }
      }
      try inGroup(name) { () throws(VaultError) in
        if name == .service { try store.makeServiceGroups() } else { try makePrivateGroup(name, entry) }
      }
      // The owner may have lowered the application's rights in its own group.
      let present = try? store.group(name).verifiedState().roster.members.first { $0.application == id }
      try join(name, name == .service ? .read : present?.rights ?? .write)
      if name == .service {
        try inGroup(.tokens) { () throws(VaultError) in
          try store.makeMissing(.tokens, keep: 1)
          // Whoever had the old credential could write tokens.
          if isReplacing { try endTokens(of: id) }
        }
        for name in [AccessGroup.Name.audit, .tokens] { try join(name, .write) }
      }
      for grant in grants {
        try inGroup(store.group(grant.group).name) { () throws(VaultError) in
          admissions.append(try store.grant(grant.rights, in: grant.group, to: id, entry))
        }
      }
      let credential = Credential(
        issue: entry.issue, ownerKey: identity.ownerKey, application: id,
        member: try sealing(identity.seed(application: id, issue: entry.issue)),
        floors: try floors(of: id, all: remote != nil), remote: login?.remote)
      // A credential that opens nothing is not written.
      guard entry.isUpToDate(with: try registry.application(id)) else { throw .contradiction(.superseded) }
      try login?.note()
      try place.write(credential, passphrase: sealingPassphrase)
      let begun = entry
      // Until every group refuses the old credential, the command must be repeated.
      if unchanged.isEmpty || entry.standing != .interrupted { entry.standing = .issued }
      entry.issued = .now
      try registry.record(entry, since: begun)
      unchanged.sort { $0.name < $1.name }
      return IssuedCredential(admissions: admissions, unchanged: unchanged)
    }
  }

  /// Whether a machine without the groups learns from this credential all that it would from a new one.
  private func isComplete(_ credential: Credential, _ remote: Remote) throws(VaultError) -> Bool {
    guard let its = credential.remote, its.isSame(as: remote), its.maxAge == remote.maxAge else { return false }
    let groups = Set(credential.floors.map(\.group))
    return try memberships(of: credential.application).allSatisfy { groups.contains($0.name.description) }
  }

  /// - Parameter mayBeBroken: whether a group that exists may fail verification, or be missing.
  /// - Throws: ``VaultError/notFound(_:)`` for an unknown group, and the errors of reading it.
  private func check(_ grant: Grant, mayBeBroken: Bool) throws(VaultError) {
    let group = try store.group(grant.group)
    guard !group.name.isReserved else { throw .invalid("'\(grant.group)' is the store's own group") }
    do throws(VaultError) { _ = try group.info() } catch {
      guard mayBeBroken, try store.ownersGroupNames().contains(group.name) else { throw error }
    }
  }

  /// The name of an application's private group: its id.
  static func name(_ id: String) throws(VaultError) -> AccessGroup.Name {
    let name = AccessGroup.Name(trusted: try FolderName.check(id, "an application's id"))
    guard !name.isReserved, name != .default, id != "owner" else {
      throw .invalid("no application's id is 'default', 'owner' or 'vault.…', which are the store's own")
    }
    return name
  }

  /// The application's new entry in the registry.
  private func begin(
    _ name: AccessGroup.Name, _ known: Application?, _ issuance: Issuance, _ lifetime: GroupLifetime?,
    _ registry: Registry, _ isWritten: (Application) -> Bool
  ) throws(VaultError) -> Application {
    var known = known
    if known == nil, issuance == .replacing { known = try unlisted(name.description) }
    guard var known else {
      guard issuance == .first else { throw try unknown(name.description) }
      return try newEntry(name, .interrupted, lifetime ?? .survives, registry)
    }
    if let lifetime, lifetime != known.lifetime {
      throw .invalid("the lifetime of the application's group was declared when it was made")
    }
    if issuance != .replacing {
      guard known.standing != .revoked else { throw .contradiction(.revokedApplication) }
      if issuance == .first, known.issued != nil { throw .exists(.applicationID) }
      if issuance == .again, known.wasReplaced { throw .contradiction(.interruptedReplacement) }
      let states = try store.verifiedStates()
      try refuseReplaced(known.issue, of: name.description, in: states)
      try refuseRemoved(known.issue, of: name.description, in: states, everywhere: true)
      return known
    }
    // Elsewhere, an unfinished replacement may have written the credential too, and it may be stolen by now.
    if isWritten(known), try knownIssues()[name.description]?.issue ?? 0 <= known.issue { return known }
    known.highestIssue = try nextIssue(of: name.description, above: known.highestIssue)
    known.issue = known.highestIssue
    known.standing = .interrupted
    return known
  }

  /// The entry of an application that was never registered.
  ///
  /// - Throws: ``VaultError/exists(_:)`` if a group has its name, unless it is the service, whose group the owner may
  ///   have made before; the error of ``application(_:)`` if groups name the application.
  func newEntry(
    _ name: AccessGroup.Name, _ standing: Application.Standing, _ lifetime: GroupLifetime, _ registry: Registry
  ) throws(VaultError) -> Application {
    let group = try registry.entry(of: name)
    guard name == .service || group?.presence ?? .absent == .absent && !store.location.hasGroup(name) else {
      let error = try unknown(name.description)
      throw error == .notFound(.application) ? .exists(.group) : error
    }
    // If the registry is older than the groups, it may not list the application.
    let issue = try nextIssue(of: name.description, above: registry.unnamedIssues())
    return Application(
      id: name.description, issue: issue, highestIssue: issue, standing: standing, lifetime: lifetime, created: .now)
  }

  /// An entry for an application that groups name and an older registry does not; `nil` if no group does.
  func unlisted(_ id: String) throws(VaultError) -> Application? {
    guard let (issue, _) = try knownIssues()[id] else { return nil }
    let highest = max(issue, try store.registry().unnamedIssues())
    return Application(
      id: id, issue: issue, highestIssue: highest, standing: .interrupted, lifetime: .survives, created: .now)
  }

  /// The number of an application's next identity, above `issue` and all that groups name.
  ///
  /// A group that cannot be read may name numbers that an older registry does not know, so the next one is far above.
  private func nextIssue(of id: String, above issue: UInt32) throws(VaultError) -> UInt32 {
    var step: UInt32 = 1
    let seen = try knownIssues { step = Applications.lead }[id]?.issue ?? 0
    return try Applications.issue(step, above: max(issue, seen))
  }

  /// A number `step` above `issue` and, unless that is 0, above the seconds since 2020, which rise faster than anybody
  /// replaces credentials: a machine that was set back to a snapshot does not know those given out since.
  static func issue(_ step: UInt32, above issue: UInt32) throws(VaultError) -> UInt32 {
    let (now, year2020) = (SystemClock.milliseconds() / 1_000, UInt64(1_577_836_800))
    // Numbers never go back, so a clock that is decades fast is ignored.
    let seconds = issue > 0 && now < year2020 + (1 << 31) ? UInt32(max(now, year2020) - year2020) : 0
    let (next, overflows) = max(issue, seconds).addingReportingOverflow(step)
    guard !overflows else { throw .overLimit("2^32 credentials of one application") }
    return next
  }

  /// How much higher the next identity's number is if others may have been used that nothing here knows of.
  static let lead = UInt32(Restoration.lead)

  /// The known states of the application's groups; its private group is always among them.
  ///
  /// - Parameter areAllNeeded: whether too many groups are an error, because a machine without them learns their names
  ///   from the credential alone.
  func floors(of id: String, all areAllNeeded: Bool) throws(VaultError) -> [Credential.Floor] {
    let known = try memberships(of: id)
    guard !areAllNeeded || known.count <= Credential.floorLimit else {
      throw .overLimit("\(Credential.floorLimit) groups of an application with a remote")
    }
    let inOrder = known.filter { $0.name.description == id } + known.filter { $0.name.description != id }
    return inOrder.prefix(Credential.floorLimit).map { membership in
      let (name, state) = (membership.name, membership.state)
      // What a look alone shows may come from a writer that was killed before it published, and be gone afterwards.
      let seen = store.witness(name).read().record.flatMap { $0.groupID == state.manifest.groupID ? $0 : nil }
      return Credential.Floor(group: name.description, state: seen ?? state.witnessRecord())
    }
  }

  func makePrivateGroup(_ name: AccessGroup.Name, _ application: Application) throws(VaultError) {
    try store.makeMissing(name, application.lifetime == .purged ? .purgedAtUninstall : [])
  }
}
