internal import Sealing

/// A summary of a store. It can be made of a locked or unlocked store, and never prompts.
public struct StoreStatus: Sendable {
  /// The store's folder.
  public let home: String
  /// The state folder; `nil` if it cannot be determined.
  public let state: String?
  /// The owner's public key, in hexadecimal digits.
  public let ownerKey: String
  /// The slots that open the store, sorted by number; empty if the identity file cannot be read, as for an application.
  public let slots: [Slot]
  /// When the store was last backed up, if this machine remembers it.
  public let lastBackup: Timestamp?
  /// The groups, sorted by name.
  public let groups: [GroupStatus]
  /// Why the store is locked; `nil` if it is open.
  public let lock: VaultError?
  /// When the kernel will forget the store's key; `nil` if it does not hold it.
  public let unlockedUntil: Timestamp?
  /// The notices that reading the status produced, such as one about a missing state folder.
  public let notices: [Notice]
  /// The application whose credential opened the store; `nil` for its owner.
  public internal(set) var application: String?
}

/// The status of one group.
public struct GroupStatus: Sendable {
  public let name: String
  /// Whether the group was verified, and its witness shows that this state is the newest one.
  public internal(set) var isVerified = false
  /// The number of the group's state; from the state folder if the group does not open, `nil` if neither has it.
  public internal(set) var epoch: UInt64?
  /// The number of its key.
  public internal(set) var generation: UInt64?
  /// The number of items, removed ones included; `nil` if the group was not verified.
  public internal(set) var itemCount: UInt64?
  /// The error of verifying the group, or about a member that should be out.
  public internal(set) var problem: VaultError?
  /// Whether the group was created on another machine and is bound to it, so that it cannot be verified here.
  public internal(set) var isOfOtherDevice = false
}

extension SecretStore {
  /// The status of the open store; each group's state is verified. An application sees the groups that it is a member
  /// of, or was when its credential was written.
  public func status() throws(VaultError) -> StoreStatus {
    if location.holdsState { notices.post(.stateInsideStore) }
    let applications = registeredApplications
    var groups = try expectedGroupNames().compactMap { groupStatus($0, applications) }
    groups += vanishedGroups().map { GroupStatus(name: $0.name, problem: $0.problem) }
    groups.sort { $0.name < $1.name }
    return StoreStatus(
      home: location.home, state: location.stateFolder(of: access.ownerKey), ownerKey: access.ownerKey.hexadecimal,
      slots: (try? location.identityFolder.read())?.slots ?? [],
      lastBackup: lastBackup, groups: groups, lock: nil,
      unlockedUntil: UnlockedRecord.end(of: access.ownerKey), notices: takeNotices(), application: application)
  }

  /// The time of the last backup that was made with this process's state folder; `nil` if none is known.
  package var lastBackup: Timestamp? { location.lastBackup(of: access.ownerKey) }

  /// - Returns: `nil` for a group that does not concern this application, or was removed meanwhile.
  private func groupStatus(_ name: String, _ applications: [String: Application]?) -> GroupStatus? {
    do throws(VaultError) {
      var roster: Roster?
      var status = try settled(name) { () throws(VaultError) in
        let view = try inGroup(name, group(name).file.beginReadingAlone())
        notices.post(view.notices)
        roster = view.state.roster
        let (manifest, doubt) = (view.state.manifest, view.notices.lazy.compactMap(\.witnessError).first?.named(name))
        return GroupStatus(
          name: name, isVerified: doubt == nil, epoch: manifest.epoch, generation: manifest.generation,
          itemCount: manifest.itemCount, problem: doubt)
      }
      if status?.isVerified == true {
        status?.problem = try unwantedMembers(of: group(name), applications, seen: roster).first
      }
      return status
    } catch {
      if isOthersBusiness(name, error) { return nil }
      return GroupStatus(name: name, problem: error, isOfOtherDevice: isOfOtherDevice(error))
    }
  }

  /// Whether a group does not open because it belongs to another machine. A group that this machine has verified before
  /// belongs to it: then its device key is gone, or the group was altered.
  func isOfOtherDevice(_ problem: VaultError) -> Bool {
    guard case .otherDevice(let group, _) = problem, let name = try? AccessGroup.Name(group) else { return false }
    return witness(name).read() == .absent
  }

  /// Whether `error` says that an application is not a member of a group that its credential does not name either.
  ///
  /// The witnesses do not decide this, because they may be the owner's, who may use the same account.
  func isOthersBusiness(_ group: String, _ error: VaultError) -> Bool {
    guard case .application = access, error == .denied(.notAMember), let name = try? AccessGroup.Name(group) else {
      return false
    }
    return access.floor(of: name) == nil
  }

  /// The facts that can be read without a key, of a store that nothing opens.
  package static func lockedStatus(_ location: StoreLocation, _ lock: VaultError) throws(VaultError) -> StoreStatus {
    let file = try location.identityFolder.read()
    var notices: [Notice] = []
    let groups = try location.groupNames().map { name in
      var (record, notice): (WitnessRecord?, Notice?)
      switch Witness(of: name, in: location.witnesses(of: file.ownerKey)).read() {
      case .valid(let found): record = found
      case .invalid: notice = .witnessInvalid(group: name)
      case .unavailable(let reason): notice = .witnessUnavailable(reason: reason)
      case .absent: break
      }
      if let notice, !notices.contains(notice) { notices.append(notice) }
      return GroupStatus(
        name: name, epoch: record?.epoch, generation: record?.generation, problem: notice?.witnessError?.named(name))
    }
    return StoreStatus(
      home: location.home, state: location.stateFolder(of: file.ownerKey), ownerKey: file.ownerKey.hexadecimal,
      slots: file.slots, lastBackup: location.lastBackup(of: file.ownerKey), groups: groups, lock: lock,
      unlockedUntil: UnlockedRecord.end(of: file.ownerKey), notices: notices)
  }
}

/// The owner of a store and its slots: the content of the identity file that everyone who can read it can see.
public struct IdentityInfo: Sendable {
  /// The owner's public key, in hexadecimal digits.
  public let ownerKey: String
  /// The first half of `ownerKey`, which is used in names of the owner's folders.
  public let shortName: String
  /// The slots that open the store, sorted by number; at least one.
  public let slots: [Slot]
  /// The files and folders that belong to the store.
  public let places: [StoreLocation.Place]
}

extension StoreLocation {
  /// The time of the last backup from the settings; `nil` if they cannot be read.
  fileprivate func lastBackup(of ownerKey: PublicKey) -> Timestamp? {
    let settings = try? Settings.read(in: stateFolder(of: ownerKey), of: ownerKey)
    return settings?.lastBackup.map(Timestamp.init(milliseconds:))
  }

  /// The content of the identity file; nothing is opened, and nobody is prompted.
  ///
  /// - Throws: ``VaultError/noStore(path:)``, ``VaultError/damaged(group:level:detail:)``,
  ///   ``VaultError/newerFormat(read:write:)``, ``VaultError/denied(_:)``, ``VaultError/storage(_:)``.
  public func identity() throws(VaultError) -> IdentityInfo {
    let file = try identityFolder.read()
    return IdentityInfo(
      ownerKey: file.ownerKey.hexadecimal, shortName: file.ownerKey.shortName, slots: file.slots, places: try all())
  }

  /// The slot that `key` opens.
  ///
  /// - Throws: as ``identity()``, and as ``SecretStore/open(at:unlocking:)``.
  public func slot(of key: consuming SlotKey) throws(VaultError) -> Slot {
    try identityFolder.read().unlock(key, at: self).slot
  }
}
