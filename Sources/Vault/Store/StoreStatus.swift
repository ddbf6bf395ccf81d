internal import GroupFile
internal import Sealing

/// What can be said of a store at a glance; it is made locked or unlocked, and never asks for anything.
public struct StoreStatus: Sendable {
  /// The store's folder.
  public let home: String
  /// The state folder; `nil` where nothing says where it would be.
  public let state: String?
  /// The owner's public key, in hexadecimal digits.
  public let ownerKey: String
  /// What opens the store, by slot number; none where the identity file cannot be read, as for an application.
  public let slots: [SlotInfo]
  /// When the store was last backed up from this machine, as this machine remembers it.
  public let lastBackup: Timestamp?
  /// The groups, sorted by name.
  public let groups: [GroupStatus]
  /// Why the store is locked; `nil` if it is open.
  public let lock: VaultError?
  /// Until when the kernel keeps its key; `nil` where it does not.
  public let unlockedUntil: Timestamp?
  /// What was noticed on the way, such as a state folder that is missing.
  public let notices: [Notice]
}

/// One group in a status.
public struct GroupStatus: Sendable {
  public let name: String
  /// Whether the numbers come from the verified group, or only from the state folder of this machine.
  public let isVerified: Bool
  /// The number of the group's state; `nil` where neither source tells.
  public let epoch: UInt64?
  /// The number of its key.
  public let generation: UInt64?
  /// Its items, removed ones included; `nil` where the group was not verified.
  public let itemCount: UInt64?
  /// What is wrong with the group.
  public let problem: VaultError?
  /// Whether the group was made on another machine and is bound to it, so that this one can say nothing about it.
  public let isOfOtherDevice: Bool
}

extension SecretStore {
  /// Looks at the store at `location`; where nothing opens it, tells what can be told without.
  ///
  /// - Throws: ``VaultError/noStore(path:)`` and what keeps the identity file from being read.
  public static func status(
    at location: StoreLocation? = nil, unlocking: consuming Unlocking = .automatic()
  ) throws(VaultError) -> StoreStatus {
    let location = if let location { location } else { try StoreLocation.standard() }
    do {
      return try SecretStore.open(at: location, unlocking: unlocking).status()
    } catch .locked(let reason) {
      return try lockedStatus(location, .locked(reason))
    }
  }

  /// Looks at the open store: each group's state is verified. An application sees the groups that it is a member of, or was when its credential was written.
  public func status() throws(VaultError) -> StoreStatus {
    var groups = try expectedGroupNames().compactMap(groupStatus)
    // A registry that does not verify is what verify tells of.
    if case .owner = access, let registry = try? registry(), let vanished = try? vanished(from: registry) {
      groups += vanished.map { GroupStatus($0.name, $0.problem) }
    }
    return StoreStatus(
      home: location.home, state: location.places.stateFolder(of: access.ownerKey),
      ownerKey: access.ownerKey.hexadecimal, slots: (try? location.identityFile())?.slots.map(SlotInfo.init) ?? [],
      lastBackup: location.lastBackup(of: access.ownerKey), groups: groups, lock: nil,
      unlockedUntil: Timestamp(unlocking: access.ownerKey), notices: takeNotices())
  }

  /// - Returns: `nil` for a group that is none of this application's business, or was removed meanwhile.
  private func groupStatus(_ name: String) -> GroupStatus? {
    do throws(VaultError) {
      return try settled(name) { () throws(VaultError) in
        let group = try group(name)
        return try group.reading { (transaction) throws(GroupFileError) in
          let manifest = transaction.view.state.manifest
          return GroupStatus(
            name: name, isVerified: true, epoch: manifest.epoch, generation: manifest.generation,
            itemCount: manifest.itemCount, problem: nil, isOfOtherDevice: false)
        }
      }
    } catch {
      if isOthersBusiness(name, error) { return nil }
      return GroupStatus(name, error, isOfOtherDevice: isOfOtherDevice(error))
    }
  }

  /// Whether a group does not open because it belongs to another machine. One that this machine has verified before belongs
  /// to this one: then its device key is gone, or the group was altered.
  func isOfOtherDevice(_ problem: VaultError) -> Bool {
    guard case .otherDevice(let group, _) = problem, let name = try? AccessGroup.Name(group) else { return false }
    if case .absent = witness(name).read() { return true }
    return false
  }

  /// Whether `error` says that an application is no member of a group that its credential does not name either.
  ///
  /// The witnesses do not tell: they are the owner's too, where he uses the same account.
  func isOthersBusiness(_ group: String, _ error: VaultError) -> Bool {
    guard case .application = access, error == .denied(.notAMember), let name = try? AccessGroup.Name(group) else {
      return false
    }
    return access.floor(of: name) == nil
  }

  private static func lockedStatus(_ location: StoreLocation, _ lock: VaultError) throws(VaultError) -> StoreStatus {
    let file = try location.identityFile()
    let state = location.places.stateFolder(of: file.ownerKey)
    var notices: [Notice] = []
    let groups = try location.groupNames().map { name in
      let witness = Witness(of: name, in: WitnessFolder(stateFolder: state, ownerKey: file.ownerKey))
      var record: WitnessRecord?
      switch witness.read() {
      case .valid(let found): record = found
      case .invalid: notices.append(.witnessInvalid(group: name))
      case .unavailable(let reason): if notices.isEmpty { notices = [.witnessUnavailable(reason: reason)] }
      case .absent: break
      }
      return GroupStatus(
        name: name, isVerified: false, epoch: record?.epoch, generation: record?.generation, itemCount: nil,
        problem: nil, isOfOtherDevice: false)
    }
    return StoreStatus(
      home: location.home, state: state, ownerKey: file.ownerKey.hexadecimal, slots: file.slots.map(SlotInfo.init),
      lastBackup: location.lastBackup(of: file.ownerKey), groups: groups, lock: lock,
      unlockedUntil: Timestamp(unlocking: file.ownerKey), notices: notices)
  }
}

extension GroupStatus {
  fileprivate init(_ name: String, _ problem: VaultError, isOfOtherDevice: Bool = false) {
    self.init(
      name: name, isVerified: false, epoch: nil, generation: nil, itemCount: nil, problem: problem,
      isOfOtherDevice: isOfOtherDevice)
  }
}

extension StoreLocation {
  /// What the settings say; nothing where they cannot be read.
  fileprivate func lastBackup(of ownerKey: PublicKey) -> Timestamp? {
    guard let folder = places.stateFolder(of: ownerKey) else { return nil }
    return (try? Settings.read(in: folder))?.lastBackup.map(Timestamp.init(milliseconds:))
  }
}

extension Timestamp {
  /// When the owner's key leaves the kernel's keyring.
  fileprivate init?(unlocking ownerKey: PublicKey) {
    guard let record = UnlockedRecord.find(ownerKey) else { return nil }
    self.init(milliseconds: record.deadline)
  }
}
