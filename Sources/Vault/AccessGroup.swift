@_exported public import GroupFile

/// One encrypted file of items that the same members share.
///
/// Safe from any number of threads and processes. Every answer, absence included, is verified against the signed state
/// of the group. If a call throws, the store is unchanged, unless the error says that this is not known. A call waits
/// ten seconds at most for file locks.
///
/// Any call throws ``VaultError/damaged(group:level:detail:)``, ``VaultError/rolledBack(group:found:known:reason:)``,
/// ``VaultError/newerFormat(read:write:)``, ``VaultError/denied(_:)``, ``VaultError/busy(group:)`` and
/// ``VaultError/storage(_:)``; each call lists its other errors.
public final class AccessGroup: Sendable {
  /// The group's name.
  public var name: Name { shared.name }
  var notices: NoticeBoard { shared.notices }
  /// What all objects of the group share; the store knows it while one of them exists.
  let shared: Shared
  /// Stays open while this object exists, because its rules hold for every call.
  private let store: SecretStore?
  /// The request that all changes are made for; without one, each change is a request of its own.
  let request: ChangeID?
  /// The application that changes are made for, with the rights that it needs; `nil` if this member makes its own.
  private let principal: Principal?

  typealias Principal = (application: String, rights: MemberRights, isStill: @Sendable () throws(VaultError) -> Bool)

  /// Where the group is: in a file that this process opens, or behind `vaultd`.
  enum Place {
    case file(AccessGroupFile)
    case service(ServiceClient)
  }

  final class Shared: Sendable {
    let name: Name
    let place: Place
    let notices: NoticeBoard
    /// Refuses a state that is too old to be read.
    let requireRecent: @Sendable (VerifiedState) throws(VaultError) -> Void
    fileprivate let made = Locked<(writing: SharedWriting?, asyncQueues: (any AnyObject & Sendable)?)>((nil, nil))

    init(
      _ name: Name, _ place: Place, _ notices: NoticeBoard,
      requireRecent: @escaping @Sendable (VerifiedState) throws(VaultError) -> Void = { _ in }
    ) {
      (self.name, self.place, self.notices, self.requireRecent) = (name, place, notices, requireRecent)
    }
  }

  init(
    _ shared: Shared, of store: SecretStore? = nil, answering request: ChangeID? = nil, for principal: Principal? = nil
  ) {
    (self.shared, self.store, self.request, self.principal) = (shared, store, request, principal)
  }

  /// Shares commits among the threads that change the group; made by the first of them.
  var sharing: SharedWriting {
    shared.made.withLock { made in
      let writing = made.writing ?? SharedWriting()
      made.writing = writing
      return writing
    }
  }

  /// This group for one request, which may be repeated: no item is changed for it again as long as a version that was
  /// written for it is kept. The call then returns that version's number, and compares no value.
  public func answering(_ request: ChangeID) -> AccessGroup {
    AccessGroup(shared, of: store, answering: request, for: principal)
  }

  /// This group for changes on behalf of an application: each throws ``VaultError/denied(_:)`` unless the application is
  /// a member with `rights` in the very state that is changed, and unless `isStill` says that the caller is still the
  /// application, while no other change of the group can be made.
  package func acting(
    for application: String, with rights: MemberRights, if isStill: @escaping @Sendable () throws(VaultError) -> Bool
  ) -> AccessGroup {
    AccessGroup(shared, of: store, answering: request, for: (application, rights, isStill))
  }

  func requireRights(in state: VerifiedState) throws(VaultError) {
    guard let principal else { return }
    let found = state.roster.members.first { $0.application == principal.application }?.rights
    guard let found, found >= principal.rights else { throw .denied(found == nil ? .notAMember : .readOnly) }
    guard try principal.isStill() else { throw .denied(.notAMember) }
  }

  /// - Throws: ``VaultError/denied(_:)`` if only `vaultd` can open it.
  package var file: AccessGroupFile {
    get throws(VaultError) {
      guard case .file(let file) = shared.place else { throw .denied(.throughService) }
      return file
    }
  }

  var service: ServiceClient? { if case .service(let service) = shared.place { service } else { nil } }
  /// Whether `vaultd` answers the calls, which then has none for transactions.
  package var isThroughService: Bool { service != nil }

  // MARK: Reading

