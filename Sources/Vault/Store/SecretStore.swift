/// An open store: an identity and the access groups below one folder.
///
/// Safe from any number of threads. It keeps no lock and no plaintext between calls; keys stay in guarded memory for as
/// long as the store is open.
public final class SecretStore: Sendable {
  /// The place of the store.
  public let location: StoreLocation
  let access: StoreAccess
  /// The member that opens the groups' files; `nil` if `vaultd` opens them.
  private let member: MemberSeed?
  /// The only user besides root who may own the store's folders: for the owner, the user of this process; for an
  /// application, the user who owns the store.
  private let folderOwner: UInt32?
  let notices = NoticeBoard()
  /// Orders the changes of published groups in the place of `vaultd`: set in `vaultd` itself.
  private let publishing = Locked<(@Sendable (AccessGroup.Name) -> any CommitPublishing)?>(nil)
  private let groups = Locked<[AccessGroup.Name: AccessGroup.Shared]>([:])
  /// The age limits of published groups, as they were last looked up.
  private let knownLimits = Locked<[String: (limits: (most: UInt64?, due: UInt64?), until: Deadline)]>([:])
  /// The time that ages are measured by, in milliseconds since 1970; `nil` for the system's clock.
  let testOnlyNow = Locked<UInt64?>(nil)
  /// The threads that hold the lock of the folder of groups in ``lockingGroups(_:)``.
  let keepers = Locked<Set<UInt>>([])
  /// Called with a group's name before each attempt of ``settled(_:_:)``.
  let testOnlyBeforeLook = Locked<(@Sendable (String) -> Void)?>(nil)

  /// The number of groups that are kept although nobody may use them; each holds up to three descriptors.
  private static let groupLimit = Locked(32)

  /// For a process that serves many groups: one that is not kept is opened and verified anew by its next call.
  package static func keepManyGroups() {
    groupLimit.withLock { $0 = 512 }
    ConnectionPool.idleLimit.withLock { $0 = 64 }
  }

