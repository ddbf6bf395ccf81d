public import GroupFile
internal import Sealing

/// An open store: an identity and the access groups below one folder.
///
/// Safe from any number of threads. It keeps no lock and no plaintext between calls; keys stay in guarded memory for as
/// long as the store is open.
public final class SecretStore: Sendable {
  /// The place of the store.
  public let location: StoreLocation
  let access: StoreAccess
  /// Where the groups are opened.
  private let source: Source
  /// The only user besides root who may own the store's folders: for the owner, the user of this process; for an
  /// application, the user who owns the store.
  private let folderOwner: UInt32?
  let notices = NoticeBoard()
  /// Orders the changes of published groups in the place of `vaultd`: set in `vaultd` itself.
  private let publishing = Locked<(@Sendable (AccessGroup.Name) -> any CommitPublishing)?>(nil)
  private let groups = Locked<[AccessGroup.Name: AccessGroup]>([:])
  /// How old the states of published groups may be.
  let ages = KnownAges()
  /// Called with a group's name before each attempt of ``settled(_:_:)``.
  let testOnlyBeforeLook = Locked<(@Sendable (String) -> Void)?>(nil)

  private enum Source: Sendable {
    /// In this process, as this member.
    case files(MemberSeed)
    case service(ServiceClient)
  }

  init(_ location: StoreLocation, _ access: StoreAccess) throws(VaultError) {
    self.location = location
    self.access = access
    switch access {
    case .application(let credential):
      folderOwner = try location.trustedOwner()
      // The credential's floors reveal some rollbacks even without a witness. A notice says if there can be no witness.
      try? location.makeStateFolder(of: credential.ownerKey)
      source = .files(credential.member)
    case .unlocked(let unlocked):
      folderOwner = nil
      source = .files(unlocked.member)
    case .service(let service):
      folderOwner = nil
      source = .service(service)
    case .owner(let identity):
      folderOwner = nil
      do { source = .files(try identity.personalMember()) } catch { throw .storage(.memory) }
    }
  }

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - location: by default the one that this process's environment names.
  ///   - unlocking: by default the source that the environment names, then the key file that opened the store before,
  ///     without a prompt.
  /// - Throws: ``VaultError/noStore(path:)``, ``VaultError/locked(_:)``, ``VaultError/wrongKey(_:)``,
  ///   ``VaultError/damaged(group:level:detail:)``, ``VaultError/denied(_:)``, ``VaultError/storage(_:)``.
  public static func open(
    at location: StoreLocation? = nil, unlocking: consuming Unlocking = .automatic()
  ) throws(VaultError) -> SecretStore {
    let location = if let location { location } else { try StoreLocation.standard() }
    return try SecretStore(location, StoreAccess.open(location, unlocking))
  }

  /// Opens a store as an application.
  ///
  /// - Parameters:
  ///   - location: by default the one that this process's environment names.
  ///   - path: the application's credential file.
  /// - Throws: ``VaultError/locked(_:)`` for a credential that is missing or unsuitable; otherwise as
  ///   ``open(at:unlocking:)``.
  public static func open(
    at location: StoreLocation? = nil, credential path: String
  ) throws(VaultError) -> SecretStore {
    try open(at: location, unlocking: .credential(path))
  }

  /// The access group `name`. Its first use shows whether it exists and whether this member may use it.
  ///
  /// - Throws: ``VaultError/invalid(_:)`` for a name that no group of items can have.
  public func group(_ name: String) throws(VaultError) -> AccessGroup {
    let name = try AccessGroup.Name(name)
    guard name != .registry else { throw .invalid("'\(name)' is the store's own group") }
    return group(name)
  }

  /// The group that is used if none is named: `default`, or an application's private one.
  public var defaultGroupName: String {
    switch access {
    case .owner, .unlocked: AccessGroup.Name.default.description
    case .application(let credential): credential.application
    case .service(let service): service.caller.application
    }
  }

  /// The id of the application that opened the store; `nil` for the owner.
  public var application: String? {
    switch access {
    case .owner, .unlocked: nil
    case .application(let credential): credential.application
    case .service(let service): service.caller.application
    }
  }

  /// The 32 bytes of the public key that identifies the store's owner.
  package var ownerKeyBytes: [UInt8] { access.ownerKey.bytes }

  /// The notices since the last call: facts that users should know although all calls succeeded.
  public func takeNotices() -> [Notice] { notices.take() }

  func group(_ name: AccessGroup.Name) -> AccessGroup {
    groups.withLock { groups in
      if let group = groups[name] { return group }
      let group =
        switch source {
        case .files(let member):
          AccessGroup(name, file(name, as: member), notices) { [weak self] (state) throws(VaultError) in
            try self?.requireRecent(state, name)
          }
        case .service(let service): AccessGroup(name, service, notices)
        }
      groups[name] = group
      return group
    }
  }

  /// The member that this process is in the files.
  func member() throws(VaultError) -> MemberSeed {
    guard case .files(let member) = source else { throw .denied(.throughService) }
    return member
  }