  /// Opens the secret of an item.
  ///
  /// - Parameters:
  ///   - name: the item's name.
  ///   - version: a kept version; `nil` for the current one.
  /// - Throws: ``VaultError/notFound(_:)``; ``VaultError/invalid(_:)`` if `name` is not a valid name.
  public func get(_ name: String, version: UInt64? = nil) throws(VaultError) -> Secret {
    guard service == nil, version == nil else { return Secret(try open(name, version: version).secret.opened) }
    let name = try Item.Name(name).description
    return Secret(try readingItems { (transaction) throws(VaultError) in try transaction.value(name) })
  }

  /// Opens the secret of `name` and returns it with the item's metadata, both from one state.
  ///
  /// - Throws: as ``get(_:version:)``.
  public func open(_ name: String, version: UInt64? = nil) throws(VaultError) -> OpenedItem {
    let answer = try answer(to: ServiceCall(.open, self.name.description, name, version: version))
    guard let item = answer.items.first, let secret = answer.secret else { throw ServiceClient.misunderstood }
    return OpenedItem(item: item, secret: Secret(secret))
  }

  /// Returns the metadata of the current item `name` without opening its secret.
  ///
  /// - Throws: as ``get(_:version:)``.
  public func item(_ name: String) throws(VaultError) -> Item {
    let answer = try answer(to: ServiceCall(.item, self.name.description, name))
    guard let item = answer.items.first else { throw ServiceClient.misunderstood }
    return item
  }

  /// All kept versions of `name`, newest first; for a removed item, the first one is the removal.
  ///
  /// - Throws: ``VaultError/notFound(_:)`` if there never was such an item.
  public func history(_ name: String) throws(VaultError) -> [Item] {
    try answer(to: ServiceCall(.history, self.name.description, name)).items
  }

  // MARK: Writing

  /// Sets `name` to `value` and returns the new version's number. The value is durable when the call returns.
  ///
  /// - Parameters:
  ///   - name: the item's name, of 1 to 1,024 bytes.
  ///   - value: at most 1 MiB.
  ///   - details: label, attributes and expiry; by default label and attributes are kept.
  ///   - expected: the version that must be the current one; 0 if the item must not exist.
  /// - Throws: ``VaultError/conflict(expected:present:)``, ``VaultError/overLimit(_:)``, ``VaultError/invalid(_:)``.
  @discardableResult
  public func set(
    _ name: String, to value: some SecretValue, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    try set(name, to: Secret(value), kind: value.secretKind, details, ifVersion: expected)
  }

  /// Sets `name` to the bytes of `secret`, as ``set(_:to:_:ifVersion:)-(_,SecretValue,_,_)``. A secret has no type: a
  /// text needs `kind: .string`, which is not checked. `typeName`, an archived value's type, has at most 65,535 bytes.
  @discardableResult
  public func set(
    _ name: String, to secret: borrowing Secret, kind: SecretKind = .bytes, typeName: String? = nil,
    _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    var call = ServiceCall(.set, self.name.description, name, ifVersion: expected)
    (call.kind, call.typeName, call.details) = (kind, typeName, details)
    return try madeVersion(by: call, secret.opened)
  }

  /// Changes the item's details, as a new version with the same value.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, and as ``set(_:to:_:ifVersion:)-(_,SecretValue,_,_)``.
  @discardableResult
  public func change(
    _ name: String, _ details: Details, ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    var call = ServiceCall(.change, self.name.description, name, ifVersion: expected)
    call.details = details
    return try madeVersion(by: call)
  }

  /// Removes the item. Its history is kept, so ``restore(_:version:)`` can bring it back.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, ``VaultError/conflict(expected:present:)``.
  public func remove(_ name: String, ifVersion expected: UInt64? = nil) throws(VaultError) {
    _ = try answer(to: ServiceCall(.remove, self.name.description, name, ifVersion: expected))
  }

  /// Removes the item with its history. Old copies of the file, backups and disk blocks may still hold it.
  ///
  /// - Throws: ``VaultError/notFound(_:)`` if there never was such an item.
  public func destroy(_ name: String) throws(VaultError) {
    _ = try answer(to: ServiceCall(.destroy, self.name.description, name))
  }

  /// Writes an older version's value and details again, as a new version.
  ///
  /// - Parameters:
  ///   - name: the item's name.
  ///   - version: a kept version; `nil` for the last one before the item was removed.
  /// - Returns: the new version's number.
  /// - Throws: ``VaultError/notFound(_:)``; ``VaultError/contradiction(_:)`` if the item is present and `version` is
  ///   `nil`.
  @discardableResult
  public func restore(_ name: String, version: UInt64? = nil) throws(VaultError) -> UInt64 {
    try madeVersion(by: ServiceCall(.restore, self.name.description, name, version: version))
  }

