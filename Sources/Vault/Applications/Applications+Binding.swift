/// The result of binding an application.
public struct BoundApplication: Sendable, Equatable {
  public let binding: ServiceBinding
  /// Whether a service is enrolled.
  public let hasService: Bool
  /// The application's groups that the service cannot open with the application's rights, sorted by name.
  public let unserved: [ApplicationGroup]
}

extension Applications {
  /// Lets the service identify a caller as the application `id` if all conditions of `alternative` hold.
  ///
  /// An unknown application is registered, with a private group and without a credential. The service becomes a member
  /// of the application's groups, with the application's rights. Repeating an interrupted call finishes it. If the
  /// conditions are already bound, `credentials` are added to theirs.
  ///
  /// - Throws: ``VaultError/invalid(_:)``; ``VaultError/exists(_:)`` if another group has the name;
  ///   ``VaultError/contradiction(_:)`` for an application whose credentials were revoked, also meanwhile;
  ///   ``VaultError/rolledBack(group:found:known:reason:)`` if its private group has removed it, or if groups know it
  ///   and an older registry does not; ``VaultError/denied(_:)`` for anyone but the owner.
  @discardableResult
  public func bind(_ id: String, _ alternative: ServiceBinding.Alternative) throws(VaultError) -> BoundApplication {
    let name = try Applications.name(id)
    return try store.recording(.bind, subject: id, detail: alternative.description) { () throws(VaultError) in
      // First, so that a refused call makes no groups.
      try register(name)
      try store.makeServiceGroups()
      let known = try store.registry().application(Applications.service)
      let service = known.flatMap { $0.issued != nil && $0.standing != .revoked ? $0 : nil }
      if let service {
        for group in try unserved(id) {
          _ = try store.grant(group.rights, in: group.name, to: Applications.service, service)
        }
      }
      let unserved = service == nil ? try groups(of: id) : []
      let binding = try store.changeBinding(of: id) { (alternatives) throws(VaultError) in
        guard let index = alternatives.firstIndex(where: alternative.hasConditions) else {
          return alternatives.append(alternative)
        }
        let credentials = alternatives[index].credentials.merging(alternative.credentials) { $1 }
        alternatives[index] = try ServiceBinding.Alternative(
          unit: alternative.unit, user: alternative.user, exe: alternative.exe, label: alternative.label,
          certificate: alternative.certificate, credentials: credentials)
      }
      guard let binding else { throw .unexpected("a binding without alternatives") }
      // Whoever revokes the application records that before removing its bindings, so one of the two sees the other.
      if try application(id).standing == .revoked {
        throw removeBinding(of: id).first.map { $0.problem.named($0.name) } ?? .contradiction(.revokedApplication)
      }
      return BoundApplication(binding: binding, hasService: service != nil, unserved: unserved)
    }
  }

  /// Removes the alternative with the same conditions, or all alternatives of the application, and ends all tokens that
  /// the service has issued to the application.
  ///
  /// The application keeps its groups, and the service stays a member of them.
  ///
  /// - Parameters:
  ///   - id: the application's id.
  ///   - alternative: `nil` removes all.
  /// - Returns: the rest of the binding; `nil` if nothing is left.
  /// - Throws: ``VaultError/notFound(_:)`` if there is no such binding; ``VaultError/denied(_:)`` for anyone but the
  ///   owner.
  @discardableResult
  public func unbind(
    _ id: String, _ alternative: ServiceBinding.Alternative? = nil
  ) throws(VaultError) -> ServiceBinding? {
    _ = try store.owner()
    if case .success(nil) = Result(catching: { () throws(VaultError) in try store.serviceBinding(of: id) }) {
      // An earlier call, which is on record, may have been interrupted.
      try endTokens(of: id)
      throw .notFound(.binding)
    }
    return try store.recording(.unbind, subject: id, detail: alternative?.description ?? "all") {
      () throws(VaultError) in
      // Neither a damaged binding nor damaged tokens keep the other.
      let left = Result { () throws(VaultError) in
        try store.changeBinding(of: id) { (alternatives) throws(VaultError) in
          let count = alternatives.count
          alternatives.removeAll { alternative?.hasConditions(of: $0) ?? true }
          guard alternatives.count < count else { throw .notFound(.binding) }
        }
      }
      try endTokens(of: id)
      return try left.get()
    }
  }