  func file(_ name: AccessGroup.Name, as member: MemberSeed) -> AccessGroupFile {
    let state = location.stateFolder(of: access.ownerKey)
    return AccessGroupFile(
      folder: location.groupFolder(name.description),
      context: GroupContext(
        groupName: name.description, ownerKey: access.ownerKey, seed: member, kind: access.memberKind,
        floor: access.floor(of: name),
        deviceKey: { (id) throws(VaultError) in try DeviceKeyFile.key(id, in: state) }),
      folderOwner: folderOwner, witness: witness(name), confirm: confirmation(of: name),
      publisher: { [location, weak self] in
        if let publisher = self?.publishing.withLock({ $0 }) { return publisher(name) }
        return ServicePublisher(name.description, at: location)
      }, now: { SystemClock.milliseconds() })
  }

  /// Has `publisher` order the changes of published groups, instead of asking `vaultd` to.
  package func publish(through publisher: @escaping @Sendable (AccessGroup.Name) -> any CommitPublishing) {
    publishing.withLock { $0 = publisher }
  }

  /// For a group that this machine never saw, the owner's registry says which one it is. The seed of the personal
  /// member alone does not open the registry.
  private func confirmation(of name: AccessGroup.Name) -> (@Sendable (VerifiedState) throws(VaultError) -> Void)? {
    guard case .owner(let identity) = access, name != .registry else { return nil }
    return { [location, notices] (state) throws(VaultError) in
      let entry: Registry.Entry?
      do throws(VaultError) {
        entry = try Registry(of: identity, at: location, notices).entry(of: name)
      } catch {
        switch error {
        case .storage(let failure): throw .storage(failure)
        case .busy: throw .busy(group: nil)
        default: throw .damaged(.witness, "the owner's list of groups does not open")
        }
      }
      guard let entry else { return }
      guard entry.groupID == state.manifest.groupID else { throw .anotherGroup("") }
      if entry.presence == .absent {
        throw .rolledBack(found: state.manifest.epoch, known: state.manifest.epoch, .broughtBack)
      }
    }
  }

  func witness(_ name: AccessGroup.Name) -> Witness {
    let state = location.stateFolder(of: access.ownerKey)
    return Witness(of: name.description, in: WitnessFolder(stateFolder: state, ownerKey: access.ownerKey))
  }

  /// The identity, for operations that only the owner may do. If the store is only unlocked, the identity is opened
  /// now.
  ///
  /// - Throws: ``VaultError/denied(_:)``; the error of opening it.
  func owner() throws(VaultError) -> Identity {
    switch access {
    case .owner(let identity): return identity
    case .unlocked(let unlocked): return try unlocked.identity()
    case .application, .service: throw .denied(.ownerOnly)
    }
  }

  /// The registry of groups.
  ///
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner.
  func registry() throws(VaultError) -> Registry {
    try Registry(of: owner(), at: location, notices)
  }
}

extension SecretStore {
  /// Calls `look`, and calls it again if the group may have been in the middle of being created or removed.
  ///
  /// A group's file, its witness and its entry in the registry cannot change at the same moment. A process that creates
  /// or removes a group holds the lock of the folder of groups until all three agree. The second call runs under that
  /// lock, so its result is consistent.
  ///
  /// - Parameter look: may be called twice.
  /// - Returns: the result of `look`; `nil` for a group that was removed meanwhile.
  /// - Throws: what `look` throws; ``VaultError/busy(group:)`` if another process holds the lock for too long.
  func settled<Result>(_ name: String, _ look: () throws(VaultError) -> Result) throws(VaultError) -> Result? {
    testOnlyWillLook(at: name)
    do {
      return try look()
    } catch {
      guard error.canPass else { throw error }
    }
    testOnlyWillLook(at: name)
    do throws(VaultError) {
      return try keepingGroups(look)
    } catch {
      guard case .notFound(.group) = error else { throw error }
      return nil
    }
  }

  func testOnlyWillLook(at name: String) { testOnlyBeforeLook.withLock { $0 }?(name) }

  /// Runs `body` while no other process creates, shares or removes a group. If an application may not open the folder
  /// of groups, `body` runs without the lock.
  func keepingGroups<Result>(_ body: () throws(VaultError) -> Result) throws(VaultError) -> Result {
    if !access.isOwners, (try? location.groupNames()) == nil { return try body() }
    let groups = try location.lockedGroups()
    defer { groups.file.unlock() }
    return try body()
  }
}

extension VaultError {
  /// Whether a group that is being created or removed can cause this error.
  fileprivate var canPass: Bool {
    switch self {
    case .notFound(.group), .rolledBack, .anotherGroup, .witnessUnavailable: true
    case .damaged(_, .witness, _), .damaged(_, .container, _): true
    case .denied(.permissions), .storage(.replaced): true
    default: false
    }
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
  /// The content of the identity file; nothing is opened, and nobody is prompted.
  ///
  /// - Throws: ``VaultError/noStore(path:)``, ``VaultError/damaged(group:level:detail:)``,
  ///   ``VaultError/newerFormat(read:write:)``, ``VaultError/denied(_:)``, ``VaultError/storage(_:)``.
  public func identity() throws(VaultError) -> IdentityInfo {
    let file = try identityFolder.read()
    return IdentityInfo(
      ownerKey: file.ownerKey.hexadecimal, shortName: file.ownerKey.shortName, slots: file.slots,
      places: try all())
  }
}
