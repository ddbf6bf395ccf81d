/// The applications that the owner issued credentials to. Only the owner can use this.
///
/// Any call throws ``VaultError/denied(_:)`` for anyone else, and the errors of reading the registry or a group.
public struct Applications: Sendable {
  let store: SecretStore

  /// All applications that were ever registered, sorted by id.
  public func list() throws(VaultError) -> [Application] {
    try store.registry().applications().values.sorted { $0.id < $1.id }
  }

  /// The registry's entry for the application `id`.
  ///
  /// - Throws: ``VaultError/notFound(_:)``; if a group names the application and an older registry does not,
  ///   ``VaultError/unlistedMember(group:application:issue:)`` for a member, and
  ///   ``VaultError/rolledBack(group:found:known:reason:)`` for one that was removed.
  public func application(_ id: String) throws(VaultError) -> Application {
    guard let found = try store.registry().application(id) else { throw try unknown(id) }
    return found
  }

  func unknown(_ id: String) throws(VaultError) -> VaultError {
    guard let (issue, group) = try knownIssues()[id] else { return .notFound(.application) }
    for state in try store.verifiedStates() {
      guard let membership = Membership(of: id, in: state) else { continue }
      return .unlistedMember(group: state.roster.groupName, application: id, issue: membership.member.issue)
    }
    return .rolledBack(group: group, found: 0, known: UInt64(issue), reason: .olderIssue)
  }

  /// The groups that the application `id` is a member of, sorted by name.
  ///
  /// A group that fails verification is left out, with a notice.
  ///
  /// - Throws: ``VaultError/notFound(_:)`` if neither the registry nor a group names it.
  public func groups(of id: String) throws(VaultError) -> [ApplicationGroup] {
    let memberships = try memberships(of: id)
    // An older registry does not name every member.
    if memberships.isEmpty { _ = try application(id) }
    return memberships.map(\.group)
  }

  struct Membership {
    let member: Member
    let state: VerifiedState

    var name: AccessGroup.Name { state.roster.name }
    var group: ApplicationGroup {
      ApplicationGroup(name: name.description, rights: member.rights, lifetime: GroupLifetime(state.roster.flags))
    }

    /// - Returns: `nil` if the application `id` is not a member.
    init?(of id: String, in state: VerifiedState) {
      guard let member = state.roster.members.first(where: { $0.kind == .application && $0.application == id }) else {
        return nil
      }
      (self.member, self.state) = (member, state)
    }
  }

  /// Makes `change` in every group of the store in turn, including groups that the application joins meanwhile.
  ///
  /// - Parameter removes: called before each change; returns whether it has removed the group instead.
  /// - Returns: the groups that could not be changed, sorted by name. A missing group is one of them, because nothing
  ///   else says who its members are. A group bound to another device is left out, with a notice.
  func changeEverywhere(
    _ change: RosterChange, accepting confirm: ((ReturningState) -> Bool)?,
    unless removes: (AccessGroup.Name) -> Bool = { _ in false }, _ progress: (String, MaintenanceProgress) -> Void
  ) throws(VaultError) -> [UnchangedGroup] {
    var found: [UnchangedGroup] = []
    for name in try namesInOrderOfChange() where !removes(name) {
      do throws(VaultError) {
        let changed = try store.settled(name.description, isChange: true) { () throws(VaultError) in
          try store.change(name, change, accepting: confirm) { progress(name.description, $0) }
        }
        if changed == nil, let problem = try store.missing(name) { throw problem }
      } catch {
        found += unchanged(name, error)
      }
    }
    return found.sorted { $0.name < $1.name }
  }

  /// The groups of the store. Those whose files others may write come last, in another order each time: whatever others do
  /// there delays no other group, and no group each time.
  func namesInOrderOfChange() throws(VaultError) -> [AccessGroup.Name] {
    let names = try store.ownersGroupNames()
    let shared = names.filter { (try? store.group($0).file.isWritableByOthers) == true }
    return names.filter { !shared.contains($0) } + shared.shuffled()
  }

  /// The report that `problem` kept a group from being changed; empty, with a notice, for a group that is bound to
  /// another device. A group that was verified here belongs to this device, whatever its header says now.
  func unchanged(_ name: AccessGroup.Name, _ problem: VaultError) -> [UnchangedGroup] {
    guard store.isOfOtherDevice(problem) else { return [UnchangedGroup(name: name.description, problem: problem)] }
    store.notices.post(.groupLeftOut(group: name.description, reason: problem.message))
    return []
  }

  /// The groups that the application `id` is a member of; a group that fails verification is left out, with a notice.
  func memberships(of id: String) throws(VaultError) -> [Membership] { try memberships(of: [id])[0] }

  /// The same for each of several applications.
  func memberships(of ids: [String]) throws(VaultError) -> [[Membership]] {
    let states = try store.verifiedStates { name, error in
      store.notices.post(.groupLeftOut(group: name.description, reason: error.message))
    }
    return ids.map { id in states.compactMap { Membership(of: id, in: $0) } }
  }

