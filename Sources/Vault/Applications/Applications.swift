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
        name: membership.name.description, rights: membership.member.rights,
        lifetime: GroupLifetime(membership.state.roster.flags))
    }
  }

  /// One group that an application is in.
  struct Membership {
    let name: AccessGroup.Name
    let member: Member
    let state: VerifiedState

    /// - Returns: `nil` where the application `id` is no member.
    init?(of id: String, in name: AccessGroup.Name, _ state: VerifiedState) {
      guard let member = state.roster.members.first(where: { $0.kind == .application && $0.application == id }) else {
        return nil
      }
      (self.name, self.member, self.state) = (name, member, state)
    }

    /// Whether applications besides this one are members.
    var isShared: Bool {
      state.roster.members.contains { $0.kind == .application && $0.application != member.application }
    }
  }

  /// Makes `change` in every group, one after the other: what others let into a group meanwhile is not passed over.
  ///
  /// - Returns: the groups that it could not be made in; one that is bound to another device is left out, with a notice.
  func changeEverywhere(
    _ change: RosterChange, accepting confirm: ((ReturningState) -> Bool)?,
    _ progress: (String, MaintenanceProgress) -> Void
  ) throws(VaultError) -> [UnchangedGroup] {
    var found: [UnchangedGroup] = []
    for name in try store.groupNames() {
      do throws(VaultError) {
        _ = try store.settled(name) { () throws(VaultError) in
          try store.change(try store.group(name).name, change, accepting: confirm) { progress(name, $0) }
        }
      } catch {
        found += unchanged(try store.group(name).name, error)
      }
    }
    return found
  }

  /// What to tell of a group that `problem` keeps from being changed; one that is bound to another device is left out, with a
  /// notice.
  func unchanged(_ name: AccessGroup.Name, _ problem: VaultError) -> [UnchangedGroup] {
    guard case .otherDevice = problem else { return [UnchangedGroup(name: name.description, problem: problem)] }
    store.notices.post(.groupLeftOut(group: name.description, reason: problem.message))
    return []
  }

  /// The groups that the application `id` is in; one that does not verify is left out, with a notice.
  func memberships(of id: String) throws(VaultError) -> [Membership] {
    _ = try store.owner()
    return try store.verifiedStates { name, error in
      store.notices.post(.groupLeftOut(group: name.description, reason: error.message))
    }.compactMap { Membership(of: id, in: $0, $1) }
  }

  /// The highest issue of each application that a group's roster names, as a member or as removed, and one such group.
  ///
  /// The registry may be an older copy than the groups; an issue below these was replaced.
  func knownIssues() throws(VaultError) -> [String: KnownIssue] {
    var known: [String: KnownIssue] = [:]
    for (name, state) in try store.verifiedStates() {
      for (id, issue) in state.roster.issues where issue > known[id]?.issue ?? 0 {
        known[id] = KnownIssue(issue: issue, group: name.description)
      }
    }
    return known
  }

  struct KnownIssue {
    let issue: UInt32
    let group: String
  }

  /// - Throws: ``VaultError/rolledBack(group:found:known:reason:)`` where a group knows a higher issue of the application.
  func refuseReplaced(_ issue: UInt32, of id: String) throws(VaultError) {
    guard let known = try knownIssues()[id], known.issue > issue else { return }
    throw .rolledBack(group: known.group, found: UInt64(issue), known: UInt64(known.issue), reason: .olderIssue)
  }
}

extension SecretStore {
  /// The verified state of each group, sorted by name.
  ///
  /// - Parameter leftOut: called with the name of a group that does not verify, and what is wrong with it.
  func verifiedStates(
    leftOut: (AccessGroup.Name, VaultError) -> Void = { _, _ in }
  ) throws(VaultError) -> [(name: AccessGroup.Name, state: VerifiedState)] {
    var found: [(name: AccessGroup.Name, state: VerifiedState)] = []
    for name in try groupNames() {
      let group = try group(name)
      do throws(VaultError) {
        let state = try settled(name) { () throws(VaultError) in
          try group.reading { (transaction) throws(GroupFileError) in transaction.view.state }
        }
        if let state { found.append((group.name, state)) }
      } catch {
        leftOut(group.name, error)
      }
    }
    return found
  }
}

extension SecretStore {
  /// The applications that the owner gave credentials to.
  public var applications: Applications { Applications(store: self) }
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

/// What the owner knows of an application that he gave a credential to.
public struct Application: Sendable, Equatable {
  /// Its id, such as `com.example.notes`: the name of its private group too.
  public let id: String
  /// How often it was issued a new identity: 1 at first, +1 whenever a credential was replaced.
  public let issue: UInt32
  public let standing: Standing
  /// What its private group was declared to do when it is uninstalled.
  public let lifetime: GroupLifetime
  /// When it was issued first.
  public let created: Timestamp
  /// When its last credential was written; `nil` if none ever was.
  public let issued: Timestamp?

  /// How the application stands with the owner.
  @nonexhaustive
  public enum Standing: String, Sendable {
    /// Its newest credential opens its groups.
    case issued
    /// Issuing it was interrupted, or could not reach every group; the same command finishes it.
    case interrupted
    /// It is gone from the machine; its credential can be issued again.
    case uninstalled
    /// It is gone, and no credential of it opens anything.
    case revoked
  }
}

/// A group that an application is a member of.
public struct ApplicationGroup: Sendable, Equatable {
  /// The group's name.
  public let name: String
  public let rights: MemberRights
  /// What the group was declared to do when its application is uninstalled.
  public let lifetime: GroupLifetime
}

/// A group that a change of all groups could not be made in.
public struct UnchangedGroup: Sendable, Equatable {
  /// The group's name.
  public let name: String
  /// What is wrong with it.
  public let problem: VaultError
}

/// What issuing a credential came to.
public struct IssuedCredential: Sendable, Equatable {
  /// What the application gets to read in the groups that it was granted.
  public let admissions: [Admission]
  /// Groups that do not know the new credential, and may know the old one: the credential is written, and the same call
  /// finishes the rest when they are in order. Sorted by name.
  public let unchanged: [UnchangedGroup]
}

/// What somebody who is let into a group gets to read at once.
public struct Admission: Sendable, Equatable {
  /// The group's name.
  public let group: String
  public let rights: MemberRights
  /// Items, removed ones included.
  public let itemCount: UInt64
  /// Older versions that are kept: a new reader gets them too.
  public let versionCount: UInt64
}