  init(_ location: StoreLocation, _ access: StoreAccess) throws(VaultError) {
    (self.location, self.access) = (location, access)
    folderOwner = if case .application = access { try location.trustedOwner() } else { nil }
    switch access {
    case .application(let credential):
      // The credential's floors reveal some rollbacks even without a witness. A notice says if there can be no witness.
      try? location.makeStateFolder(of: credential.ownerKey)
      member = credential.member
    case .unlocked(let unlocked): member = unlocked.member
    case .service: member = nil
    case .owner(let identity): member = try sealing(identity.personalMember())
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
  public var defaultGroupName: String { application ?? AccessGroup.Name.default.description }

  /// The id of the application that opened the store; `nil` for the owner.
  public var application: String? {
    switch access {
    case .owner, .unlocked: nil
    case .application(let credential): credential.application
    case .service(let service): service.caller.application
    }
  }

  package var ownerKeyBytes: [UInt8] { access.ownerKey.bytes }

  /// The notices since the last call: facts that users should know although all calls succeeded.
  public func takeNotices() -> [Notice] { notices.take() }

  func group(_ name: AccessGroup.Name) -> AccessGroup {
    let limit = SecretStore.groupLimit.withLock(\.self)
    let shared = groups.withLock { groups -> AccessGroup.Shared in
      if let group = groups[name] { return group }
      while groups.count >= limit,
        let idle = Array(groups.keys).first(where: { isKnownUniquelyReferenced(&groups[$0]!) })
      {
        groups[idle] = nil
      }
      let place: AccessGroup.Place =
        if case .service(let service) = access { .service(service) } else { .file(file(name)) }
      let group = AccessGroup.Shared(name, place, notices) { [weak self] (state) throws(VaultError) in
        try self?.requireRecent(state, name)
      }
      groups[name] = group
      return group
    }
    // What is known here does not keep the store; what is handed out does.
    return AccessGroup(shared, of: self)
  }

  private func file(_ name: AccessGroup.Name) -> AccessGroupFile {
    let state = location.stateFolder(of: access.ownerKey)
    return AccessGroupFile(
      folder: location.groupFolder(name.description),
      context: GroupContext(
        groupName: name.description, ownerKey: access.ownerKey, confirmOwner: access.confirmOwner, seed: member!,
        kind: access.memberKind, floor: access.floor(of: name),
        deviceKey: { (id) throws(VaultError) in try DeviceKeyFile.key(id, in: state) }),
      folderOwner: folderOwner, witness: witness(name), confirm: confirmation(of: name),
      publisher: { [location, weak self] in
        if let publisher = self?.publishing.withLock({ $0 }) { return publisher(name) }
        return ServicePublisher(group: name.description, location: location)
      },
      keepingGroups: { [weak self] (body) throws(VaultError) in try self?.keepingGroups(body) },
      now: { SystemClock.milliseconds() })
  }

  /// Has `publisher` order the changes of published groups, instead of asking `vaultd` to.
  package func publish(through publisher: @escaping @Sendable (AccessGroup.Name) -> any CommitPublishing) {
    publishing.withLock { $0 = publisher }
  }

  /// For a group that this machine never saw, the owner's registry says which one it is. The seed of the personal
  /// member alone does not open the registry.
  private func confirmation(of name: AccessGroup.Name) -> (@Sendable (VerifiedState) throws(VaultError) -> Bool)? {
    guard case .owner(let identity) = access, name != .registry else { return nil }
    return { [location, notices] (state) throws(VaultError) in
      let entry: Registry.Entry?
      do throws(VaultError) {
        entry = try Registry(of: identity, at: location, notices).entry(of: name)
      } catch {
        switch error {
        case .storage(let failure): throw .storage(failure)
        case .busy: throw .busy(group: nil)
        default: throw .damaged(.registry, "it does not open")
        }
      }
      guard let entry else { return false }
      guard entry.groupID == state.manifest.groupID else { throw .anotherGroup("") }
      if entry.presence == .absent {
        throw .rolledBack(found: state.manifest.epoch, known: state.manifest.epoch, reason: .broughtBack)
      }
      return entry.presence == .changing
    }
  }

  func witness(_ name: AccessGroup.Name) -> Witness {
    Witness(of: name.description, in: location.witnesses(of: access.ownerKey))
  }

  /// The identity, for operations that only the owner may do; throws ``VaultError/denied(_:)`` for anyone else. If the
  /// store is only unlocked, the identity is opened now.
  func owner() throws(VaultError) -> Identity {
    let identity =
      switch access {
      case .owner(let identity): identity
      case .unlocked(let unlocked): try unlocked.identity()
      case .application, .service: throw VaultError.denied(.ownerOnly)
      }
    try identity.confirmOwner()
    return identity
  }

  /// Opens the owner's identity now, so that nothing is asked for between other questions; throws as ``owner()``.
  package func openOwner() throws(VaultError) { _ = try owner() }

  /// The registry of groups; throws ``VaultError/denied(_:)`` for anyone but the owner.
  func registry() throws(VaultError) -> Registry { try Registry(of: owner(), at: location, notices) }

  /// The file of any group, the registry's included.
  package func file(of name: AccessGroup.Name) throws(VaultError) -> AccessGroupFile {
    try (name == .registry ? registry().group : group(name)).file
  }

  /// Calls `observer` after every call that reads or changes items of this store's groups.
  ///
  /// A transaction, a bulk set and the beginning of a list are one call each. The looks of a ``GroupWatch`` are not
  /// calls. Observers run on the thread of the call, in the order in which they were added, for as long as the store is
  /// open. An observer must not call the store.
  public func observe(_ observer: @escaping @Sendable (StoreCall) -> Void) {
    notices.observers.withLock { $0.append(observer) }
  }
}

/// Collects notices from all threads until they are shown, and knows who wants to hear of each call.
final class NoticeBoard: Sendable {
  private let notices = Locked<[Notice]>([])
  let observers = Locked<[@Sendable (StoreCall) -> Void]>([])

  func post(_ new: [Notice]) { for notice in new { post(notice) } }

  /// Posts what a change of the roster dropped. These notices have no limit: a change of all groups makes some for each
  /// group, and nothing else says what is gone.
  func post(_ left: GroupRepair, of group: String, keptAside: String?) {
    func post(_ notice: Notice) { self.post(notice, limit: .max) }
    if left.unsigned > 0 { post(.unsignedLeftBehind(group: group, rows: left.unsigned, names: left.unsignedNames)) }
    if left.lost > 0 || left.lostVersions > 0 {
      post(.unprovedDropped(group: group, items: left.lost, versions: left.lostVersions, names: left.lostNames))
    }
    if let keptAside { post(.groupRemade(group: group, keptAside: keptAside)) }
    if left.losesChain { post(.chainLost(group: group)) }
    if left.isUnwitnessed { post(.witnessUnwritten) }
  }

  func post(_ notice: Notice, limit: Int = 100) {
    notices.withLock { if !$0.contains(notice), $0.count < limit { $0.append(notice) } }
  }

  func take() -> [Notice] {
    notices.withLock { notices in
      defer { notices = [] }
      return notices
    }
  }
}

/// A call of an access group that has ended, for counters, timers and logs. It contains no item's name and no value.
public struct StoreCall: Sendable {
  /// What the call did.
  public enum Kind: String, Sendable, CaseIterable {
    /// It read or listed items, or their history.
    case read
    /// It changed items, or tried to.
    case write
  }

  public let kind: Kind
  /// The group's name.
  public let group: AccessGroup.Name
  /// How long it took.
  public let duration: Duration
  /// The error that it threw. An error that the closure of a transaction threw itself is `unexpected` here.
  public let error: VaultError?
}

extension AccessGroup {
  /// Runs `body`, which does all of one call, and tells the observers how it ended.
  func observed<Result, Failure>(
    _ kind: StoreCall.Kind, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let observers = notices.observers.withLock { $0 }
    guard !observers.isEmpty else { return try body() }
    let start = SystemClock.monotonic()
    func report(_ error: VaultError?) {
      let call = StoreCall(kind: kind, group: name, duration: SystemClock.monotonic() - start, error: error)
      for observer in observers { observer(call) }
    }
    do {
      let result = try body()
      report(nil)
      return result
    } catch {
      report(error as? VaultError ?? .unexpected("an error of the transaction's closure"))
      throw error
    }
  }
}

/// Limits how old the newest proved state of a published group may be when it is read.
///
/// The age is the time since the newest signature that this machine has proved, by the clocks of the writer and of this
/// machine. So someone who withholds commits is noticed when the limit has passed, and not before. A signature from the
/// future may be as far away, so that a member who signs it hides nothing for longer than twice the limit.
extension SecretStore {
  func requireRecent(_ state: VerifiedState, _ name: AccessGroup.Name) throws(VaultError) {
    guard state.isPublished, let limit = try ageLimits(of: name.description).most else { return }
    let now = testOnlyNow.withLock { $0 } ?? SystemClock.milliseconds()
    let time = state.manifest.time
    let seconds = (max(now, time) - min(now, time)) / 1_000
    guard seconds > limit else { return }
    throw .unordered(
      now > time
        ? .tooOld(seconds: seconds, limit: limit)
        : .tooEarly(seconds: seconds, limit: limit, signer: state.signer))
  }

  /// The age in seconds above which no state is read, and the one by which the next state is due; `nil` for no limit. An
  /// application knows them from its credential, if that names a remote. The owner and the service read them from their
  /// group, at most every half minute.
  package func ageLimits(of group: String) throws(VaultError) -> (most: UInt64?, due: UInt64?) {
    if case .application(let credential) = access, credential.application != Applications.service {
      return (credential.remote?.maxAge.map(UInt64.init), credential.remote?.dueAge)
    }
    if let known = knownLimits.withLock({ $0[group] }), !known.until.hasPassed { return known.limits }
    let name = try publications().first { $0.group == group }?.remote
    let remote = try name == nil ? nil : remotes().first { $0.name == name }
    let limits = (most: remote?.maxAge.map(UInt64.init), due: remote?.dueAge)
    knownLimits.withLock { $0[group] = (limits, Deadline(after: 30_000)) }
    return limits
  }
}