  /// Removes all bindings and the AppRole secret of a revoked application and ends its tokens, so that they do not come
  /// back with a new credential. Returns the groups that could not be changed.
  func removeBinding(of id: String) -> [UnchangedGroup] {
    guard id != Applications.service else { return [] }
    var unchanged: [UnchangedGroup] = []
    do throws(VaultError) {
      for name in try store.expects(.service) ? [ServiceBinding.prefix + id, ServiceBinding.rolePrefix + id] : [] {
        do { try store.group(.service).remove(name) } catch .notFound(.item) {}
      }
    } catch {
      unchanged.append(UnchangedGroup(name: AccessGroup.Name.service.description, problem: error))
    }
    do throws(VaultError) { try endTokens(of: id) } catch {
      unchanged.append(UnchangedGroup(name: AccessGroup.Name.tokens.description, problem: error))
    }
    return unchanged
  }

  /// Removes the items with the hashes of the application's tokens, as `vaultd` writes them; of the service, all.
  func endTokens(of id: String) throws(VaultError) {
    guard try store.expects(.tokens) else { return }
    let tokens = store.group(.tokens)
    let ended = try tokens.listing().items.filter { id == Applications.service || $0.attributes["application"] == id }
    if ended.isEmpty { return }
    // In one transaction: otherwise each waits for the disk, and the others are valid meanwhile.
    try tokens.writing { (edit) throws(VaultError) in
      for item in ended {
        do throws(VaultError) { try edit.destroy(item.name.description) } catch .notFound {}
      }
    }
  }

  /// The groups of an application that the service cannot open with the application's rights, sorted by name.
  public func unserved(_ id: String) throws(VaultError) -> [ApplicationGroup] { try unserved([id]).map(\.group) }

  func unserved(_ ids: [String]) throws(VaultError) -> [ServiceInfo.Unserved] {
    let memberships = try memberships(of: [Applications.service] + ids)
    let rights = Dictionary(uniqueKeysWithValues: memberships[0].map { ($0.name.description, $0.member.rights) })
    return zip(ids, memberships.dropFirst()).flatMap { (id, memberships) in
      memberships.map(\.group).filter { group in rights[group.name].map { $0 < group.rights } ?? true }
        .map { ServiceInfo.Unserved(application: id, group: $0) }
    }
  }

  private func register(_ name: AccessGroup.Name) throws(VaultError) {
    let registry = try store.registry()
    let id = name.description
    try store.raiseIssues(isNew: false)
    let entry: Application
    if let known = try registry.application(id) {
      guard known.standing != .revoked else { throw .contradiction(.revokedApplication) }
      try refuseRemoved(known.issue, of: id, in: store.verifiedStates())
      // An application with a credential has its group.
      guard known.issued == nil else { return }
      entry = known
    } else {
      entry = try newEntry(name, .registered, .survives, registry)
      try registry.record(entry, since: nil)
    }
    try makePrivateGroup(name, entry)
    guard try !memberships(of: id).contains(where: { $0.name == name }) else { return }
    _ = try store.grant(.write, in: id, to: id, entry)
  }
}

extension SecretStore {
  /// Changes the alternatives of a binding in one transaction. If none is left, the item is removed.
  fileprivate func changeBinding(
    of id: String, _ change: (inout [ServiceBinding.Alternative]) throws(VaultError) -> Void
  ) throws(VaultError) -> ServiceBinding? {
    let name = ServiceBinding.prefix + id
    return try group(.service).writing { (edit) throws(VaultError) in
      var alternatives: [ServiceBinding.Alternative] = []
      if let found = try edit.ownersBytes(of: name) {
        alternatives = try ServiceBinding(application: id, parsing: found).alternatives
      }
      let before = alternatives
      try change(&alternatives)
      let binding = alternatives.isEmpty ? nil : try ServiceBinding(application: id, alternatives: alternatives)
      if alternatives == before { return binding }
      if let binding {
        try edit.set(binding.serialized(), at: name, kind: .json)
      } else {
        _ = try edit.remove(Item.Name(name), ifVersion: nil)
      }
      return binding
    }
  }
}