  /// The highest issue of each application that any roster names, as a member or as removed, with one such group.
  ///
  /// The registry may be an older copy than the groups, so a lower issue in it has been replaced since.
  func knownIssues(leftOut: () -> Void = {}) throws(VaultError) -> [String: KnownIssue] {
    Applications.issues(
      in: try store.verifiedStates { if !store.isOfOtherDevice($1) { leftOut() } }.map(\.roster))
  }

  static func issues(in rosters: [Roster]) -> [String: KnownIssue] {
    var known: [String: KnownIssue] = [:]
    for roster in rosters {
      for (id, issue) in roster.issues where issue > known[id]?.issue ?? 0 { known[id] = (issue, roster.groupName) }
    }
    return known
  }

  /// - Throws: ``VaultError/rolledBack(group:found:known:reason:)`` if a group knows a higher issue of the application.
  func refuseReplaced(_ issue: UInt32, of id: String, in states: [VerifiedState]) throws(VaultError) {
    guard let known = Applications.issues(in: states.map(\.roster))[id], known.issue > issue else { return }
    throw .rolledBack(group: known.group, found: UInt64(issue), known: UInt64(known.issue), reason: .olderIssue)
  }

  /// An application that left its private group, or all its groups, was revoked, even if an older registry does not say
  /// so.
  ///
  /// - Parameter everywhere: whether the other groups count, too, if the private group does not say.
  /// - Throws: ``VaultError/rolledBack(group:found:known:reason:)`` if the private group names the issue as removed, or
  ///   if groups name it only as removed.
  func refuseRemoved(
    _ issue: UInt32, of id: String, in states: [VerifiedState], everywhere: Bool = false
  ) throws(VaultError) {
    let own = states.filter { $0.roster.groupName == id }
    // Somebody may have hidden the private group, or put an older copy of it there.
    guard try !store.registry().hasRemoved(id, issue, from: id) else {
      throw .rolledBack(group: id, found: UInt64(issue), known: UInt64(issue), reason: .olderIssue)
    }
    for states in everywhere ? [own, states] : [own] {
      if states.contains(where: { Membership(of: id, in: $0) != nil }) { return }
      guard let roster = states.map(\.roster).first(where: { $0.issues[id] == issue }) else { continue }
      throw .rolledBack(group: roster.groupName, found: UInt64(issue), known: UInt64(issue), reason: .olderIssue)
    }
  }
}

/// The highest issue of an application that rosters name, and one group of those that name it.
typealias KnownIssue = (issue: UInt32, group: String)

extension SecretStore {
  /// The applications that the owner issued credentials to.
  public var applications: Applications { Applications(store: self) }

  /// The verified state of each group, sorted by name.
  ///
  /// - Parameter leftOut: called with the name and the error of each group that fails verification or is missing.
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner.
  func verifiedStates(
    leftOut: (AccessGroup.Name, VaultError) -> Void = { _, _ in }
  ) throws(VaultError) -> [VerifiedState] {
    var found: [VerifiedState] = []
    for name in try ownersGroupNames() {
      do throws(VaultError) {
        let state = try settled(name.description) { () throws(VaultError) in try group(name).verifiedState() }
        if let state { found.append(state) } else if let problem = try missing(name) { throw problem }
      } catch {
        leftOut(name, error)
      }
    }
    return found
  }
}

extension Roster { var name: AccessGroup.Name { AccessGroup.Name(trusted: groupName) } }

extension GroupLifetime {
  init(_ flags: Roster.Flags) { self = flags.contains(.purgedAtUninstall) ? .purged : .survives }
}

extension Identity: RosterAuthority {}

/// A group that an application is a member of.
public struct ApplicationGroup: Sendable, Equatable {
  /// The group's name.
  public let name: String
  public let rights: MemberRights
  /// The group's declared lifetime, which decides what happens to it at uninstallation.
  public let lifetime: GroupLifetime
}

/// A group that could not be changed.
public struct UnchangedGroup: Sendable, Equatable {
  /// The group's name.
  public let name: String
  /// Why it could not be changed.
  public let problem: VaultError
}

/// The result of issuing a credential.
public struct IssuedCredential: Sendable, Equatable {
  /// The contents that the application can read at once in the groups that it was granted, or that it was removed from
  /// before.
  public let admissions: [Admission]
  /// Groups that do not know the new credential yet, and may still accept the old one. The credential is written, and
  /// the same call finishes the rest once these groups are usable. Sorted by name.
  public let unchanged: [UnchangedGroup]
}

/// The contents of a group that a new member can read at once.
public struct Admission: Sendable, Equatable {
  /// The group's name.
  public let group: String
  public let rights: MemberRights
  /// Items, removed ones included.
  public let itemCount: UInt64
  /// The number of kept older versions, which a new reader can read too.
  public let versionCount: UInt64
  /// Whether the same credential was removed from the group before, and opens it again.
  public let isReturning: Bool
}
