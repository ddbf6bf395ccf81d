internal import GroupFile
internal import Sealing

extension SecretStore {
  /// Gives an application rights in a group, or other rights than it has.
  ///
  /// A new member reads everything that is kept, older versions included.
  ///
  /// - Parameters:
  ///   - group: the group's name.
  ///   - application: the application's name.
  ///   - rights: what it may do from now on.
  ///   - confirm: where given, a state that contradicts what this machine has seen is taken in the same step, under a new key;
  ///     it gets that state before anything is changed, and says whether to.
  /// - Returns: what it gets to read.
  /// - Throws: ``VaultError/notFound(_:)`` for an unknown application or group; ``VaultError/contradiction(_:)`` for an
  ///   application whose credentials were revoked; ``VaultError/rolledBack(group:found:known:reason:)`` where a group knows a
  ///   newer credential of it than the registry; ``VaultError/denied(_:)`` for anybody but the owner.
  @discardableResult
  public func grant(
    _ rights: MemberRights, in group: String, to application: String,
    accepting confirm: ((ReturningState) -> Bool)? = nil
  ) throws(VaultError) -> Admission {
    guard let known = try registry().application(application) else { throw .notFound(.application) }
    guard known.standing != .revoked else {
      throw .contradiction(.revokedApplication)
    }
    try applications.refuseReplaced(known.issue, of: application)
    return try grant(rights, in: group, to: application, known, accepting: confirm)
  }

  func grant(
    _ rights: MemberRights, in group: String, to application: String,
    _ known: Registry.RegisteredApplication, accepting confirm: ((ReturningState) -> Bool)? = nil
  ) throws(VaultError) -> Admission {
    let name = try self.group(group).name
    let grant = RosterChange.Grant(application: application, issue: known.issue, rights: rights)
    let registry = try registry()
    var change = RosterChange(grants: [grant])
    // Whoever replaces or revokes the application notes it first, and then goes through all groups, one writer at a time.
    change.isStillWanted = {
      guard let now = try? registry.application(application) else { return false }
      return now.issue == known.issue && now.standing != .revoked
    }
    let state = try self.change(name, change, accepting: confirm)
    return Admission(
      group: group, rights: rights, itemCount: state.manifest.itemCount, versionCount: state.manifest.versionRowCount)
  }

  /// Takes an application out of a group, which gets a new key.
  ///
  /// What the application could read until now it may have copied: see ``exposure(leftOut:progress:)``.
  ///
  /// What nobody signed cannot keep it in: it is left behind, with a notice. A file too damaged to be changed where it lies, or on
  /// which somebody keeps a lock, is made new in the same step.
  ///
  /// - Parameters:
  ///   - group: the group's name.
  ///   - application: the application's name.
  ///   - isDroppingUnproved: whether signed items that cannot be proved any more are left behind, too.
  ///   - confirm: where given, a state that contradicts what this machine has seen is taken in the same step: nobody gets between
  ///     accepting it and the revocation. It gets that state before anything is changed, and says whether to.
  ///   - progress: called now and then.
  /// - Throws: ``VaultError/notFound(_:)`` for an unknown group, or an application that is not a member;
  ///   ``VaultError/unproved(group:items:versions:)``; ``VaultError/denied(_:)`` for anybody but the owner.
  public func revoke(
    _ application: String, from group: String, droppingUnproved isDroppingUnproved: Bool = false,
    accepting confirm: ((ReturningState) -> Bool)? = nil, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) {
    let wasMember = Locked(false)
    let isTaken = Locked(false)
    var change = RosterChange { member in
      guard member.application == application else { return false }
      wasMember.withLock { $0 = true }
      return true
    }
    change.dropsUnproved = isDroppingUnproved
    let asking = confirm.map { confirm in
      { (state: ReturningState) in
        isTaken.withLock { $0 = confirm(state) }
        return isTaken.withLock { $0 }
      }
    }
    try self.change(try self.group(group).name, change, accepting: asking, progress)
    // In an older state that was taken it may never have been in.
    guard wasMember.withLock({ $0 }) || isTaken.withLock({ $0 }) else { throw .notFound(.member) }
  }