  private func madeVersion(by call: ServiceCall, _ value: OpenedSecret? = nil) throws(VaultError) -> UInt64 {
    guard let version = try answer(to: call, value).number else { throw ServiceClient.misunderstood }
    return version
  }

  // MARK: What all calls need

  /// Makes a call of one item, or asks `vaultd` to make it.
  package func answer(to call: ServiceCall, _ value: OpenedSecret? = nil) throws(VaultError) -> ServiceAnswer {
    let name = try Item.Name(call.name)
    if let service {
      var call = call
      call.name = name.description
      return try call.operation.isReading
        ? observed(.read) { [call] () throws(VaultError) in try service.answer(to: call) }
        : change(call, value, through: service)
    }
    var answer = ServiceAnswer()
    switch call.operation {
    case .hello, .list: throw .invalid("only vaultd itself can answer this")
    case .open:
      (answer.items, answer.secret) = try readingItems { (view) throws(VaultError) in
        let (item, secret) = try view.opened(name.description, version: call.version)
        return ([try Item(item, in: view.state)], secret)
      }
    case .item:
      answer.items = try readingItems { (view) throws(VaultError) in
        [try Item(view.present(name.description), in: view.state)]
      }
    case .history:
      answer.items = try readingItems { (view) throws(VaultError) in
        try view.history(name.description).map { (version) throws(VaultError) in try Item(version, in: view.state) }
      }
    case .set, .change:
      try call.details.validate()
      let value = value.map { NewValue(secret: $0, kind: call.kind, typeName: call.typeName) }
      answer.number = try writing { (edit) throws(VaultError) in
        try edit.set(name, to: value, call.details, ifVersion: call.expected)
      }
    case .remove: _ = try writing { (edit) throws(VaultError) in try edit.remove(name, ifVersion: call.expected) }
    case .destroy: try writing { (edit) throws(VaultError) in try edit.destroy(name.description) }
    case .restore:
      answer.number = try writing { (edit) throws(VaultError) in try edit.restore(name, version: call.version) }
      guard answer.number != nil else { throw .contradiction(.presentItem) }
    }
    return answer
  }

  private func change(
    _ call: ServiceCall, _ value: OpenedSecret?, through service: ServiceClient
  ) throws(VaultError) -> ServiceAnswer {
    let request = request ?? ChangeID()
    var call = call
    call.request = request
    return try observed(.write) { [call] () throws(VaultError) in
      do throws(VaultError) { return try service.answer(to: call, value) } catch {
        guard case .unordered(_, .outcomeUnknown) = error else { throw error.named(name.description) }
        throw .unordered(group: name.description, .outcomeUnknown(request))
      }
    }
  }

  /// The queues of this group's async calls, which `VaultFoundation` makes on first use: this module does without
  /// Swift's concurrency.
  package func asyncQueues<Queues: AnyObject & Sendable>(made make: () -> Queues) -> Queues {
    shared.made.withLock { made in
      let queues = made.asyncQueues as? Queues ?? make()
      made.asyncQueues = queues
      return queues
    }
  }

  /// Like `reading`, for one call on behalf of a user, which fails if the copy of a published group is too old.
  private func readingItems<Result>(_ body: (Snapshot) throws(VaultError) -> Result) throws(VaultError) -> Result {
    try observed(.read) { () throws(VaultError) in
      try reading { (transaction) throws(VaultError) in
        try shared.requireRecent(transaction.state)
        return try body(transaction)
      }
    }
  }

  // `body` may be called a second time, after an error.
  func reading<Result>(_ body: (Snapshot) throws(VaultError) -> Result) throws(VaultError) -> Result {
    let file = try file
    do {
      do throws(VaultError) { return try reading(file, .readingLater, body) } catch .storage(.replaced) {
        // Another process changed or replaced the file after this one had compared it.
        return try reading(file, .reading, body)
      }
    } catch {
      throw error.named(name.description)
    }
  }

  private func reading<Result>(
    _ file: AccessGroupFile, _ beginning: Connection.Beginning, _ body: (Snapshot) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    let transaction = try file.beginReading(beginning)
    notices.post(transaction.notices)
    return try body(transaction)
  }
}

/// An item together with its opened secret.
public struct OpenedItem: ~Copyable, Sendable {
  public let item: Item
  public let secret: Secret
}
