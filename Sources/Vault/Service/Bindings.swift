extension SecretStore {
  /// All bindings, sorted by application. The owner and the service can read them.
  ///
  /// Each is proved to come from the owner: nobody else may write to the group `vault.service`.
  ///
  /// - Throws: ``VaultError/notFound(_:)`` if the store has no such group; ``VaultError/damaged(group:level:detail:)``
  ///   for a binding that does not follow the format; no binding is returned then.
  public func serviceBindings() throws(VaultError) -> [ServiceBinding] {
    try ownersItems(prefix: ServiceBinding.prefix).map { (name, bytes) throws(VaultError) in
      try ServiceBinding(application: String(name.dropFirst(ServiceBinding.prefix.count)), parsing: bytes)
    }
  }

  /// The binding of an application; `nil` if it has none.
  ///
  /// - Throws: as ``serviceBindings()``.
  public func serviceBinding(of application: String) throws(VaultError) -> ServiceBinding? {
    guard location.hasGroup(.service) else { return nil }
    let name = ServiceBinding.prefix + (try Applications.name(application).description)
    guard let found = try ownersItem(name) else { return nil }
    return try ServiceBinding(application: application, parsing: found)
  }

  private static let servedPrefix = "serves/"

  /// Notes a group of the service, which may not be able to list the groups' folder.
  func noteServed(_ name: AccessGroup.Name) throws(VaultError) {
    let item = SecretStore.servedPrefix + name.description
    guard !name.isReserved, location.hasGroup(.service), try ownersItem(item) == nil else { return }
    try group(.service).set(item, to: [])
  }

  func servedGroups() throws(VaultError) -> [String] {
    try ownersItems(prefix: SecretStore.servedPrefix).map { String($0.name.dropFirst(SecretStore.servedPrefix.count)) }
  }

  /// The content of an item of `vault.service`, proved to come from the owner; `nil` if there is none.
  func ownersItem(_ name: String) throws(VaultError) -> [UInt8]? {
    try group(.service).reading { (view) throws(VaultError) in try view.ownersBytes(of: name) }
  }

  /// The items of `vault.service` whose names begin with `prefix`, from one state and proved to come from the owner,
  /// sorted by name.
  package func ownersItems(prefix: String) throws(VaultError) -> [(name: String, bytes: [UInt8])] {
    try ownersItems(prefix: prefix) { (name, value) throws(VaultError) in
      (name, unsafe value.withUnsafeBytes { unsafe Array($0) })
    }
  }

  /// Maps these items with `body`, sorted by name.
  func ownersItems<Result>(
    prefix: String, _ body: (String, borrowing Secret) throws(VaultError) -> Result
  ) throws(VaultError) -> [Result] {
    let group = group(.service)
    try group.reading { (view) throws(VaultError) in try view.state.requireOwnersAlone() }
    let list = try group.list(prefix: prefix)
    var found: [(name: String, result: Result)] = []
    while let item = try list.next() {
      let opened = try list.open(item.name.description)
      guard opened.item.writer == .owner, !opened.item.isWriterClaimed else {
        throw .damaged(group: group.name.description, level: .row, detail: "an item that is not the owner's")
      }
      found.append((item.name.description, try body(item.name.description, opened.secret)))
    }
    return found.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }.map(\.result)
  }
}

extension VaultError {
  /// The error for an item of `vault.service` that does not follow the format.
  static func damagedServiceRow(_ detail: String) -> VaultError {
    .damaged(group: AccessGroup.Name.service.description, level: .row, detail: detail)
  }
}

extension VerifiedState {
  /// Refuses a state of the group `vault.service` that anyone but the owner may write to.
  fileprivate func requireOwnersAlone() throws(VaultError) {
    guard roster.members.allSatisfy({ $0.kind == .owner || $0.rights == .read }) else {
      throw .damaged(.roster, "someone other than the owner may write it")
    }
  }
}

extension ItemReading {
  /// The value of the present item `name`, which is not secret; `nil` if there is none.
  func bytes(of name: String) throws(VaultError) -> [UInt8]? {
    try stored(name).flatMap { (item) throws(VaultError) in item.isPresent ? try view.bytes(of: item) : nil }
  }

  /// As ``bytes(of:)``, of an item of `vault.service` that only the owner can have written.
  func ownersBytes(of name: String) throws(VaultError) -> [UInt8]? {
    try view.state.requireOwnersAlone()
    guard let item = try stored(name), item.isPresent else { return nil }
    guard item.attributes.writer == .owner else { throw .damaged(.row, "an item that is not the owner's") }
    return try view.bytes(of: item)
  }
}

extension Snapshot {
  /// The value of an item that is not secret.
  func bytes(of item: StoredItem) throws(VaultError) -> [UInt8] {
    unsafe try secret(of: item.row).withUnsafeBytes { unsafe Array($0) }
  }
}
