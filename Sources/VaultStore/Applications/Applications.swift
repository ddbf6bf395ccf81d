internal import GroupFile
internal import Sealing

/// The applications that an owner gave credentials to; all of it is his alone.
///
/// Any call throws ``VaultError/denied(_:)`` for anybody else, and what is wrong with the registry or a group.
public struct Applications: Sendable {
  let store: SecretStore

  /// All applications that ever were, sorted by id.
  public func list() throws(VaultError) -> [Application] {
    try store.registry().applications().map { Application($0.key, $0.value) }
      .sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
  }

  /// What is known of the application `id`.
  ///
  /// - Throws: ``VaultError/notFound(_:)``.
  public func application(_ id: String) throws(VaultError) -> Application {
    guard let found = try store.registry().application(id) else { throw .notFound(.application) }
    return Application(id, found)
  }

  /// The groups that the application `id` is a member of, sorted by name.
  ///
  /// A group that does not verify is left out, with a notice.
  public func groups(of id: String) throws(VaultError) -> [ApplicationGroup] {
    _ = try application(id)
    return try memberships(of: id).map { membership in
      ApplicationGroup(
        name: membership.name.description, rights: GroupMember.Rights(membership.member.rights),
        lifetime: GroupLifetime(membership.state.roster.flags))
    }
  }

  /// One group that an application is in.
  struct Membership {
    let name: AccessGroup.Name
    let member: Member
    let state: VerifiedState

    /// Whether applications besides this one are members.
    var isShared: Bool {
      state.roster.members.contains { $0.kind == .application && $0.application != member.application }
    }
  }

  /// Makes `change` in every group, one after the other: what others let into a group meanwhile is not passed over.
  ///
  /// - Throws: what is wrong with a group; one that is bound to another device is left out, with a notice.
  func changeEverywhere(
    _ change: RosterChange, _ progress: (String, MaintenanceProgress) -> Void
  ) throws(VaultError) {
    for name in try store.groupNames() {
      do throws(VaultError) {
        try store.change(try store.group(name).name, change) { progress(name, $0) }
      } catch {
        guard case .otherDevice = error else { throw error }
        store.notices.post(.groupLeftOut(group: name, reason: error.message))
      }
    }
  }

  /// - Parameter isStrict: whether a group that does not verify is an error; one that is bound to another device never is.
  func memberships(of id: String, isStrict: Bool = false) throws(VaultError) -> [Membership] {
    _ = try store.owner()
    var found: [Membership] = []
    for name in try store.groupNames() {
      let group = try store.group(name)
      do throws(VaultError) {
        let state = try group.reading { (transaction) throws(GroupFileError) in transaction.view.state }
        guard let member = state.roster.members.first(where: { $0.kind == .application && $0.application == id }) else {
          continue
        }
        found.append(Membership(name: group.name, member: member, state: state))
      } catch {
        var isElsewhere = false
        if case .otherDevice = error { isElsewhere = true }
        guard isElsewhere || !isStrict else { throw error }
        store.notices.post(.groupLeftOut(group: name, reason: error.message))
      }
    }
    return found
  }
}

extension SecretStore {
  /// The applications that the owner gave credentials to.
  public var applications: Applications { Applications(store: self) }
}

extension GroupMember.Rights {
  init(_ rights: Member.Rights) { self = rights == .write ? .write : .read }

  var inRoster: Member.Rights { self == .write ? .write : .read }
}

extension GroupLifetime {
  init(_ flags: Roster.Flags) { self = flags.contains(.purgedAtUninstall) ? .purged : .survives }
}

extension Identity: RosterAuthority {
  func rosterSigningKey() -> SigningKey { ownerSigningKey() }

  func seed(application: String, issue: UInt32) throws(SealingError) -> MemberSeed {
    try applicationMember(id: application, issue: issue)
  }
}