  /// Gives a group a new key; nobody leaves.
  ///
  /// - Parameters:
  ///   - name: the group's name.
  ///   - isDroppingUnproved: whether signed items that cannot be proved any more are left behind.
  ///   - confirm: as for ``revoke(_:from:droppingUnproved:accepting:progress:)``.
  ///   - progress: called now and then.
  /// - Returns: the number of the new key.
  /// - Throws: ``VaultError/notFound(_:)``, ``VaultError/denied(_:)`` for anybody but the owner,
  ///   ``VaultError/unproved(group:items:versions:)``, and ``VaultError/damaged(group:level:detail:)`` where no signed state is
  ///   left. Nothing is changed then.
  @discardableResult
  public func rotateGroup(
    _ name: String, droppingUnproved isDroppingUnproved: Bool = false,
    accepting confirm: ((ReturningState) -> Bool)? = nil, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> UInt64 {
    var change = RosterChange(rotates: true)
    change.dropsUnproved = isDroppingUnproved
    return try self.change(try group(name).name, change, accepting: confirm, progress).manifest.generation
  }

  /// Removes a row that a writer signed and that no item can be, with its history: the group gets a new key, and the row is left
  /// behind. No tombstone stays: an item of its name, if it has one, begins at version 1 again.
  ///
  /// - Parameters:
  ///   - token: where the row stands, as ``StrangeRow/token`` says: 32 hexadecimal digits.
  ///   - group: the group's name.
  ///   - progress: called now and then.
  /// - Throws: ``VaultError/invalid(_:)`` for another token; ``VaultError/notFound(_:)`` where no row has it;
  ///   ``VaultError/denied(_:)`` for anybody but the owner, and as ``rotateGroup(_:droppingUnproved:accepting:progress:)``.
  public func removeRow(
    _ token: String, from group: String, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) {
    _ = try owner()
    guard let token = Token(hexadecimal: token) else { throw .invalid("a row's token has 32 hexadecimal digits") }
    let group = try self.group(group)
    let isThere = try group.reading { (view) throws(GroupFileError) in try view.provedDigest(of: token) != nil }
    guard isThere else { throw .notFound(.item) }
    var change = RosterChange(rotates: true)
    change.drops = [token]
    try self.change(group.name, change, accepting: nil, progress)
  }

  /// Makes `change` in the group `name`.
  ///
  /// - Parameter confirm: where given, takes a state that contradicts what was seen.
  @discardableResult
  func change(
    _ name: AccessGroup.Name, _ change: RosterChange, accepting confirm: ((ReturningState) -> Bool)? = nil,
    _ progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> VerifiedState {
    let identity = try owner()
    let file = group(name).file
    var acceptance: OwnersAcceptance?
    if let confirm { acceptance = try ownersAcceptance(of: name, asking: confirm) }
    do throws(GroupFileError) {
      return try note(
        file.changeRoster(change, accepting: acceptance, by: identity) { progress($0) }, name, nil)
    } catch {
      // With the turn to write ours, nobody but a process that wants to hold it up has SQLite's lock on the file: who may only
      // read it can. A new file has none.
      guard error.isRepairable || error == .busy else { throw VaultError(error, group: name.description) }
    }
    let drafts = try DraftFolder.make(in: location.home)
    let places = SalvagePlaces(draft: drafts.path(of: name), kept: drafts.keepingPath(of: name))
    do throws(GroupFileError) {
      return try note(
        file.changeRoster(
          change, accepting: acceptance, salvagingAt: places, by: identity, members: memberSeeds(identity)
        ) { progress($0) }, name, places
      )
    } catch {
      throw VaultError(error, group: name.description)
    }
  }

  /// The seeds of the applications that the registry knows, as far as it can be read.
  func memberSeeds(_ identity: Identity) -> [MemberSeed] {
    guard let known = try? registry().applications() else { return [] }
    return known.flatMap { id, entry in
      // A change that was interrupted left groups under the issue before.
      Set([entry.issue, max(entry.issue, 2) - 1]).compactMap { try? identity.applicationMember(id: id, issue: $0) }
    }
  }

  private func note(_ changed: ChangedRoster, _ name: AccessGroup.Name, _ places: SalvagePlaces?) -> VerifiedState {
    notices.post(changed.left, of: name.description, keptAside: places?.kept)
    return changed.state
  }
}

extension AccessGroup {
  /// Who may read and write, the owner included.
  public var members: [GroupMember] { get throws(VaultError) { try info().members } }
}

extension Item.Writer {
  /// The application's id; `nil` for the owner.
  public var application: String? {
    if case .application(let id, _) = self { return id }
    return nil
  }
}

/// A value that a removed member could read, and that was not set anew since.
public struct Exposure: Sendable, Equatable {
  /// The group's name.
  public let group: String
  public let item: Item.Name
  /// The item's present version.
  public let version: UInt64
  /// When that version was written.
  public let changed: Timestamp
  /// Who could read it.
  public let readers: [Item.Writer]
}

extension SecretStore {
  /// The values that removed members could read and that are still unchanged, by group and name.
  ///
  /// Setting a value anew takes it off the list; that is what to do, because a removed member may have kept a copy.
  ///
  /// - Parameters:
  ///   - leftOut: called with the name of a group that does not verify, and what is wrong with it: the answer lacks it, or, where a
  ///     writer signed rows that no item can be, these rows.
  ///   - progress: called with each group's name.
  /// - Throws: ``VaultError/denied(_:)`` for anybody but the owner.
  public func exposure(
    leftOut: (String, VaultError) -> Void = { _, _ in }, progress: (String) -> Void = { _ in }
  ) throws(VaultError) -> [Exposure] {
    _ = try owner()
    var found: [Exposure] = []
    for name in try groupNames() {
      progress(name)
      let group = try group(name)
      do {
        let (values, isComplete) = try group.file.exposure { Item.Name(stored: $0) != nil }
        found += values.compactMap { Exposure($0, in: name) }
        if !isComplete { leftOut(name, .strangeRows(group: name)) }
      } catch {
        let problem = VaultError(error, group: name)
        notices.post(.groupLeftOut(group: name, reason: problem.message))
        leftOut(name, problem)
      }
    }
    return found
  }
}

extension Exposure {
  fileprivate init?(_ value: ExposedValue, in group: String) {
    guard let name = Item.Name(stored: value.name) else { return nil }
    self.init(
      group: group, item: name, version: value.version, changed: Timestamp(milliseconds: value.changed),
      readers: value.readers.map { .application($0.application, issue: $0.issue) })
  }
}
